"""Temporary files in folders that others use, too, and programs that work in folders of other users."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from thin.exceptions import CommandExecutionError
from thin.utils.files import osutil, ownfolders
from thin.utils.programs import gitrun

pytestmark = pytest.mark.slow

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can create folders of other users")
ROOT = Path(__file__).parents[4]


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Path]:
    """A folder for temporary files where no program may run."""
    folder = tmp_path / "noexec"
    folder.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec,mode=1777", "x", str(folder)]).returncode:
        pytest.skip("cannot mount here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """TMPDIR of this test."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_no_module_uses_a_predictable_name_in_a_shared_folder() -> None:
    """Other users can predict a process id or a fixed name."""
    shared = re.compile(r"""["'](/var)?/tmp/|gettempdir|tempfile\.mktemp|["']/dev/shm/""")
    allowed = re.compile(r"^\s+pushsalt run|^\s+/tmp/.*:$|get\('path', '/tmp/hello")
    matches = []
    for path in [*(ROOT / "thin").rglob("*.py"), *(ROOT / "pushsalt").rglob("*.py")]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if shared.search(line) and not allowed.search(line):
                matches.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not matches, "\n".join(matches)


def test_scripts_are_stored_in_a_folder_without_noexec(
    mount: Path, monkeypatch: pytest.MonkeyPatch, make_loaders: Any
) -> None:
    monkeypatch.setenv("TMPDIR", str(mount))
    script = mount / "script.sh"
    script.write_text("#!/bin/sh\necho it runs from $0\n")
    ret = make_loaders(extra={"__env__": "base"}).modules["cmd.script"](str(script))
    assert ret["retcode"] == 0 and "it runs from" in ret["stdout"] and str(mount) not in ret["stdout"], ret
    with gitrun.Keys(None, "user", "se cret", None, None) as env:
        process = subprocess.run([env["GIT_ASKPASS"], "Password:"], env={**os.environ, **env}, stdout=subprocess.PIPE)
        assert process.stdout == b"se cret\n"
    assert not os.path.exists(env["GIT_ASKPASS"]) and [path.name for path in mount.iterdir()] == ["script.sh"]


def test_the_error_without_a_folder_for_programs_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: type("Status", (), {"f_flag": getattr(os, "ST_NOEXEC", 8)}))
    monkeypatch.setattr(os, "ST_NOEXEC", 8, raising=False)
    with pytest.raises(PermissionError, match="Set TMPDIR to one where programs may run"):
        osutil.tempdir(programs=True)
    assert osutil.tempdir()


