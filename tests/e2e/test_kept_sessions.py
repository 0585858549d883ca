"""Kept sessions: later commands use the open connections, and notice changes of files, inventory and environment."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.beds.keeping import keeping
from tests.beds.processes import children, wait_until

pytestmark = pytest.mark.slow

SESSION = ("--session", "5m")


@pytest.fixture
def session(make_project):
    with keeping(make_project({"salt/a.sls": "afile:\n  test.nop: []\n"})) as session:
        yield session


def ports(project, *arguments):
    """The client's port of each target's connection, which identifies the connection."""
    done = project.run(*SESSION, "run", "--out", "json", *arguments, "*", "cmd.run", "echo $SSH_CLIENT")
    assert done.code == 0, done.err
    return {id: text.split()[1] for id, text in done.data.items()}


def test_later_commands_use_the_connections_of_the_first(session):
    first, second = ports(session.project), ports(session.project)

    assert first == second
    assert sorted(session.idle()) == ["t1", "t2", "t3"]


def test_output_and_exit_codes_are_those_without_a_session(session):
    project = session.project
    without_session = [
        project.json("run", "*", "test.echo", "ä"),
        project.json("run", "t1", "cmd.run", "exit 3"),
        project.json("run", "t1", "test.nothing_like_it"),
        project.run("run", "nobody", "test.ping"),
        project.run("run"),
    ]
    ports(project)
    with_session = [
        project.json("run", "*", "test.echo", "ä"),
        project.json("run", "t1", "cmd.run", "exit 3"),
        project.json("run", "t1", "test.nothing_like_it"),
        project.run("run", "nobody", "test.ping"),
        project.run("run"),
    ]

    assert [(done.code, done.out, done.err) for done in with_session] == [
        (done.code, done.out, done.err) for done in without_session
    ]
    assert session.brokers


def test_no_broker_starts_without_a_session(make_project):
    with keeping(make_project()) as session:
        assert session.project.run("run", "t1", "test.ping").code == 0
        assert not session.folder.exists()


def test_the_configuration_enables_a_session(make_project):
    with keeping(make_project()) as session:
        settings = json.loads((session.project.folder / "pushsalt.yaml").read_text())
        session.project.write("pushsalt.yaml", json.dumps({**settings, "session": "10m"}))
        assert session.project.run("run", "t1", "test.ping").code == 0
        assert session.idle() == ["t1"]
        assert session.project.run("run", "t1", "test.ping", "--session", "0").code == 0
        assert session.brokers[0]["idle"] == 600


def test_jobs_are_recorded(session):
    ports(session.project)
    assert session.project.run("run", "t1", "test.ping").code == 0
    rows = json.loads(session.project.run("jobs", "list", "--out", "json").out)
    assert [row["fun"] for row in rows][:2] == ["test.ping", "cmd.run"]


def test_changed_states_pillar_and_modules_are_used(session):
    project = session.project
    project.files({"pillar/top.sls": "base:\n  '*':\n    - p\n", "pillar/p.sls": "a: 1\n"})
    project.write("salt/_modules/own.py", "def say():\n    return 'one'\n")
    ports(project)
    for text in ("one", "two"):
        project.write("salt/_modules/own.py", f"def say():\n    return '{text}'\n")
        project.write("pillar/p.sls", f"a: {text}\n")
        project.write("salt/a.sls", f"{text}:\n  test.nop: []\n")
        assert project.json("run", "t1", "own.say").data == {"t1": text}
        assert project.json("run", "t1", "pillar.get", "a", "unmask=True").data == {"t1": text}
        ret = project.json("apply", "t1", "a")
        assert ret.code == 0, ret.err
        assert [state["__id__"] for state in ret.data["t1"].values()] == [text]


def test_a_changed_inventory_is_used(session, bed):
    first = ports(session.project)
    hosts = bed.inventory()["hosts"]
    hosts["t1"], hosts["t2"] = hosts["t2"], hosts["t1"]
    session.project.write("inventory.yaml", json.dumps({"hosts": hosts}))
    second = ports(session.project)

    assert second["t3"] == first["t3"]
    assert not {second["t1"], second["t2"]} & set(first.values())


def test_a_host_key_that_was_removed_is_refused(session, bed):
    project = session.project
    ports(project)
    path = project.home / ".ssh" / "known_hosts"
    lines = path.read_text().splitlines(keepends=True)
    port = bed.inventory()["hosts"]["t1"]["port"]
    path.write_text("".join(line for line in lines if f"]:{port} " not in line))
    done = project.json("run", "*", "test.ping")

    assert done.error("t1")["kind"] == "host_key_unknown"
    assert done.data["t2"] is True


def test_another_ssh_agent_starts_another_session(session):
    ports(session.project)
    session.project.variables["SSH_AUTH_SOCK"] = "/nowhere/agent"
    assert session.project.run(*SESSION, "run", "t1", "test.ping").code == 0
    assert len(session.brokers) == 2


def test_a_command_has_the_callers_folder_environment_and_stdin(session):
    project = session.project
    ports(project)
    folder = project.folder / "sub"
    folder.mkdir()
    for text in ("one", "two"):
        (folder / "file").write_text(f"said: {text}")
        for name, stdin in (("-", f"said: {text}"), ("file", "")):
            arguments = ("run", "t1", "pillar.get", "said", "unmask=True", "--pillar", f"@{name}", "--out", "json")
            process = subprocess.run(
                project.argv(*arguments),
                cwd=folder,
                env=project.environment,
                input=stdin.encode(),
                capture_output=True,
                timeout=60,
                check=False,
            )
            assert json.loads(process.stdout) == {"t1": text}, process.stderr


def test_a_dead_connection_is_replaced(session, bed):
    first = ports(session.project)
    for login in children(bed.targets["t1"].process.pid):
        os.kill(login, signal.SIGKILL)
    second = ports(session.project)

    assert first["t1"] != second["t1"]
    assert first["t2"] == second["t2"]


def test_ctrl_c_stops_the_job(session):
    ports(session.project)
    started = session.project.folder / "begun"
    process = session.project.start("run", "t1", "cmd.run", f"touch {started}; sleep 600", "--out", "json")
    wait_until(started.exists)
    process.send_signal(signal.SIGINT)
    done = session.project.finish(process)

    assert done.code == 130
    assert done.error("t1")["kind"] == "interrupted"


def test_the_job_of_a_killed_client_is_stopped(session):
    ports(session.project)
    started = session.project.folder / "begun"
    process = session.project.start("run", "t1", "cmd.run", f"echo $$ > {started}; exec sleep 600")
    wait_until(lambda: started.exists() and started.read_text().strip())
    process.kill()
    process.communicate()
    pid = int(started.read_text())

    wait_until(lambda: not is_alive(pid))
    wait_until(lambda: json.loads(session.project.run("jobs", "list", "--out", "json").out)[0]["state"] != "running")


def test_a_killed_broker_ends_the_command(session):
    project = session.project
    started = project.folder / "begun"
    project.write("salt/long.sls", f"touch {started} && sleep 3:\n  cmd.run\nend:\n  test.nop\n")
    ports(project)
    process = project.start("apply", "t1", "long")
    wait_until(started.exists)
    os.kill(session.pid, signal.SIGKILL)
    done = project.finish(process)
    assert done.code == 3
    assert "broker" in done.err and "jobs resume" in done.err

    jid = json.loads(project.run("jobs", "list", "--out", "json").out)[0]["jid"]
    resumed = project.json("jobs", "resume", jid)
    assert resumed.code == 0, (resumed.out, resumed.err)
    assert len(resumed.data["t1"]) == 2
    assert project.run("run", "t1", "test.ping").code == 0


def test_stop_ends_connections_and_broker(session):
    project = session.project
    ports(project)
    assert "t1" in project.run("session", "stop", "t1").out
    assert session.idle() == ["t2", "t3"]
    pid = session.pid
    assert project.run("session", "stop").code == 0
    wait_until(lambda: not is_alive(pid))
    assert project.run("session", "list").out == "no session\n"


def test_idle_sessions_end(session, bed):
    project = session.project
    assert project.run("--session", "1", "run", "t1", "test.ping").code == 0
    wait_until(lambda: not list(session.folder.glob("*.json")))
    wait_until(lambda: not children(bed.targets["t1"].process.pid))


def test_session_start_opens_connections(session):
    done = session.project.run("session", "start", "t*")
    assert done.code == 0, done.err
    assert session.idle() == ["t1", "t2", "t3"]


@pytest.mark.parametrize("arguments", [("--session", "soon"), ("--session", "-1")])
def test_an_invalid_duration_is_an_error(session, arguments):
    done = session.project.run(*arguments, "run", "t1", "test.ping")
    assert done.code == 1
    assert "--session" in done.err


def is_alive(pid):
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def worker_and_supervisor(session):
    """The process ids of the worker that ran a command on t1, and of its supervisor. The worker has ended."""
    done = session.project.run(*SESSION, "run", "--out", "json", "t1", "cmd.run", "echo $PPID $(ps -o ppid= -p $PPID)")
    assert done.code == 0, done.err
    worker, supervisor = done.data["t1"].split()
    return int(worker), int(supervisor)


def spare_worker(supervisor):
    """The process id of the worker that waits for the next command."""
    wait_until(lambda: children(supervisor))
    (pid,) = children(supervisor)
    return pid


def test_an_idle_target_has_a_worker_for_the_next_command(session):
    first, supervisor = worker_and_supervisor(session)
    spare = spare_worker(supervisor)
    assert spare != first
    assert worker_and_supervisor(session) == (spare, supervisor)

    killed = spare_worker(supervisor)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: killed not in children(supervisor))
    assert worker_and_supervisor(session)[0] != killed

    spare = spare_worker(supervisor)
    assert session.project.run(*SESSION, "apply", "t1", "a").code == 0
    wait_until(lambda: spare not in children(supervisor))
    (later,) = children(supervisor)  # it serves the first run of states and all later sessions
    assert worker_and_supervisor(session)[1] == later

    spare = spare_worker(later)
    session.project.write("salt/parent.sls", "echo $PPID:\n  cmd.run: []\n")
    (ret,) = session.project.run(*SESSION, "apply", "--out", "json", "t1", "parent").data["t1"].values()
    assert ret["changes"]["stdout"] == str(spare), "the spare worker serves runs of states, too"
    assert worker_and_supervisor(session)[1] == later

    spare = spare_worker(later)
    session.end()
    wait_until(lambda: not Path(f"/proc/{spare}").exists() and not Path(f"/proc/{supervisor}").exists())


def test_the_next_command_uses_modules_that_have_changed(session):
    """A module changes after the spare worker has started."""
    for value in ("old", "new"):
        session.project.write("salt/_modules/wording.py", f"def word():\n    return {value!r}\n")
        done = session.project.run(*SESSION, "run", "--out", "json", "t1", "wording.word")
        assert done.data == {"t1": value}, done.err
        spare_worker(worker_and_supervisor(session)[1])
