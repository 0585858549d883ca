"""Entries of workers, which are not sealed: a wrong one changes nothing for others."""

from __future__ import annotations

import time
import zlib

import pytest

from pushsalt.workers import connection, messages, names, state

pytestmark = pytest.mark.slow


async def test_wrong_entries_of_workers_are_left_out(server):
    """The NATS client takes a stored message with a status header for an answer of the server."""
    found = await connection.connect(server.url)
    await found.setup(["a", "b"])
    good = {"id": "good", "version": "1", "since": time.time() - 5, "busy": 0}
    packed = messages.pack_data({**good, "id": "packed", "more": "x" * 2000})
    assert not messages.is_small(packed)
    empty = b"\x81\xa1a\xdd" + (10**6).to_bytes(4, "big") + b"\x80" * 10**6
    entries = {
        "good": (messages.pack_data(good), None),
        "status": (b"", {"Status": "500"}),
        "described": (b"", {"Status": "503", "Description": "no", "Nats-Subject": "x"}),
        "large": (b"z" + zlib.compress(empty), None),
        "packed": (packed, None),
        "bytes": (b"\0\1", None),
        "other": (messages.pack_data(good), None),
    }
    for name, (data, headers) in entries.items():
        await found.js.publish(f"$KV.{names.WORKERS_BUCKET}.a.{name}", data, headers=headers)
    await found.put(names.WORKERS_BUCKET, "b.good", messages.pack_data(good))
    present = await state.workers(found)
    await found.close()
    assert {site: [each["id"] for each in entries] for site, entries in present.items()} == {
        "a": ["good"],
        "b": ["good"],
    }


async def test_a_site_with_many_entries_does_not_hide_others(server, monkeypatch):
    monkeypatch.setattr(state, "_ENTRIES", 3)
    found = await connection.connect(server.url)
    await found.setup(["a", "b"])
    for site, number in (("a", 10), ("b", 1)):
        for n in range(number):
            entry = {"id": f"w{n}", "version": "1", "since": time.time() - 5, "busy": 0}
            await found.put(names.WORKERS_BUCKET, f"{site}.w{n}", messages.pack_data(entry))
    present = await state.workers(found)
    await found.close()
    assert {site: len(entries) for site, entries in present.items()} == {"a": 3, "b": 1}
