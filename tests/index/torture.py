"""Writers, readers and a compactor on one index, each killed by SIGKILL at random moments and started again.

    python tests/index/torture.py resources --seconds 600 --seed 7

The other kind is `grains`. Rules: an acknowledged write is there; an unfinished one is there whole or not at all; no
reader sees an older state after a newer one, nor a part of a batch; and at the end the files are intact. Each writer
has names of its own, and writes a line to a file of its own before and after each write.
"""

import argparse
import itertools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pushsalt.index import GrainIndex, ResourceIndex, compaction, resources

BATCH = 12
#: limits for the processes, so that segments are made and merged many times a second
BOUNDS = {"LOG_WRITES": 8, "LOG_ENTRIES": 60, "BATCH": BATCH * 2, "AT_ONCE": 200, "FEW": 3, "MOST": 8}
BOUNDS["CHECKPOINT_WRITES"] = 3


class Resources:
    """Batch number ``n`` of a writer: BATCH resources of its type, all managed by ``writer-n``."""

    def __init__(self, folder):
        self.index = ResourceIndex(folder)

    def put(self, writer, n):
        entries = [(writer, str(i), f"{writer}-{n}") for i in range(BATCH)]
        many = [("more", f"{writer}+{i}", "nobody") for i in range(BATCH * 2)]
        self.index.put_many(entries if n % 5 else entries + many)  # every fifth becomes a segment

    def put_one(self, writer, n):
        self.index.put("single", writer, str(n))

    def delete(self, writer, n):
        self.index.delete("single", writer)

    def newest(self, writer):
        manager = self.index.get(writer, "0")
        return int(manager.partition("-")[2]) if manager else -1

    def size(self, writer, n):
        """The visible part of a batch: all of it, or nothing once the next has been written."""
        return len(self.index.by_manager(f"{writer}-{n}"))

    def single(self, writer):
        found = self.index.get("single", writer)
        return None if found is None else int(found)


class Grains:
    """Batch number ``n`` of a writer: BATCH ids with a grain ``batch`` of ``writer-n``."""

    def __init__(self, folder):
        self.index = GrainIndex(folder)

    def put(self, writer, n):
        many = BATCH if n % 5 else BATCH * 8  # every fifth becomes a segment
        docs = [(f"{writer}-{i}", {"batch": f"{writer}-{n}", "n": n, "own": f"{writer}{i}{n}"}) for i in range(BATCH)]
        self.index.put_many(docs + [(f"{writer}+{i}", {"os": "Debian"}) for i in range(many - BATCH)])

    def put_one(self, writer, n):
        self.index.put_many([(f"single-{writer}", {"n": n})])

    def delete(self, writer, n):
        self.index.delete(f"single-{writer}")

    def newest(self, writer):
        try:
            return self.index.view().value(f"{writer}-0", "n")
        except KeyError:
            return -1

    def size(self, writer, n):
        return len(self.index.match(f"batch:{writer}-{n}"))

    def single(self, writer):
        try:
            return self.index.view().value(f"single-{writer}", "n")
        except KeyError:
            return None


KINDS = {"resources": Resources, "grains": Grains}


# --- the processes ---------------------------------------------------------------------------------------------------


def write(kind, folder, writer, journal):
    """Continue where the last process of that name stopped."""
    index = KINDS[kind](folder)
    lines = Path(journal).read_text().split("\n")[:-1] if os.path.exists(journal) else []
    n = len([line for line in lines if line.startswith("begin")])
    with open(journal, "ab", buffering=0) as notes:
        while True:
            what = ("put", "put_one", "put", "delete")[n % 4]
            notes.write(f"begin {n} {what}\n".encode())
            getattr(index, what)(writer, n)
            notes.write(f"done {n} {what}\n".encode())
            n += 1


def read(kind, folder, writers):
    index = KINDS[kind](folder)
    seen = dict.fromkeys(writers, -1)
    while True:
        for writer in writers:
            n = index.newest(writer)
            assert n >= seen[writer], f"{writer}: {n} after {seen[writer]}"
            seen[writer] = n
            if n >= 0:
                size = index.size(writer, n)
                assert size in (0, BATCH), f"{writer}: {size} of batch {n}"
                assert size or index.newest(writer) > n, f"{writer}: batch {n} is gone, and no later one came"


