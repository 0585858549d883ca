"""The data store on the target, signatures, and a working directory that only root can enter."""

import os
import subprocess

import pytest

from thin import process
from thin.exceptions import CommandExecutionError

pytestmark = pytest.mark.slow


@pytest.fixture
def call(make_loaders, tmp_path):
    """A function that calls ``data.*`` with the loaders of a new run."""
    return lambda name, *args: make_loaders(opts={"cachedir": str(tmp_path / "cache")}).modules["data." + name](*args)


def test_data_is_stored_and_changed(call, tmp_path):
    assert call("load") == {} and call("pop", "a", 1) == 1 and call("clear") is True
    assert call("update", "a", [1, {"b": None}]) is True and call("update", "b", "ü")
    assert call("items") == {"a": [1, {"b": None}], "b": "ü"}
    assert sorted(call("keys")) == ["a", "b"] and "ü" in call("values") and call("has_key", "a")
    assert call("get", "b") == "ü" and call("get", "c", 3) == 3
    assert call("get", ["b", "c"]) == ["ü"] and call("get", ["b", "c"], 0) == ["ü", 0]
    assert call("cas", "b", "new", "wrong") is False and call("cas", "c", 1, 1) is False
    assert call("cas", "b", "new", "ü") is True and call("pop", "b") == "new" and not call("has_key", "b")
    assert call("dump", "{'x': 1}") is True and call("load") == {"x": 1}
    assert call("dump", "[1]") is False and call("dump", "nonsense(") is False and call("load") == {"x": 1}
    path = tmp_path / "cache" / "datastore"
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"\xc1 damaged")
    assert call("load") == {} and call("clear") is True and not path.exists()
    path.mkdir()
    with pytest.raises(CommandExecutionError, match="Cannot store"):
        call("update", "a", 1)


@pytest.mark.parametrize("algorithm", ["RSA", "EC", "ED25519"])
@pytest.mark.parametrize("secret", [None, "hunter 1"])
def test_signatures_are_verified(make_loaders, tmp_path, algorithm, secret):
    options = ["-pkeyopt", "ec_paramgen_curve:P-256"] if algorithm == "EC" else []
    private, public, out = (tmp_path / name for name in ("private.pem", "public.pem", "out"))
    encrypt = ["-aes256", "-pass", f"pass:{secret}"] if secret else []
    subprocess.run(["openssl", "genpkey", "-algorithm", algorithm, *options, *encrypt, "-out", private], check=True)
    decrypt = ["-passin", f"pass:{secret}"] if secret else []
    subprocess.run(["openssl", "pkey", "-in", private, *decrypt, "-pubout", "-out", public], check=True)
    asymmetric = make_loaders().modules.asymmetric
    (tmp_path / "file").write_text("words")
    for key in (str(private), private.read_text()):
        signature = asymmetric.sign(key, passphrase=secret, text="words")
        for data in ({"text": "words"}, {"filename": str(tmp_path / "file")}):
            assert asymmetric.verify(signature=signature, pubkey=str(public), **data)["res"] is True
        assert asymmetric.verify(text="other", signature=signature, pubkey=str(public))["res"] is False
    message = asymmetric.sign(str(private), secret, filename=str(tmp_path / "file"), path=str(out))
    assert message == f"Signature written to '{out}'"
    assert asymmetric.verify(text="words", signature=str(out), pubkey=str(public))["res"] is True
    if secret:
        with pytest.raises(CommandExecutionError, match="Could not load the private key"):
            asymmetric.sign(str(private), "wrong", text="words")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run as another user")
def test_a_user_works_in_a_directory_that_only_root_can_enter(make_loaders, tmp_path):
    (tmp_path / "closed" / "open").mkdir(parents=True)
    (tmp_path / "closed").chmod(0o700)
    path = str(tmp_path / "closed" / "open")
    cmd = make_loaders().modules.cmd
    assert cmd.run("pwd", cwd=path, runas="nobody", python_shell=False) == path
    assert cmd.run("id -un", cwd=path, runas="nobody", python_shell=False) == "nobody"
    with pytest.raises(OSError, match="No such file"):
        process.run(["/bin/true"], cwd=path + "/nowhere")
