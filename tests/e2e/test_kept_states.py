"""Runs of states in a kept session: the waiting runtime executes them, and they continue when a connection is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.beds.keeping import keeping
from tests.beds.processes import wait_until
from tests.beds.project import Project, values
from tests.e2e.test_lost_connections import (
    counted_states,
    create_project,
    cut_connections,
    job_files,
    login_processes,
    wait_until_clean,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sshd,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds the server's processes in /proc"),
]

SHORT = "a:\n  test.nop: []\nb:\n  cmd.run:\n    - name: 'true'\n"
#: Each state counts its runs; the second one waits. No state needs the controller.
LONG = """
one:
  cmd.run:
    - name: echo one >> {home}/count
two:
  cmd.run:
    - name: echo two >> {home}/count; while test ! -e {home}/go; do sleep 0.05; done
three:
  cmd.run:
    - name: echo three >> {home}/count
"""


class SessionRuns:
    """A project with a kept session, and ``t1``."""

    def __init__(self, project, session, home):
        self.project, self.session, self.home = project, session, home

    def waiting_runtime(self):
        """The process id of the runtime that waits, the child of the front and parent of the spare worker: these three
        are all processes of pushsalt on the target."""
        found = []

        def is_waiting():
            parents = {pid: _parent(pid) for pid in login_processes(self.home)}
            found[:] = [pid for pid, parent in parents.items() if parent in parents and pid in parents.values()]
            return len(parents) == 3 and len(found) == 1

        wait_until(is_waiting)
        return found[0]

    def apply(self, sls="short"):
        done = self.project.json("apply", "t1", sls)
        assert done.code == 0, (done.out, done.err)
        return values(done.data["t1"])

    def started_apply(self, *arguments, sls="long"):
        """The process of an apply that is in its second state."""
        process = self.project.start("apply", "--out", "json", *arguments, "t1", sls)
        wait_until(lambda: "two" in counted_states(self.home))
        return process

    def go(self):
        (self.home / "go").touch()

    def last_job(self):
        return json.loads(self.project.run("jobs", "list", "--out", "json", "--limit", "1").out)[0]


@pytest.fixture
def runs(make_project, bed):
    home = bed.targets["t1"].home
    project = create_project(make_project, home)
    project.files({"salt/short.sls": SHORT, "salt/long.sls": LONG.format(home=home)})
    settings = json.loads((project.folder / "pushsalt.yaml").read_text())
    project.write("pushsalt.yaml", json.dumps({**settings, "session": "5m"}))
    with keeping(project) as session:
        yield SessionRuns(project, session, home)
    (home / "go").touch()
    wait_until(lambda: not login_processes(home))


def test_runs_of_states_and_calls_use_one_runtime(runs):
    runs.apply()
    runtime = runs.waiting_runtime()
    assert runs.project.json("run", "t1", "test.ping").data == {"t1": True}
    assert runs.waiting_runtime() == runtime
    for _ in range(2):
        assert [ret["result"] for ret in runs.apply()] == [True, True]
        assert runs.waiting_runtime() == runtime
    wait_until(lambda: not job_files(runs.home))


def test_a_second_apply_needs_two_round_trips(runs):
    """One for grains and one for states; the command does not wait for the end of its session."""
    runs.apply()
    runs.apply()
    done = runs.project.run("jobs", "show", runs.last_job()["jid"], "-v")
    assert "2 per target" in done.out, done.out


#: Makes a worker wait at its end, after the controller's last message.
AT_THE_END = """
import os, sys, time


def wait():
    def end(store):
        while not os.path.exists({path!r}):
            time.sleep(0.01)

    sys.modules["thin.store"].Store.keep_image = end
    return True
