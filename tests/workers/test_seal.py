"""Sealed messages: only the receiver reads them, only the sender can have made them."""

from __future__ import annotations

import dataclasses

import pytest

from pushsalt.errors import UsageError
from pushsalt.planning import agefile
from pushsalt.workers.keys import CONTROLLER
from pushsalt.workers.seal import Keys, NotAuthentic, PrivateKeys, PublicKeys


@pytest.fixture
def parties():
    controller, a, b = PrivateKeys.new(), PrivateKeys.new(), PrivateKeys.new()
    public = {CONTROLLER: controller.public, "a": a.public, "b": b.public}
    own = {CONTROLLER: controller.public}
    return {CONTROLLER: Keys(controller, public), "a": Keys(a, own), "b": Keys(b, own)}


def test_the_receiver_reads_what_the_controller_sealed(parties):
    sealed = parties[CONTROLLER].seal("a", b"pillar", "job 1")
    assert b"pillar" not in sealed
    assert parties["a"].open(CONTROLLER, sealed, "job 1") == b"pillar"


def test_another_site_cannot_read_it(parties):
    sealed = parties[CONTROLLER].seal("a", b"pillar", "job 1")
    with pytest.raises(NotAuthentic, match="another key"):
        parties["b"].open(CONTROLLER, sealed, "job 1")


def test_a_sealed_message_has_one_purpose(parties):
    sealed = parties[CONTROLLER].seal("a", b"pillar", "job 1")
    with pytest.raises(NotAuthentic, match="not signed"):
        parties["a"].open(CONTROLLER, sealed, "job 2")


def test_who_knows_only_public_keys_can_forge_nothing(parties):
    """A broker, or another site, has public keys, and its own private ones."""
    stranger = Keys(PrivateKeys.new(), {"a": parties[CONTROLLER].peer("a")})
    for message in (
        stranger.seal("a", b"evil", "job 1"),
        agefile.encrypt(b"\0" * 64 + b"evil", [stranger.peer("a").seal]),
    ):
        with pytest.raises(NotAuthentic, match="not signed"):
            parties["a"].open(CONTROLLER, message, "job 1")


def test_what_a_site_received_cannot_be_sent_on_to_another(parties):
    sealed = parties[CONTROLLER].seal("a", b"pillar", "job 1")
    opened = agefile.decrypt(sealed, [parties["a"].private.identity])
    again = agefile.encrypt(opened, [parties[CONTROLLER].peer("b").seal])
    with pytest.raises(NotAuthentic, match="not signed"):
        parties["b"].open(CONTROLLER, again, "job 1")


@pytest.mark.parametrize("at", [0, 30, 120, -1])
def test_a_changed_byte_is_an_error(parties, at):
    sealed = bytearray(parties[CONTROLLER].seal("a", b"pillar", "job 1"))
    sealed[at] ^= 1
    with pytest.raises(NotAuthentic):
        parties["a"].open(CONTROLLER, bytes(sealed), "job 1")


def test_a_site_without_keys_gets_nothing(parties):
    with pytest.raises(UsageError, match="no public key of the site c") as caught:
        parties[CONTROLLER].seal("c", b"pillar", "job 1")
    assert "pushsalt worker init c" in caught.value.hint


def test_keys_as_text(parties):
    private = parties["a"].private
    assert PrivateKeys.parse(private.text(), "x") == private
    assert PublicKeys.parse(private.public.text("title"), "x") == private.public
    assert private.identity not in repr(private) and private.signer not in repr(private)


@pytest.mark.parametrize("change", [{"seal": "age1x"}, {"sign": "00"}, {"sign": "x" * 64}])
def test_damaged_keys_are_refused_with_their_file(parties, change):
    public = dataclasses.replace(parties["a"].private.public, **change)
    with pytest.raises(UsageError, match=r"a\.pub has no public keys"):
        PublicKeys.parse(public.text("title"), "a.pub")
    with pytest.raises(UsageError, match=r"site\.key has no private keys"):
        PrivateKeys.parse("identity: AGE-SECRET-KEY-1X\nsigner: 00\n", "site.key")
