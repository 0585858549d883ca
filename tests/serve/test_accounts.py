"""Eauth modules ``file`` and ``sharedsecret``: hashes, files, what is refused."""

from __future__ import annotations

import hashlib

import bcrypt
import pytest

from pushsalt.errors import ConfigError
from pushsalt.serve.accounts import _DUMMY_HASH, Accounts

PASSWORD = "open sesame"
SHA = hashlib.sha512(PASSWORD.encode()).hexdigest()
BCRYPT = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()


def accounts(tmp_path, text, mode=0o600, permissions=("test.*",), **options):
    path = tmp_path / "users"
    path.write_text(text)
    path.chmod(mode)
    rows = {f"^{name}": value for name, value in options.items()}
    return Accounts({"file": {"^filename": "users", **rows, "anna": list(permissions)}}, "", tmp_path)


@pytest.mark.parametrize(
    "line, options",
    [
        (f"anna:{PASSWORD}", {}),
        (f"anna:{PASSWORD}", {"hashtype": "plaintext"}),
        (f"anna:{SHA}", {"hashtype": "sha512"}),
        (f"anna:{SHA.upper()}", {"hashtype": "sha512"}),
        (f"anna:{BCRYPT}", {"hashtype": "bcrypt"}),
        (f"anna:{BCRYPT.replace('$2b$', '$2y$')}", {"filetype": "htpasswd"}),
        (f"7|anna|x|{SHA}", {"hashtype": "sha512", "field_separator": "|", "username_field": 2, "password_field": 4}),
    ],
    ids=["default", "plaintext", "sha512", "sha512, upper case", "bcrypt", "htpasswd", "fields"],
)
def test_a_password_is_right_or_wrong(tmp_path, line, options):
    found = accounts(tmp_path, f"other:x\n\nbroken\n{line}\n", **options)
    assert found.check("file", "anna", PASSWORD)
    for name, password in (("anna", "Open sesame"), ("anna", ""), ("anna", PASSWORD + "\n"), ("nobody", PASSWORD)):
        assert not found.check("file", name, password)
    assert not found.check("pam", "anna", PASSWORD)
    assert not found.check("sharedsecret", "anna", PASSWORD)


def test_a_hash_is_no_password(tmp_path):
    assert not accounts(tmp_path, f"anna:{SHA}\n", hashtype="sha512").check("file", "anna", SHA)
    assert not accounts(tmp_path, f"anna:{BCRYPT}\n", hashtype="bcrypt").check("file", "anna", BCRYPT)


def test_an_empty_password_is_none(tmp_path):
    assert not accounts(tmp_path, "anna:\n").check("file", "anna", "")
    assert not accounts(tmp_path, "anna:\n", hashtype="bcrypt").check("file", "anna", "")


def test_an_invalid_bcrypt_hash(tmp_path, caplog):
    assert not accounts(tmp_path, "anna:plain\n", hashtype="bcrypt").check("file", "anna", "plain")
    assert "not a bcrypt hash" in caplog.text


def test_a_password_that_bcrypt_would_cut(tmp_path):
    text = bcrypt.hashpw(b"x" * 72, bcrypt.gensalt(4)).decode()
    found = accounts(tmp_path, f"anna:{text}\n", hashtype="bcrypt")
    assert found.check("file", "anna", "x" * 72)
    assert not found.check("file", "anna", "x" * 73)


def test_the_dummy_hash_is_a_valid_hash():
    assert bcrypt.checkpw(b"x", _DUMMY_HASH.encode()) is False


@pytest.mark.parametrize("mode, options", [(0o620, {"hashtype": "sha512"}), (0o644, {}), (0o602, {})])
def test_a_file_that_others_can_use_is_not_used(tmp_path, caplog, mode, options):
    text = f"anna:{SHA if options else PASSWORD}\n"
    assert accounts(tmp_path, text, **options).check("file", "anna", PASSWORD)
    assert not accounts(tmp_path, text, mode, **options).check("file", "anna", PASSWORD)
    assert "chmod 600" in caplog.text


def test_an_account_without_permissions_does_not_exist(tmp_path):
    assert not accounts(tmp_path, f"anna:{PASSWORD}\nben:{PASSWORD}\n").check("file", "ben", PASSWORD)
    assert not accounts(tmp_path, f"anna:{PASSWORD}\n", permissions=()).check("file", "anna", PASSWORD)


def test_invalid_names_of_accounts(tmp_path):
    path = tmp_path / "users"
    path.write_text(f"*:{PASSWORD}\na/b:{PASSWORD}\n")
    path.chmod(0o600)
    found = Accounts({"file": {"^filename": "users", "*": [".*"]}}, "", tmp_path)
    for name in ("*", "a/b", "", "a\nb", "x" * 300):
        assert not found.check("file", name, PASSWORD)


def test_the_shared_secret(tmp_path):
    secret = "long-enough-0123456789"
    found = Accounts({"sharedsecret": {"fred": [".*"]}}, secret, tmp_path)
    assert found.check("sharedsecret", "fred", secret)
    assert not found.check("sharedsecret", "fred", secret[:-1])
    assert not found.check("sharedsecret", "anna", secret)  # no permissions


@pytest.mark.parametrize(
    "given, secret, words",
    [
        ({}, "", "no accounts"),
        ({"pam": {"anna": [".*"]}}, "", "no accounts"),
        ({"sharedsecret": {"fred": [".*"]}}, "", "sharedsecret"),
        ({"sharedsecret": {"fred": [".*"]}}, "short", "sharedsecret"),
        ({"file": {"anna": [".*"]}}, "", "^filename"),
        ({"file": {"^filename": "gone", "anna": [".*"]}}, "", "is not a file"),
        ({"file": {"^filename": "gone", "^hashtype": "md5"}}, "", "md5"),
        ({"file": {"^filename": "gone", "^filetype": "htdigest"}}, "", "htdigest"),
        ({"file": {"^filename": "gone", "^username_field": 0}}, "", "numbers"),
        ({"file": ["anna"]}, "", "permissions"),
    ],
)
def test_configurations_that_are_wrong(tmp_path, given, secret, words):
    with pytest.raises(ConfigError, match=words.replace("^", "\\^")):
        Accounts(given, secret, tmp_path)