"""


@pytest.mark.parametrize("in_time", [True, False])
def test_the_broker_waits_for_the_end_of_a_session(runs, in_time):
    """The next command on the connection has the same runtime, or another one if the end does not come in time."""
    runs.project.write("salt/_modules/last.py", AT_THE_END.format(path=str(runs.home / "go")))
    runs.project.write("salt/last.sls", "last.wait:\n  module.run:\n    - last.wait: []\n")
    runs.apply()
    runtime = runs.waiting_runtime()
    assert runs.apply("last")[0]["result"] is True
    assert len(login_processes(runs.home)) == 3, "the session has not ended"
    if in_time:
        runs.go()
    runs.apply()
    runs.go()
    assert (runs.waiting_runtime() == runtime) is in_time


def test_a_run_gets_no_module_pillar_or_context_of_an_earlier_run(runs):
    module = "import sys\n\n\ndef say():\n    seen = [{0!r}, 'own' in __context__, hasattr(sys, 'own')]\n"
    module += "    __context__['own'] = sys.own = True\n    return seen\n"
    runs.project.write("salt/own.sls", "own.say:\n  module.run:\n    - own.say: []\n")
    runs.project.write("salt/pillar.sls", "{{ pillar['word'] }}:\n  test.nop: []\n")
    runtimes = set()
    for word in ("first", "second"):
        runs.project.write("salt/_modules/own.py", module.format(word))
        runs.project.write("pillar/words.sls", f"word: {word}\n")
        (ret,) = runs.apply("own")
        assert ret["changes"] == {"own.say": [word, False, False]}
        assert runs.apply("pillar")[0]["__id__"] == word
        runtimes.add(runs.waiting_runtime())
    assert len(runtimes) == 1


def test_grains_are_collected_for_each_run(runs):
    runs.project.write("salt/_grains/count.py", f"def count():\n    return {{'how': open('{runs.home}/how').read()}}\n")
    runs.project.write("salt/grains.sls", "{{ grains['how'] }}:\n  test.nop: []\n")
    for text in ("one", "two"):
        (runs.home / "how").write_text(text)
        assert runs.apply("grains")[0]["__id__"] == text


def test_a_run_continues_after_its_connection_is_lost(runs, bed):
    runs.apply()
    process = runs.started_apply(sls="site")
    cut_connections(bed)
    runs.go()
    done = Project.finish(process)
    assert done.code == 0, (done.out, done.err)
    assert [ret["__id__"] for ret in values(done.data["t1"])] == ["one", "two", "three", "four"]
    assert counted_states(runs.home) == ["one", "two", "four"]
    assert "the connection was lost during the run and restored" in done.err
    runs.apply()
    assert runs.project.run("session", "stop").code == 0
    wait_until_clean(runs.home)


def test_a_run_continues_when_the_front_is_killed(runs):
    runs.apply()
    runtime = runs.waiting_runtime()
    process = runs.started_apply()
    os.kill(_parent(runtime), signal.SIGKILL)
    runs.go()
    done = Project.finish(process)
    assert done.code == 0, (done.out, done.err)
    assert counted_states(runs.home) == ["one", "two", "three"]
    runs.apply()
    assert runs.waiting_runtime() != runtime


def test_a_killed_supervisor_is_reported_and_another_runtime_starts(runs):
    runs.apply()
    runtime = runs.waiting_runtime()
    process = runs.started_apply()
    os.kill(runtime, signal.SIGKILL)
    done = Project.finish(process)
    assert done.code == 3 and done.error("t1")["kind"] == "connection_lost", done.out
    runs.go()
    runs.apply()
    assert runs.waiting_runtime() != runtime
    assert counted_states(runs.home) == ["one", "two"]


def test_a_run_can_be_resumed_after_its_broker_was_killed(runs):
    runs.apply()
    process = runs.started_apply()
    os.kill(runs.session.pid, signal.SIGKILL)
    assert Project.finish(process).code == 3
    runs.go()
    resumed = runs.project.json("jobs", "resume", runs.last_job()["jid"])
    assert resumed.code == 0, (resumed.out, resumed.err)
    assert [ret["__id__"] for ret in values(resumed.data["t1"])] == ["one", "two", "three"]
    assert counted_states(runs.home) == ["one", "two", "three"]
    runs.project.run("session", "stop")
    wait_until_clean(runs.home)


def test_a_detached_run_continues_in_a_kept_session(runs):
    runs.apply()
    done = runs.project.run("apply", "--detach", "t1", "long")
    assert done.code == 0, done.err
    wait_until(lambda: "two" in counted_states(runs.home))
    runs.go()
    waited = runs.project.json("jobs", "wait", done.out.strip())
    assert waited.code == 0, (waited.out, waited.err)
    assert counted_states(runs.home) == ["one", "two", "three"]
    runs.project.run("session", "stop")
    wait_until_clean(runs.home)


def test_a_second_run_waits_for_the_lock(runs):
    runs.apply()
    process = runs.started_apply()
    refused = runs.project.json("apply", "--wait-lock", "0", "t1", "short")
    assert refused.code == 3 and refused.error("t1")["kind"] == "locked"
    other = runs.project.start("apply", "--out", "json", "--wait-lock", "60", "t1", "short")
    with pytest.raises(subprocess.TimeoutExpired):
        other.wait(1)
    runs.go()
    assert Project.finish(process).code == 0
    assert Project.finish(other).code == 0
    runs.apply()


def test_a_run_ends_at_the_timeout_of_its_job(runs):
    runs.apply()
    done = runs.project.json("apply", "--timeout", "8", "t1", "long")
    assert done.code == 3 and done.error("t1")["kind"] == "timeout"
    runs.go()
    runs.apply()
    wait_until(lambda: not job_files(runs.home))


def test_no_process_or_file_remains_when_the_session_ends(runs):
    runs.apply()
    runs.waiting_runtime()
    assert runs.project.run("session", "stop").code == 0
    wait_until_clean(runs.home)
    wait_until(lambda: not list(runs.session.folder.glob("*.json")))


def test_two_signals_stop_a_run_through_the_client(runs):
    """The first lets the state end, the second stops it."""
    runs.apply()
    process = runs.started_apply()
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGINT)
    done = Project.finish(process)
    assert done.code == 130 and done.error("t1")["kind"] == "interrupted"
    assert counted_states(runs.home) == ["one", "two"]
    wait_until(lambda: not job_files(runs.home))
    runs.apply()
    runs.waiting_runtime()


def test_one_signal_lets_the_state_end_through_the_client(runs):
    runs.apply()
    process = runs.started_apply()
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    runs.go()
    done = Project.finish(process)
    assert done.code == 130
    assert [ret["result"] for ret in values(done.data["t1"])] == [True, True, False]
    assert counted_states(runs.home) == ["one", "two"]


def _parent(pid: int) -> int:
    """The parent of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
