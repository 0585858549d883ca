"""Log lines: Salt's format, nothing raw, nothing secret, none before the level is set."""

import logging
import os
import re
import tempfile
from pathlib import Path

import pytest

from pushsalt.errors import UsageError
from pushsalt.log import LEVELS, Handler, LogFile, configure, install, level_number
from pushsalt.redact import Redactor


@pytest.fixture
def handler(monkeypatch):
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    result = install()
    lines = []
    result.write = lines.append
    result.lines = lines
    return result


log = logging.getLogger("pushsalt.test")


@pytest.mark.parametrize(
    "number, line",
    [
        (logging.WARNING, "[WARNING ] x\n"),
        (logging.ERROR, "[ERROR   ] x\n"),
        (logging.CRITICAL, "[CRITICAL] x\n"),
        (logging.INFO, "[INFO    ] x\n"),
        (5, "[TRACE   ] x\n"),
        (15, "[PROFILE ] x\n"),
    ],
)
def test_shape(handler, number, line):
    configure(handler, "all")
    log.log(number, "%s", "x")
    assert handler.lines == [line]


def test_records_wait_until_the_level_is_set(handler):
    log.info("one")
    log.error("two")
    assert handler.lines == []
    configure(handler, "error")
    log.warning("three")
    configure(handler, "warning")
    log.warning("four")
    assert handler.lines == ["[ERROR   ] two\n", "[WARNING ] four\n"]


def test_secrets_and_controls_do_not_show(handler):
    configure(handler, "info")
    handler.redactor = Redactor()
    handler.redactor.add("canary-4711")
    log.info("key %s \x1b[31m\n[ERROR   ] forged", "canary-4711")
    assert handler.lines == ["[INFO    ] key ********** \\x1b[31m\n    [ERROR   ] forged\n"]


def test_tracebacks_only_at_debug(handler):
    for level, shown in (("info", False), ("debug", True)):
        configure(handler, level)
        try:
            raise ValueError("canary")
        except ValueError:
            log.error("failed", exc_info=True)
        assert ("Traceback" in handler.lines[-1]) is shown


def test_a_bad_record_is_no_crash(handler):
    configure(handler, "info")
    handler.handle(log.makeRecord(log.name, logging.INFO, __file__, 1, "%d", ("x",), None))
    assert handler.lines == []


def test_quiet_and_unknown_levels(handler):
    configure(handler, "quiet")
    log.critical("x")
    assert handler.lines == []
    with pytest.raises(UsageError) as caught:
        configure(handler, "loud")
    assert "warning" in caught.value.hint
    assert level_number(" Warning ") == LEVELS["warning"]


def test_one_handler_per_process(handler):
    assert install() is handler
    assert isinstance(handler, Handler)


def test_a_file_gets_times_ids_and_a_level_of_its_own(handler, tmp_path):
    path = tmp_path / "log"
    handler.file = LogFile(path, "debug")
    handler.redactor = Redactor()
    handler.redactor.add("canary-4711")
    configure(handler, "warning")
    log.debug("connecting with canary-4711")
    log.warning("web1: from it", extra={"target": "web1"})
    log.warning("no name\nforged", extra={"target": "web2"})
    assert handler.lines == ["[WARNING ] web1: from it\n", "[WARNING ] no name\n    forged\n"]
    rows = path.read_text().splitlines()
    line = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \[pushsalt.test *:\d+ *\]\[(\w+) *\]\[\d+\] (.*)"
    assert [re.fullmatch(line, row).groups() for row in (rows[0], rows[1], rows[2])] == [
        ("DEBUG", "connecting with **********"),
        ("WARNING", "web1: from it"),
        ("WARNING", "web2: no name"),
    ]
    assert rows[3] == "    forged" and path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_none(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "no" / "such"):
        with pytest.raises(UsageError, match="--log-file"):
            LogFile(path)


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path):
    path = tmp_path / "log"
    path.write_text("before\n")
    path.chmod(0o644)
    LogFile(path)
    assert (path.stat().st_mode & 0o777, path.read_text()) == (0o600, "before\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user")
def test_a_file_of_another_user_that_others_can_read():
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are not readable by other users
        os.chmod(folder, 0o711)
        path = Path(folder, "log")
        path.write_text("")
        path.chmod(0o666)
        os.seteuid(65534)
        try:
            with pytest.raises(UsageError, match="others can read"):
                LogFile(path)
        finally:
            os.seteuid(0)
