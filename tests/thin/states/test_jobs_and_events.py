"""Jobs of the schedule as systemd units; configuration of logrotate, htpasswd, at, incron and other small modules."""

import os
import shutil
import subprocess

import pytest

from thin import link, runtime
from thin.exceptions import CommandExecutionError
from thin.loader import Loaders
from thin.utils.formats import timers
from thin.utils.programs import augtool


def loaders(test=False, **pillar):
    grains = {"kernel": "Linux", "os": "Debian", "os_family": "Debian"}
    return Loaders({"test": test, "cachedir": "/nonexistent", "user": "root"}, runtime, grains=grains, pillar=pillar)


def script(folder, name, text):
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


CALENDAR = [
    ("*/15 * * * *", ["*-*-* *:0,15,30,45:00"]),
    ("0 5 * * 1-5", ["Mon,Tue,Wed,Thu,Fri *-*-* 5:0:00"]),
    ("0 0 1,15 * mon", ["*-*-1,15 0:0:00", "Mon *-*-* 0:0:00"]),
    ("30 2 * jan-mar 5-7", ["Fri,Sat,Sun *-1..3-* 2:30:00"]),
    ("5-59/20 8-18 * * *", ["*-*-* 8..18:5,25,45:00"]),
    ("@weekly", ["Sun *-*-* 0:0:00"]),
]
TEXTS = [
    ("5:00pm", "*-*-* 17:00:00"),
    ("12:00am", "*-*-* 00:00:00"),
    ("Monday 5:00pm", "Mon *-*-* 17:00:00"),
    ("2030-01-31T17:00", "2030-01-31 17:00:00"),
    ("Fri, 08:30:10", "Fri *-*-* 08:30:10"),
]


@pytest.mark.parametrize("expression, expected", CALENDAR)
def test_times_of_cron_are_converted_for_systemd(expression, expected):
    assert timers.calendar_of_cron(expression) == expected


@pytest.mark.parametrize("text, expected", TEXTS)
def test_times_in_words_are_converted_for_systemd(text, expected):
    assert timers.calendar_of_text(text) == expected


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_understands_these_times():
    wanted = [time for _, times in CALENDAR for time in times] + [time for _, time in TEXTS]
    subprocess.run(["systemd-analyze", "calendar", *wanted], check=True, capture_output=True)


@pytest.mark.parametrize("bad", ["* * * *", "60 * * * *", "5-1 * * * *", "x * * * *", "* * * * 8"])
def test_invalid_times_of_cron_are_errors(bad):
    with pytest.raises(CommandExecutionError):
        timers.calendar_of_cron(bad)


@pytest.mark.parametrize("bad", ["", "soon", "5", "Someday 5:00pm", "2030-13"])
def test_invalid_times_in_words_are_errors(bad):
    with pytest.raises(CommandExecutionError):
        timers.calendar_of_text(bad)


def test_a_job_becomes_a_timer_and_a_service():
    job = {
        "function": "cmd.run",
        "args": ['echo "$HOME" 50% \\n'],
        "hours": 2,
        "splay": {"start": 1, "end": 5},
        "kwargs": {"cwd": "/tmp", "runas": "ann", "env": {"A": "b c"}},
        "until": "2030-01-01T00:00:00",
    }
    timer, service = timers.units("my job", job, "x")
    assert "OnUnitActiveSec=7200s" in timer and "RandomizedDelaySec=4s" in timer and "Job=x" in timer
    assert 'ExecStart="/bin/sh" "-c" "echo \\"$$HOME\\" 50%% \\\\n"\n' in service
    for line in ("User=ann", "WorkingDirectory=/tmp", 'Environment="A=b c"', "ExecStartPre=/bin/sleep 1"):
        assert line + "\n" in service
    assert timers.unit("my job/é") == "salt-job-my\\x20job\\x2f\\xc3\\xa9"


@pytest.mark.parametrize(
    "job, message",
    [
        ({"function": "state.apply", "seconds": 1}, "cannot be scheduled.*controller"),
        ({"function": "cmd.run", "seconds": 1}, "no command"),
        ({"function": "cmd.run", "args": ["a", "b"], "seconds": 1}, "these arguments"),
        ({"function": "cmd.run", "args": ["a"]}, "The job has no time"),
        ({"function": "cmd.run", "args": ["a"], "seconds": 1, "range": {"start": 1}}, "range"),
        ({"function": "cmd.run", "args": ["a"], "seconds": 1, "maxrunning": 2}, "maxrunning"),
        ({"function": "cmd.script", "args": ["salt://x"], "seconds": 1}, "absolute"),
        ({"function": "service.restart", "args": ["--now"], "seconds": 1}, "no service"),
    ],
)
def test_invalid_jobs_are_errors(job, message):
    with pytest.raises(CommandExecutionError, match=message):
        timers.units("x", job, "")


