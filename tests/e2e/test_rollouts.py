"""Rollouts by the command line: over sshd on loopback, on this machine, and with input on a terminal."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.beds.processes import wait_until
from tests.beds.project import Done, Project
from tests.beds.terminal import on_terminal

pytestmark = pytest.mark.slow

GOOD = "good: test.succeed_without_changes\n"
BROKEN = "{% if pillar.get('broken') %}\nbad: test.fail_without_changes\n{% else %}\n" + GOOD + "{% endif %}\n"
TRACE = "trace:\n  file.append:\n    - name: {{ pillar['trace'] }}\n    - text: {{ grains['id'] }}\n"


def kinds(done: Done) -> dict[str, str]:
    return {id: ret["error"]["kind"] for id, ret in done.data.items() if isinstance(ret, dict) and "error" in ret}


def not_begun(done: Done) -> list[str]:
    return [id for id, kind in kinds(done).items() if kind == "not_begun"]


@pytest.fixture
def make_local(tmp_path: Path) -> Callable[..., Project]:
    """A function that creates a project of t1, t2 … on this machine; keyword arguments are pillar of a target."""

    def make(count: int = 4, config: dict[str, Any] | None = None, grains: Any = None, **pillar: Any) -> Project:
        ids = [f"t{number}" for number in range(1, count + 1)]
        hosts = {id: {"transport": "local", "thin_dir": str(tmp_path / id), "pillar": pillar.get(id, {})} for id in ids}
        for id, values in (grains or {}).items():
            hosts[id]["grains"] = values
        project = Project(tmp_path, hosts, **(config or {}))
        project.files({"salt/states.sls": BROKEN, "salt/trace.sls": TRACE})
        return project

    return make


# over sshd ------------------------------------------------------------------------------------------------------------


@pytest.mark.sshd
def test_the_first_failure_stops_a_rollout_over_ssh(make_project: Callable[..., Project]) -> None:
    project = make_project({"salt/states.sls": BROKEN}, down={"host": "127.0.0.1", "port": 1})
    data = json.loads((project.folder / "inventory.yaml").read_text())
    data["hosts"]["t1"]["pillar"] = {"broken": True}
    project.write("inventory.yaml", json.dumps(data))
    done = project.json("apply", "*", "states", "--batch", "1,2", "--max-fail", "1")
    assert done.code == 2
    assert not_begun(done) == ["t2", "t3", "down"]
    assert done.error("t2")["message"] == "t2: not begun: 1 target failed (--max-fail 1)"
    assert "the rollout was stopped: 1 target failed (--max-fail 1); 3 targets were not begun" in done.err
    assert not Path(data["hosts"]["t2"].get("thin_dir") or project.folder / "none").exists()


@pytest.mark.sshd
def test_a_failed_check_stops_a_rollout_over_ssh(make_project: Callable[..., Project]) -> None:
    """The check uses a separate connection to each target, and runs after its batch."""
    project = make_project({"salt/states.sls": GOOD})
    options = ("--batch", "1", "--batch-check", "grains.equals id t1", "--max-fail", "1", "--batch-check-timeout", "3")
    done = project.json("apply", "t*", "states", *options)
    assert (done.code, not_begun(done)) == (2, ["t3"])
    assert [ret["result"] for id in ("t1", "t2") for ret in done.data[id].values()] == [True, True]
    shown = project.run("apply", "t*", "states", *options)
    assert "batch check failed" in shown.out and "grains.equals id t1: returned False" in shown.out
    assert "not begun  t3" in shown.out and "failed     t2" in shown.out


@pytest.mark.sshd
def test_unreachable_targets_are_failures_unless_they_are_ignored(make_project: Callable[..., Project]) -> None:
    project = make_project(down={"host": "127.0.0.1", "port": 1})
    arguments = ("run", "-L", "down,t1,t2", "test.ping", "--batch", "1", "--max-fail", "1")
    hosts = json.loads((project.folder / "inventory.yaml").read_text())["hosts"]
    project.write("inventory.yaml", json.dumps({"hosts": {"down": hosts.pop("down"), **hosts}}))
    done = project.json(*arguments)
    assert (done.code, not_begun(done)) == (3, ["t1", "t2"])
    assert kinds(done)["down"] == "connection_refused"
    done = project.json(*arguments, "--ignore-unreachable")
    assert (done.code, not_begun(done), done.data["t2"]) == (3, [], True)


# on this machine ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["apply", "*", "states"], ["run", "*", "state.apply", "states"]])
def test_failures_are_counted_for_both_commands(make_local: Callable[..., Project], arguments: list[str]) -> None:
    project = make_local(t2={"broken": True}, t3={"broken": True})
    done = project.json(*arguments, "--batch", "1", "--max-fail", "50%")
    assert (done.code, not_begun(done)) == (2, ["t4"])
    done = project.json(*arguments, "--batch", "1", "--fail-fast")
    assert (done.code, not_begun(done)) == (2, ["t3", "t4"])


def test_targets_start_in_order_and_in_the_given_steps(make_local: Callable[..., Project], tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    project = make_local(4, **{f"t{number}": {"trace": str(trace)} for number in range(1, 5)})
    done = project.json("apply", "*", "trace", "--batch", "1,1,100%", "--batch-wait", "0.1")
    assert done.code == 0
    lines = trace.read_text().split()
    assert lines[:2] == ["t1", "t2"] and sorted(lines) == ["t1", "t2", "t3", "t4"]


def test_batch_by_separates_targets_of_a_rack(make_local: Callable[..., Project], tmp_path: Path) -> None:
    """The log names the targets of each batch."""
    project = make_local(4, grains={"t1": {"rack": "a"}, "t2": {"rack": "a"}, "t3": {"rack": "b"}, "t4": {"rack": "b"}})
    done = project.run("-l", "info", "run", "*", "test.ping", "--batch", "2,2", "--batch-by", "grain:rack")
    assert done.code == 0
    assert "batch 1 of 2 begins: t1, t3" in done.err and "batch 2 of 2 begins: t2, t4" in done.err
    project = make_local(3, grains={"t1": {"rack": "a"}})
    done = project.run("run", "*", "test.ping", "--batch-by", "grain:rack")
    assert done.code == 0 and "the grain rack is not known of t2, t3: only one of them at a time" in done.err


def test_subset_selects_some_targets(make_local: Callable[..., Project]) -> None:
    project = make_local(4)
    done = project.json("run", "*", "test.ping", "--subset", "2")
    assert done.code == 0 and len(done.data) == 2 and set(done.data) < {"t1", "t2", "t3", "t4"}
    assert [*done.data] == sorted(done.data)
    assert len(project.json("run", "*", "test.ping", "--subset", "9").data) == 4


def test_a_check_that_hangs_is_a_failure(make_local: Callable[..., Project]) -> None:
    project = make_local(2)
    options = ("--batch", "1", "--fail-fast", "--batch-check", "test.sleep 600", "--batch-check-timeout", "1.5")
    done = project.json("run", "*", "test.ping", *options)
    assert (done.code, done.data["t1"], not_begun(done)) == (2, True, ["t2"])
    shown = project.run("run", "*", "test.ping", *options)
    assert "test.sleep 600: " in shown.out and "1.5 s" in shown.out


def test_targets_that_failed_are_not_checked(make_local: Callable[..., Project], tmp_path: Path) -> None:
    project = make_local(2, t1={"broken": True})
    done = project.json("apply", "*", "states", "--batch-check", f"file.touch {tmp_path}/checked", "--batch", "1,1")
    assert done.code == 2 and not_begun(done) == ["t2"] and not (tmp_path / "checked").exists()
    done = project.json("apply", "t2", "states", "--batch-check", f"file.touch {tmp_path}/checked", "--test")
    assert done.code == 0 and not (tmp_path / "checked").exists(), "no target is checked in a dry run"
    done = project.json("apply", "t2", "states", "--batch-check", f"file.touch {tmp_path}/checked")
    assert done.code == 0 and (tmp_path / "checked").exists()


def test_a_secret_in_an_answer_of_a_check_is_hidden(make_local: Callable[..., Project]) -> None:
    project = make_local(1, t1={"api_password": "hunter2-hunter2"})
    check = "cmd.run 'echo hunter2-hunter2; exit 1'"
    done = project.run("apply", "t1", "states", "--batch-check", check.replace("hunter2-hunter2", "hunter2-hunt''er2"))
    assert done.code == 2 and "batch check failed" in done.out
    assert "hunter2-hunter2" not in done.out + done.err


def test_batch_options_of_a_master_configuration(make_local: Callable[..., Project]) -> None:
    project = make_local(config={"batch": "1", "failhard": True}, t1={"broken": True})
    done = project.json("apply", "*", "states")
    assert (done.code, not_begun(done)) == (2, ["t2", "t3", "t4"])
    project = make_local(
        config={"batch_safe_limit": 4, "batch_safe_size": "25%", "failhard": True}, t1={"broken": True}
    )
    assert not_begun(project.json("apply", "*", "states")) == ["t2", "t3", "t4"]
    done = project.json("apply", "-L", "t1,t2,t3", "states", "--concurrency", "1")
    assert not_begun(done) == [], "three targets run without batches"
    project = make_local(config={"batch": "lots"})
    done = project.run("apply", "*", "states")
    assert done.code == 1 and "`batch` of the configuration: 'lots' is neither a number" in done.err


@pytest.mark.parametrize(
    "options, message",
    [
        (["--max-fail", "0%"], "--max-fail: '0%' is out of range: at least 1 target, at most 100%"),
        (["--max-fail", "-1"], "--max-fail: '-1' is neither a number of targets nor a percentage"),
        (["--max-fail", "200%"], "--max-fail: '200%' is out of range: at least 1 target, at most 100%"),
        (["--max-fail", "1", "--fail-fast"], "--fail-fast and --max-fail contradict each other"),
        (["--batch", ""], "--batch: '' is neither"),
        (["--batch", "1,,2"], "--batch: '' is neither"),
        (["--batch", "1,0"], "--batch: '0' is out of range"),
        (["--batch-wait", "x"], "--batch-wait: 'x' is not a number of seconds"),
        (["--batch-by", "grain:row"], "--batch-by: no target has a grain 'row' that is known"),
        (["--batch-by", "rack"], "--batch-by: 'rack' does not name a grain"),
        (["--batch-check", "ping"], "--batch-check: 'ping' is no function"),
        (["--batch-check", "test.ping", "--batch-check-timeout", "0"], "--batch-check-timeout: '0' is not a number"),
        (["--batch-check-timeout", "5"], "--batch-check-timeout without --batch-check"),
        (["--subset", "0"], "--subset: '0' is not a whole number above 0"),
        (["--confirm", "--batch", "1"], "--confirm asks on the terminal, but there is none"),
    ],
)
def test_invalid_rollout_options_are_errors(
    make_local: Callable[..., Project], options: list[str], message: str
) -> None:
    done = make_local(1).run("run", "*", "test.ping", *options)
    assert (done.code, done.out) == (1, "")
    assert f"error: {message}" in done.err


def test_a_signal_interrupts_a_rollout(make_local: Callable[..., Project], tmp_path: Path) -> None:
    project = make_local(3)
    process = project.start(
        "run", "--out", "json", "*", "cmd.run", f"touch {tmp_path}/begun; sleep 60", "--batch", "1,1"
    )
    wait_until((tmp_path / "begun").exists)
    process.send_signal(signal.SIGINT)
    done = project.finish(process)
    assert done.code == 130
    assert set(kinds(done).values()) == {"interrupted"} and len(done.data) == 3
    assert "rollout" not in done.err


# with input on a terminal ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answers, code, remaining",
    [
        (["y", "yes"], 0, []),
        (["y", "n"], 3, ["t4"]),
        (["what?", "No"], 3, ["t2", "t3", "t4"]),
        ([""], 3, ["t2", "t3", "t4"]),
    ],
)
def test_the_operator_confirms_each_batch(
    make_local: Callable[..., Project], answers: list[str], code: int, remaining: list[str]
) -> None:
    project = make_local(4)
    arguments = ["run", "--out", "json", "*", "test.ping", "--batch", "1,2", "--confirm"]
    prompts = ["continue?"] * len(answers)
    done, shown = on_terminal(project, arguments, list(zip(prompts, answers, strict=True)))
    assert done.code == code and not_begun(done) == remaining
    assert "batch 1 of 3: 1 of 4 targets are done" in shown and "next: t2, t3" in shown
    if remaining:
        assert f"{len(remaining)} target{'s were' if len(remaining) > 1 else ' was'} not begun" in done.err
        assert "the operator did not go on" in done.err
