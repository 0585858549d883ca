"""Controllers that share a cache folder: after kills at any point, write errors of the disk, and power losses.

``torture_cache.py`` runs longer, as does this test with PUSHSALT_TORTURE=seconds.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pushsalt.cache.grains import GrainBank
from pushsalt.cache.resources import ResourceBank
from pushsalt.cache.store import Bank
from pushsalt.index import GrainIndex, ResourceIndex, lock

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("PUSHSALT_TORTURE", "3"))


def agree(root):
    """Assert that the index agrees with the files; returns their content."""
    bank = GrainBank(root)
    view = bank.view()
    files = {key: value["n"] for key, value, _ in bank.entries()}
    assert {id: view.value(id, "n") for id in view.ids(view.everything)} == files
    assert bank.problems() == []
    bank.close()
    return files


def test_torture(tmp_path):
    spec = importlib.util.spec_from_file_location("torture_cache", Path(__file__).parent / "torture_cache.py")
    torture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(torture)
    writes, kills, _ = torture.torture(tmp_path, SECONDS, seed=os.getpid())
    assert writes
    assert kills


KILLED = """
import os, signal, sys
from pathlib import Path
from pushsalt.cache.grains import GrainBank

step, left, what = sys.argv[2], int(sys.argv[3]), sys.argv[4]
root = Path(sys.argv[1])

def trace(name, args):
    global left
    if name == step and str(args).find(str(root)) >= 0:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

bank = GrainBank(root)
if what != "fill":
    bank.view()
sys.addaudithook(trace)
if what in ("put", "fill"):
    bank.put_many({f"h{n}": {"n": 2} for n in range(5)})
elif what == "delete":
    bank.delete("h1")
elif what == "clear":
    bank.clear()
elif what == "sweep":
    bank.sweep(0)
else:
    bank._open().compact()
print("done")
"""


@pytest.mark.parametrize(
    "step, moments, what",
    [
        ("os.rename", (0, 3, 4), "put"),
        ("open", (1, 12), "put"),
        ("os.remove", (0,), "delete"),
        ("os.remove", (0, 4), "clear"),
        ("os.rename", (0,), "clear"),
        ("os.rename", (0,), "compact"),
        ("os.remove", (0, 1), "compact"),
        ("open", (2, 4), "compact"),
        ("os.rename", (0, 1), "fill"),
        ("open", (8, 20), "fill"),
        ("os.remove", (0,), "sweep"),
    ],
)
def test_killed_at_any_step(tmp_path, step, moments, what):
    """A batch is stored whole or not at all, and for the next controller files and index agree."""
    for left in moments:
        bank = GrainBank(tmp_path)
        bank.put_many({f"h{n}": {"n": 1} for n in range(6)})
        bank.close()
        if what == "fill":
            for path in bank.index_path.iterdir():
                path.unlink()
        argv = [sys.executable, "-c", KILLED, str(tmp_path), step, str(left), what]
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False).stdout
        files = agree(tmp_path)
        if what in ("put", "fill"):
            assert {files[f"h{n}"] for n in range(5)} in (({2},) if done else ({1}, {2}))
        elif what == "clear":
            assert not (done and files)
        else:
            assert len(files) >= 5


@pytest.mark.parametrize("lost", ["end", "torn", "all", "more"])
def test_a_power_loss_takes_the_end_of_the_index(tmp_path, monkeypatch, lost):
    """Files are synced one by one, the log of the index is not: its lost end is restored from them, with a warning."""
    bank = GrainBank(tmp_path)
    bank.put_many({f"h{n}": {"n": 1} for n in range(5)})
    log = bank.index_path / "log"
    before = log.read_bytes()
    bank.put_many({"h1": {"n": 2}, "new": {"n": 2}})
    bank.delete("h2")
    bank.close()
    after = log.read_bytes()
    left = {"end": before, "torn": before + after[len(before) :][:30] + bytes(50), "all": b"", "more": after[:-3]}[lost]
    log.write_bytes(left)
    monkeypatch.setattr(lock, "boot", lambda: b"another1")
    assert agree(tmp_path) == {"h0": 1, "h1": 2, "h3": 1, "h4": 1, "new": 2}
    bank = GrainBank(tmp_path)
    assert bank._open().crashed() is None
    bank.close()


@pytest.mark.parametrize("lost", ["end", "all"])
def test_a_power_loss_takes_the_index_of_resources(tmp_path, monkeypatch, lost):
    kept = Bank(tmp_path, "minion_resources")
    bank = ResourceBank(tmp_path)
    bank.register("ssh", "host1", "controller")
    bank.put_many([("machine", "m1", "host1"), ("machine", "gone", "host1")])
    before = (bank.path / "log").read_bytes()
    kept.put("host1", {"machine": {"m1": {}, "new": {}}})
    bank.put_many([("machine", "new", "host1")])
    bank.delete("machine", "gone")
    bank.close()
    (bank.path / "log").write_bytes(before if lost == "end" else b"")
    monkeypatch.setattr(lock, "boot", lambda: b"another1")
    again = ResourceBank(tmp_path)
    assert again.owners("machine") == {"m1": "host1", "new": "host1"}
    assert again.problems() == []
    assert again.by_type("ssh") == (["host1"] if lost == "end" else [])
    assert again._open().crashed() is None
    again.close()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 600 KB, with functions that fill it and free space."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k,mode=700", "none", str(place)], check=False, stderr=subprocess.DEVNULL
    )
    if done.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def filled(place):
    with (place / "filler").open("ab", buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(1024))
        except OSError:
            pass


@pytest.mark.parametrize("kind", [ResourceIndex, GrainIndex])
def test_an_index_on_a_full_disk(small_disk, kind):
    """Acknowledged writes are kept, refused ones leave nothing, and writes work again when there is space."""

    def put(index, n):
        if kind is ResourceIndex:
            index.put_many([("t", f"{n}-{i}", f"m{n}") for i in range(80)])
        else:
            index.put_many([(f"{n}-{i}", {"n": f"m{n}", "own": f"v{n}{i}" * 9}) for i in range(80)])

    def size(index, n):
        return len(index.by_manager(f"m{n}") if kind is ResourceIndex else index.match(f"n:m{n}"))

    folder = small_disk / "index"
    acknowledged, refused = [], 0
    with kind(folder) as index:
        for n in range(200):
            if n == 30:
                filled(small_disk)
            if n == 190:
                (small_disk / "filler").unlink()
            try:
                put(index, n)
                acknowledged.append(n)
            except OSError:
                refused += 1
            if n % 10 == 0:
                try:
                    index.compact()
                except OSError:
                    pass
        assert refused
        assert acknowledged[-1] == 199
        for one in (index, kind(folder)):
            assert [size(one, n) for n in range(200)] == [80 if n in acknowledged else 0 for n in range(200)]
            assert one.verify() == []


def test_a_cache_on_a_full_disk(small_disk, caplog):
    """The index is not used for entries that it could not store."""
    other = GrainBank(small_disk)
    other.put("h0", {"n": 0})
    kept = {}
    bank = GrainBank(small_disk)
    for n in range(60):
        if n == 20:
            filled(small_disk)
        key = f"h{n % 7}"
        if bank.put(key, {"n": n, "more": "x" * 3000}):
            kept[key] = n
        if n == 40:
            (small_disk / "filler").unlink()
            bank.close()
            bank = GrainBank(small_disk)
        if n == 10:
            assert other.put("mine", {"n": 10})
            kept["mine"] = 10
    bank.close()
    other.close()
    assert agree(small_disk) == kept
    assert len([text for text in caplog.messages if "cannot" in text]) <= 3
