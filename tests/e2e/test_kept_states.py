"""Runs of states in a kept session: the runtime that waits serves them, and they still outlive their connection."""

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
from tests.e2e.test_lost_connections import at_work, counted, cut, left, nothing_stays, site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sshd,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds the server's processes in /proc"),
]

SHORT = "a:\n  test.nop: []\nb:\n  cmd.run:\n    - name: 'true'\n"
#: Counts, and waits in its second state; nothing needs the controller.
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


class Site:
    """A project with a kept session, and ``t1``."""

    def __init__(self, project, kept, home):
        self.project, self.kept, self.home = project, kept, home

    def waiting(self):
        """The one process of ours on the target: the runtime that waits."""
        wait_until(lambda: len(at_work(self.home)) == 1)
        (pid,) = at_work(self.home)
        return pid

    def apply(self, sls="short"):
        done = self.project.json("apply", "t1", sls)
        assert done.code == 0, (done.out, done.err)
        return values(done.data["t1"])

    def begun(self, *arguments, sls="long"):
        """An apply that is in its second state."""
        process = self.project.start("apply", "--out", "json", *arguments, "t1", sls)
        wait_until(lambda: "two" in counted(self.home))
        return process

    def go(self):
        (self.home / "go").touch()

    def last(self):
        return json.loads(self.project.run("jobs", "list", "--out", "json", "--limit", "1").out)[0]


@pytest.fixture
def kept(project, bed):
    home = bed.targets["t1"].home
    made = site(project, home)
    made.files({"salt/short.sls": SHORT, "salt/long.sls": LONG.format(home=home)})
    settings = json.loads((made.folder / "pushsalt.yaml").read_text())
    made.write("pushsalt.yaml", json.dumps({**settings, "session": "5m"}))
    with keeping(made) as found:
        yield Site(made, found, home)
    (home / "go").touch()
    wait_until(lambda: not at_work(home))


def test_runs_of_states_and_calls_use_one_runtime(kept):
    kept.apply()
    first = kept.waiting()
    assert kept.project.json("run", "t1", "test.ping").data == {"t1": True}
    assert kept.waiting() == first
    for _ in range(2):
        assert [ret["result"] for ret in kept.apply()] == [True, True]
        assert kept.waiting() == first
    wait_until(lambda: not left(kept.home))


def test_a_second_apply_needs_two_round_trips(kept):
    """Grains and states; no command waits for the end of its session."""
    kept.apply()
    kept.apply()
    done = kept.project.run("jobs", "show", kept.last()["jid"], "-v")
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


@pytest.mark.parametrize("ends", [True, False])
def test_the_broker_waits_for_the_end_of_a_session(kept, ends):
    """The next command on the connection has the same runtime, or another one if the end does not come in time."""
    kept.project.write("salt/_modules/last.py", AT_THE_END.format(path=str(kept.home / "go")))
    kept.project.write("salt/last.sls", "last.wait:\n  module.run:\n    - last.wait: []\n")
    kept.apply()
    runtime = kept.waiting()
    assert kept.apply("last")[0]["result"] is True
    assert len(at_work(kept.home)) > 1, "the session has not ended"
    if ends:
        kept.go()
    kept.apply()
    kept.go()
    assert (kept.waiting() == runtime) is ends


def test_what_one_run_has_seen_the_next_one_has_not(kept):
    module = "import sys\n\n\ndef say():\n    seen = [{0!r}, 'own' in __context__, hasattr(sys, 'own')]\n"
    module += "    __context__['own'] = sys.own = True\n    return seen\n"
    kept.project.write("salt/own.sls", "own.say:\n  module.run:\n    - own.say: []\n")
    kept.project.write("salt/pillar.sls", "{{ pillar['word'] }}:\n  test.nop: []\n")
    runtimes = set()
    for word in ("first", "second"):
        kept.project.write("salt/_modules/own.py", module.format(word))
        kept.project.write("pillar/words.sls", f"word: {word}\n")
        (ret,) = kept.apply("own")
        assert ret["changes"] == {"own.say": [word, False, False]}
        assert kept.apply("pillar")[0]["__id__"] == word
        runtimes.add(kept.waiting())
    assert len(runtimes) == 1


def test_grains_are_collected_for_each_run(kept):
    kept.project.write("salt/_grains/count.py", f"def count():\n    return {{'how': open('{kept.home}/how').read()}}\n")
    kept.project.write("salt/grains.sls", "{{ grains['how'] }}:\n  test.nop: []\n")
    for text in ("one", "two"):
        (kept.home / "how").write_text(text)
        assert kept.apply("grains")[0]["__id__"] == text


