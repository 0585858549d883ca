"""Files that are sent to a target: interrupted transfers are continued, one question serves many files, memory stays
small.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pushsalt.errors import TargetError
from pushsalt.model import Blob
from pushsalt.session.blobs import Sender
from tests.beds.project import Project, values
from thin.utils.files import atomic
from thin.utils.files.transfer import Tree

pytestmark = pytest.mark.slow

MIB = 1024 * 1024


def blob_of(data, opened=None):
    return Blob(hashlib.sha256(data).hexdigest(), len(data), path="/srv/big", open=opened or (lambda: io.BytesIO(data)))


def serving(blob, asked):
    """The answers for a target that requests this file."""

    async def serve(question):
        asked.append(question["k"])
        if question["k"] == "file" and not question.get("stat"):
            return {"digest": blob.digest, "size": blob.size, "blobs": [(blob, question.get("part"))]}
        return {"digest": blob.digest, "size": blob.size}

    return serve


class CutOff(io.BytesIO):
    """A reader that ends the session by ``cut`` when ``after`` bytes were read."""

    def __init__(self, data, after, cut):
        super().__init__(data)
        self.after, self.cut = after, cut

    def read(self, size=-1):
        if self.tell() >= self.after:
            self.cut()
        return super().read(size)


@pytest.mark.parametrize("damaged", [False, True])
async def test_an_interrupted_transfer_continues(open_session, home, tmp_path, damaged):
    data, asked, dest = os.urandom(24 * MIB), [], tmp_path / "dest"
    dest.write_bytes(b"as before")
    loop, sessions = asyncio.get_running_loop(), []

    def cut():
        loop.call_soon_threadsafe(sessions[0]._channel.stream.close)

    broken = blob_of(data, lambda: CutOff(data, 16 * MIB, cut))
    sessions.append(await open_session(serve=serving(broken, asked)))
    with pytest.raises(TargetError) as lost:
        await sessions[0].call("cp.get_file", ["salt://big", str(dest)])
    assert lost.value.kind == "connection_lost"
    await sessions[0].close()
    assert dest.read_bytes() == b"as before"
    [part] = (home / ".cache" / "pushsalt" / "files").glob(".*.part")
    left = part.stat().st_size
    assert MIB < left < len(data) and data.startswith(part.read_bytes())
    if damaged:
        with part.open("r+b") as stream:
            stream.write(bytes([data[0] ^ 1]))
    sound = blob_of(data)
    again = await open_session(serve=serving(sound, asked))
    assert await again.call("cp.get_file", ["salt://big", str(dest)]) == str(dest)
    assert dest.read_bytes() == data
    assert again.bytes_sent > len(data) if damaged else again.bytes_sent < len(data) - left + MIB
    assert not list(part.parent.glob(".*"))


async def test_the_part_that_a_target_claims_to_have_is_checked():
    data = os.urandom(MIB)
    blob = blob_of(data)

    async def sent(part):
        found = []

        async def drain():
            await asyncio.sleep(0)

        await Sender(lambda kind, payload: found.append((kind, payload)), drain).send(blob, part)
        return found

    whole = await sent(None)
    assert {kind for kind, _ in whole} == {b"B"}
    for lie in ([5, "00"], [0, ""], [-1, "x"], [MIB + 1, blob.digest], ["5", "x"], "part", [5], {"a": 1}):
        assert await sent(lie) == whole
    head = await sent([700_000, hashlib.sha256(data[:700_000]).hexdigest()])
    assert head[0][0] == b"M" and b"".join(payload[32:] for kind, payload in head if kind == b"B") == data[700_000:]
    assert len(await sent([MIB, blob.digest])) == 2  # the message that nothing is missing, and the end


def state(project: Project, *arguments: str) -> dict[str, object]:
    """The return of a state with one file or tree."""
    (ret,) = values(project.json("run", "localhost", "state.single", *arguments).data["localhost"])
    return ret


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_a_large_file_is_never_completely_in_memory(project, tmp_path):
    """The peak memory of the largest process of the command and of the target while 300 MB are transferred."""
    piece = os.urandom(10_000_000)
    with (project.folder / "salt" / "big").open("wb") as stream:
        for number in range(30):
            stream.write(bytes([number]) + piece[1:])
    command = project.argv(
        "run", "localhost", "state.single", "file.managed", str(tmp_path / "dest"), "source=salt://big", "--out", "json"
    )
    probe = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, *command],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    (ret,) = values(json.loads(done.stdout)["localhost"])
    result, changes, peak = ret["result"], ret["changes"], int(done.stderr)
    assert (result, changes["diff"]) == (True, "New file")
    assert (tmp_path / "dest").stat().st_size == 300_000_000
    assert peak < 100_000, f"{peak} KiB"  # without any transfer it is 50,000


def test_only_different_files_of_a_tree_are_sent(project, tmp_path):
    source, dest = project.folder / "salt" / "tree", tmp_path / "dest"
    for number in range(300):
        project.write(f"salt/tree/d{number % 7}/f{number}", f"{number}\n")
    words = ("file.recurse", str(dest), "source=salt://tree")
    first = state(project, *words)
    assert first["result"] is True and len(first["changes"]) == 307  # with the folders
    kept = project.home / ".cache" / "pushsalt" / "files"
    for path in kept.iterdir():
        path.unlink()
    second = state(project, *words)
    assert second["result"] is True and second["changes"] == {} and not list(kept.iterdir())
    (source / "d1" / "f1").write_text("one\n")
    (dest / "d2" / "f2").write_text("2!")
    third = state(project, *words)
    assert sorted(Path(name).name for name in third["changes"]) == ["f1", "f2"]
    assert sorted(path.read_text() for path in kept.iterdir()) == ["2\n", "one\n"]


async def test_foreseen_files_come_for_one_question(open_session, tmp_path):
    files = {f"f{number}": os.urandom(100 + number) for number in range(700)}
    there = {"f10", "f11", "f699"}  # the destination has these
    dest, asked, given = tmp_path / "dest", [], []
    (dest / "tree").mkdir(parents=True)
    entries = [[name, "f", hashlib.sha256(data).hexdigest(), 0o644, len(data)] for name, data in files.items()]

    async def serve(question):
        asked.append(question["k"])
        if question["k"] == "tree":
            return {"entries": entries}
        if question["k"] == "files":
            blobs = [blob_of(files[url.rpartition("/")[2]]) for url, _ in question["files"]]
            given.extend(blob.digest for blob in blobs)
            return {"digests": [blob.digest for blob in blobs], "blobs": [(blob, None) for blob in blobs]}
        return {"missing": True}

    for name in there:
        (dest / "tree" / name).write_bytes(files[name])
    session = await open_session(serve=serve)
    chunk = {
        "state": "file",
        "fun": "recurse",
        "name": str(dest / "tree"),
        "source": "salt://tree",
        "__id__": "r",
        "__sls__": "x",
        "__env__": "base",
        "order": 1,
    }
    states = []
    session._on_event = lambda message: states.append(message["ret"]) if message["k"] == "state" else None
    await session.run({"chunks": [chunk], "test": False}, lambda digest: None)
    assert [ret["result"] for ret in states] == [True]
    assert {path.name: path.read_bytes() for path in (dest / "tree").iterdir()} == files
    assert asked == ["tree", "files", "files"]
    assert len(given) == 697


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("full", ["store", "destination"])
def test_a_full_disk_leaves_the_file_as_it_was(project, tmp_path, full):
    project.write("salt/big", os.urandom(8 * MIB))
    place = tmp_path / "disk" if full == "destination" else project.home / ".cache" / "pushsalt" / "files"
    place.mkdir(parents=True)
    for folder in (place, place.parent):
        folder.chmod(0o700)
    dest = (tmp_path if full == "store" else place) / "dest"
    options = ["-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs"]
    mounted = subprocess.run(["mount", *options, str(place)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount: {mounted.stderr!r}")
    try:
        dest.write_text("as before\n")
        ret = state(project, "file.managed", str(dest), "source=salt://big")
        assert ret["result"] is False and "No space left on device" in ret["comment"]
        assert str(place) in ret["comment"]
        assert dest.read_text() == "as before\n" and "diff" not in ret["changes"]
        assert sorted(path.name for path in place.iterdir()) == (["dest"] if full == "destination" else [])
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize(
    "old, new, said",
    [
        (b"a\n" * 1_500_000, b"b\n" * 1_500_000, "Replace a text of 3000000 bytes with one of 3000000 bytes"),
        (b"\0" * 600 + b"old", b"\0" * 600 + b"new", "Replace binary file"),
        (b"text\n", b"\0" * 3_000_000, "Replace text file with binary file"),
        (b"a\n" * 1_500_000, b"b\n", "Replace a text of 3000000 bytes with one of 2 bytes"),
        (b"one\n", b"two\n", "--- \n+++ \n@@ -1 +1 @@\n-one\n+two\n"),
    ],
)
def test_differences_of_large_and_binary_files(project, tmp_path, old, new, said):
    project.write("salt/new", new)
    (tmp_path / "dest").write_bytes(old)
    for more in ("test=true", "test=false"):
        ret = state(project, "file.managed", str(tmp_path / "dest"), "source=salt://new", more)
        assert ret["changes"]["diff"].startswith(said), more
    assert (tmp_path / "dest").read_bytes() == new


def test_two_copies_into_one_folder_that_make_the_same_folders_and_links(tmp_path):
    """What the other one created meanwhile counts as existing before."""
    rounds, many = 200, 4
    start, failed = threading.Barrier(many), []

    def copy():
        for number in range(rounds):
            tree = Tree(str(tmp_path / str(number)))
            start.wait()
            try:
                tree.prepare()
                tree.folder("", 0o755)
                tree.folder("conf", 0o755)
                tree.link("conf/link", "../file")
            except Exception as exc:
                failed.append(repr(exc))

    threads = [threading.Thread(target=copy) for _ in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert all(os.readlink(tmp_path / str(number) / "conf" / "link") == "../file" for number in range(rounds))


def test_folders_on_the_way_to_a_file_that_another_process_makes_at_that_moment(tmp_path):
    made, start = [], threading.Barrier(2)

    def make(number):
        start.wait()
        made.append(atomic.makedirs(str(tmp_path / str(number) / "sub" / "file")))

    for number in range(200):
        threads = [threading.Thread(target=make, args=[number]) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(made) == 400
    assert sum(map(len, made)) == 400  # each folder was created by one of them