@needs_root
def test_a_temporary_folder_that_others_can_change_is_not_preferred(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert osutil.tempdir() == str(temporary)
    temporary.chmod(0o777)
    assert osutil.tempdir() != str(temporary)
    temporary.chmod(0o1777)
    assert osutil.tempdir() == str(temporary)
    os.chown(temporary, 1, 1)
    assert osutil.tempdir() != str(temporary)


@needs_root
def test_a_script_is_not_stored_where_others_can_replace_it(tmp_path: Path, make_loaders: Any) -> None:
    """``cwd`` is the working directory; the script is put there only if no other user can rename it before it is
    executed.
    """
    run = make_loaders(extra={"__env__": "base"}).modules["cmd.script"]
    script = tmp_path / "script.sh"
    script.write_text("#!/bin/sh\necho $0; pwd\n")
    for mode, owner, inside in ((0o755, 0, True), (0o777, 0, False), (0o755, 1, False)):
        folder = tmp_path / f"{mode}-{owner}"
        folder.mkdir()
        folder.chmod(mode)
        os.chown(folder, owner, owner)
        path, working_directory = run(str(script), cwd=str(folder))["stdout"].split()
        assert (working_directory, os.path.dirname(path) == str(folder)) == (str(folder), inside)
        assert list(folder.iterdir()) == []


def test_temporary_files_of_a_killed_worker_are_removed(temporary: Path) -> None:
    """Files of its session are removed; those of other sessions and of background scripts remain."""
    program = f"""
import os, sys, time
sys.path.insert(0, {str(ROOT)!r})
os.setsid()
from thin.utils.files import osutil
osutil.mkstemp(suffix=".sh"); osutil.mkstemp(prefix="__pushsalt_bg_")
open(osutil.mkdtemp() + "/secret", "w").close()
print(flush=True); time.sleep(60)
"""
    worker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert worker.stdout is not None and worker.stdout.readline()
    (temporary / ".pushsalt-12345-other").touch()
    _, other = osutil.mkstemp()
    assert len(list(temporary.iterdir())) == 5
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    worker.stdout.close()
    osutil.sweep(worker.pid)
    remaining = sorted(path.name.split("-")[0] for path in temporary.iterdir())
    assert remaining == [".pushsalt", ".pushsalt", "__pushsalt_bg_" + str(worker.pid)] and os.path.exists(other)


def test_a_terminated_run_leaves_no_temporary_files(tmp_path: Path, temporary: Path) -> None:
    from tests.beds.project import Project

    project = Project(tmp_path, {"it": {"transport": "local", "thin_dir": str(tmp_path / "thin")}})
    listing = tmp_path / "there"
    command = project.argv("run", "it", "cmd.exec_code", "sh", f'ls -A "$TMPDIR" > {listing}; sleep 100')
    environment = {**project.environment, "TMPDIR": str(temporary)}
    running = subprocess.Popen(
        command, cwd=project.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    until(lambda: listing.exists() and listing.read_text().startswith("__pushsalt_"))
    running.terminate()
    running.communicate(timeout=60)
    until(lambda: list(temporary.iterdir()) == [])


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# -- docker ------------------------------------------------------------------------------------------------------------

DOCKER = """#!/bin/sh
# the parts of docker that these functions use; the container is this machine
case $1 in
exec) shift; [ "$1" = --interactive ] && shift; shift; exec "$@" ;;
cp) cp -a "${2#*:}" "$3" ;;
save) echo image > "$3" ;;
esac
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_loaders: Any) -> Callable[..., Any]:
    program = tmp_path / "bin/docker"
    program.parent.mkdir()
    program.write_text(DOCKER)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    loaders = make_loaders(extra={"__env__": "base"})
    loaders.modules["docker.state"]
    loaders.modules._functions["docker.state"] = lambda name: "running"
    return lambda function, *args, **kwargs: loaders.modules["docker." + function](*args, **kwargs)


def test_a_script_in_a_container_has_a_folder_of_its_own(docker: Any, temporary: Path, tmp_path: Path) -> None:
    script = tmp_path / "tool.sh"
    script.write_text('#!/bin/sh\necho "$1"; echo "$0"; stat -c %a "$(dirname "$0")"; printf "a\\n"; exit 3\n')
    ret = docker("script", "web", str(script), args="'one two'", stdin="in", ignore_retcode=True)
    first, path, mode, *rest = ret["stdout"].splitlines()
    assert (first, mode, ret["retcode"]) == ("one two", "700", 3)
    assert re.fullmatch(rf"{temporary}/\.pushsalt-[0-9a-f]{{24}}/tool\.sh", path)
    assert list(temporary.iterdir()) == [] and rest[0] == "a"


def test_a_script_in_a_container_is_stored_in_a_folder_without_noexec(
    docker: Any, mount: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(mount))
    (tmp_path / "tool").write_text("#!/bin/sh\necho $0\n")
    path = docker("script", "web", str(tmp_path / "tool"))["stdout"]
    assert path.startswith("/tmp/.pushsalt-") and not os.path.exists(path) and list(mount.iterdir()) == []


def test_an_image_is_saved_without_a_predictable_name(docker: Any, tmp_path: Path) -> None:
    """A user has a link at a predictable name."""
    out, canary = tmp_path / "out", tmp_path / "canary"
    out.mkdir()
    canary.write_text("safe")
    (out / "web.tar.part").symlink_to(canary)
    assert docker("save", "web", str(out / "web.tar"))["Size"] == 6
    assert canary.read_text() == "safe" and (out / "web.tar").read_text() == "image\n"
    docker("save", "web", str(out / "web.tar.gz"))
    assert subprocess.run(["gzip", "-dc", out / "web.tar.gz"], stdout=subprocess.PIPE).stdout == b"image\n"
    assert sorted(path.name for path in out.iterdir()) == ["web.tar", "web.tar.gz", "web.tar.part"]


def test_copying_from_a_container_follows_no_link(docker: Any, tmp_path: Path) -> None:
    inside, out, canary = tmp_path / "inside", tmp_path / "out", tmp_path / "canary"
    for folder in (inside / "d", out, canary):
        folder.mkdir(parents=True)
    (inside / "d/x").write_text("x")
    (inside / "f").write_text("f")
    assert docker("copy_from", "web", str(inside / "f"), str(out)) and (out / "f").read_text() == "f"
    assert docker("copy_from", "web", str(inside / "d"), str(out)) and (out / "d/x").read_text() == "x"
    assert docker("copy_from", "web", str(inside / "d"), str(out / "new")) and (out / "new/x").read_text() == "x"
    (out / "g").symlink_to(canary / "g")
    assert docker("copy_from", "web", str(inside / "f"), str(out / "g"), overwrite=True)
    assert list(canary.iterdir()) == [] and (out / "g").read_text() == "f" and not (out / "g").is_symlink()
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


# -- git ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_loaders: Any) -> Callable[..., Any]:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "x@y")
    monkeypatch.setenv("HOME", str(tmp_path))
    origin = tmp_path / "origin"
    subprocess.run(["git", "init", "-q", "-b", "main", str(origin)], check=True)
    (origin / "d").mkdir()
    (origin / "d/tool").write_text("#!/bin/sh\n")
    (origin / "d/tool").chmod(0o755)
    (origin / "l").symlink_to("d")
    subprocess.run("git add -A && git commit -qm 1", shell=True, cwd=origin, check=True)
    loaders = make_loaders(extra={"__env__": "base"})
    return lambda function, *args, **kwargs: loaders.modules["git." + function](*args, **kwargs)


@needs_root
def test_root_clones_into_a_folder_of_another_user(git: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 1, 1)
    assert git("clone", str(home / "app"), str(tmp_path / "origin"))
    assert git("status", str(home / "app")) == {} and os.readlink(home / "app/l") == "d"
    assert stat.S_IMODE((home / "app/d/tool").stat().st_mode) == 0o755 and (home / "app").stat().st_uid == 0
    assert git("pull", str(home / "app"))
    (home / "link").symlink_to(tmp_path / "canary")
    os.lchown(home / "link", 1, 1)
    for name in ("link", "link/below"):
        with pytest.raises(CommandExecutionError, match="link"):
            git("clone", str(home / name), str(tmp_path / "origin"))
        with pytest.raises(CommandExecutionError, match="link"):
            git("init", str(home / name))
    assert not (tmp_path / "canary").exists()
    assert "Initialized" in git("init", str(home / "fresh")) and (home / "fresh/.git/HEAD").exists()


@needs_root
def test_root_follows_no_link_of_another_user_to_a_repository(git: Any, tmp_path: Path) -> None:
    """A link to a repository of the system, for example, in which a reset would discard changes."""
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 1, 1)
    (tmp_path / "origin/d/tool").write_text("changed")
    (home / "app").symlink_to(tmp_path / "origin")
    os.lchown(home / "app", 1, 1)
    with pytest.raises(CommandExecutionError, match="a link of the user"):
        git("reset", str(home / "app"), opts="--hard")
    assert (tmp_path / "origin/d/tool").read_text() == "changed"
    assert git("reset", str(tmp_path / "origin"), opts="--hard")


@needs_root
def test_folders_that_other_users_can_change_are_recognized(tmp_path: Path) -> None:
    folder = tmp_path / "a/b"
    folder.mkdir(parents=True)
    (folder / "f").touch()
    assert ownfolders.others_may_change(str(folder)) is None and not ownfolders.alterable(str(folder / "f"))
    (folder / "f").chmod(0o666)
    assert ownfolders.alterable(str(folder / "f"))
    (folder / "f").chmod(0o600)
    os.chown(tmp_path / "a", 1, 1)
    assert ownfolders.others_may_change(str(folder)) == str(tmp_path / "a") and ownfolders.alterable(str(folder / "f"))
    assert ownfolders.others_may_change(str(folder), "daemon") is None
