"""Connections over real sshds that break during a run: no state is lost or run twice, and no process remains."""

from __future__ import annotations

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


def site(project: Callable[..., Project], home: Path, **config: object) -> Project:
    for name in ("count", "go", "page"):
        (home / name).unlink(missing_ok=True)
    found = project({"salt/site.sls": STATES.format(home=home), "salt/page": PAGE})
    found.write("pillar/top.sls", "base:\n  '*': [words]\n")
    found.write("pillar/words.sls", f"home: {home}\nword: hello\n")
    return found


def cut(bed: SshdBed, id: str = "t1") -> None:
    """Kill the server's processes of all connections, as a firewall or a crash would."""
    for pid in children(bed.targets[id].process.pid):
        for inner in [*children(pid), pid]:
            name = Path(f"/proc/{inner}/comm").read_text() if Path(f"/proc/{inner}/comm").exists() else ""
            if name.startswith("sshd"):
                os.kill(inner, signal.SIGKILL)


def counted(home: Path) -> list[str]:
    return (home / "count").read_text().split() if (home / "count").exists() else []


def all_done(done: Done, home: Path) -> None:
    assert done.code == 0, (done.out, done.err)
    assert [ret["__id__"] for ret in values(done.data["t1"])] == ["one", "two", "three", "four"]
    assert all(ret["result"] for ret in values(done.data["t1"]))
    assert counted(home) == ["one", "two", "four"]
    assert (home / "page").read_text() == "2 hello\n"


def left(home: Path) -> list[str]:
    """The files of jobs in the private directory."""
    return sorted(str(path.relative_to(home)) for path in (home / ".cache/pushsalt").glob("jobs/**/*"))


def at_work(home: Path) -> list[int]:
    """The processes that were started by logins."""
    return running(f"HOME={home} ", "environ")


def nothing_stays(home: Path) -> None:
    wait_until(lambda: not left(home))
    wait_until(lambda: not at_work(home))


def test_a_connection_that_breaks_is_made_again(project, bed):
    home = bed.targets["t1"].home
    process = site(project, home).start("apply", "--out", "json", "t1", "site")
    wait_until(lambda: "two" in counted(home))
    cut(bed)
    (home / "go").touch()
    done = Project.finish(process)
    all_done(done, home)
    assert "the connection was lost during the run and restored" in done.err
    nothing_stays(home)


def test_it_may_break_again_and_again(project, bed):
    home = bed.targets["t1"].home
    process = site(project, home).start("apply", "--out", "json", "t1", "site")
    for _ in range(3):
        wait_until(lambda: "two" in counted(home) and len(children(bed.targets["t1"].process.pid)) > 0)
        cut(bed)
        wait_until(lambda: not children(bed.targets["t1"].process.pid))
        wait_until(lambda: children(bed.targets["t1"].process.pid))
    (home / "go").touch()
    all_done(Project.finish(process), home)
    nothing_stays(home)


def test_a_run_ends_without_a_connection(project, bed):
    """The returns are on disk then; a process without other data of the run sends them."""
    home = bed.targets["t1"].home
    made = site(project, home)
    made.write("salt/short.sls", STATES.format(home=home).partition("three:")[0])
    server = bed.targets["t1"].process
    process = made.start("apply", "--out", "json", "t1", "short")
    wait_until(lambda: "two" in counted(home))
    os.kill(server.pid, signal.SIGSTOP)  # no login is possible
    try:
        cut(bed)
        (home / "go").touch()
        wait_until(lambda: any(name.endswith("/end") for name in left(home)))
        wait_until(lambda: not at_work(home))
    finally:
        os.kill(server.pid, signal.SIGCONT)
    done = Project.finish(process)
    assert done.code == 0, (done.out, done.err)
    assert [ret["__id__"] for ret in values(done.data["t1"])] == ["one", "two"] and counted(home) == ["one", "two"]
    nothing_stays(home)
