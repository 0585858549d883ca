"""The file server: lookup and listing in a tree of 50,000 files, from disk and from git; opening a long-lived remote.

    python benchmarks/fileserver.py [--files 50000] [--commits 10000] [--rounds 5] [--salt SALTS_PYTHON]

Each figure is the median of fresh processes, in milliseconds, imports left out. *cold*: the kernel's caches were
dropped first (as root; else they are left as they are, and the table says so). *warm*: they were not. With ``--salt``
the same is done by Salt's own file server (roots, and gitfs through GitPython) in a process of that Python, its caches
kept.

The last figures::

    50000 files, 10000 commits; cold: caches dropped; 2 cores, Python 3.11, git 2.39, a machine with other work
    pushsalt roots cold                open                                14.2   (3.1-26.5)
    pushsalt roots cold                first lookup                         9.2   (1.5-12.9)
    pushsalt roots cold                5000 lookups                      1204.0   (842.0-1223.4)
    pushsalt roots cold                listing                            734.9   (603.3-808.8)
    pushsalt roots cold                1000 digests                       369.4   (344.0-432.3)
    Salt roots cold                    open                               240.5   (199.6-295.6)
    Salt roots cold                    first lookup                        11.5   (10.8-22.3)
    Salt roots cold                    5000 lookups                      2772.8   (2671.2-27066.4)
    Salt roots cold                    listing                           9784.0   (8910.7-17778.6)
    Salt roots cold                    1000 digests                      1707.8   (1380.4-2779.0)
    pushsalt git first fetch           open                              1494.3   (1494.3-1494.3)
    pushsalt git first fetch           first lookup                        13.3   (13.3-13.3)
    pushsalt git first fetch           5000 lookups                       665.3   (665.3-665.3)
    pushsalt git first fetch           listing                            301.5   (301.5-301.5)
    pushsalt git first fetch           1000 digests                       160.8   (160.8-160.8)
    pushsalt git cold                  open                                58.9   (16.9-139.3)
    pushsalt git cold                  first lookup                        63.3   (55.9-137.1)
    pushsalt git cold                  5000 lookups                      3620.7   (3458.0-4252.8)
    pushsalt git cold                  listing                           1054.8   (575.8-1758.0)
    pushsalt git cold                  1000 digests                       418.3   (380.4-978.4)
    Salt git first fetch               open                              2412.9   (2412.9-2412.9)
    Salt git first fetch               first lookup                        96.7   (96.7-96.7)
    Salt git first fetch               5000 lookups                     98626.1   (98626.1-98626.1)
    Salt git first fetch               listing                           8743.5   (8743.5-8743.5)
    Salt git first fetch               1000 digests                      5897.7   (5897.7-5897.7)
    Salt git cold                      open                               314.6   (311.6-338.2)
    Salt git cold                      first lookup                        55.9   (44.3-97.3)
    Salt git cold                      5000 lookups                     29873.1   (28893.9-95704.9)
    Salt git cold                      listing                           5103.5   (4628.3-6513.5)
    Salt git cold                      1000 digests                      4767.7   (2628.8-7900.8)
    pushsalt roots warm                open                                 0.4   (0.3-2.0)
    pushsalt roots warm                first lookup                         0.1   (0.1-5.9)
    pushsalt roots warm                5000 lookups                        85.9   (84.9-706.7)
    pushsalt roots warm                listing                            462.9   (377.0-540.7)
    pushsalt roots warm                1000 digests                        85.6   (69.9-166.5)
    Salt roots warm                    open                               114.1   (41.0-182.6)
    Salt roots warm                    first lookup                         0.5   (0.5-0.5)
    Salt roots warm                    5000 lookups                      1120.4   (899.5-1272.8)
    Salt roots warm                    listing                           7156.7   (6863.4-7221.0)
    Salt roots warm                    1000 digests                       529.4   (367.5-1092.5)
    pushsalt git warm                  open                                 7.2   (1.0-7.8)
    pushsalt git warm                  first lookup                        18.0   (16.5-29.1)
    pushsalt git warm                  5000 lookups                       389.0   (329.6-455.8)
    pushsalt git warm                  listing                            114.6   (54.3-160.6)
    pushsalt git warm                  1000 digests                        93.3   (52.1-153.1)
    Salt git warm                      open                               147.4   (99.3-210.9)
    Salt git warm                      first lookup                        19.0   (14.6-34.8)
    Salt git warm                      5000 lookups                      8214.5   (6769.3-10689.5)
    Salt git warm                      listing                           5714.4   (3026.0-6472.3)
    Salt git warm                      1000 digests                      1957.6   (1237.4-3697.6)
    pushsalt 10000 commits, depth 1, first open                               298.0   (298.0-298.0)
    pushsalt 10000 commits, depth 1, again open                                 1.3   (1.2-10.3)
    pushsalt 10000 commits, depth 0, first open                              2270.8   (2270.8-2270.8)
    pushsalt 10000 commits, depth 0, again open                                 1.2   (1.2-1.3)
    Salt 10000 commits, depth 0, first open                              3138.2   (3138.2-3138.2)
    Salt 10000 commits, depth 0, again open                               193.0   (185.7-252.8)
    10,000 blobs                       ours (cat-file, hash checked)      366.0   (366.0-523.0)
    10,000 blobs                       GitPython GitCmdObjectDB           424.0   (322.0-594.0)
    10,000 blobs                       GitPython gitdb                    379.0   (332.0-423.0)

What they show: a file is found in a tree of git's by reading the trees on the way to it, each once; a listing reads
all of them. Blobs by hash take the same time through one `git cat-file --batch` of ours and through GitPython's two
readers: ours compares each with its hash, and needs no import of GitPython (70 ms). A copy of a long-lived remote is
opened from a note of its refs, however many commits it has.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDERS = 2500
LOOKUPS = 5000


def paths(files: int) -> list[str]:
    per = max(1, files // FOLDERS)
    return [f"f{number // per % 50}/s{number // per}/file{number}.sls" for number in range(files)]


def make_tree(folder: Path, files: int) -> None:
    for path in paths(files):
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"id-{path}:\n  test.nop: []\n")


def make_repo(path: Path, files: int, commits: int) -> None:
    git("init", "-q", "--bare", "--initial-branch=master", str(path))
    stream = [b"feature done\n"]
    committer = b"committer B <b@example.org> %d +0000\ndata 1\nx\n"
    stream.append(b"commit refs/heads/master\n" + committer % 1_600_000_000)
    for name in paths(files):
        data = f"id-{name}:\n  test.nop: []\n".encode()
        stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (name.encode(), len(data), data))
    for number in range(1, commits):
        data = str(number).encode()
        stream.append(b"commit refs/heads/master\n" + committer % (1_600_000_000 + number * 60))
        stream.append(b"M 100644 inline changes/c%d\ndata %d\n%s\n" % (number % 200, len(data), data))
    git(f"--git-dir={path}", "fast-import", "--quiet", stdin=b"".join(stream) + b"done\n")
    for number in range(20):
        git(f"--git-dir={path}", "tag", f"v{number}", f"master~{min(commits - 1, number * 10)}")


def git(*arguments: str, stdin: bytes = b"") -> None:
    subprocess.run(["git", *arguments], input=stdin, check=True, stdout=subprocess.DEVNULL)


# --- in the measured process


def time_pushsalt(backend: str, path: str, cache: str, files: int, depth: int) -> dict[str, float]:
    """Seconds of each operation of pushsalt's file server, by name. ``path``: of the tree or the git repository."""
    from pushsalt.fileserver import FileServer
    from pushsalt.fileserver.backends import gitfs, roots  # noqa: F401
    from pushsalt.git.remotes import Remotes

    opts = {"file_roots": {"base": [path]}, "fileserver_backend": ["roots"]}
    if backend == "git":
        opts = {"fileserver_backend": ["git"], "gitfs_remotes": [f"file://{path}"], "gitfs_depth": depth}
        opts["gitfs_update_interval"] = 10_000
    seconds = {}
    start = time.perf_counter()
    server = FileServer(opts, Remotes(Path(cache)) if backend == "git" else None)
    seconds["open"] = time.perf_counter() - start
    if not files:
        assert server.find("changes/c1")
        return seconds
    sample = random.Random(1).sample(paths(files), min(LOOKUPS, files))
    start = time.perf_counter()
    assert server.find(sample[0])
    seconds["first lookup"] = time.perf_counter() - start
    start = time.perf_counter()
    assert all(server.find(name) for name in sample)
    seconds[f"{LOOKUPS} lookups"] = time.perf_counter() - start
    start = time.perf_counter()
    assert len(server.list_files()) >= files
    seconds["listing"] = time.perf_counter() - start
    start = time.perf_counter()
    for name in sample[:1000]:
        server.find(name).digest()  # type: ignore[union-attr]
    seconds["1000 digests"] = time.perf_counter() - start
    return seconds


