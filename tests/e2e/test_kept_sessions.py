"""Kept sessions: later commands use the connections, and detect everything that has changed since."""

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
def kept(project):
    with keeping(project({"salt/a.sls": "afile:\n  test.nop: []\n"})) as found:
        yield found


def ports(project, *arguments):
    """The client's port of each target's connection, which identifies the connection."""
    done = project.run(*SESSION, "run", "--out", "json", *arguments, "*", "cmd.run", "echo $SSH_CLIENT")
    assert done.code == 0, done.err
    return {id: text.split()[1] for id, text in done.data.items()}


def test_later_commands_use_the_connections_of_the_first(kept):
    first, second = ports(kept.project), ports(kept.project)

    assert first == second
    assert sorted(kept.idle()) == ["t1", "t2", "t3"]


def test_the_same_output_and_exit_codes_as_without(kept):
    project = kept.project
    alone = [
        project.json("run", "*", "test.echo", "ä"),
        project.json("run", "t1", "cmd.run", "exit 3"),
        project.json("run", "t1", "test.nothing_like_it"),
        project.run("run", "nobody", "test.ping"),
        project.run("run"),
    ]
    ports(project)
    again = [
        project.json("run", "*", "test.echo", "ä"),
        project.json("run", "t1", "cmd.run", "exit 3"),
        project.json("run", "t1", "test.nothing_like_it"),
        project.run("run", "nobody", "test.ping"),
        project.run("run"),
    ]

    assert [(done.code, done.out, done.err) for done in again] == [(done.code, done.out, done.err) for done in alone]
    assert kept.brokers


def test_without_it_nothing_is_left(project):
    with keeping(project()) as found:
        assert found.project.run("run", "t1", "test.ping").code == 0
        assert not found.folder.exists()


def test_the_configuration_can_keep_one(project):
    with keeping(project()) as found:
        settings = json.loads((found.project.folder / "pushsalt.yaml").read_text())
        found.project.write("pushsalt.yaml", json.dumps({**settings, "session": "10m"}))
        assert found.project.run("run", "t1", "test.ping").code == 0
        assert found.idle() == ["t1"]
        assert found.project.run("run", "t1", "test.ping", "--session", "0").code == 0
        assert found.brokers[0]["idle"] == 600


def test_jobs_are_recorded(kept):
    ports(kept.project)
    assert kept.project.run("run", "t1", "test.ping").code == 0
    rows = json.loads(kept.project.run("jobs", "list", "--out", "json").out)
    assert [row["fun"] for row in rows][:2] == ["test.ping", "cmd.run"]


def test_changed_states_pillar_and_modules_are_seen(kept):
    project = kept.project
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


def test_a_changed_inventory_is_seen(kept, bed):
    first = ports(kept.project)
    hosts = bed.inventory()["hosts"]
    hosts["t1"], hosts["t2"] = hosts["t2"], hosts["t1"]
    kept.project.write("inventory.yaml", json.dumps({"hosts": hosts}))
    second = ports(kept.project)

    assert second["t3"] == first["t3"]
    assert not {second["t1"], second["t2"]} & set(first.values())


def test_a_host_key_that_was_removed_is_refused(kept, bed):
    project = kept.project
    ports(project)
    path = project.home / ".ssh" / "known_hosts"
    lines = path.read_text().splitlines(keepends=True)
    port = bed.inventory()["hosts"]["t1"]["port"]
    path.write_text("".join(line for line in lines if f"]:{port} " not in line))
    done = project.json("run", "*", "test.ping")

    assert done.error("t1")["kind"] == "host_key_unknown"
    assert done.data["t2"] is True


def test_another_agent_is_another_session(kept):
    ports(kept.project)
    kept.project.variables["SSH_AUTH_SOCK"] = "/nowhere/agent"
    assert kept.project.run(*SESSION, "run", "t1", "test.ping").code == 0
    assert len(kept.brokers) == 2


def test_a_command_has_the_callers_folder_environment_and_stdin(kept):
    project = kept.project
    ports(project)
    place = project.folder / "sub"
    place.mkdir()
    for text in ("one", "two"):
        (place / "file").write_text(f"said: {text}")
        for name, given in (("-", f"said: {text}"), ("file", "")):
            words = ("run", "t1", "pillar.get", "said", "unmask=True", "--pillar", f"@{name}", "--out", "json")
            process = subprocess.run(
                project.argv(*words),
                cwd=place,
                env=project.environment,
                input=given.encode(),
                capture_output=True,
                timeout=60,
                check=False,
            )
            assert json.loads(process.stdout) == {"t1": text}, process.stderr


def test_a_dead_connection_is_made_again(kept, bed):
    first = ports(kept.project)
    for login in children(bed.targets["t1"].process.pid):
        os.kill(login, signal.SIGKILL)
    second = ports(kept.project)

    assert first["t1"] != second["t1"]
    assert first["t2"] == second["t2"]


