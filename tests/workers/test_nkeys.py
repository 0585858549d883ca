"""NKeys and JWTs have the format of other NATS programs."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from pushsalt.errors import UsageError
from pushsalt.workers import nkeys
from pushsalt.workers.nkeys import NKey
from tests.beds.nats import claims_of

#: a key, and its signature of a nonce, as the tests of mmmries/nkeys have them
SEED = "SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU"
PUBLIC = "UCK5N7N66OBOINFXAYC2ACJQYFSOD4VYNU6APEJTAVFZB2SVHLKGEW7L"
NONCE = b"PXoWU7zWAMt75FY"
SIGNED = "ZaAiVDgB5CeYoXoQ7cBCmq+ZllzUnGUoDVb8C7PilWvCs8XKfUchAUhz2P4BYAF++Dg3w05CqyQFRDiGL6LrDw=="


def test_a_seed_of_another_program_has_the_same_public_key_and_signature():
    user = NKey.parse(SEED)
    assert (user.kind, user.public, user.seed) == (nkeys.USER, PUBLIC, SEED)
    assert base64.b64encode(user.sign(NONCE)).decode() == SIGNED


@pytest.mark.parametrize("kind, letters", [(nkeys.OPERATOR, "SO"), (nkeys.ACCOUNT, "SA"), (nkeys.USER, "SU")])
def test_each_kind_of_key_has_its_prefix(kind, letters):
    key = NKey.new(kind)
    assert key.seed.startswith(letters) and key.public.startswith(letters[1])
    assert NKey.parse(key.seed) == key


@pytest.mark.parametrize("text", ["", "SU", PUBLIC, SEED[:-1], SEED[:20] + "A" + SEED[21:], "ß" * 58])
def test_a_text_that_is_no_seed_is_refused(text):
    with pytest.raises(ValueError):
        NKey.parse(text)


def test_a_private_key_is_not_shown():
    key = NKey.new(nkeys.USER)
    assert key.private.hex() not in repr(key) and repr(key.private) not in repr(key)


def test_a_jwt_is_signed_by_its_issuer():
    account, user = NKey.new(nkeys.ACCOUNT), NKey.new(nkeys.USER)
    jwt = nkeys.user_jwt(account, user.public, "berlin", ["a.b"], ["c.>"])
    signed, _, signature = jwt.rpartition(".")
    public = Ed25519PublicKey.from_public_bytes(account._key.public_key().public_bytes_raw())
    public.verify(base64.urlsafe_b64decode(signature + "=="), signed.encode())
    claims = claims_of(jwt)
    assert (claims["iss"], claims["sub"]) == (account.public, user.public)
    assert claims["nats"]["pub"] == {"allow": ["a.b"]} and claims["nats"]["sub"] == {"allow": ["c.>"]}


def test_a_credentials_file_has_the_jwt_and_the_seed():
    account, user = NKey.new(nkeys.ACCOUNT), NKey.new(nkeys.USER)
    jwt = nkeys.user_jwt(account, user.public, "berlin", [], [])
    text = nkeys.credentials(jwt, user)
    assert (nkeys.jwt_of(text), nkeys.user_of(text)) == (jwt, user)
    for read in (nkeys.jwt_of, nkeys.user_of):
        with pytest.raises(UsageError, match="no credentials file"):
            read("nothing")
