"""Log lines: Salt's shape, nothing raw, nothing secret, nothing before its level is known."""

import logging

import pytest

from pushsalt.errors import UsageError
from pushsalt.log import LEVELS, Handler, configure, install, level_number
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
    [(logging.WARNING, "[WARNING ] x\n"), (logging.ERROR, "[ERROR   ] x\n"), (logging.CRITICAL, "[CRITICAL] x\n"),
     (logging.INFO, "[INFO    ] x\n"), (5, "[TRACE   ] x\n"), (15, "[PROFILE ] x\n")],
)  # fmt: skip
def test_shape(handler, number, line):
    configure(handler, "all")
    log.log(number, "%s", "x")
    assert handler.lines == [line]


def test_records_wait_until_the_level_is_known(handler):
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