def test_ctrl_c_stops_the_job(kept):
    ports(kept.project)
    begun = kept.project.folder / "begun"
    process = kept.project.start("run", "t1", "cmd.run", f"touch {begun}; sleep 600", "--out", "json")
    wait_until(begun.exists)
    process.send_signal(signal.SIGINT)
    done = kept.project.finish(process)

    assert done.code == 130
    assert done.error("t1")["kind"] == "interrupted"


def test_the_job_of_a_killed_client_is_stopped(kept):
    ports(kept.project)
    begun = kept.project.folder / "begun"
    process = kept.project.start("run", "t1", "cmd.run", f"echo $$ > {begun}; exec sleep 600")
    wait_until(lambda: begun.exists() and begun.read_text().strip())
    process.kill()
    process.communicate()
    pid = int(begun.read_text())

    wait_until(lambda: not is_alive(pid))
    wait_until(lambda: json.loads(kept.project.run("jobs", "list", "--out", "json").out)[0]["state"] != "running")


def test_a_killed_broker_ends_the_command(kept):
    project = kept.project
    begun = project.folder / "begun"
    project.write("salt/long.sls", f"touch {begun} && sleep 3:\n  cmd.run\nend:\n  test.nop\n")
    ports(project)
    process = project.start("apply", "t1", "long")
    wait_until(begun.exists)
    os.kill(kept.pid, signal.SIGKILL)
    done = project.finish(process)
    assert done.code == 3
    assert "broker" in done.err and "jobs resume" in done.err

    jid = json.loads(project.run("jobs", "list", "--out", "json").out)[0]["jid"]
    resumed = project.json("jobs", "resume", jid)
    assert resumed.code == 0, (resumed.out, resumed.err)
    assert len(resumed.data["t1"]) == 2
    assert project.run("run", "t1", "test.ping").code == 0


def test_stop_ends_connections_and_broker(kept):
    project = kept.project
    ports(project)
    assert "t1" in project.run("session", "stop", "t1").out
    assert kept.idle() == ["t2", "t3"]
    pid = kept.pid
    assert project.run("session", "stop").code == 0
    wait_until(lambda: not is_alive(pid))
    assert project.run("session", "list").out == "no session\n"


def test_idle_sessions_end(kept, bed):
    project = kept.project
    assert project.run("--session", "1", "run", "t1", "test.ping").code == 0
    wait_until(lambda: not list(kept.folder.glob("*.json")))
    wait_until(lambda: not children(bed.targets["t1"].process.pid))


def test_start_connects(kept):
    done = kept.project.run("session", "start", "t*")
    assert done.code == 0, done.err
    assert kept.idle() == ["t1", "t2", "t3"]


@pytest.mark.parametrize("words", [("--session", "soon"), ("--session", "-1")])
def test_no_duration(kept, words):
    done = kept.project.run(*words, "run", "t1", "test.ping")
    assert done.code == 1
    assert "--session" in done.err


def is_alive(pid):
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def worker_and_supervisor(kept):
    """The process ids of the worker on t1, which has ended then, and of its supervisor."""
    done = kept.project.run(*SESSION, "run", "--out", "json", "t1", "cmd.run", "echo $PPID $(ps -o ppid= -p $PPID)")
    assert done.code == 0, done.err
    worker, supervisor = done.data["t1"].split()
    return int(worker), int(supervisor)


def spare_worker(supervisor):
    wait_until(lambda: children(supervisor))
    (pid,) = children(supervisor)
    return pid


def test_an_idle_target_has_a_worker_for_the_next_command(kept):
    first, supervisor = worker_and_supervisor(kept)
    spare = spare_worker(supervisor)
    assert spare != first
    assert worker_and_supervisor(kept) == (spare, supervisor)

    killed = spare_worker(supervisor)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: killed not in children(supervisor))
    assert worker_and_supervisor(kept)[0] != killed

    spare = spare_worker(supervisor)
    assert kept.project.run(*SESSION, "apply", "t1", "a").code == 0  # its worker is the child of another supervisor
    wait_until(lambda: not children(supervisor))
    assert worker_and_supervisor(kept)[1] == supervisor

    spare = spare_worker(supervisor)
    kept.end()
    wait_until(lambda: not Path(f"/proc/{spare}").exists() and not Path(f"/proc/{supervisor}").exists())


def test_modules_that_arrive_later_are_those_of_the_next_command(kept):
    """A spare worker has no module that was changed meanwhile."""
    for word in ("old", "new"):
        kept.project.write("salt/_modules/wording.py", f"def word():\n    return {word!r}\n")
        done = kept.project.run(*SESSION, "run", "--out", "json", "t1", "wording.word")
        assert done.data == {"t1": word}, done.err
        spare_worker(worker_and_supervisor(kept)[1])
