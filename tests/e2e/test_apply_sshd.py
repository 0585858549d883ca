"""The real command line with real sshd servers: changes, output, and remaining files."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
import yaml

from tests.beds.processes import running, wait_until
from tests.beds.project import values

pytestmark = pytest.mark.sshd

SITE = """
{% set home = salt['environ.get']('HOME') if 'environ.get' in salt else salt['cmd.run']('echo $HOME') %}
folder:
  file.directory:
    - name: {{ home }}/site
page:
  file.managed:
    - name: {{ home }}/site/page
    - source: salt://page
    - template: jinja
    - require:
      - file: folder
blob:
  file.managed:
    - name: {{ home }}/site/blob
    - source: salt://blob
    - require:
      - file: folder
"""
PAGE = "{{ grains['id'] }} says {{ pillar['word'] }}\n"
PILLAR = {"pillar/top.sls": "base:\n  '*':\n    - words\n", "pillar/words.sls": "word: hello\n"}
FAILS = "a:\n  test.fail_without_changes\n"


def outcomes(done, id):
    """(result, whether there are changes) of each state of a target."""
    return [(ret["result"], bool(ret["changes"])) for ret in values(done.data[id])]


def unique_sleep():
    """A number of seconds that no other sleep has, as text, so that its process can be identified."""
    return f"6{secrets.randbelow(10**6):06}.5"


# states and functions -------------------------------------------------------------------------------------------------


def test_states_change_only_what_differs(make_project, bed):
    project = make_project({"salt/site.sls": SITE, "salt/page": PAGE, "salt/blob": "x" * 1000, **PILLAR})
    home = bed.targets["t1"].home
    dry = project.json("apply", "t1", "site", "--test")
    assert (dry.code, outcomes(dry, "t1")) == (0, [(None, True)] * 3)
    assert not (home / "site").exists()
    first = project.json("apply", "t1", "site")
    assert (first.code, outcomes(first, "t1")) == (0, [(True, True)] * 3)
    assert (home / "site/page").read_text() == "t1 says hello\n"
    second = project.json("apply", "t1", "site")
    assert (second.code, outcomes(second, "t1")) == (0, [(True, False)] * 3)
    drifted = home / "site/page"
    drifted.write_text("t1 says nothing\n")
    third = project.json("apply", "t1", "site")
    assert outcomes(third, "t1") == [(True, False), (True, True), (True, False)]
    assert "-t1 says nothing\n+t1 says hello" in values(third.data["t1"])[1]["changes"]["diff"]


def test_apply_runs_the_highstate_with_pillar_of_the_command_line(make_project, bed):
    top = "base:\n  't[12]':\n    - only\n"
    only = "{{ pillar['word'] }}:\n  test.succeed_without_changes\n"
    project = make_project({"salt/top.sls": top, "salt/only.sls": only, **PILLAR})
    done = project.json("apply", "t1", "--pillar", "{word: other}")
    assert [ret["name"] for ret in values(done.data["t1"])] == ["other"]
    done = project.json("apply", "*")
    assert done.code == 2
    assert [ret["result"] for id in ("t1", "t2", "t3") for ret in values(done.data[id])] == [True, True, False]


def test_collected_grains_are_used_for_targeting(make_project):
    project = make_project()
    assert project.run("target", "-G", "pythonversion:3").code == 1
    shown = project.json("grains", "*")
    assert shown.code == 0
    assert [shown.data[id]["id"] for id in ("t1", "t2", "t3")] == ["t1", "t2", "t3"]
    major = shown.data["t1"]["pythonversion"][0]
    assert project.run("target", "-G", f"pythonversion:{major}").out == "t1\nt2\nt3\n"


@pytest.mark.parametrize(
    "arguments, expected", [(["cmd.run", "echo $((6*7))"], "42"), (["test.echo", "{a: 1}"], {"a": 1})]
)
def test_run_returns_a_result_per_target(make_project, arguments, expected):
    done = make_project().json("run", "*", *arguments)
    assert (done.code, done.data) == (0, dict.fromkeys(["t1", "t2", "t3"], expected))


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("sudo"), reason="needs root and sudo to be somebody else")
def test_states_run_as_another_user(make_project):
    nobody = {"transport": "local", "sudo": True, "sudo_user": "nobody", "python": "/usr/bin/python3"}
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        link = f"link:\n  file.symlink:\n    - name: {folder}/link\n    - target: /etc/hostname\n"
        project = make_project({"salt/link.sls": f"{link}# {{{{ opts['user'] }}}}\n"}, nobody=nobody)
        for changed in (True, False):
            done = project.json("apply", "nobody", "link")
            assert outcomes(done, "nobody") == [(True, changed)], done.out
        assert Path(folder, "link").lstat().st_uid == pwd.getpwnam("nobody").pw_uid


# transfer -------------------------------------------------------------------------------------------------------------


class Meter:
    """Listens in front of a server and counts the bytes that are sent to it.

    No socket is closed while a thread waits for it: another connection could get its number, and the thread would read
    from that one.
    """

    def __init__(self, port):
        self.sent = 0
        self.server_port = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._accept)
        self.thread.start()

    def _accept(self):
        with self.listener:
            while True:
                try:
                    client, _ = self.listener.accept()
                except OSError:  # the socket was shut down
                    return
                threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client):
        with client, contextlib.suppress(ConnectionError), self._server() as server:
            back = threading.Thread(target=self._pass, args=(server, client, False), daemon=True)
            back.start()
            self._pass(client, server, True)
            back.join()

    def _server(self):
        return socket.create_connection(("127.0.0.1", self.server_port))

    def _pass(self, source, sink, count):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.sent += len(data) if count else 0
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def take(self):
        """The number of bytes since the last call."""
        sent, self.sent = self.sent, 0
        return sent

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()


@pytest.fixture
def meter(bed):
    meter = Meter(bed.targets["t1"].port)
    yield meter
    meter.close()


def test_only_missing_blobs_are_sent(make_project, bed, meter):
    measured = {**bed.targets["t1"].host(), "port": meter.port}
    project = make_project({"salt/site.sls": SITE, "salt/page": PAGE, **PILLAR}, t1=measured)
    project.write("salt/blob", secrets.token_bytes(500_000))
    (line, *_) = (project.home / ".ssh/known_hosts").read_text().splitlines()
    (project.home / ".ssh/known_hosts").write_text(re.sub(r":\d+ ", f":{meter.port} ", line) + "\n")
    project.json("clean", "t1")
    meter.take()
    first = project.json("apply", "t1", "site")
    assert first.code == 0
    runtime_and_blob = meter.take()
    assert runtime_and_blob > 600_000
    project.json("apply", "t1", "site")
    assert meter.take() < 40_000
    with (project.folder / "salt/page").open("a") as stream:
        stream.write("changed\n")
    changed = project.json("apply", "t1", "site")
    assert [bool(ret["changes"]) for ret in values(changed.data["t1"])] == [False, True, False]
    assert meter.take() < 40_000


def test_round_trips_do_not_grow_with_the_states(make_project, bed):
    def states(number):
        lines = [
            f"s{n}:\n  file.managed:\n    - name: {bed.targets['t1'].home}/many/{n}\n    - source: salt://page\n"
            f"    - makedirs: true\n    - template: jinja\n"
            for n in range(number)
        ]
        return "".join(lines)

    project = make_project({"salt/few.sls": states(5), "salt/many.sls": states(200), "salt/page": PAGE, **PILLAR})
    trips = {}
    for sls in ("few", "many"):
        assert project.run("apply", "t1", sls).code == 0
        done = project.run("apply", "t1", sls, "-v")
        assert "unchanged" in done.out
        trips[sls] = re.search(r"round trips +(\d+) per target", done.out)[1]
    assert trips == {"few": "2", "many": "2"}, "init after hello, the plan after grains"


# output ---------------------------------------------------------------------------------------------------------------


def test_each_output_has_no_other_text(make_project):
    project = make_project({"salt/fails.sls": FAILS})
    arguments = ("-l", "debug", "-v", "*", "cmd.run", "echo x")
    expected = dict.fromkeys(["t1", "t2", "t3"], "x")
    assert project.run("run", "--out", "json", *arguments).data == expected
    assert yaml.safe_load(project.run("run", "--out", "yaml", *arguments).out) == expected
    lines = project.run("run", "--out", "ndjson", *arguments).out.splitlines()
    assert sorted(map(json.loads, lines), key=str) == [{id: "x"} for id in expected]
    quiet = project.run("run", "--out", "quiet", "*", "cmd.run", "echo x")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    quiet = project.run("apply", "--out", "quiet", "t1", "fails")
    assert (quiet.code, quiet.out) == (2, "")
    assert "t1" in quiet.err and "test.fail_without_changes" in quiet.err


def test_rich_groups_equal_results_and_has_no_escape_codes(make_project):
    done = make_project().run("run", "*", "cmd.run", "echo x")
    assert "t1, t2, t3: x  (3 targets: same)" in done.out
    assert "\x1b" not in done.out + done.err


@pytest.mark.parametrize(
    "arguments, code",
    [
        (["apply", "t1", "good"], 0),
        (["apply", "t*", "good"], 0),
        (["apply", "nobody", "good"], 1),
        (["apply", "t1", "good", "--batch", "none"], 1),
        (["apply", "t1", "fails"], 2),
        (["apply", "t1", "missing"], 2),
        (["apply", "t1", "good", "--test"], 0),
        (["run", "t1", "no.such"], 2),
        (["run", "t1", "cmd.run", "exit 7"], 2),
        (["apply", "gone", "good"], 3),
        (["apply", "t1,gone", "fails", "-L"], 3),
    ],
)
def test_exit_codes(make_project, arguments, code):
    project = make_project(
        {"salt/good.sls": "a:\n  test.nop\n", "salt/fails.sls": FAILS}, gone={"host": "127.0.0.1", "port": 1}
    )
    done = project.json(*arguments)
    assert done.code == code, done.err
    if code == 1:
        assert done.out == "" and done.err.startswith("error: ")
    if "t1,gone" in arguments:
        assert outcomes(done, "t1") == [(False, False)]
        assert done.error("gone")["kind"] == "connection_refused"


# options of a run -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size, at_once", [("1", 1), ("34%", 1), ("2", 2)])
def test_batch_keeps_the_order_and_limits_concurrency(make_project, size, at_once):
    done = make_project().json("run", "--batch", size, "*", "cmd.run", "date +%s%N; sleep 0.2; date +%s%N")
    times = [tuple(map(int, done.data[id].split())) for id in ("t1", "t2", "t3")]
    for number, (begin, _) in enumerate(times):
        assert sum(other <= begin < end for other, end in times) <= at_once
        assert sum(end <= begin for _, end in times[:number]) >= number + 1 - at_once, "started before its turn"


def test_timeout_stops_one_target_and_its_processes(make_project):
    seconds = unique_sleep()
    done = make_project().json(
        "run", "--timeout", "5", "*", "cmd.run", f"case $HOME in */t2) sleep {seconds};; esac; echo x"
    )
    assert done.code == 3
    assert done.data["t1"] == done.data["t3"] == "x"
    assert done.error("t2")["kind"] == "timeout"
    wait_until(lambda: not running(["sleep", seconds]))


@pytest.mark.parametrize("name, code", [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 143)])
def test_a_second_signal_stops_the_run_and_is_reported(make_project, name, code):
    seconds = unique_sleep()
    sls = f"quick:\n  test.succeed_with_changes\nslow:\n  cmd.run:\n    - name: sleep {seconds}\n"
    project = make_project({"salt/slow.sls": sls})
    process = project.start("apply", "--out", "json", "t1", "slow")
    wait_until(lambda: running(["sleep", seconds]))
    process.send_signal(getattr(signal, name))
    with pytest.raises(subprocess.TimeoutExpired):  # the current state ends first
        process.wait(0.5)
    process.send_signal(getattr(signal, name))
    done = project.finish(process, timeout=20)
    assert done.code == code
    error = done.error("t1")
    assert error["kind"] == "interrupted"
    assert "1 of 2 states" in error["message"]
    wait_until(lambda: not running(["sleep", seconds]))


def test_a_second_ctrl_c_ends_the_command_at_once(make_project):
    seconds = unique_sleep()
    project = make_project()
    process = project.start("run", "--out", "json", "t1", "cmd.run", f"trap '' TERM HUP INT; sleep {seconds}")
    wait_until(lambda: running(["sleep", seconds]))
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert project.finish(process, timeout=20).code == 130
    wait_until(lambda: not running(["sleep", seconds]))


@pytest.mark.parametrize("target", ["full", "closed", "left"])
def test_a_run_is_completed_if_its_output_cannot_be_written(make_project, bed, target):
    name = secrets.token_hex(8)
    project = make_project()
    redirection = {"full": ">/dev/full", "closed": ">&-", "left": "| true"}[target]
    argv = project.argv("run", "--out", "json", "t1", "cmd.run", f"touch ~/{name}; seq 100000")
    script = f'"$@" {redirection}' if target != "left" else '{ "$@"; echo $? >&3; } 3>code | true'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *argv], cwd=project.folder, env=project.environment, capture_output=True
    )
    code = int((project.folder / "code").read_text()) if target == "left" else done.returncode
    assert code == 1
    assert b"Traceback" not in done.stderr
    assert (bed.targets["t1"].home / name).exists()


def test_two_applies_do_not_overlap(make_project, bed):
    gate = bed.targets["t1"].home / "gate"
    waits = f"wait:\n  cmd.run:\n    - name: while ! test -e {gate}; do sleep 0.05; done\n"
    project = make_project({"salt/waits.sls": waits, "salt/good.sls": "a:\n  test.nop\n"})
    first = project.start("apply", "--out", "json", "t1", "waits")
    wait_until(lambda: running(f"test -e {gate}"))
    second = project.json("apply", "t1", "good")
    assert second.code == 3
    error = second.error("t1")
    assert error["kind"] == "locked"
    assert f"pid {first.pid}" in error["message"]
    assert project.json("run", "t1", "test.ping").data == {"t1": True}
    third = project.start("apply", "--out", "json", "--wait-lock", "30", "t1", "good")
    gate.touch()
    assert project.finish(first).code == 0
    assert project.finish(third).code == 0


# remaining files and processes ----------------------------------------------------------------------------------------


def test_no_process_remains_and_clean_removes_all_files(make_project, bed):
    project = make_project({"salt/good.sls": "a:\n  test.nop\n"})
    homes = [bed.targets[id].home for id in ("t1", "t2", "t3")]
    project.json("clean", "*")
    before = {home: files(home) for home in homes}
    assert project.json("apply", "*", "good").code == 0
    for home in homes:
        wait_until(lambda home=home: not running(f"HOME={home} ", "environ"))
        created = files(home) - before[home]
        assert created
        for path in created:
            assert path.is_relative_to(home / ".cache")
            assert (home / ".cache/pushsalt").stat().st_mode & 0o777 == 0o700
    assert project.json("clean", "*").code == 0
    for home in homes:
        remaining = {path for path in files(home) if path.exists()} - before[home]
        assert not remaining - {home / ".cache"}


def files(folder: Path) -> set[Path]:
    return {Path(base) / name for base, folders, names in os.walk(folder) for name in (*folders, *names)}
