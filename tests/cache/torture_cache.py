"""Controllers that share a cache folder, killed by SIGKILL at random moments, while its indexes are damaged.

    python tests/cache/torture_cache.py --seconds 600 --seed 7

Two controllers write to all banks of targets and resources, two readers read, one tidies up; a damager flips bits of
the files of the indexes, cuts them, overwrites parts with zeros or removes them, all at the same time. `--no-damage`
leaves it out. Rules: acknowledged writes are in the files and in the index; an unfinished write is there whole or not
at all; no reader sees an older state after a newer one, nor a part of a batch; and at the end the indexes agree with
the files. Each controller has names of its own, and some that both write to; it records each write in a file of its
own.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pushsalt.cache.grains import GrainBank
from pushsalt.cache.mine import MineBank
from pushsalt.cache.pillar import PillarBank
from pushsalt.cache.resources import ResourceBank
from pushsalt.cache.store import Bank
from pushsalt.errors import IndexCorrupt

CONTROLLERS = ("c0", "c1")
BATCH = 7
TOGETHER = 90  # more than an index keeps in its log


class Cache:
    """The banks of a controller in the shared folder."""

    def __init__(self, root):
        root = Path(root)
        self.grains = GrainBank(root)
        self.resource_grains = GrainBank(root, "resource_grains")
        self.pillar = PillarBank(root, "pillar", root / "state" / "cache.key")
        self.mine = MineBank(root)
        self.managers = Bank(root, "minion_resources")
        self.resources = ResourceBank(root)

    # --- writes of a controller, by number; each is acknowledged when it returns --------------------------------------

    def write(self, what, who, n):
        getattr(self, f"write_{what}")(who, n)

    def write_batch(self, who, n):
        size = TOGETHER if n % 40 == 0 else BATCH
        values = {f"{who}-{i}": {"n": n, "batch": f"{who}-{n}"} for i in range(BATCH)}
        assert self.grains.put_many({**values, **{f"{who}+{i}": {"os": "Debian", "n": n} for i in range(size - BATCH)}})

    def write_one(self, who, n):
        assert self.grains.put(f"one-{who}", {"n": n})

    def write_delete(self, who, n):
        self.grains.delete(f"one-{who}")

    def write_both(self, who, n):
        assert self.grains.put("both", {"n": n, "who": who})

    def write_inside(self, who, n):
        assert self.resource_grains.put_many({f"machine:{who}-{i}": {"n": n} for i in range(3)})

    def write_pillar(self, who, n):
        assert self.pillar.put(who, {"n": n, "secret": "s" * (n % 300)})

    def write_mine(self, who, n):
        assert self.mine.update("both", {who: n})

    def write_manage(self, who, n):
        """Write what a discovery reports: the current resources in one batch, then the removal of former ones."""
        before = self.resources.by_manager(who)
        now = [("machine", f"{who}-{n}-{i}", who) for i in range(4)] + [("dummy", f"{who}-always", who)]
        kinds = {}
        for kind, id, _ in now:
            kinds.setdefault(kind, {})[id] = {}
        assert self.managers.put(who, kinds)
        self.resources.put_many(now)
        for kind, id in before:
            if (kind, id, who) not in now:
                self.resources.delete(kind, id)

    # --- reads ------------------------------------------------------------------------------------------

    def numbers(self, who):
        """The newest number of each kind of write; None for an unknown one."""

        def number(value):
            return value.get("n") if isinstance(value, dict) else None

        managed = [int(id.split("-")[1]) for kind, id in self.resources.by_manager(who) if kind == "machine"]
        return {
            "batch": number(self.grains.get(f"{who}-0")),
            "batch in the index": indexed(self.grains, f"{who}-0"),
            "inside": number(self.resource_grains.get(f"machine:{who}-2")),
            "inside in the index": indexed(self.resource_grains, f"machine:{who}-2"),
            "pillar": number(self.pillar.get(who)),
            "pillar in the image": indexed(self.pillar, who),
            "mine": (self.mine.get("both") or {}).get(who),
            "manage": max(managed, default=None),
        }

    def usable(self):
        return all(bank._usable for bank in (self.grains, self.resource_grains, self.resources))

    def close(self):
        for bank in (self.grains, self.resource_grains, self.resources):
            bank.close()


def ask(bank, question):
    """An answer of the index; asked again once after damage."""
    view = bank.view()
    if isinstance(bank, PillarBank):
        for _ in range(9):
            if view is not None:
                return question(view)
            view = bank.view()
        raise AssertionError("there is no image of the pillar")
    for _ in range(9):
        try:
            return question(view)
        except IndexCorrupt as exc:
            view = bank.damaged(exc)
    raise AssertionError(f"{bank.path.name}: damaged again and again")


def indexed(bank, id):
    def value(view):
        try:
            return view.value(id, "n")
        except KeyError:
            return None

    return ask(bank, value)


# --- the processes ---------------------------------------------------------------------------------------------------

WRITES = ("batch", "one", "both", "inside", "pillar", "mine", "manage", "delete")


def control(root, who, notes):
    """Continue where the last process of that name stopped."""
    cache = Cache(root)
    n = Path(notes).read_text().count("begin") if os.path.exists(notes) else 0
    with open(notes, "ab", buffering=0) as stream:
        while True:
            what = WRITES[n % len(WRITES)]
            stream.write(f"begin {n} {what}\n".encode())
            cache.write(what, who, n)
            stream.write(f"done {n} {what}\n".encode())
            n += 1
            assert cache.usable(), "an index was given up"


def read(root):
    cache = Cache(root)
    seen = {who: {} for who in CONTROLLERS}
    while True:
        for who in CONTROLLERS:
            for what, n in cache.numbers(who).items():
                before = seen[who].get(what)
                assert before is None or (n is not None and n >= before), f"{who}: {what}: {n} after {before}"
                seen[who][what] = n
            n = seen[who]["batch in the index"]
            if n is not None:
                size = len(ask(cache.grains, lambda view, who=who, n=n: view.ids(view.grain(f"batch:{who}-{n}"))))
                assert size in (0, BATCH), f"{who}: {size} of batch {n}"
        assert cache.usable(), "an index was given up"


def tidy(root):
    cache = Cache(root)
    while True:
        for bank in (cache.grains, cache.resource_grains, cache.pillar, cache.mine, cache.managers):
            bank.sweep(time.time() - 3600)
        for bank in (cache.grains, cache.resource_grains):
            try:
                bank._open().compact()
            except IndexCorrupt as exc:
                bank.damaged(exc)
        time.sleep(0.2)


# --- the process that kills and damages -------------------------------------------------------------------------------


def harm(root, rng):
    """Damage a file of an index; returns which, and how."""
    folders = ["grains-index", "grains-index", "resource_grains-index", "resources", "pillar-index"]
    folder = Path(root, rng.choice(folders))
    begins = ("log", "seg-") if folder.name != "pillar-index" else tuple("0123456789abcdef")
    paths = [path for path in folder.glob("*") if path.name.startswith(begins) and path.suffix != ".new"]
    if not paths:
        return None
    path = rng.choice(paths)
    how = rng.choice(["flip", "flips", "zeros", "cut", "gone"])
    try:
        size = path.stat().st_size
        if how == "gone":
            path.unlink()
        elif how == "cut":
            os.truncate(path, rng.randrange(size))
        else:
            with path.open("r+b") as stream:
                for _ in range(8 if how == "flips" else 1):
                    stream.seek(rng.randrange(size))
                    byte = stream.read(1)
                    stream.seek(-1, 1)
                    stream.write(bytes(64)[: size - stream.tell()] if how == "zeros" else bytes([byte[0] ^ 16]))
    except (FileNotFoundError, ValueError):
        return None
    return f"{how} {folder.name}/{path.name}"


def check(root, notes):
    """Compare the cache with what the controllers recorded. Returns the number of acknowledged writes."""
    cache = Cache(root)
    acknowledged = 0
    for who in CONTROLLERS:
        lines = notes[who].read_text().split("\n")[:-1] if notes[who].exists() else []
        may = {}
        for line in lines:
            word, n, what = line.split()
            kind = "one" if what == "delete" else what
            value = None if what == "delete" else int(n)
            # An unfinished write may be stored, unless a later acknowledged one replaced it.
            may[kind] = {value} if word == "done" else may.get(kind, {None}) | {value}
            acknowledged += word == "done"
        found = cache.numbers(who)
        found["one"] = (cache.grains.get(f"one-{who}") or {}).get("n")
        for what in ("batch", "inside", "pillar", "mine", "manage", "one"):
            assert found[what] in may.get(what, {None}), f"{who}: {what}: {found[what]}, not {may.get(what)}"
        if may.get("manage", {None}) == {found["manage"]} and found["manage"] is not None:
            kept = [(kind, id) for kind, ids in cache.managers.get(who).items() for id in ids]
            assert cache.resources.by_manager(who) == sorted(kept)
        assert found["pillar in the image"] == found["pillar"]
        batch = {(cache.grains.get(f"{who}-{i}") or {}).get("n") for i in range(BATCH)}
        assert batch <= may.get("batch", {None}), f"{who}: {batch}"
    for bank in (cache.grains, cache.resource_grains):
        files = {key: value["n"] for key, value, _ in bank.entries()}
        ids = ask(bank, lambda view: view.ids(view.everything))
        assert ids == sorted(files), f"{bank.path.name}: {set(ids) ^ set(files)}"
        for id in ids:
            assert indexed(bank, id) == files[id], f"{bank.path.name}: {id}: {indexed(bank, id)} not {files[id]}"
    assert cache.usable()
    problems = [*cache.grains.problems(), *cache.resource_grains.problems()]
    cache.close()
    return acknowledged, problems


def torture(root, seconds, seed, damage=True):
    """Returns (writes acknowledged, kills, damages). Raises AssertionError."""
    rng = random.Random(seed)
    base = Path(root)
    notes = {who: base / f"{who}.txt" for who in CONTROLLERS}
    shared = base / "cache"
    shared.mkdir(mode=0o700)
    roles = [("control", str(shared), who, str(notes[who])) for who in CONTROLLERS]
    roles += [("read", str(shared)), ("read", str(shared)), ("tidy", str(shared))]
    running = {}
    log = (base / "stderr").open("ab")

    def start(place):
        running[place] = subprocess.Popen([sys.executable, __file__, "--role", *roles[place]], stderr=log)

    def stop(place):
        running[place].kill()
        running[place].wait()

    def alive():
        for place, one in running.items():
            status = one.poll()
            # If a file is truncated while a process copies from its mapping, that process ends without an answer.
            if status is not None and not (damage and status == -signal.SIGBUS):
                raise AssertionError(f"{roles[place][0]} ended: {(base / 'stderr').read_text()[-3000:]}")

    kills, harms, rounds, acknowledged = 0, [], 0, 0
    try:
        for place in range(len(roles)):
            start(place)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(rng.uniform(0.05, 0.5))
            alive()
            if damage and rng.random() < 0.4 and (done := harm(shared, rng)):
                harms.append(done)
            else:
                place = rng.randrange(len(roles))
                stop(place)
                start(place)
                kills += 1
            rounds += 1
            if rounds % 12 == 0:
                for place in running:
                    stop(place)
                acknowledged, _ = check(shared, notes)
                for place in running:
                    start(place)
    finally:
        for place in running:
            stop(place)
        log.close()
    acknowledged, problems = check(shared, notes)
    assert damage or problems == []
    return acknowledged, kills, len(harms)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--role"]:
        {"control": control, "read": read, "tidy": tidy}[sys.argv[2]](*sys.argv[3:])
        sys.exit()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-damage", action="store_true")
    given = parser.parse_args()
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        writes, killed, harmed = torture(place, given.seconds, given.seed, not given.no_damage)
        print(f"{writes} writes acknowledged, {killed} processes killed, {harmed} files harmed, nothing lost")
