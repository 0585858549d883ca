"""Writes a segment of resources that are all in memory. A writer does this every thousand writes: it must be fast."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from itertools import accumulate, chain

from pushsalt.index.filters import hash_keys
from pushsalt.index.format import SEPARATORS, encode, escape
from pushsalt.index.layers import ByType
from pushsalt.index.output import Output, posting
from pushsalt.index.segment import GONE, NOBODY, PLACE
from pushsalt.index.table import OWNER, TABLE


def write(out: Output, entries: ByType, *, lowest: bool) -> None:
    """Write the segment; deleted resources are left out if it is the lowest one."""
    kinds = sorted(_kinds(entries, lowest))
    owners = {owner for _, _, of in kinds for owner in of}
    gone = None in owners
    names = sorted((escape(owner), owner) for owner in owners if owner is not None)
    numbers: dict[str | None, int] = {owner: number for number, (_, owner) in enumerate(names)}
    numbers[None] = NOBODY

    sought = []
    rows = []
    texts: dict[str | None, list[str]] = {owner: [name] for name, owner in [(GONE, None), *names]}
    counts = dict.fromkeys(texts, 0)
    for type, ids, of in kinds:
        managed = struct.pack(f"<{len(of)}I", *map(numbers.__getitem__, of))
        rows.append(TABLE.pack(*out.table(ids, managed, OWNER.size)))
        sought.append(hash_keys(type, encode("\0".join(ids))))
        runs: dict[str | None, list[str]] = {}
        for id, owner in zip(ids, of, strict=True):
            if owner in runs:
                runs[owner].append(id)
            else:
                runs[owner] = [id]
        for owner, run in runs.items():
            texts[owner].append(f"\1{type}\0" + "\0".join(run))
            counts[owner] += len(run)
    types = out.table([type for type, _, _ in kinds], b"".join(rows), TABLE.size)

    if not gone:
        del texts[None], counts[None]
    postings = [posting("".join(parts)) for parts in texts.values()]
    lengths = [*map(len, postings)]
    length = sum(lengths)
    place = out.add(b"".join(postings))
    places = chain.from_iterable(zip(accumulate(lengths, initial=place), lengths, counts.values(), strict=False))
    table = struct.pack(f"<{3 * len(postings)}Q", *places)[PLACE.size * gone :]
    managers = out.table([name for name, _ in names], table, PLACE.size)
    out.finish(sum(counts.values()), gone=gone, types=types, managers=managers, postings=(place, length), hashes=sought)


def _kinds(entries: ByType, lowest: bool) -> Iterable[tuple[str, list[str], list[str | None]]]:
    """Escaped types, each with its sorted ids and their managers."""
    for type, owners in entries.items():
        if lowest and None in owners.values():
            owners = {id: owner for id, owner in owners.items() if owner is not None}
        if owners:
            owners = escaped(owners)
            ids = sorted(owners)
            yield escape(type), ids, [*map(owners.__getitem__, ids)]


def escaped(owners: Mapping[str, str | None]) -> Mapping[str, str | None]:
    """The mapping with escaped ids."""
    text = "".join(owners)
    if not any(separator in text for separator in SEPARATORS):
        return owners
    return {escape(id): owner for id, owner in owners.items()}


__all__ = ["escaped", "write"]