def test_jobs_are_added_changed_disabled_and_removed(tmp_path, monkeypatch):
    script(tmp_path, "systemctl", 'echo "$@" >> "$0.log"')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def state(fun, test=False, **kwargs):
        functions = loaders(test)
        functions.modules.module("schedule.list")["_FOLDER"] = str(tmp_path)
        ret = functions.states["schedule." + fun]("report", **kwargs)
        return ret["result"], ret["changes"]

    args = {"function": "cmd.run", "job_args": ["date"], "hours": 1}
    assert state("present", test=True, **args) == (None, {"report": "added"})
    assert not list(tmp_path.glob("salt-job*"))
    assert state("present", **args) == (True, {"report": "added"})
    assert state("present", **args) == (True, {})
    with (tmp_path / "salt-job-report.timer").open("a") as stream:
        stream.write("# by hand\n")
    assert state("present", **args) == (True, {"report": "repaired"})
    result, changes = state("present", **dict(args, hours=2))
    assert result is True and (changes["report"]["old"]["hours"], changes["report"]["new"]["hours"]) == (1, 2)
    assert state("disabled") == (True, {"report": "disabled"}) and state("disabled") == (True, {})
    assert state("enabled") == (True, {"report": "enabled"})
    assert state("present", **dict(args, function="state.apply"))[0] is False
    assert (tmp_path / "salt-job-report.service").stat().st_mode & 0o777 == 0o600
    assert state("absent") == (True, {"report": "removed"}) and state("absent") == (True, {})
    assert not list(tmp_path.glob("salt-job*"))
    assert "restart salt-job-report.timer" in (tmp_path / "systemctl.log").read_text()


LOGROTATE = """rotate 4
compress
/var/log/a
/var/log/b {
  daily
  postrotate
    kill ${pid}
  endscript
}
/var/log/wtmp {
  rotate 1
}
"""


@pytest.mark.parametrize(
    "args, old, text",
    [
        ({"key": "rotate", "value": "7"}, 4, "rotate 7\n"),
        ({"key": "nocreate", "value": True}, False, "nocreate\n"),
        ({"key": "/var/log/wtmp", "value": "rotate", "setting": 3}, 1, "/var/log/wtmp {\n    rotate 3\n}\n"),
        ({"key": "/var/log/new", "value": "size", "setting": "1k"}, False, "/var/log/new {\n    size 1k\n}\n"),
        (
            {"key": "/var/log/b", "value": "daily", "setting": False},
            True,
            "/var/log/a\n/var/log/b {\n    postrotate\n        kill ${pid}\n    endscript\n}\n",
        ),
    ],
)
def test_settings_of_logrotate_are_set(tmp_path, args, old, text):
    conf = tmp_path / "conf"
    conf.write_text(LOGROTATE)
    args["conf_file"] = str(conf)
    dry_run = loaders(test=True).states["logrotate.set"]("x", **args)
    assert dry_run["result"] is None and dry_run["changes"]["old"] == old and conf.read_text() == LOGROTATE
    applied = loaders().states["logrotate.set"]("x", **args)
    assert (applied["result"], applied["changes"]) == (True, dry_run["changes"])
    assert text in conf.read_text()
    assert loaders().states["logrotate.set"]("x", **args)["changes"] == {}