def time_salt(backend: str, path: str, cache: str, files: int, depth: int) -> dict[str, float]:
    """Seconds of the same operations of Salt's file server."""
    import salt.config
    import salt.fileserver

    opts = salt.config.master_config(None)
    opts.update(
        cachedir=cache,
        __role="master",
        file_roots={"base": [path]},
        fileserver_backend=["roots"],
        fileserver_list_cache_time=0,
    )
    if backend == "git":
        opts.update(fileserver_backend=["gitfs"], gitfs_remotes=[f"file://{path}"], gitfs_provider="gitpython")
    seconds = {}
    start = time.perf_counter()
    server = salt.fileserver.Fileserver(opts)
    first = not os.path.isdir(f"{cache}/gitfs")
    server.init()
    if backend == "git" and first:
        server.update()
    else:
        server.envs()
    seconds["open"] = time.perf_counter() - start
    if not files:
        assert server.find_file("changes/c1", "base")["path"]
        return seconds
    sample = random.Random(1).sample(paths(files), min(LOOKUPS, files))
    start = time.perf_counter()
    assert server.find_file(sample[0], "base")["path"]
    seconds["first lookup"] = time.perf_counter() - start
    start = time.perf_counter()
    assert all(server.find_file(name, "base")["path"] for name in sample)
    seconds[f"{LOOKUPS} lookups"] = time.perf_counter() - start
    start = time.perf_counter()
    assert len(server.file_list({"saltenv": "base"})) >= files
    seconds["listing"] = time.perf_counter() - start
    start = time.perf_counter()
    for name in sample[:1000]:
        server.file_hash({"path": name, "saltenv": "base"})
    seconds["1000 digests"] = time.perf_counter() - start
    return seconds


