"""Measures one figure of one store in a process: ``python index_stores.py STORE FIGURE FOLDER``; JSON on stdout.

Runs in the environment of the measured store, and imports only what that store needs. All stores have the durability
of pushsalt's index: a write that has returned survives SIGKILL, and is not synced.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

COUNT = int(os.environ.get("PUSHSALT_INDEX_COUNT", "1000000"))
SMALL = 1000
MANAGERS = 10_000
Triple = tuple[str, str, str]
now = time.perf_counter


def rows() -> Iterator[Triple]:
    """Half of one type, SMALL of another, the rest of eight types."""
    for n in range(COUNT):
        kind = "big" if n < COUNT // 2 else "small" if n < COUNT // 2 + SMALL else f"type{n % 8}"
        yield kind, f"res-{n:07d}", f"manager-{n * 7919 % MANAGERS:05d}"


class Pushsalt:
    def __init__(self, folder: str) -> None:
        from pushsalt.index import ResourceIndex

        self.index = ResourceIndex(folder)
        self.by_type, self.by_manager = self.index.by_type, self.index.by_manager
        self.get, self.put, self.put_many = self.index.get, self.index.put, self.index.put_many
        self.compact = self.index.compact

    def build(self) -> None:
        self.index.put_many(list(rows()))
        self.index.compact()


class Sqlite:
    def __init__(self, folder: str) -> None:
        import sqlite3

        Path(folder).mkdir(exist_ok=True)
        self.db = db = sqlite3.connect(f"{folder}/index.db", isolation_level=None, timeout=60)
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = normal")

    def build(self) -> None:
        self.db.execute("create table r (type text, id text, manager text, primary key (type, id)) without rowid")
        self.db.execute("create index m on r (manager, type, id)")
        self.put_many(list(rows()))
        self.compact()

    def by_type(self, kind: str) -> list[str]:
        return [id for (id,) in self.db.execute("select id from r where type = ?", (kind,))]

    def by_manager(self, manager: str) -> list[tuple[str, str]]:
        return self.db.execute("select type, id from r where manager = ?", (manager,)).fetchall()

    def get(self, kind: str, id: str) -> str | None:
        row = self.db.execute("select manager from r where type = ? and id = ?", (kind, id)).fetchone()
        return row[0] if row else None

    def put(self, *entry: str) -> None:
        self.db.execute("insert or replace into r values (?, ?, ?)", entry)

    def put_many(self, entries: list[Triple]) -> None:
        self.db.execute("begin immediate")
        self.db.executemany("insert or replace into r values (?, ?, ?)", entries)
        self.db.execute("commit")

    def compact(self) -> None:
        self.db.execute("vacuum")
        self.db.execute("pragma wal_checkpoint(truncate)")


class Lmdb:
    def __init__(self, folder: str) -> None:
        import lmdb

        self.folder = folder
        self.env = lmdb.open(folder, map_size=4 << 30, max_dbs=3, sync=False)
        self.srn = self.env.open_db(b"srn")
        self.types = self.env.open_db(b"types", dupsort=True)
        self.managers = self.env.open_db(b"managers", dupsort=True)

    def build(self) -> None:
        self.put_many(list(rows()))

    def by_type(self, kind: str) -> list[str]:
        with self.env.begin(db=self.types) as txn, txn.cursor() as cursor:
            return [bytes(id).decode() for id in cursor.iternext_dup()] if cursor.set_key(kind.encode()) else []

    def by_manager(self, manager: str) -> list[tuple[str, ...]]:
        with self.env.begin(db=self.managers) as txn, txn.cursor() as cursor:
            srns = cursor.iternext_dup() if cursor.set_key(manager.encode()) else ()
            return [tuple(bytes(srn).decode().split(":", 1)) for srn in srns]

    def get(self, kind: str, id: str) -> str | None:
        with self.env.begin(db=self.srn) as txn:
            manager = txn.get(f"{kind}:{id}".encode())
        return manager.decode() if manager else None

    def put(self, *entry: str) -> None:
        self.put_many([entry])  # type: ignore[list-item]

    def put_many(self, entries: list[Triple]) -> None:
        with self.env.begin(write=True) as txn:
            for kind, id, manager in entries:
                srn = f"{kind}:{id}".encode()
                old = txn.get(srn, db=self.srn)
                if old is not None:
                    txn.delete(old, srn, db=self.managers)
                txn.put(srn, manager.encode(), db=self.srn)
                txn.put(kind.encode(), id.encode(), db=self.types)
                txn.put(manager.encode(), srn, db=self.managers)

    def compact(self) -> None:
        copy = Path(self.folder + ".copy")
        copy.mkdir()
        self.env.copy(str(copy), compact=True)


class Salt:
    """Salt's own registry."""

    def __init__(self, folder: str) -> None:
        from salt.utils.resource_registry import _ResourceIndexStore

        Path(folder).mkdir(exist_ok=True)
        self.store = _ResourceIndexStore(f"{folder}/resource_index.by_id.mmap")
        self.by_type, self.by_manager, self.compact = (
            self.store.rids_by_type,
            self.store.resources_by_minion,
            self.store.compact,
        )

    def build(self) -> None:
        from salt.utils.resource_registry import _encode_by_id_value

        entries = ((f"{kind}:{id}", _encode_by_id_value(manager, kind)) for kind, id, manager in rows())
        assert self.store._primary.atomic_rebuild(entries)

    def get(self, kind: str, id: str) -> str | None:
        entry = self.store.get(f"{kind}:{id}")
        return entry["minion"] if entry else None

    def put(self, kind: str, id: str, manager: str) -> None:
        self.store.put(f"{kind}:{id}", manager, kind)

    def put_many(self, entries: list[Triple]) -> None:
        self.store.put_many([(f"{kind}:{id}", manager, kind) for kind, id, manager in entries])


