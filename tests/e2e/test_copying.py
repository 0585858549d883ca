"""``cp`` copies files and trees to real servers and to this machine, and back."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import socket
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.beds.project import Project
from tests.beds.sshd import SshdBed

pytestmark = pytest.mark.slow

Make = Callable[..., Project]
BIG = os.urandom(1024) * 5000


def tree(root: Path) -> dict[str, Any]:
    """The entries below a folder: path -> content, link target, or None for a folder."""
    entries: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        entries[name] = str(path.readlink()) if path.is_symlink() else None if path.is_dir() else path.read_bytes()
    return entries


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A tree with every kind of file that can be copied."""
    root = tmp_path / "site"
    (root / "conf" / "empty").mkdir(parents=True)
    (root / "conf" / "a b.conf").write_text("one\n")
    (root / "conf" / "ü.conf").write_text("two\n")
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o755)
    (root / "none").touch()
    (root / "big").write_bytes(BIG)
    (root / "conf" / "link").symlink_to("../run")
    return root


def test_a_file_is_copied_only_where_it_differs(bed: SshdBed, make_project: Make, tmp_path: Path) -> None:
    project = make_project()
    project.write("app.conf", "a: 1\n")
    (project.folder / "app.conf").chmod(0o640)
    home = bed.targets["t1"].home
    dry = project.json("cp", "app.conf", "t1:etc/app/", "--test")
    assert dry.code == 0 and not (home / "etc").exists()
    assert dry.data["t1"] == {"changed": {f"{home}/etc/app/app.conf": "new"}, "same": 0, "test": True}
    done = project.json("cp", "app.conf", "t*:etc/app/")
    assert done.code == 0 and list(done.data) == ["t1", "t2", "t3"]
    file = home / "etc/app/app.conf"
    assert file.read_text() == "a: 1\n" and stat.S_IMODE(file.stat().st_mode) == 0o640
    assert done.data["t1"] == {"changed": {str(file): "new"}, "same": 0}
    before = file.stat()
    assert project.json("cp", "app.conf", "t1:etc/app/").data["t1"] == {"changed": {}, "same": 1}
    assert file.stat().st_mtime_ns == before.st_mtime_ns and file.stat().st_ino == before.st_ino
    assert project.json("cp", "app.conf", "t1:etc/app", "--mode", "0600").data["t1"]["changed"] == {str(file): "mode"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    project.write("app.conf", "a: 2\n")
    assert project.json("cp", "app.conf", "t1:~/etc/app/app.conf").data["t1"]["changed"] == {str(file): "content"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600, "an existing file keeps its mode"
    assert not list((home / ".cache").rglob("files/*")), "no copy is kept"


def test_a_tree_is_copied_to_a_target_and_back(bed: SshdBed, make_project: Make, tmp_path: Path, site: Path) -> None:
    project = make_project(here={"transport": "local"})
    for id, top in (("t1", bed.targets["t1"].home / "srv"), ("here", tmp_path / "srv")):
        done = project.json("cp", str(site), f"{id}:{top}/", "--dir-mode", "700")
        assert done.code == 0, done.out
        assert tree(top / "site") == tree(site)
        assert stat.S_IMODE((top / "site/run").stat().st_mode) == 0o755
        assert stat.S_IMODE((top / "site/conf").stat().st_mode) == 0o700
        assert len(done.data[id]["changed"]) == 9 and done.data[id]["same"] == 0
        assert project.json("cp", f"{site}/", f"{id}:{top}/site").data[id] == {"changed": {}, "same": 9}
    back = project.json("cp", f"t1:{bed.targets['t1'].home}/srv/site/", "back")
    assert back.code == 0 and tree(project.folder / "back") == tree(site)
    assert stat.S_IMODE((project.folder / "back/run").stat().st_mode) == 0o755
    repeated = project.json("cp", f"t1:{bed.targets['t1'].home}/srv/site/", "back")
    assert repeated.data["t1"] == {"changed": {}, "same": 9}


def test_targets_with_the_same_login_receive_a_tree_at_the_same_time(
    make_project: Make, tmp_path: Path, site: Path
) -> None:
    """All of them write the same file in the same private directory at the same time."""
    project = make_project(**{f"here{number}": {"transport": "local"} for number in range(4)})
    (site / "twice").write_bytes(BIG)
    for number in range(40):
        (site / f"file{number}").write_bytes(bytes([number]) * 300_000)
    for number in range(2):
        done = project.json("cp", f"{site}/", f"here*:{tmp_path}/there{number}")
        assert all("failed" not in ret for ret in done.data.values()), done.out
        assert tree(tmp_path / f"there{number}") == tree(site)


def test_a_copy_from_several_targets_has_a_folder_for_each(bed: SshdBed, make_project: Make) -> None:
    project = make_project()
    for id in ("t1", "t2"):
        (bed.targets[id].home / "log").write_text(id)
    dry = project.json("cp", "t1,t2:log", "logs", "-L", "--test")
    assert dry.data["t1"]["changed"] == {str(project.folder / "logs/t1/log"): "new"}
    assert not (project.folder / "logs").exists()
    done = project.json("cp", "t*:log", "logs")
    assert done.code == 2 and "No such file" in done.error("t3")["message"]
    assert tree(project.folder / "logs") == {"t1": None, "t1/log": b"t1", "t2": None, "t2/log": b"t2"}
    assert project.json("cp", "-L", "t1,t2:log", "by-id/{id}.log").code == 0
    assert tree(project.folder / "by-id") == {"t1.log": b"t1", "t2.log": b"t2"}


def test_the_suggested_command_repeats_the_copy_of_failed_targets_only(bed: SshdBed, make_project: Make) -> None:
    """The destination of a copy from one target differs from that of a copy from several targets."""
    project = make_project()
    for id in ("t1", "t2"):
        (bed.targets[id].home / "-log").write_text(id)
    (bed.targets["t3"].home / "-log").unlink(missing_ok=True)
    for destination, path in (("logs/", "logs/t3/-log"), ("{id}.log", "t3.log")):
        done = project.run("cp", "--mode", "0600", "t*:-log", destination)
        argv = shlex.split(done.out.rpartition("again      ")[2])
        assert argv[:2] == ["pushsalt", "cp"], done.out
        (bed.targets["t3"].home / "-log").write_text("t3")
        assert project.run(*argv[1:]).code == 0
        copy = project.folder / path
        assert copy.read_text() == "t3" and stat.S_IMODE(copy.stat().st_mode) == 0o600
        (bed.targets["t3"].home / "-log").unlink()
    project.write("-sent", "x")
    (bed.targets["t2"].home / "sent").mkdir()
    (bed.targets["t2"].home / "sent/-sent").mkdir()
    done = project.run("cp", "--", "-sent", "t*:sent")
    argv = shlex.split(done.out.rpartition("again      ")[2])
    assert done.code == 2 and argv[-2:] == ["-sent", "t2:sent"], done.out
    (bed.targets["t2"].home / "sent/-sent").rmdir()
    assert project.run(*argv[1:]).code == 0


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("sudo"), reason="becomes another user")
def test_unreadable_files_are_reported_and_the_others_are_copied(bed: SshdBed, make_project: Make) -> None:
    project = make_project(nobody={**bed.inventory()["hosts"]["t1"], "sudo": True, "sudo_user": "nobody"})
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for folder, mode in (("a", 0o755), ("closed", 0o700), ("closed/below", 0o755), ("listed", 0o744), ("z", 0o755)):
            (root / folder).mkdir()
            (root / folder / "f").write_text("x")
            (root / folder).chmod(mode)
        (root / "own").write_text("x")
        (root / "own").chmod(0o600)
        root.chmod(0o755)
        done = project.json("cp", f"nobody:{root}/", "got")
    assert done.code == 2, done.out
    assert set(tree(project.folder / "got")) == {"a", "a/f", "z", "z/f"}
    failed = done.data["nobody"]["failed"]
    assert set(failed) == {str(project.folder / "got" / name) for name in ("closed", "listed", "own")}
    assert set(failed.values()) == {"cannot be read there: Permission denied"}


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("sudo"), reason="becomes another user")
def test_a_dry_run_says_what_the_user_may_not_write(bed: SshdBed, make_project: Make) -> None:
    project = make_project(nobody={**bed.inventory()["hosts"]["t1"], "sudo": True, "sudo_user": "nobody"})
    project.write("src/f", "x")
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        (Path(name) / "open").mkdir()
        (Path(name) / "open").chmod(0o777)
        for target, code, failed in (("new", 2, "Permission denied"), ("open/new", 0, ""), ("open/a/b", 0, "")):
            for words in (["--test"], []):
                done = project.json("cp", "src/f", f"nobody:{name}/{target}", *words)
                assert done.code == code, done.out
                assert done.data["nobody"].get("failed", {}) == ({f"{name}/{target}": failed} if failed else {})