def test_a_run_survives_its_connection(kept, bed):
    kept.apply()
    process = kept.begun(sls="site")
    cut(bed)
    kept.go()
    done = Project.finish(process)
    assert done.code == 0, (done.out, done.err)
    assert [ret["__id__"] for ret in values(done.data["t1"])] == ["one", "two", "three", "four"]
    assert counted(kept.home) == ["one", "two", "four"]
    assert "the connection was lost during the run and restored" in done.err
    kept.apply()
    assert kept.project.run("session", "stop").code == 0
    nothing_stays(kept.home)


def test_a_run_continues_when_the_waiting_runtime_is_killed(kept):
    kept.apply()
    runtime = kept.waiting()
    process = kept.begun()
    os.kill(runtime, signal.SIGKILL)
    kept.go()
    done = Project.finish(process)
    assert done.code == 0, (done.out, done.err)
    assert counted(kept.home) == ["one", "two", "three"]
    kept.apply()
    assert kept.waiting() != runtime


def test_a_killed_supervisor_is_said_and_another_runtime_starts(kept):
    kept.apply()
    runtime = kept.waiting()
    process = kept.begun()
    (supervisor,) = [pid for pid in at_work(kept.home) if _parent(pid) == runtime]
    os.kill(supervisor, signal.SIGKILL)
    done = Project.finish(process)
    assert done.code == 3 and done.error("t1")["kind"] == "connection_lost", done.out
    kept.go()
    kept.apply()
    assert kept.waiting() != runtime
    assert counted(kept.home) == ["one", "two"]


def test_a_killed_broker_leaves_the_run_to_be_collected(kept):
    kept.apply()
    process = kept.begun()
    os.kill(kept.kept.pid, signal.SIGKILL)
    assert Project.finish(process).code == 3
    kept.go()
    resumed = kept.project.json("jobs", "resume", kept.last()["jid"])
    assert resumed.code == 0, (resumed.out, resumed.err)
    assert [ret["__id__"] for ret in values(resumed.data["t1"])] == ["one", "two", "three"]
    assert counted(kept.home) == ["one", "two", "three"]
    kept.project.run("session", "stop")
    nothing_stays(kept.home)


def test_a_detached_run_in_a_kept_session(kept):
    kept.apply()
    done = kept.project.run("apply", "--detach", "t1", "long")
    assert done.code == 0, done.err
    wait_until(lambda: "two" in counted(kept.home))
    kept.go()
    waited = kept.project.json("jobs", "wait", done.out.strip())
    assert waited.code == 0, (waited.out, waited.err)
    assert counted(kept.home) == ["one", "two", "three"]
    kept.project.run("session", "stop")
    nothing_stays(kept.home)


def test_a_second_run_waits_for_the_lock(kept):
    kept.apply()
    process = kept.begun()
    refused = kept.project.json("apply", "--wait-lock", "0", "t1", "short")
    assert refused.code == 3 and refused.error("t1")["kind"] == "locked"
    other = kept.project.start("apply", "--out", "json", "--wait-lock", "60", "t1", "short")
    with pytest.raises(subprocess.TimeoutExpired):
        other.wait(1)
    kept.go()
    assert Project.finish(process).code == 0
    assert Project.finish(other).code == 0
    kept.apply()


def test_the_time_of_a_job_ends_its_run(kept):
    kept.apply()
    done = kept.project.json("apply", "--timeout", "3", "t1", "long")
    assert done.code == 3 and done.error("t1")["kind"] == "timeout"
    kept.go()
    kept.apply()
    wait_until(lambda: not left(kept.home))


def test_nothing_is_left_when_the_session_ends(kept):
    kept.apply()
    kept.waiting()
    assert kept.project.run("session", "stop").code == 0
    nothing_stays(kept.home)
    wait_until(lambda: not list(kept.kept.folder.glob("*.json")))


def test_two_signals_stop_a_run_through_the_client(kept):
    """The first lets the state end, the second stops it."""
    kept.apply()
    process = kept.begun()
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGINT)
    done = Project.finish(process)
    assert done.code == 130 and done.error("t1")["kind"] == "interrupted"
    assert counted(kept.home) == ["one", "two"]
    wait_until(lambda: not left(kept.home))
    kept.apply()
    kept.waiting()


def test_one_signal_lets_the_state_end_through_the_client(kept):
    kept.apply()
    process = kept.begun()
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    kept.go()
    done = Project.finish(process)
    assert done.code == 130
    assert [ret["result"] for ret in values(done.data["t1"])] == [True, True, False]
    assert counted(kept.home) == ["one", "two"]


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
