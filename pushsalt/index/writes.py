"""Encodes and decodes the writes in the log of the resource index: puts, deletions, and checkpoints of all of them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from itertools import groupby, repeat

from pushsalt.index.format import CHECKPOINT, HINT, Damage, decode, encode, join, split
from pushsalt.index.layers import ByType


def items_of(payloads: Iterable[bytes]) -> Iterator[tuple[str, str, str | None]]:
    """The entries (type, id, manager) of these writes. Raises Damage."""
    for kind, of_kind in groupby(payloads, key=lambda payload: payload[:1]):
        if kind == CHECKPOINT[:1]:
            for payload in of_kind:
                yield from items_of(_of_checkpoint(payload))
            continue
        fields = split(decode(b"\0".join([payload[1:] for payload in of_kind])))
        if kind == b"P" and len(fields) % 3 == 0:
            yield from zip(fields[0::3], fields[1::3], fields[2::3], strict=True)
        elif kind == b"D" and len(fields) % 2 == 0:
            yield from zip(fields[0::2], fields[1::2], repeat(None))
        else:
            raise Damage("its log has a write of an unknown kind")


def checkpoint(entries: ByType) -> bytes:
    """The payload of a checkpoint: the length of a write with all present entries, that write, and one with all
    deletions."""
    fields: list[str] = []
    gone: list[str] = []
    for type, owners in entries.items():
        for id, manager in owners.items():
            if manager is None:
                gone += (type, id)
            else:
                fields += (type, id, manager)
    puts = encode("P" + join(fields)) if fields else b""
    return CHECKPOINT + struct.pack("<I", len(puts)) + puts + (encode("D" + join(gone)) if gone else b"")


def _of_checkpoint(payload: bytes) -> Iterator[bytes]:
    """The writes within a checkpoint. Raises Damage."""
    at = len(CHECKPOINT) + 4
    if not payload.startswith(CHECKPOINT) or len(payload) < at:
        raise Damage("its log has a write of an unknown kind")
    end = at + struct.unpack_from("<I", payload, len(CHECKPOINT))[0]
    yield from (write for write in (payload[at:end], payload[end:]) if write)


def without(batch: ByType, payload: bytes) -> bytes:
    """A write from before a batch, without the entries that the batch overrides."""
    items = list(items_of([payload]))
    kept = [(type, id, manager or "") for type, id, manager in items if id not in batch.get(type, ())]
    if len(kept) == len(items):
        return payload
    return encode("P" + join([text for triple in kept for text in triple])) if kept else HINT  # only a put has several
