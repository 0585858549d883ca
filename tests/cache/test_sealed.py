"""Secrets in the cache: not readable there, not exchangeable, and an entry that cannot be decrypted is ignored."""

import logging
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from pushsalt.cache.sealed import SealedBank, key_path, user_key


@pytest.fixture
def bank(tmp_path):
    return SealedBank(tmp_path / "cache", "pillar", tmp_path / "state" / "cache.key")


def test_nothing_can_be_read_on_disk(bank, tmp_path):
    assert bank.put("web1", {"password": "canary-4711", "n": [1, None]})
    assert bank.get("web1") == {"password": "canary-4711", "n": [1, None]}
    assert [(key, value) for key, value, _ in bank.entries()] == [("web1", {"password": "canary-4711", "n": [1, None]})]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 2
    assert all(b"canary" not in path.read_bytes() and stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)


def test_equal_values_are_not_written_again(bank):
    bank.put("web1", {"a": 1})
    [entry] = bank.path.iterdir()
    before = entry.read_bytes()
    os.utime(entry, (1, 1))
    assert bank.put("web1", {"a": 1})
    assert entry.read_bytes() == before
    assert bank.written("web1") > 1
    bank.put("web1", {"a": 2})
    assert entry.read_bytes() != before


def test_an_entry_of_another_id_key_or_bank_is_none(bank, tmp_path, caplog):
    bank.put("web1", {"a": 1})
    bank.put("web2", {"a": 2})
    sealed = super(SealedBank, bank).get("web1")
    assert super(SealedBank, bank).put("web2", sealed)  # a valid file with the secret of another target
    assert bank.get("web2") is None
    assert caplog.messages == ["pillar: the entry of web2 was sealed with another key; it will be rebuilt"]
    assert SealedBank(tmp_path / "cache", "pillar", tmp_path / "other.key").get("web1") is None
    assert bank.put("web2", {"a": 3})
    assert bank.get("web2") == {"a": 3}


@pytest.mark.parametrize("content, mode", [(b"x" * 32, 0o644), (b"short", 0o600), (b"x" * 33, 0o600)])
def test_a_key_that_is_not_safe_is_not_used(tmp_path, caplog, content, mode):
    key = tmp_path / "state" / "cache.key"
    key.parent.mkdir(mode=0o700)
    key.write_bytes(content)
    key.chmod(mode)
    bank = SealedBank(tmp_path / "cache", "pillar", key)
    assert bank.put("web1", {"a": 1}) is False
    assert bank.get("web1") is None
    assert len(caplog.messages) == 1
    assert "pillar is not kept between runs" in caplog.messages[0]
    assert not list(tmp_path.glob("cache/pillar/*"))


def test_without_a_home_nothing_is_kept(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    assert key_path({}) is None
    assert key_path({"HOME": "/h"}).as_posix() == "/h/.local/state/pushsalt/cache.key"
    assert key_path({"HOME": "/h", "XDG_STATE_HOME": "/s"}).as_posix() == "/s/pushsalt/cache.key"
    bank = SealedBank(tmp_path, "pillar", None)
    assert bank.put("web1", {}) is False
    assert list(bank.entries()) == []


def test_processes_that_create_the_key_at_once_get_the_same(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: user_key(tmp_path / "state" / "cache.key"), range(16)))
    assert len(keys) == 1
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["cache.key"]