def time_readers(path: str) -> dict[str, float]:
    """Seconds for reading 10,000 blobs by hash, by reader."""
    import gitdb
    from git import Repo
    from git.db import GitCmdObjectDB

    from pushsalt.git.objects import Objects

    objects = Objects(Path(path))
    oids = subprocess.run(
        ["git", f"--git-dir={path}", "ls-tree", "-r", "--format=%(objectname)", "master"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()[:10_000]
    seconds = {}

    def timed(name, read) -> None:  # type: ignore[no-untyped-def]
        start = time.perf_counter()
        for oid in oids:
            read(oid)
        seconds[name] = time.perf_counter() - start

    timed("ours (cat-file, hash checked)", lambda oid: objects.blob(oid, 1 << 20))
    objects.close()
    for name, kind in (("GitPython GitCmdObjectDB", GitCmdObjectDB), ("GitPython gitdb", gitdb.GitDB)):
        repo = Repo(path, odbt=kind)
        timed(name, lambda oid, repo=repo: repo.odb.stream(bytes.fromhex(oid)).read())
        repo.close()
    return seconds


# --- in the process that starts it


def drop_caches() -> bool:
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError:
        return False
    return True


def measure(python: str, contender: str, *arguments: object) -> dict[str, float]:
    """The seconds that a fresh process of ``contender`` (ours, salts, readers) measures."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)} if contender != "salts" else dict(os.environ)
    done = subprocess.run(
        [python, __file__, "--inside", contender, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        env=env,
    )
    return json.loads(done.stdout.splitlines()[-1])


def print_medians(title: str, runs: list[dict[str, float]]) -> None:
    for key in runs[0]:
        values = [run[key] * 1000 for run in runs]
        print(f"    {title:<34} {key:<30} {statistics.median(values):9.1f}   ({min(values):.1f}-{max(values):.1f})")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--salt", default="")
    parser.add_argument("--inside", nargs="+", default=[])
    options = parser.parse_args()
    if options.inside:
        contender, *arguments = options.inside
        if contender == "readers":
            print(json.dumps(time_readers(arguments[0])))
        else:
            function = time_pushsalt if contender == "ours" else time_salt
            print(json.dumps(function(arguments[0], arguments[1], arguments[2], int(arguments[3]), int(arguments[4]))))
        return
    contenders = [("pushsalt", sys.executable, "ours")] + ([("Salt", options.salt, "salts")] if options.salt else [])
    with tempfile.TemporaryDirectory(prefix="pushsalt-bench-") as scratch:
        top = Path(scratch)
        make_tree(top / "tree", options.files)
        make_repo(top / "files.git", options.files, 1)
        make_repo(top / "long.git", 0, options.commits)
        dropped = drop_caches()
        print(f"    {options.files} files, {options.commits} commits; cold: caches {'' if dropped else 'not '}dropped")
        for state in ("cold", "warm"):
            for backend, folder in (("roots", "tree"), ("git", "files.git")):
                for name, python, contender in contenders:
                    runs = []
                    arguments = [backend, top / folder, top / f"cache-{contender}", options.files, 1]
                    if backend == "git" and state == "cold":
                        print_medians(f"{name} {backend} first fetch", [measure(python, contender, *arguments)])
                    for _ in range(options.rounds):
                        if state == "cold":
                            drop_caches()
                        runs.append(measure(python, contender, *arguments))
                    print_medians(f"{name} {backend} {state}", runs)
        for name, python, contender in contenders:
            for depth in (1, 0) if contender == "ours" else (0,):
                cache = top / f"cache-{contender}-{depth}"
                arguments = ["git", top / "long.git", cache, 0, depth]
                print_medians(
                    f"{name} {options.commits} commits, depth {depth}, first", [measure(python, contender, *arguments)]
                )
                print_medians(
                    f"{name} {options.commits} commits, depth {depth}, again",
                    [measure(python, contender, *arguments) for _ in range(options.rounds)],
                )
        print_medians(
            "10,000 blobs", [measure(sys.executable, "readers", top / "files.git") for _ in range(options.rounds)]
        )


if __name__ == "__main__":
    main()