def test_unsafe_files_are_skipped_and_errors_are_reported(bed: SshdBed, make_project: Make, site: Path) -> None:
    """No file name or link of a target leads outside of the destination."""
    project = make_project()
    home = bed.targets["t1"].home / "odd"
    (home / "sub").mkdir(parents=True)
    (home / "sub" / "fine").write_text("fine")
    (home / "line\nbreak").write_text("x")
    (home / "folder\x1b[2J").mkdir()
    (home / "folder\x1b[2J" / "in").write_text("x")
    (home / "out").symlink_to("../../secret")
    (home / "absolute").symlink_to("/etc/passwd")
    (home / "through").symlink_to("sub/../../..")
    (home / "sub" / "inside").symlink_to("../sub/fine")
    os.mkfifo(home / "pipe")
    (home / "setuid").write_text("x")
    (home / "setuid").chmod(0o4755)
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(home)
        listening.bind("socket")
    done = project.json("cp", "t1:odd/", "odd", timeout=30)
    assert done.code == 0, done.out
    copied = tree(project.folder / "odd")
    assert copied == {"setuid": b"x", "sub": None, "sub/fine": b"fine", "sub/inside": "../sub/fine"}
    assert stat.S_IMODE((project.folder / "odd/setuid").stat().st_mode) == 0o755
    left_out = done.data["t1"]["left_out"]
    assert {"out", "absolute", "through", "pipe", "socket", "line\\u000abreak", "folder\\u001b[2J"} == set(left_out)
    # a link in the destination: nothing is written through it
    elsewhere = project.folder / "elsewhere"
    elsewhere.mkdir()
    (project.folder / "linked").mkdir()
    (project.folder / "linked" / "sub").symlink_to(elsewhere)
    refused = project.json("cp", "t1:odd/", "linked")
    assert refused.code == 2 and not list(elsewhere.iterdir())
    assert str(project.folder / "linked/sub/fine") in refused.data["t1"]["failed"]
    # and to the target
    (bed.targets["t1"].home / "full" / "run").mkdir(parents=True)
    failed = project.json("cp", f"{site}/", "t1:full")
    assert failed.code == 2 and list(failed.data["t1"]["failed"]) == [str(bed.targets["t1"].home / "full/run")]
    assert (bed.targets["t1"].home / "full/big").read_bytes() == BIG, "the rest is there"