def test_jobs_of_at_are_listed_and_removed(tmp_path, monkeypatch):
    script(tmp_path, "atq", "printf '7\\tMon Jan  2 10:00:00 2040 a root\\n8\\tSun Mar  4 11:30:00 2041 b ann\\n'")
    script(
        tmp_path,
        "at",
        """case "$1" in
-c) [ $2 = 7 ] && echo "### SALT: mine"; echo id;; -d) echo "$@" > "$0.log";; esac
""",
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    at = loaders().modules.at
    mine = {"job": 7, "date": "2040-01-02", "time": "10:00:00", "queue": "a", "user": "root", "tag": "mine"}
    assert at.atq("mine") == {"jobs": [mine]} and len(at.atq()["jobs"]) == 2
    assert at.jobcheck(hour=10, year=40) == {"jobs": [mine]}
    assert at.jobcheck(day=3)["jobs"] == [] and [job["job"] for job in at.jobcheck(runas="ann")["jobs"]] == [8]
    assert at.atrm("all")["jobs"]["removed"] == ["7", "8"]
    assert (tmp_path / "at.log").read_text() == "-d 7 8\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="runs incrontab as root")
def test_jobs_of_incron_are_present_and_absent(tmp_path, monkeypatch):
    script(tmp_path, "incrontab", f'case "$1" in -l) cat {tmp_path}/tab;; *) cp "$1" {tmp_path}/tab;; esac')
    (tmp_path / "tab").write_text("/etc/other IN_MODIFY do it\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    args = {"path": "/etc/app", "mask": ["IN_MODIFY", "IN_CREATE"], "cmd": "app reload now"}
    assert loaders(test=True).states["incron.present"]("x", **args)["result"] is None
    assert loaders().states["incron.present"]("x", **args)["changes"] == {"root": "x"}
    assert loaders().states["incron.present"]("x", **args)["changes"] == {}
    assert "/etc/app IN_MODIFY,IN_CREATE app reload now\n" in (tmp_path / "tab").read_text()
    assert loaders().states["incron.absent"]("x", **args)["changes"] == {"root": "x"}
    assert loaders().states["incron.absent"]("x", **args)["changes"] == {}
    assert loaders().modules.incron.set_job("root", "/a", "IN_BOGUS", "x y") == "Invalid mask type: IN_BOGUS"


def test_services_of_supervisord_run_and_stop(tmp_path, monkeypatch):
    (tmp_path / "state").write_text("STOPPED")
    script(
        tmp_path,
        "supervisorctl",
        f"""case "$1" in
status) echo "web   $(cat {tmp_path}/state)   some reason";; start|restart) printf RUNNING > {tmp_path}/state;;
stop) printf STOPPED > {tmp_path}/state;; esac
""",
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def state(function, test=False, **kwargs):
        ret = loaders(test).states["supervisord." + function]("web", **kwargs)
        return ret["result"], ret["comment"], ret["changes"]

    assert state("running", test=True) == (None, "Service web will be started", {})
    assert state("running") == (True, "Starting service: web", {"web": "Starting service: web"})
    assert state("running") == (True, "Not starting already running service: web", {})
    assert state("running", restart=True)[2] == {"web": "Restarting service: web"}
    assert state("dead")[2] == {"web": "Stopping service: web"} and state("dead")[2] == {}
    assert loaders().modules.supervisord.status() == {"web": {"state": "STOPPED", "reason": "some reason"}}


def test_output_of_augtool_is_parsed():
    output = '/files/etc/hosts/1\n/files/etc/hosts/1/ipaddr = "127.0.0.1"\n/files/x = "a \\"b\\""\n/files/y = (none)\n'
    assert augtool.printed(output) == [
        ("/files/etc/hosts/1", None),
        ("/files/etc/hosts/1/ipaddr", "127.0.0.1"),
        ("/files/x", 'a "b"'),
        ("/files/y", None),
    ]


def test_events_are_sent_to_the_controller():
    sent = []

    class Link:
        def event(self, tag, data):
            sent.append((tag, data))

    before = link.connect(Link())
    try:
        functions = loaders(role="web")
        assert functions.states["event.send"]("a/b", data={"x": 1}, with_grains=["os"], more=2)["changes"] == {
            "tag": "a/b",
            "data": {"x": 1},
        }
        assert loaders(test=True).states["event.send"]("a/b")["result"] is None
    finally:
        link.connect(before)
    assert sent == [("a/b", {"grains": {"os": "Debian"}, "more": 2, "x": 1})]
    assert loaders().modules.event.send("a") is False


def test_a_loop_ends_with_a_condition_or_a_timeout():
    until = loaders().states["loop.until_no_eval"]
    assert until("test.echo", args=["a"], expected="a")["result"] is True
    assert until("test.echo", args=["a"], expected="b", period=0.01, timeout=0.03)["result"] is False
    assert "Invalid operator" in until("test.echo", args=["a"], expected="b", compare_operator="bogus")["comment"]
    assert loaders().states["loop.until"]("test.echo", ["a"], condition="m_ret == 'a'")["result"] is True


@pytest.mark.parametrize(
    "args, result, message",
    [
        ({"maximum": 100}, True, "acceptable"),
        ({"minimum": "120%"}, False, "range"),
        ({"maximum": 1, "minimum": 2}, False, "less than"),
        ({"minimum": 999999999999, "absolute": True}, False, "below minimum of 999999999999 KB"),
    ],
)
def test_space_on_disks_is_compared_with_limits(args, result, message):
    ret = loaders().states["disk.status"]("/", **args)
    assert ret["result"] is result and message in ret["comment"]
