"""The cache's files: private, atomic, checked; a damaged one is never returned."""

import logging
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushsalt.cache.store import Bank, file_bytes, private_dir, write_atomic


def test_round_trip_and_privacy(tmp_path):
    bank = Bank(tmp_path, "grains")
    old = os.umask(0)
    try:
        assert bank.put("web/../../1", {"os": "Debian", 1: b"\x00"})
    finally:
        os.umask(old)
    assert bank.get("web/../../1") == {"os": "Debian", 1: b"\x00"}
    assert bank.get("other") is None
    assert list(bank.keys()) == ["web/../../1"]
    [entry] = bank.path.iterdir()
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert stat.S_IMODE(bank.path.stat().st_mode) == 0o700
    assert bank.delete("web/../../1")
    assert not bank.delete("web/../../1")


def test_an_unchanged_entry_is_not_written_again(tmp_path):
    bank = Bank(tmp_path, "grains")
    bank.put("id", {"a": 1})
    [entry] = bank.path.iterdir()
    os.utime(entry, (1, 1))
    first = entry.stat()
    assert bank.put("id", {"a": 1})
    assert entry.stat().st_ino == first.st_ino
    assert entry.stat().st_mtime > 1  # it counts as freshly written
    keep_open = entry.open()  # so that the next file does not get its inode
    assert bank.put("id", {"a": 2})
    assert (entry.stat().st_ino != first.st_ino, bank.get("id")) == (True, {"a": 2})
    keep_open.close()


def test_every_flipped_or_cut_byte_is_absent(tmp_path):
    bank = Bank(tmp_path, "grains")
    bank.put("id", {"a": 1})
    [entry] = bank.path.iterdir()
    sound = entry.read_bytes()
    for at in range(len(sound)):
        entry.write_bytes(sound[:at] + bytes([sound[at] ^ 0x40]) + sound[at + 1 :])
        assert bank.get("id") is None
        entry.write_bytes(sound[:at])
        assert bank.get("id") is None
    entry.write_bytes(sound)
    assert bank.get("id") == {"a": 1}


def test_damage_is_reported_once(tmp_path, caplog):
    bank = Bank(tmp_path, "grains")
    bank.put("id", 1)
    [entry] = bank.path.iterdir()
    entry.write_bytes(b"x")
    with caplog.at_level(logging.WARNING):
        bank.get("id")
        bank.get("id")
    assert len(caplog.records) == 1


def test_an_unwritable_cache_is_reported_and_the_run_continues(tmp_path, caplog):
    (tmp_path / "grains").write_text("a file where the folder should be")
    bank = Bank(tmp_path, "grains")
    with caplog.at_level(logging.WARNING):
        assert not bank.put("id", 1)
        assert not bank.put("id", 1)
    assert bank.get("id") is None
    assert len(caplog.records) == 1


def test_no_link_and_no_pipe_is_followed(tmp_path):
    bank = Bank(tmp_path, "grains")
    bank.put("id", 1)
    [entry] = bank.path.iterdir()
    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    assert bank.get("id") is None
    entry.unlink()
    os.mkfifo(entry)
    assert bank.get("id") is None


def test_shared_folder_is_refused(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(PermissionError, match="others"):
        private_dir(shared)


def test_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "entry"
    write_atomic(path, b"old")
    with pytest.raises(TypeError):
        write_atomic(path, "not bytes")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


plain = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.binary()


@given(st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10))
def test_any_value_survives(tmp_path_factory, value):
    bank = Bank(tmp_path_factory.mktemp("cache"), "any")
    assert bank.put("key", value)
    assert bank.get("key") == value


def test_a_folder_or_a_file_that_cannot_be_read_is_no_entry(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "plain").write_bytes(b"x")
    before = len(os.listdir("/proc/self/fd"))
    assert [file_bytes(tmp_path / name) for name in ("folder", "pipe", "plain", "none")] == [None, None, b"x", None]

    def fails(*args, **kwargs):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("pushsalt.cache.store.os.fdopen", fails)
    assert file_bytes(tmp_path / "plain") is None
    assert len(os.listdir("/proc/self/fd")) == before
