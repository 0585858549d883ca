"""Tokens and attempts: what is stored, when it ends, how often passwords can be tried."""

from __future__ import annotations

import stat

from pushsalt.serve.attempts import OF_ACCOUNT, OF_ADDRESS, WINDOW, Attempts
from pushsalt.serve.tokens import Tokens


def test_a_token_stands_for_its_account_until_its_end(tmp_path):
    tokens = Tokens(tmp_path)
    text, made = tokens.make("anna", "file", 60)
    assert int(text, 16)
    assert tokens.get(text) == made
    assert (made.name, made.eauth, made.expire - made.start) == ("anna", "file", 60)
    assert tokens.get(text[:-1]) is None
    assert tokens.get(text.upper()) is None or text.upper() == text
    old, _ = tokens.make("anna", "file", -1)
    assert tokens.get(old) is None
    tokens.remove(text)
    assert tokens.get(text) is None


def test_tokens_outlive_the_process_and_are_not_on_disk(tmp_path):
    tokens = Tokens(tmp_path)
    text, made = tokens.make("anna", "file", 60)
    tokens.close()
    assert Tokens(tmp_path).get(text) == made
    assert text.encode() not in tokens.path.read_bytes()
    assert bytes.fromhex(text) not in tokens.path.read_bytes()
    assert stat.S_IMODE(tokens.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(tokens.path.parent.stat().st_mode) == 0o700


def test_the_oldest_tokens_of_an_account_go(tmp_path, monkeypatch):
    monkeypatch.setattr("pushsalt.serve.tokens._TOKENS", 3)
    tokens = Tokens(tmp_path)
    kept, _ = tokens.make("ben", "file", 60)
    texts = [tokens.make("anna", "file", 60)[0] for _ in range(5)]
    assert [tokens.get(text) is not None for text in texts] == [False, False, True, True, True]
    assert tokens.get(kept) is not None


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def test_an_account_can_be_tried_a_few_times_a_minute():
    clock = Clock()
    attempts = Attempts(clock)
    for _ in range(OF_ACCOUNT):
        assert attempts.wait("10.0.0.1", "anna") == 0
        attempts.begins("10.0.0.1", "anna")
    assert attempts.wait("10.0.0.1", "anna") == WINDOW
    assert attempts.wait("10.0.0.2", "anna") == 0  # nobody is locked out by others
    assert attempts.wait("10.0.0.1", "ben") == 0
    clock.now += WINDOW
    assert attempts.wait("10.0.0.1", "anna") == 0


def test_an_address_can_try_a_few_accounts_a_minute():
    attempts = Attempts(Clock())
    for number in range(OF_ADDRESS):
        attempts.begins("10.0.0.1", f"user{number}")
    assert attempts.wait("10.0.0.1", "another") == WINDOW
    assert attempts.wait("10.0.0.2", "another") == 0


def test_good_logins_do_not_count():
    attempts = Attempts(Clock())
    for _ in range(3 * OF_ADDRESS):
        assert attempts.wait("10.0.0.1", "anna") == 0
        attempts.begins("10.0.0.1", "anna")
        attempts.succeeded("10.0.0.1", "anna")


def test_the_number_of_remembered_failures_is_limited(monkeypatch):
    monkeypatch.setattr("pushsalt.serve.attempts._REMEMBERED", 10)
    attempts = Attempts(Clock())
    for number in range(100):
        attempts.begins(f"10.0.0.{number}", "anna")
    assert len(attempts._failures) <= 10
