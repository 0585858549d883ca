"""The system module and Debian's init scripts, with scripts in PATH that record their calls."""

import os
import re
import time

import pytest

from thin.exceptions import CommandExecutionError, SaltInvocationError

PROGRAM = """#!/bin/sh
echo "${0##*/} $*" >> %(log)s
%(commands)s
"""


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A function that creates programs; its ``calls()`` returns the list of their calls, ``forget()`` empties it."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    log = tmp_path / "log"

    def make(**scripts):
        for name, commands in scripts.items():
            path = tmp_path / "bin" / name.replace("_", "-")
            path.write_text(PROGRAM % {"log": log, "commands": commands})
            path.chmod(0o755)

    make.calls = lambda: log.read_text().splitlines() if log.exists() else []
    make.forget = lambda: log.write_text("")
    return make


def test_times_have_the_requested_offset(make_loaders, programs):
    call = make_loaders().modules
    now = time.time()
    for offset, seconds in (("+0000", 0), ("-0530", -19800), ("0200", 7200)):
        text = call["system.get_system_date_time"](offset)
        local_time = time.strptime(text, "%Y-%m-%d %H:%M:%S")
        assert abs(time.mktime(local_time) - time.mktime(time.gmtime(now + seconds))) < 5
    assert re.fullmatch(r"\d\d:\d\d:\d\d [AP]M", call["system.get_system_time"]())
    assert re.fullmatch(r"[A-Z][a-z]{2} \d\d/\d\d/\d{4}", call["system.get_system_date"]())
    for wrong in ("0", "+1", "+00:00", "x"):
        with pytest.raises(SaltInvocationError, match="Invalid UTC offset"):
            call["system.get_system_time"](wrong)


@pytest.mark.parametrize(
    "function, args, expected",
    [
        ("set_system_date_time", (2015, 5, 12, 11, 37, 53), r"date 051211372015\.53"),
        ("set_system_date_time", (2015, 5, 12, 11, 37, 53, "-0500"), r"date -u 051216372015\.53"),
        ("set_system_date_time", (2015, 1, 1, 1, 0, 0, "+0200"), r"date -u 123123002014\.00"),
        ("set_system_time", ("11:20",), r"date \d{4}11202\d{3}\.00"),
        ("set_system_time", ("11:20:05 PM",), r"date \d{4}23202\d{3}\.05"),
        ("set_system_date", ("03-28-13",), r"date 0328\d{4}2013\.\d\d"),
        ("set_system_date", ("2013/03/28",), r"date 0328\d{4}2013\.\d\d"),
    ],
)
def test_the_clock_is_set(make_loaders, programs, function, args, expected):
    programs(date="", hwclock="")
    assert make_loaders().modules["system." + function](*args) is True
    first, *clock = programs.calls()
    assert re.fullmatch(expected, first)
    assert clock == ["hwclock --test --systohc", "hwclock --systohc"]


def test_a_clock_that_cannot_be_set_is_an_error(make_loaders, programs):
    programs(date="echo 'Operation not permitted' >&2; exit 1")
    call = make_loaders().modules
    with pytest.raises(CommandExecutionError, match="date failed: Operation not permitted"):
        call["system.set_system_time"]("11:20")
    assert call["system.set_system_time"]("noon") is False
    with pytest.raises(SaltInvocationError, match="Invalid date format"):
        call["system.set_system_date"]("today")
    with pytest.raises(SaltInvocationError):
        call["system.set_system_date_time"](months=13)
    assert call["system.has_settable_hwclock"]() is False
    programs(date='case "$1" in *.*) exit 1;; esac')  # a date program without seconds
    assert call["system.set_system_time"]("11:20:05") is True


def test_halt_reboot_and_shutdown_call_programs(make_loaders, programs):
    programs(halt="", poweroff="", init="", shutdown="echo bye")
    call = make_loaders().modules
    for function, args in (("halt", ()), ("poweroff", ()), ("init", (3,)), ("reboot", ()), ("shutdown", (5,))):
        call["system." + function](*args)
    assert programs.calls() == ["halt ", "poweroff ", "init 3", "shutdown -r now", "shutdown -h 5"]
    assert call["system.reboot"]() == "bye"


@pytest.mark.parametrize("text", ["plain", 'with "quotes" and \ttabs\nlines', "Grüße", "back\\slash"])
def test_the_computer_description_is_stored(make_loaders, programs, tmp_path, text):
    loaders = make_loaders()
    path = tmp_path / "machine-info"
    loaders.modules.module("system.halt")["MACHINE_INFO"] = str(path)
    assert loaders.modules["system.get_computer_desc"]() is False
    path.write_text("CHASSIS=vm\nPRETTY_HOSTNAME='old'\n")
    assert loaders.modules["system.get_computer_desc"]() == "old"
    assert loaders.modules["system.set_computer_desc"](text) is True
    assert loaders.modules["system.get_computer_desc"]() == text
    assert path.read_text().startswith("CHASSIS=vm\nPRETTY_HOSTNAME=")
    loaders.modules.module("system.halt")["MACHINE_INFO"] = str(tmp_path / "no" / "folder")
    assert loaders.modules["system.set_computer_desc"](text) is False


@pytest.fixture
def services(make_loaders, programs, tmp_path):
    for folder, names in {
        "init.d": ["README", "one", "two", "x11-common"],
        "rc2.d": ["S01one", "K02two"],
        "rcS.d": ["S10x11-common"],
        "rc3.d": ["S01two"],
    }.items():
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).touch()
    loaders = make_loaders()
    module = loaders.modules._file("debian_service").__dict__
    module["INIT_SCRIPTS"], module["LINKS"] = str(tmp_path / "init.d"), str(tmp_path / "rc%s.d")
    programs(runlevel="echo unknown", service='[ "$1" != two ]', update_rc_d='[ "$1" != two ]')
    os.rename(tmp_path / "bin" / "update-rc-d", tmp_path / "bin" / "update-rc.d")
    return module


def test_properties_of_init_scripts_are_returned(services, programs):
    assert services["get_all"]() == ["one", "two", "x11-common"]
    assert services["get_enabled"]() == ["one", "x11-common"] and services["get_disabled"]() == ["two"]
    programs(runlevel="echo N 3")
    assert services["get_enabled"]() == ["two", "x11-common"]
    assert services["available"]("one") and services["missing"]("README")
    assert services["enabled"]("two") and services["disabled"]("one") and not services["disabled"]("nosuch")
    assert services["status"]("one") is True and services["status"]("two") is False
    assert services["status"]("*o*") == {"one": True, "two": False, "x11-common": True}


@pytest.mark.parametrize(
    "function, expected",
    [
        ("start", ["service one start"]),
        ("stop", ["service one stop"]),
        ("restart", ["service one restart"]),
        ("reload_", ["service one reload"]),
        ("force_reload", ["service one force-reload"]),
        ("enable", ["update-rc.d one defaults", "update-rc.d one enable"]),
        ("disable", ["update-rc.d one disable"]),
    ],
)
def test_actions_call_the_init_scripts(services, programs, function, expected):
    programs.forget()
    assert services[function]("one") is True
    assert programs.calls() == expected
    assert services[function]("two") is False
