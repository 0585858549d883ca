"""Several processes and threads use one index. ``torture.py`` runs longer, as does PUSHSALT_TORTURE=seconds."""

import importlib.util
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pushsalt.index import GrainIndex, ResourceIndex, build

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("PUSHSALT_TORTURE", "2"))


@pytest.mark.parametrize("kind", ["resources", "grains"])
def test_torture(tmp_path, kind):
    spec = importlib.util.spec_from_file_location("torture", Path(__file__).parent / "torture.py")
    torture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(torture)
    writes, kills = torture.torture(kind, tmp_path, SECONDS, seed=os.getpid())
    assert writes and kills


def test_killed_in_the_middle_of_a_rewrite(tmp_path):
    """Whatever the point of the kill, the next process finds an index and can write."""
    code = (
        "import os, signal, sys\n"
        "from pushsalt.index import ResourceIndex\n"
        "step, left = sys.argv[2], int(sys.argv[3])\n"
        "def trace(name, args):\n"
        "    global left\n"
        "    if name == step and str(args).find(sys.argv[1]) >= 0 or name == step and step != 'open':\n"
        "        left -= 1\n"
        "        if left < 0: os.kill(os.getpid(), signal.SIGKILL)\n"
        "index = ResourceIndex(sys.argv[1])\n"
        "index.by_type('ssh')\n"
        "sys.addaudithook(trace)\n"
        "index.compact()\n"
    )
    folder = tmp_path / "index"
    want = []
    with ResourceIndex(folder) as index:
        for step, count in (("open", 16), ("os.rename", 3), ("os.remove", 4)):
            for left in range(count):
                name = f"{step}-{left}"
                index.put("ssh", name, "m")
                want.append(name)
                subprocess.run([sys.executable, "-c", code, str(folder), step, str(left)], check=False)
                assert index.by_type("ssh") == sorted(want)
                with ResourceIndex(folder) as fresh:
                    assert fresh.by_type("ssh") == sorted(want)
        index.put("ssh", "last", "m")
        index.compact()
        assert index.by_type("ssh") == sorted([*want, "last"])
        assert index.verify() == []
        assert not (folder / "log.new").exists()


def test_writes_during_a_rewrite(tmp_path, monkeypatch):
    """Entries that are written while a new segment is made are kept, in order, for every process."""
    index, other = ResourceIndex(tmp_path), ResourceIndex(tmp_path)
    index.put_many([("ssh", f"h{n}", "m") for n in range(50)])
    merge = build.merge

    def merge_while_others_write(path, base, changes, **how):
        merge(path, base, changes, **how)
        other.put("ssh", "late", "m")
        other.delete("ssh", "h7")
        other.put_many([("ssh", "h8", "new"), ("ssh", "late", "newer")])

    monkeypatch.setattr(build, "merge", merge_while_others_write)
    index.compact()
    for one in (index, other):
        assert one.get("ssh", "late") == "newer"
        assert one.get("ssh", "h7") is None
        assert one.by_manager("new") == [("ssh", "h8")]
        assert len(one.by_type("ssh")) == 50
    assert index.verify() == []


def test_threads_share_one(tmp_path):
    trouble = []
    with ResourceIndex(tmp_path) as index:

        def work(name):
            try:
                for n in range(150):
                    index.put(name, str(n % 10), f"{name}-{n}")
                    assert index.get(name, str(n % 10)) == f"{name}-{n}"
                    if n % 50 == 49:
                        index.compact()
                    assert len(index.by_type(name)) == min(n + 1, 10)
            except BaseException as exc:
                trouble.append(exc)

        threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert trouble == []
        assert len(index.items()) == 40
        assert index.verify() == []


@pytest.mark.parametrize("kind", [ResourceIndex, GrainIndex])
def test_a_fork_has_locks_of_its_own(tmp_path, kind):
    def put(index, name):
        if kind is ResourceIndex:
            index.put("ssh", name, "m")
        else:
            index.put_many([(name, {"os": "Debian"})])

    def names(index):
        return index.by_type("ssh") if kind is ResourceIndex else index.match("os:Debian")

    code = (
        "import os, sys\n"
        "from pushsalt.index import GrainIndex, ResourceIndex\n"
        f"index = {kind.__name__}(sys.argv[1])\n"
        "put = {'ResourceIndex': lambda n: index.put('ssh', n, 'm'),\n"
        f"       'GrainIndex': lambda n: index.put_many([(n, {{'os': 'Debian'}})])}}[{kind.__name__!r}]\n"
        "put('before')\n"
        "child = os.fork()\n"
        "for n in range(100): put(f'{bool(child)}-{n}')\n"
        "if child: assert os.waitpid(child, 0)[1] == 0\n"
        "else: os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    with kind(tmp_path) as index:
        assert len(names(index)) == 201
        assert index.verify() == []
        put(index, "after")
        assert "after" in names(index)
