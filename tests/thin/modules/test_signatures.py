"""Signatures by the real gpg and openssl, and the results of the modules."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from thin import loader, runtime
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.modules.gpg import signatures

pytestmark = pytest.mark.slow

TEXT = "what was signed\n"
KINDS = {
    "rsa": ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
    "ec": ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "ed": ["genpkey", "-algorithm", "ED25519"],
}


def run(*argv: object, **kwargs: Any) -> bytes:
    return subprocess.run([str(argument) for argument in argv], check=True, capture_output=True, **kwargs).stdout


@pytest.fixture
def verify() -> Callable[..., Any]:
    loaders = loader.Loaders({"id": "it"}, runtime)
    return lambda backend, **kwargs: loaders.modules[f"{backend}.verify"](**kwargs)


# asymmetric -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("keys")
    (folder / "text").write_text(TEXT)
    for kind, arguments in KINDS.items():
        key, text, sig = folder / f"{kind}.key", folder / "text", folder / f"{kind}.sig"
        run("openssl", *arguments, "-out", key)
        run("openssl", "pkey", "-in", key, "-pubout", "-out", folder / f"{kind}.pub")
        if kind == "ed":
            run("openssl", "pkeyutl", "-sign", "-inkey", key, "-rawin", "-in", text, "-out", sig)
        else:
            pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1"] if kind == "rsa" else []
            run("openssl", "dgst", "-sha256", "-sign", key, *pss, "-out", sig, text)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_a_signature_of_each_kind_of_key_is_verified(keys: Path, verify: Callable[..., Any], kind: str) -> None:
    key, sig = (keys / f"{kind}.pub").read_text(), str(keys / f"{kind}.sig")
    good = {"res": True, "message": "The signature is valid"}
    assert verify("asymmetric", text=TEXT, pubkey=key, signature=sig) == good
    assert verify("asymmetric", filename=str(keys / "text"), pubkey=str(keys / f"{kind}.pub"), signature=sig) == good
    bad = verify("asymmetric", text=TEXT + " ", pubkey=key, signature=sig)
    assert bad["res"] is False and "Invalid signature for key" in bad["message"]


@pytest.mark.parametrize(
    "any_of, all_of, res",
    [
        (["rsa", "ec"], [], True),
        (["rsa"], [], False),
        ([], ["ec", "ed"], True),
        ([], ["ec", "rsa"], False),
        (["rsa"], ["ec"], False),
        (["ed"], ["ec"], True),
    ],
)
def test_several_signatures_need_the_required_signers(
    keys: Path, verify: Callable[..., Any], any_of: list[str], all_of: list[str], res: bool
) -> None:
    pub = {kind: (keys / f"{kind}.pub").read_text() for kind in KINDS}
    ret = verify(
        "asymmetric",
        filename=str(keys / "text"),
        signature=[str(keys / "ec.sig"), str(keys / "ed.sig")],
        signed_by_any=[pub[kind] for kind in any_of],
        signed_by_all=[pub[kind] for kind in all_of],
    )
    assert ret["res"] is res and ret["message"]


def test_a_signature_may_be_base64_text(keys: Path, verify: Callable[..., Any]) -> None:
    text = run("openssl", "base64", "-A", "-in", keys / "ec.sig").decode()
    assert verify("asymmetric", text=TEXT, pubkey=str(keys / "ec.pub"), signature=text)["res"] is True
    assert verify("asymmetric", text=TEXT, pubkey="no key", signature=text)["res"] is False


@pytest.mark.parametrize(
    "arguments",
    [
        {"pubkey": "k"},
        {"signature": "s"},
        {"text": "t", "filename": "/f", "signature": "s", "pubkey": "k"},
        {"text": "t", "signature": "s", "pubkey": "k", "signed_by_any": ["k"]},
        {"text": "t", "signature": ["s"], "pubkey": "k"},
        {"text": "t", "signature": "s", "pubkey": "k", "digest": "-sha1"},
        {"text": "t", "signature": "s", "pubkey": "k", "digest": "x y"},
    ],
)
def test_invalid_arguments_are_errors(verify: Callable[..., Any], arguments: dict[str, Any]) -> None:
    if arguments.get("digest") == "-sha1":  # a value that begins with a dash is not an option of the program
        assert verify("asymmetric", **arguments)["res"] is False
        return
    with pytest.raises(SaltInvocationError):
        verify("asymmetric", **arguments)


def test_a_missing_file_is_an_error(verify: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(CommandExecutionError, match="does not exist"):
        verify("asymmetric", filename=str(tmp_path / "none"), pubkey="k", signature="s")


# gpg ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if not shutil.which("gpg"):
        pytest.skip("gpg is not installed")
    folder = tmp_path_factory.mktemp("g")
    folder.chmod(0o700)
    batch = ["--homedir", folder, "--batch"]
    for name in ("ann", "bob"):
        run("gpg", *batch, "--passphrase", "", "--quick-gen-key", f"{name}@example.org", "ed25519")
    (folder / "text").write_text(TEXT)
    for names, out in ((["ann"], "one.asc"), (["ann", "bob"], "two.asc")):
        users = [argument for name in names for argument in ("-u", f"{name}@example.org")]
        run("gpg", *batch, *users, "-a", "-o", folder / out, "--detach-sign", folder / "text")
    run("gpg", *batch, "-u", "ann@example.org", "-o", folder / "clear", "--clearsign", folder / "text")
    yield folder
    run("gpgconf", "--homedir", folder, "--kill", "all")


def fingerprints_of(home: Path) -> dict[str, str]:
    keys = loader.Loaders({"id": "it"}, runtime).modules["gpg.list_keys"](gnupghome=str(home))
    return {key["uids"][0].split("@")[0]: key["fingerprint"] for key in keys}


def test_detached_and_inline_signatures_are_verified(home: Path, verify: Callable[..., Any], tmp_path: Path) -> None:
    ret = verify("gpg", filename=str(home / "text"), signature=str(home / "one.asc"), gnupghome=str(home))
    assert (ret["res"], ret["username"], ret["trust_level"]) == (True, "ann@example.org", "Ultimate")
    assert verify("gpg", filename=str(home / "clear"), gnupghome=str(home))["res"] is True
    assert verify("gpg", text=(home / "clear").read_text(), gnupghome=str(home))["res"] is True
    assert verify("gpg", filename=str(home / "text"), gnupghome=str(home))["res"] is False
    (tmp_path / "other").write_text("other")
    bad = verify("gpg", filename=str(tmp_path / "other"), signature=str(home / "one.asc"), gnupghome=str(home))
    assert bad == {"res": False, "message": "The signature could not be verified."}


@pytest.mark.parametrize(
    "file, any_of, all_of, res",
    [
        ("one.asc", ["ann"], [], True),
        ("one.asc", ["bob"], [], False),
        ("one.asc", ["bob", "ann"], [], True),
        ("one.asc", [], ["ann", "bob"], False),
        ("two.asc", [], ["ann", "bob"], True),
        ("two.asc", ["ann"], ["bob"], True),
    ],
)
def test_a_gpg_signature_needs_the_required_signers(
    home: Path, verify: Callable[..., Any], file: str, any_of: list[str], all_of: list[str], res: bool
) -> None:
    fingerprints = fingerprints_of(home)
    ret = verify(
        "gpg",
        filename=str(home / "text"),
        signature=str(home / file),
        gnupghome=str(home),
        signed_by_any=[fingerprints[name] for name in any_of],
        signed_by_all=[fingerprints[name] for name in all_of],
    )
    assert ret["res"] is res
    assert {signature["username"] for signature in ret["signatures"]} >= {"ann@example.org"}


def test_an_imported_key_verifies_signatures(home: Path, verify: Callable[..., Any], tmp_path: Path) -> None:
    modules = loader.Loaders({"id": "it"}, runtime).modules
    text = run("gpg", "--homedir", home, "-a", "--export", "ann@example.org").decode()
    other = tmp_path / "h"
    other.mkdir(mode=0o700)
    assert modules["gpg.import_key"](text=text, gnupghome=str(other))["message"] == "Successfully imported key(s)."
    assert modules["gpg.import_key"](text=text, gnupghome=str(other))["message"] == "Key(s) already exist in keychain."
    assert modules["gpg.import_key"](text="none", gnupghome=str(other))["res"] is False
    key = modules["gpg.get_key"](fingerprint=fingerprints_of(home)["ann"], gnupghome=str(other))
    assert key["uids"] == ["ann@example.org"]
    # the key is known, without a trust level
    ret = verify("gpg", filename=str(home / "text"), signature=str(home / "one.asc"), gnupghome=str(other))
    assert (ret["res"], ret["trust_level"]) == (True, "Undefined")


def test_invalid_signatures_are_not_trusted() -> None:
    status = """\
[GNUPG:] NEWSIG
[GNUPG:] GOODSIG AAAA Ann <a@example.org>
[GNUPG:] VALIDSIG F1 2026-01-01 1 0 4 0 22 10 00 P1
[GNUPG:] TRUST_FULLY 0 pgp
[GNUPG:] NEWSIG
[GNUPG:] EXPKEYSIG BBBB Bob
[GNUPG:] VALIDSIG F2 2026-01-01 1 0 4 0 22 10 00 P2
[GNUPG:] TRUST_ULTIMATE 0 pgp
[GNUPG:] NEWSIG
[GNUPG:] ERRSIG CCCC 22 10 00 1 9 F3
[GNUPG:] NO_PUBKEY CCCC
[GNUPG:] TRUST_ULTIMATE
"""
    assert [(entry["key_id"], entry["fingerprint"], entry["trust_level"]) for entry in signatures(status)] == [
        ("AAAA", "P1", "Fully"),
        ("BBBB", None, None),
        ("CCCC", None, None),
    ]
