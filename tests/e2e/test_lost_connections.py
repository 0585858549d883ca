"""Connections over real sshds that break during a run: no state is lost or run twice, and no process remains."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.beds.processes import children, running, wait_until
from tests.beds.project import Done, Project, values
from tests.beds.sshd import SshdBed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sshd,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds the server's processes in /proc"),
]

#: Each state counts its runs; the second waits until it may continue, and later ones need the controller again.
STATES = """
one:
  cmd.run:
    - name: echo one >> {home}/count
two:
  cmd.run:
    - name: echo two >> {home}/count; while test ! -e {home}/go; do sleep 0.05; done
three:
  file.managed:
    - name: {home}/page
    - source: salt://page
    - template: jinja
four:
  cmd.run:
    - name: echo four >> {home}/count
"""
#: Rendered when its chunk runs: it asks the target, and contains pillar.
PAGE = "{{ salt['cmd.run']('cat ' ~ pillar['home'] ~ '/count | wc -l') }} {{ pillar['word'] }}\n"


def create_project(make_project: Callable[..., Project], home: Path, **config: object) -> Project:
    """A project with the states above, on a target without their files."""
    for name in ("count", "go", "page"):
        (home / name).unlink(missing_ok=True)
    project = make_project({"salt/site.sls": STATES.format(home=home), "salt/page": PAGE})
    project.write("pillar/top.sls", "base:\n  '*': [words]\n")
    project.write("pillar/words.sls", f"home: {home}\nword: hello\n")
    return project


def cut_connections(bed: SshdBed, id: str = "t1") -> None:
    """Kill the server's processes of all connections, as a firewall or a crash would."""
    for pid in children(bed.targets[id].process.pid):
        for inner in [*children(pid), pid]:
            with contextlib.suppress(OSError):  # it has ended
                if Path(f"/proc/{inner}/comm").read_text().startswith("sshd"):
                    os.kill(inner, signal.SIGKILL)


def counted_states(home: Path) -> list[str]:
    """The ids of the states that have run, one entry per run."""
    return (home / "count").read_text().split() if (home / "count").exists() else []


def assert_complete(done: Done, home: Path) -> None:
    assert done.code == 0, (done.out, done.err)
    assert [ret["__id__"] for ret in values(done.data["t1"])] == ["one", "two", "three", "four"]
    assert all(ret["result"] for ret in values(done.data["t1"]))
    assert counted_states(home) == ["one", "two", "four"]
    assert (home / "page").read_text() == "2 hello\n"


def job_files(home: Path) -> list[str]:
    """The files of jobs in the private directory of the login."""
    return sorted(str(path.relative_to(home)) for path in (home / ".cache/pushsalt").glob("jobs/**/*"))


def login_processes(home: Path) -> list[int]:
    """The process ids of all processes that logins started."""
    return running(f"HOME={home} ", "environ")


def wait_until_clean(home: Path) -> None:
    wait_until(lambda: not job_files(home))
    wait_until(lambda: not login_processes(home))


def test_a_broken_connection_is_restored(make_project, bed):
    home = bed.targets["t1"].home
    process = create_project(make_project, home).start("apply", "--out", "json", "t1", "site")
    wait_until(lambda: "two" in counted_states(home))
    cut_connections(bed)
    (home / "go").touch()
    done = Project.finish(process)
    assert_complete(done, home)
    assert "the connection was lost during the run and restored" in done.err
    wait_until_clean(home)


def test_a_connection_that_breaks_repeatedly_is_restored(make_project, bed):
    home = bed.targets["t1"].home
    process = create_project(make_project, home).start("apply", "--out", "json", "t1", "site")
    for _ in range(3):
        wait_until(lambda: "two" in counted_states(home) and len(children(bed.targets["t1"].process.pid)) > 0)
        cut_connections(bed)
        wait_until(lambda: not children(bed.targets["t1"].process.pid))
        wait_until(lambda: children(bed.targets["t1"].process.pid))
    (home / "go").touch()
    assert_complete(Project.finish(process), home)
    wait_until_clean(home)


def test_a_run_ends_without_a_connection(make_project, bed):
    """The returns are on the target's disk, from which a new process sends them."""
    home = bed.targets["t1"].home
    project = create_project(make_project, home)
    project.write("salt/short.sls", STATES.format(home=home).partition("three:")[0])
    server = bed.targets["t1"].process
    process = project.start("apply", "--out", "json", "t1", "short")
    wait_until(lambda: "two" in counted_states(home))
    os.kill(server.pid, signal.SIGSTOP)  # no login is possible
    try:
        cut_connections(bed)
        (home / "go").touch()
        wait_until(lambda: any(name.endswith("/end") for name in job_files(home)))
        wait_until(lambda: not login_processes(home))
    finally:
        os.kill(server.pid, signal.SIGCONT)
    done = Project.finish(process)
    assert done.code == 0, (done.out, done.err)
    assert [ret["__id__"] for ret in values(done.data["t1"])] == ["one", "two"] and counted_states(home) == [
        "one",
        "two",
    ]
    wait_until_clean(home)