def test_devices_and_pipes_are_not_replaced(bed: SshdBed, make_project: Make) -> None:
    """A copy by root to /dev/null would replace the device by a file."""
    project = make_project()
    project.write("file", "x")
    home = bed.targets["t1"].home
    os.mkfifo(home / "pipe")
    os.mkfifo(project.folder / "pipe")
    (home / "from").write_text("x")
    for arguments in (("file", "t1:pipe"), ("t1:from", "pipe")):
        done = project.json("cp", *arguments)
        assert done.code == 2, done.out
        [message] = done.data["t1"]["failed"].values()
        assert "exists, and is a pipe" in message
        assert stat.S_ISFIFO((home / "pipe").stat().st_mode) and stat.S_ISFIFO((project.folder / "pipe").stat().st_mode)


def test_a_copy_larger_than_max_size_is_an_error(bed: SshdBed, make_project: Make) -> None:
    project = make_project()
    (bed.targets["t2"].home / "big").write_bytes(BIG)
    done = project.json("cp", "t2:big", ".", "--max-size", "4M")
    assert done.error("t2")["kind"] == "excess" and "--max-size" in done.error("t2")["hint"] and done.code == 3
    assert not (project.folder / "big").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
def test_owner_and_group_are_set(bed: SshdBed, make_project: Make, site: Path) -> None:
    project = make_project()
    home = bed.targets["t1"].home
    assert project.json("cp", f"{site}/", "t1:owned", "--owner", "nobody:1234").code == 0
    status = (home / "owned/run").stat()
    assert (status.st_gid, home.joinpath("owned/conf").stat().st_uid) == (1234, status.st_uid) and status.st_uid != 0
    wrong = project.json("cp", f"{site}/", "t1:owned", "--owner", "no-such-user")
    assert wrong.code == 2 and "no-such-user" in wrong.error("t1")["message"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a", "b"), "neither is"),
        (("t1:a", "t2:b"), "each is"),
        (("missing", "t1:b"), "cannot be read"),
        (("", "t1:b"), "SRC is empty"),
        (("~no-such-user/x", "t1:b"), "no home of a user"),
        (("t1:a", "~no-such-user/x"), "no home of a user"),
        (("t1:a", "b", "--mode", "rw"), "no mode"),
        (("t1:a", "b", "--max-size", "much"), "not a size"),
        (("t1:a", "b", "--owner", "no-such-user"), "no-such-user"),
    ],
)
def test_invalid_copy_arguments_are_errors(
    bed: SshdBed, make_project: Make, arguments: tuple[str, ...], message: str
) -> None:
    (bed.targets["t1"].home / "a").touch()
    done = make_project().run("cp", *arguments)
    assert done.code == (2 if "--owner" in arguments else 1) and message in done.out + done.err