def compact(kind, folder):
    """Merge all segments at times, and otherwise those that are due, as the process that writers start does."""
    index = KINDS[kind](folder)
    for round in itertools.count():
        if round % 20:
            index.index.maintain()
        else:
            index.index.compact()
        time.sleep(0.02)


def main(role, kind, folder, *rest):
    for module in (resources, compaction):
        for name, value in BOUNDS.items():
            if hasattr(module, name):
                setattr(module, name, value)
    if role == "write":
        write(kind, folder, *rest)
    elif role == "read":
        read(kind, folder, rest)
    else:
        compact(kind, folder)


# --- the process that kills -------------------------------------------------------------------------------------------


def check(kind, folder, writers, journals):
    """Compare the index with what the writers recorded. Returns the number of acknowledged writes."""
    index = KINDS[kind](folder)
    acknowledged = 0
    for writer in writers:
        lines = journals[writer].read_text().split("\n")[:-1] if journals[writer].exists() else []
        events = [line.split() for line in lines]
        done = {int(n) for word, n, _ in events if word == "done"}
        acknowledged += len(done)
        batch, single, open_batch, open_single = -1, None, set(), set()
        for word, n, what in events:
            value = None if what == "delete" else int(n)
            if word == "begin" and int(n) not in done:
                # An unfinished write may be stored, unless a later acknowledged one replaced it.
                (open_batch if what == "put" else open_single).add(value)
            elif word == "done" and what == "put":
                batch, open_batch = value, set()
            elif word == "done":
                single, open_single = value, set()
        found = index.newest(writer)
        assert found in {batch, *open_batch}, f"{writer}: batch {found}, not {batch} or {open_batch}"
        assert found < 0 or index.size(writer, found) == BATCH
        found = index.single(writer)
        assert found in {single, *open_single}, f"{writer}: single {found}, not {single} or {open_single}"
    assert index.index.verify() == []
    index.index.close()
    return acknowledged


def torture(kind, folder, seconds, seed):
    """Returns (writes acknowledged, kills). Raises AssertionError."""
    rng = random.Random(seed)
    base = Path(folder)
    writers = ["w0", "w1", "w2"]
    journals = {writer: base / f"{writer}.txt" for writer in writers}
    shared = str(base / "index")
    roles = [("write", writer, str(journals[writer])) for writer in writers] + [("read", *writers)] * 2 + [("compact",)]
    running = {}

    def start(place):
        role, *rest = roles[place]
        argv = [sys.executable, __file__, "--role", role, kind, shared, *rest]
        running[place] = subprocess.Popen(argv, stderr=subprocess.PIPE)

    kills = 0
    try:
        for place in range(len(roles)):
            start(place)
        while not all(journals[writer].exists() and b"done" in journals[writer].read_bytes() for writer in writers):
            time.sleep(0.02)  # on a busy machine a process takes a while to begin
            assert all(one.poll() is None for one in running.values())
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(rng.uniform(0.02, 0.4))
            place = rng.randrange(len(roles))
            process = running[place]
            for other, one in running.items():
                assert one.poll() is None, f"{roles[other]} ended: {one.stderr.read().decode()[-2000:]}"
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
            start(place)
            if kills % 10 == 0:
                # kill all at once, and check: no process is left that could repair anything
                for one in running.values():
                    one.kill()
                    one.communicate()
                check(kind, shared, writers, journals)
                for each in range(len(roles)):
                    start(each)
    finally:
        for one in running.values():
            one.kill()
            one.communicate()
    return check(kind, shared, writers, journals), kills


if __name__ == "__main__":
    if sys.argv[1] == "--role":
        main(*sys.argv[2:])
        sys.exit()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        writes, killed = torture(given.kind, place, given.seconds, given.seed)
        print(f"{writes} writes acknowledged, {killed} processes killed, nothing lost")
