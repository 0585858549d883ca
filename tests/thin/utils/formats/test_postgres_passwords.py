"""Stored forms of PostgreSQL's passwords, compared with those of servers and RFC 7677."""

import base64

import pytest

from thin.utils.formats import pgpass

# RFC 7677, section 3: user "user", password "pencil"
PENCIL = (
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
    "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
)


def test_scram_equals_the_example_of_the_rfc():
    assert pgpass.scram("pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")) == PENCIL
    assert pgpass.verified("user", "pencil", PENCIL, "scram-sha-256")
    assert pgpass.verified("user", PENCIL, PENCIL, "scram-sha-256")
    assert not pgpass.verified("user", "Pencil", PENCIL, "scram-sha-256")


@pytest.mark.parametrize("verifier", ["", None, "md5abc", "SCRAM-SHA-256$x:y$z", "SCRAM-SHA-256$4096"])
def test_invalid_verifiers_never_match(verifier):
    assert not pgpass.verified("user", "pencil", verifier, "scram-sha-256")


def test_new_verifiers_differ_and_match():
    first, second = (pgpass.stored("user", "pencil", "scram-sha-256") for _ in range(2))
    assert first != second
    assert pgpass.verified("user", "pencil", first, "scram-sha-256")


@pytest.mark.parametrize("encrypted", [True, "md5"])
def test_md5_depends_on_the_role(encrypted):
    stored = pgpass.stored("frank", "new", encrypted)
    assert stored == "md51868f8cdd9aa105673f3c62972911e40"  # stored by a server 15
    assert pgpass.verified("frank", "new", stored, encrypted)
    assert pgpass.verified("frank", stored, stored, encrypted)
    assert not pgpass.verified("anna", "new", stored, encrypted)
    assert pgpass.stored("frank", stored, encrypted) == stored


def test_plain_passwords_and_unknown_methods():
    assert pgpass.stored("frank", "new", False) == "new"
    assert pgpass.stored("frank", None) is None
    assert pgpass.verified("frank", "new", "new", False)
    assert not pgpass.verified("frank", "new", "new", "rot13")
    with pytest.raises(ValueError, match="rot13"):
        pgpass.stored("frank", "new", "rot13")


@pytest.mark.parametrize(
    "password, prepared",
    [
        ("I\xadX", "IX"),  # these are the examples of RFC 4013, section 3
        ("user", "user"),
        ("USER", "USER"),
        ("\xaa", "a"),
        ("\u2168", "IX"),
        ("\x07", "\x07"),  # forbidden, so used unchanged
        ("\u06271", "\u06271"),
        ("a\xa0b", "a b"),
        ("\xad", "\xad"),
    ],
)
def test_passwords_are_prepared_by_saslprep(password, prepared):
    assert pgpass.prepared(password) == prepared