# --- broken connections


class BreakingProxy:
    """A proxy in front of a server: its first connection breaks after a number of bytes, later ones do not.

    The thread that waits for the listening socket closes it: otherwise another socket could get its number, and the
    thread would accept connections of that one.
    """

    def __init__(self, port: int, after: int) -> None:
        self._to, self._left = port, after
        self._broken = False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with self._listening:
            while True:
                try:
                    client, _ = self._listening.accept()
                except OSError:  # the socket was shut down
                    return
                server = socket.create_connection(("127.0.0.1", self._to))
                ends = not self._broken
                self._broken = True
                for source, destination in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(source, destination, ends), daemon=True).start()

    def _pass(self, source: socket.socket, destination: socket.socket, ends: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if ends:
                    self._left -= len(data)
                    if self._left < 0:
                        break
                destination.sendall(data)
        for connection in (source, destination):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        source.close()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()


@pytest.fixture
def breaking(bed: SshdBed, make_project: Make) -> Iterator[Project]:
    proxy = BreakingProxy(bed.targets["t3"].port, 8 * 1024 * 1024)
    project = make_project(far={**bed.inventory()["hosts"]["t3"], "port": proxy.port})
    known_hosts = project.home / ".ssh" / "known_hosts"
    kind, key = Path(f"{bed.host_key}.pub").read_text().split()[:2]
    known_hosts.write_text(known_hosts.read_text() + f"[127.0.0.1]:{proxy.port} {kind} {key}\n")
    shutil.rmtree(bed.targets["t3"].home, ignore_errors=True)
    bed.targets["t3"].home.mkdir()
    yield project
    proxy.close()


LARGE = os.urandom(12 * 1024 * 1024)


def test_an_interrupted_copy_from_a_target_continues(bed: SshdBed, breaking: Project) -> None:
    (bed.targets["t3"].home / "large").write_bytes(LARGE)
    lost = breaking.json("cp", "far:large", "large")
    assert lost.code == 3 and lost.error("far")["kind"] == "connection_lost", lost.out
    [part] = breaking.folder.glob(".pushsalt-*.part")
    status = part.stat()
    assert 2**20 <= status.st_size < len(LARGE) and stat.S_IMODE(status.st_mode) == 0o600
    done = breaking.json("cp", "far:large", "large")
    assert done.code == 0 and (breaking.folder / "large").read_bytes() == LARGE
    assert (breaking.folder / "large").stat().st_ino == status.st_ino, "it is the same file, continued"
    assert not list(breaking.folder.glob(".pushsalt-*"))


def test_a_partial_file_with_wrong_content_is_replaced(bed: SshdBed, breaking: Project) -> None:
    (bed.targets["t3"].home / "large").write_bytes(LARGE)
    assert breaking.json("cp", "far:large", "large").code == 3
    [part] = breaking.folder.glob(".pushsalt-*.part")
    part.write_bytes(bytes(part.stat().st_size))
    assert breaking.json("cp", "far:large", "large").code == 0
    assert (breaking.folder / "large").read_bytes() == LARGE


def test_an_interrupted_copy_to_a_target_continues(bed: SshdBed, breaking: Project) -> None:
    home = bed.targets["t3"].home
    breaking.write("large", LARGE)
    lost = breaking.json("cp", "large", "far:there/")
    assert lost.code == 3 and lost.error("far")["kind"] == "connection_lost", lost.out
    assert not (home / "there/large").exists(), "a file is whole, or not there"
    size = partial_size(home)
    assert size >= 2**20
    done = breaking.run("cp", "large", "far:there/", "-l", "debug")
    assert done.code == 0 and (home / "there/large").read_bytes() == LARGE
    assert not list(home.rglob("*.part"))


def partial_size(home: Path) -> int:
    """The bytes of the interrupted transfer, once the target has noticed the end of the connection."""
    import time

    before = -1
    for _ in range(100):
        now = sum(part.stat().st_size for part in home.rglob("*.part"))
        if now and now == before:
            return now
        before = now
        time.sleep(0.1)
    return before
