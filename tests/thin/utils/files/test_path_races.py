"""Root works in a folder of another user, who swaps files, folders and links: no other file is affected.

Each state runs with a swap before each of its system calls, and against a process that swaps all the time.
``PUSHSALT_RACE_ROUNDS`` is the number of rounds of the latter (use 1000 by hand; a round is one run of the state), and
enables all steps.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.thin import racebed
from tests.thin.racebed import Arena, Racer, Steps
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath, transfer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can work in folders of other users"),
]

ROUNDS = int(os.environ.get("PUSHSALT_RACE_ROUNDS", "0"))
#: the number of steps before which the user swaps a name, unless all are enabled
MOST = 10
KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
#: state or function -> (names that the user swaps, arguments; @ is the user's folder)
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "managed": ("f", {"name": "@f", "contents": "#", "user": "nobody", "group": "nogroup", "mode": "0640"}),
    "managed private": ("f", {"name": "@f", "contents": "#", "user": "root", "mode": "0600", "backup": "minion"}),
    "managed in a folder": ("d tree", {"name": "@d/f", "contents": "#", "user": "nobody", "mode": "0644"}),
    "managed not followed": ("f d", {"name": "@d/f", "contents": "#", "follow_symlinks": False, "mode": "0600"}),
    "managed owners alone": ("f d/f d", {"name": "@d/f", "replace": False, "user": "nobody", "mode": "0666"}),
    "managed new folders": ("d", {"name": "@d/n/e/w", "contents": "#", "makedirs": True, "user": "nobody"}),
    "managed checked": ("d", {"name": "@d/f", "contents": "#", "check_cmd": "true", "tmp_dir": "@d"}),
    "append": ("f d", {"name": "@d/f", "text": "#"}),
    "append to a file": ("f", {"name": "@f", "text": "#"}),
    "prepend": ("f", {"name": "@f", "text": "#"}),
    "replace": ("f d/f", {"name": "@d/f", "pattern": "(?s).*", "repl": "#", "count": 1, "backup": ".bak"}),
    "blockreplace": ("f", {"name": "@f", "content": "#", "append_if_not_found": True}),
    "line": ("f", {"name": "@f", "content": "#", "mode": "insert", "location": "end", "backup": True}),
    "keyvalue": ("f d", {"name": "@d/f", "key": "k", "value": "#", "append_if_not_found": True}),
    "comment": ("f", {"name": "@f", "regex": "^theirs"}),
    "serialize": ("f d", {"name": "@d/f", "dataset": {"k": "#"}, "serializer": "json", "user": "nobody"}),
    "touch": ("f d g", {"name": "@d/f", "atime": 5, "mtime": 5}),
    "symlink": ("f d", {"name": "@d/f", "target": "/nonexistent", "force": True, "user": "nobody", "atomic": True}),
    "symlink by force": ("f d", {"name": "@d/f", "target": "/nonexistent", "force": True, "user": "nobody"}),
    "symlink backup": ("d", {"name": "@d/f", "target": "/x", "backupname": "@d/x", "force": True, "user": "nobody"}),
    "hardlink": ("d f", {"name": "@d/x", "target": "@f", "force": True}),
    "mknod": ("d", {"name": "@d/pipe", "ntype": "p", "user": "nobody", "mode": "0666"}),
    "directory": ("d", {"name": "@d", "user": "nobody", "group": "root", "mode": "0777"}),
    "directory new": ("d", {"name": "@d/new/er", "user": "nobody", "mode": "0777", "makedirs": True}),
    "directory recurse": (
        "tree tree/sub tree/a tree/sub/b",
        {
            "name": "@tree",
            "user": "nobody",
            "group": "root",
            "dir_mode": "0775",
            "file_mode": "0666",
            "recurse": ["user", "group", "mode"],
        },
    ),
    "directory followed": (
        "tree/sub tree/a tree/sub/b",
        {"name": "@tree", "user": "nobody", "file_mode": "0666", "recurse": ["user", "mode"], "follow_symlinks": True},
    ),
    "directory clean": ("tree tree/sub tree/sub/deep", {"name": "@tree", "clean": True}),
    "directory by force": ("f d", {"name": "@d/f", "force": True, "user": "nobody"}),
    "recurse": (
        "tree tree/sub tree/sub/b tree/a",
        {
            "name": "@tree",
            "source": "salt://served",
            "user": "nobody",
            "file_mode": "0666",
            "dir_mode": "0777",
            "clean": True,
        },
    ),
    "absent": ("tree tree/sub tree/sub/deep", {"name": "@tree/sub"}),
    "absent file": ("d f d/f", {"name": "@d/f"}),
    "copy": ("d f d/x", {"name": "@d/x", "source": "!f", "force": True, "user": "nobody", "mode": "0666"}),
    "copy a tree": (
        "tree tree/sub d",
        {"name": "@d/copy", "source": "!tree", "force": True, "user": "nobody", "mode": "0777"},
    ),
    "copy from the folder": ("tree tree/sub tree/a tree/sub/b", {"name": "%tree", "source": "@tree", "force": True}),
    "copy a file from the folder": ("f d d/f", {"name": "%f", "source": "@d/f", "force": True, "preserve": True}),
    "rename": ("d f tree", {"name": "@d/x", "source": "@tree/a", "force": True}),
    "tidied": ("tree tree/sub", {"name": "@tree", "rmdirs": True, "age": 0}),
    "pruned": ("tree tree/sub", {"name": "@tree", "recurse": True, "ignore_errors": True}),
    "decode": ("f d", {"name": "@d/f", "encoded_data": "aGVsbG8K"}),
    "patch": ("f d d/f", {"name": "@d/f", "source": "salt://p.diff", "skip_verify": True}),
}
FUNCTIONS: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "file.chown": ("f d", ["@d/f", "nobody", "nogroup"], {}),
    "file.set_mode": ("f d/f d", ["@d/f", "0666"], {}),
    "file.write": ("f d", ["@d/f", "#"], {}),
    "file.truncate": ("f d d/f", ["@d/f", 3], {}),
    "file.seek_write": ("f d d/f", ["@d/f", "#", 1], {}),
    "file.move": ("d tree tree/sub", ["@tree/sub", "@d/moved"], {}),
    "file.makedirs_perms": ("d", ["@d/m/n"], {"user": "nobody", "mode": "0777"}),
    "file.restore_backup": ("f", ["@f", 0], {}),
    "file.find": ("tree tree/sub", ["@tree"], {"delete": "f", "name": "*"}),
    "cp.get_file_str": ("f", ["@f"], {}),
    "ssh.set_auth_key": (
        ".ssh .ssh/authorized_keys",
        ["nobody", KEY],
        {"enc": "ssh-ed25519", "config": "@.ssh/authorized_keys"},
    ),
    "ssh.rm_auth_key": (".ssh .ssh/authorized_keys", ["nobody", KEY], {"config": "@.ssh/authorized_keys"}),
    "ssh.set_known_host": (
        ".ssh .ssh/known_hosts",
        ["nobody", "h.example"],
        {"key": KEY, "enc": "ssh-ed25519", "config": "@.ssh/known_hosts", "hash_known_hosts": False},
    ),
    "ssh.rm_known_host": (".ssh .ssh/known_hosts", ["nobody", "h.example"], {"config": "@.ssh/known_hosts"}),
    "ini.set_option": ("f d", ["@d/f", {"s": {"k": "#"}}], {}),
    "user.present": ("d", ["@d/home/new"], {}),
}
ALL = {f"file.{name}": case[0] for name, case in CASES.items()}
ALL.update((name, case[0]) for name, case in FUNCTIONS.items())


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    with racebed.folder(tmp_path) as base, racebed.arena(base) as arena:
        arena.bed.source("p.diff", "--- f\n+++ f\n@@ -1 +1 @@\n-theirs\n+patched\n")
        account = {"home": str(arena.top), "uid": racebed.NOBODY, "gid": racebed.NOBODY, "name": "nobody"}
        arena.bed.loaders.modules._functions["user.info"] = lambda name: account
        yield arena


class Runner:
    """One run of a case, with a new text for the file in each. Counts the outcomes."""

    def __init__(self, arena: Arena, case: str) -> None:
        self.arena, self.case = arena, case
        self.runs = self.refused = self.changed = 0

    def _with_folder(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._with_folder(item) for key, item in value.items()}
        if not isinstance(value, str) or value[:1] not in "@!%#":
            return value
        top = {"@": self.arena.top, "!": self.arena.mine, "%": self.arena.out, "#": f"text {self.runs}"}[value[0]]
        return f"{top}/{value[1:]}" if value[0] != "#" else str(top)

    def __call__(self) -> None:
        self.runs += 1
        try:
            self._run()
        except safepath.Refused:
            self.refused += 1
        except (CommandExecutionError, SaltInvocationError, OSError):
            pass  # an entry was removed a moment ago

    def _run(self) -> None:
        bed = self.arena.bed
        if self.case == "user.present":
            bed.loaders.states["user.present"].__globals__["_change_home"](
                "nobody",
                {"uid": racebed.NOBODY, "gid": racebed.NOBODY},
                {"homeDoesNotExist": self._with_folder(FUNCTIONS[self.case][1][0])},
                False,
            )
        elif self.case in FUNCTIONS:
            _, args, kwargs = FUNCTIONS[self.case]
            if self.case == "file.restore_backup":
                bed.state("managed", name=str(self.arena.top / "f"), contents=f"{self.runs}", backup="minion")
            ret = bed.call(self.case, *map(self._with_folder, args), **self._with_folder(kwargs))
            self.changed += bool(ret)
        else:
            name = self.case.partition(".")[2]
            ret = bed.state(name.partition(" ")[0], **self._with_folder(CASES[name][1]))
            assert set(ret) >= {"name", "changes", "result", "comment"}
            self.changed += bool(ret["result"] and ret["changes"])
            self.refused += ret["result"] is False


@pytest.mark.parametrize("case", ALL)
def test_a_swap_before_any_step_changes_no_other_file(arena: Arena, case: str) -> None:
    run = Runner(arena, case)
    for _ in range(2):  # the first run imports modules
        arena.reset()
        with Steps.watched(arena.top, lambda number: None):
            run()
        steps = Steps.count
    for name in ALL[case].split():
        numbers = range(1, steps + 2)
        if not ROUNDS and len(numbers) > MOST:
            numbers = sorted(random.Random(case + name).sample(numbers, MOST))  # type: ignore[assignment]
        for number in numbers:
            for back in (None, number + 1):
                arena.reset()

                def act(now: int, name: str = name, number: int = number, back: int | None = back) -> None:
                    if now == number:
                        arena.swap(name)
                    elif now == back:
                        arena.swap_back(name)

                with Steps.watched(arena.top, act):
                    run()
                harm = arena.harm()
                assert not harm, f"{name} swapped before step {number} of {steps}, back before {back}: {harm}"


@pytest.mark.parametrize("case", ALL)
def test_a_racing_user_changes_no_other_file(arena: Arena, case: str) -> None:
    run = Runner(arena, case)
    run()
    until = time.monotonic() + 1.5
    with Racer(arena, ALL[case].split()) as racer:
        while run.runs < ROUNDS if ROUNDS else time.monotonic() < until and run.runs < 100:
            run()
            if run.runs % 20 == 0:
                harm = racer.harm()
                assert not harm, f"round {run.runs}: {harm}"
    assert not arena.harm()
    print(f"{case}: {run.runs} rounds, {run.changed} changed, {run.refused} refused")


# -- controls: code that uses paths is misled


def naive_write(path: Path) -> None:
    if not os.path.islink(path):
        with open(path, "w") as target:
            target.write("x")
        os.chown(path, racebed.NOBODY, -1)


def naive_recursion(path: Path) -> None:
    for folder, folders, files in os.walk(path):
        for name in folders + files:
            if not os.path.islink(os.path.join(folder, name)):
                os.chown(os.path.join(folder, name), racebed.NOBODY, -1)


def naive_removal(path: Path) -> None:
    for folder, folders, files in os.walk(path, topdown=False):
        for name in files + folders:
            below = os.path.join(folder, name)
            os.rmdir(below) if os.path.isdir(below) and not os.path.islink(below) else os.unlink(below)


def naive_copy(path: Path) -> None:
    if not os.path.islink(path):
        shutil.copyfile(path, path.parent / "g")


NAIVE = {naive_write: "f", naive_recursion: "tree", naive_removal: "tree", naive_copy: "f"}


@pytest.mark.parametrize("naive", NAIVE)
def test_control_a_swap_before_a_step_misleads_code_that_uses_paths(
    arena: Arena, naive: Callable[[Path], None]
) -> None:
    swapped = NAIVE[naive] if NAIVE[naive] == "f" else "tree/sub"
    for number in range(1, 30):
        arena.reset()
        with Steps.watched(arena.top, lambda now, number=number: arena.swap(swapped) if now == number else None):
            try:
                naive(arena.top / NAIVE[naive])
            except OSError:
                pass
        if arena.harm():
            return
    pytest.fail("no other file was changed")


@pytest.mark.parametrize("naive", NAIVE)
def test_control_a_racing_user_misleads_code_that_uses_paths(arena: Arena, naive: Callable[[Path], None]) -> None:
    names = ["f"] if NAIVE[naive] == "f" else ["tree/sub", "tree"]
    until = time.monotonic() + 60
    with Racer(arena, names) as racer:
        while time.monotonic() < until:
            for _ in range(50):
                try:
                    naive(arena.top / NAIVE[naive])
                except OSError:
                    pass
            if racer.harm():
                return
    pytest.fail("no other file was changed")


# -- a user's file in place of another does not get its rights


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("fun", ["managed", "copy"])
def test_no_file_of_the_user_ever_runs_as_root(arena: Arena, fun: str, exists: bool) -> None:
    content, program = "#!/bin/true\n", arena.top.parent / "program"
    program.write_text(content)
    os.chmod(program, 0o4755)
    name = arena.top / "d/program"
    arguments = {
        "managed": {"contents": content, "user": "root", "mode": "4755"},
        "copy": {"source": str(program), "preserve": True, "force": True},
    }[fun]

    def replace_file(now: int) -> None:
        if now == number:
            evil = arena.top / "d/evil"
            evil.write_text("#!/bin/sh\n")
            os.chown(evil, racebed.NOBODY, racebed.NOBODY)
            os.rename(evil, name)

    number, steps = 0, 1
    while number <= steps:
        arena.reset()
        if exists:
            name.write_text(content)
            os.chown(name, racebed.NOBODY, racebed.NOBODY)
        with Steps.watched(arena.top, replace_file):
            try:
                ret = arena.bed.state(fun, name=str(name), **arguments)
            except OSError:
                ret = None
        steps = max(steps, Steps.count)
        status = os.lstat(name)
        assert not (status.st_mode & 0o4000 and name.read_text() != content), f"replaced before step {number}: {ret}"
        if not number:
            assert ret and ret["result"] is True and status.st_mode & 0o7777 == 0o4755, ret
        number += 1


@pytest.mark.parametrize("existing", ["", "other", "same"])
@pytest.mark.parametrize("part", [False, True])
def test_no_file_of_the_user_runs_as_root_after_a_copy(arena: Arena, existing: str, part: bool) -> None:
    """``pushsalt cp --owner root --mode 4755`` into a folder of the user; ``part``: transferred in pieces."""
    content, name = b"#!/bin/true\n", arena.top / "d/program"

    def copy() -> str:
        tree = transfer.Tree(str(arena.top), user="root", mode="4755")
        if existing == "same" and tree.has("d/program", sha256(content).hexdigest(), len(content)):
            return str(tree.same("d/program"))
        if not part:
            return str(tree.file("d/program", 0o755, lambda: content))
        with tree.at("d/program") as place, place.sibling("part") as part_file:
            descriptor = part_file.open(os.O_RDWR | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                written = os.fstat(descriptor)
            return str(tree.take("d/program", "part", 0o755, written))

    def replace_file(now: int) -> None:
        if now == number:
            for path in (name, name.parent / "part"):
                evil = arena.top / "d/evil"
                evil.write_text("#!/bin/sh\n")
                os.chown(evil, racebed.NOBODY, racebed.NOBODY)
                os.rename(evil, path)

    number, steps = 0, 1
    while number <= steps:
        arena.reset()
        if existing:
            name.write_bytes(content if existing == "same" else b"old")
            os.chown(name, racebed.NOBODY, racebed.NOBODY)
        with Steps.watched(arena.top, replace_file):
            try:
                outcome = copy()
            except (OSError, CommandExecutionError) as exc:
                outcome = str(exc)
        steps = max(steps, Steps.count)
        status = os.lstat(name)
        is_theirs = name.read_bytes() != content
        assert not (is_theirs and (status.st_mode & 0o4000 or status.st_uid == 0)), f"before step {number}: {outcome}"
        if not number:
            assert (status.st_mode & 0o7777, status.st_uid, is_theirs) == (0o4755, 0, False), outcome
        number += 1