STORES: dict[str, Callable[[str], Any]] = {"pushsalt": Pushsalt, "sqlite": Sqlite, "lmdb": Lmdb, "salt": Salt}


# --- figures ---------------------------------------------------------------------------------------------------------


def listing(store: Callable[[str], Any], folder: str, kind: str, expected: int) -> float:
    began = now()
    ids = store(folder).by_type(kind)
    took = now() - began
    assert len(ids) >= expected, len(ids)
    return took


def by_manager(store: Callable[[str], Any], folder: str) -> float:
    began = now()
    resources = store(folder).by_manager("manager-00042")
    took = now() - began
    assert resources
    return took


def get(store: Callable[[str], Any], folder: str, *, warm: bool) -> float:
    """Seconds of one lookup, the median of hundreds; keys are from all parts. ``warm``: keys were read before."""
    index = store(folder)
    rng = random.Random(1)
    entries = rng.sample(list(rows()), 20_000)
    for kind, id, manager in (*entries[:100], *(entries if warm else ())):
        assert index.get(kind, id) == manager
    keys = [(kind, id) for kind, id, _ in entries]
    times = []
    for at in range(0, len(keys), 100):
        began = now()
        for key in keys[at : at + 100]:
            index.get(*key)
        times.append((now() - began) / 100)
    return sorted(times)[len(times) // 2]


def put(store: Callable[[str], Any], folder: str) -> float:
    """The mean of many writes, so that periodic work counts; of few for slow stores."""
    index = store(folder)
    count = 3 if store is Salt else 3000
    began = now()
    for n in range(count):
        index.put("big", f"put-{os.getpid()}-{n}", f"manager-{n % MANAGERS:05d}")
    return (now() - began) / count


def batch(store: Callable[[str], Any], folder: str) -> float:
    index = store(folder)
    times = []
    for n in range(1 if store is Salt else 9):
        size = 10 if store is Salt else 1000
        ids = [f"batch-{os.getpid()}-{n}-{m}" for m in range(size)]
        entries = [("big", id, f"manager-{m % MANAGERS:05d}") for m, id in enumerate(ids)]
        began = now()
        index.put_many(entries)
        times.append((now() - began) * 1000 / size)
    return sorted(times)[len(times) // 2]


def time_after_write(name: str, folder: str) -> float:
    """A listing after a write by another process."""
    store = STORES[name]
    index = store(folder)
    index.by_type("small")
    times = []
    with subprocess.Popen(
        [sys.executable, __file__, name, "writer", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer_process:
        assert writer_process.stdin and writer_process.stdout
        for n in range(2 if store is Salt else 15):
            writer_process.stdin.write(f"seen-{os.getpid()}-{n}\n")
            writer_process.stdin.flush()
            writer_process.stdout.readline()
            if store is Salt:
                time.sleep(0.3)  # its process looks for changes four times a second
            began = now()
            ids = index.by_type("small")
            times.append(now() - began)
            assert f"seen-{os.getpid()}-{n}" in ids
        writer_process.stdin.close()
    return sorted(times)[len(times) // 2]


def writer(store: Callable[[str], Any], folder: str) -> None:
    index = store(folder)
    for line in sys.stdin:
        index.put("small", line.strip(), "manager-00001")
        print("done", flush=True)


def compaction(store: Callable[[str], Any], folder: str) -> dict[str, float]:
    """The time and memory of a compaction after changes of a hundredth of the entries."""
    index = store(folder)
    if store is not Salt:
        for n in range(0, COUNT // 100, 1000):
            index.put_many([("big", f"more-{n + m}", f"manager-{(n + m) % MANAGERS:05d}") for m in range(1000)])
    began = now()
    index.compact()
    took = now() - began
    return {"seconds": took, "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def waits(store: Callable[[str], Any], folder: str, role: str) -> dict[str, float]:
    """Waits of single reads or writes, until stdin ends: the 99.9th percentile, and the maximum."""
    index = store(folder)
    index.get("big", "res-0000001")
    rng = random.Random(role)
    times = []
    os.set_blocking(0, False)
    print("ready", flush=True)
    while sys.stdin.buffer.read(1) is None:
        n = rng.randrange(COUNT // 2)
        began = now()
        if role == "read":
            index.get("big", f"res-{n:07d}")
        else:
            index.put("big", f"wait-{n}-{os.getpid()}", "manager-00001")
        times.append(now() - began)
        time.sleep(0.0005)
    times.sort()
    return {"p99.9": times[int(len(times) * 0.999)], "max": times[-1], "count": len(times)}


def size(folder: str) -> float:
    """Bytes per entry."""
    return sum(path.stat().st_size for path in Path(folder).iterdir()) / COUNT


def main(name: str, figure: str, folder: str) -> None:
    store = STORES[name]
    if figure == "writer":
        writer(store, folder)
        return
    figures: dict[str, Callable[[], Any]] = {
        "build": lambda: store(folder).build(),
        "small": lambda: listing(store, folder, "small", SMALL),
        "big": lambda: listing(store, folder, "big", COUNT // 2),
        "manager": lambda: by_manager(store, folder),
        "get": lambda: get(store, folder, warm=True),
        "first get": lambda: get(store, folder, warm=False),
        "put": lambda: put(store, folder),
        "batch": lambda: batch(store, folder),
        "seen": lambda: time_after_write(name, folder),
        "compaction": lambda: compaction(store, folder),
        "waits read": lambda: waits(store, folder, "read"),
        "waits write": lambda: waits(store, folder, "write"),
        "size": lambda: size(folder),
    }
    if name == "pushsalt":
        import pushsalt.index.resources  # noqa: F401  what the others have imported before the clock starts, too
    elif name == "salt":
        import salt.utils.resource_registry  # noqa: F401
    elif name == "lmdb":
        import lmdb  # noqa: F401
    else:
        import sqlite3  # noqa: F401
    result = figures[figure]()
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
