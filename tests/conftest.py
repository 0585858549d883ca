"""Settings for all tests: default signals, a home that is not the user's, and no time limits of hypothesis, which would
measure the machine.

By default hypothesis draws the same examples everywhere, so that only a change makes the suite fail;
``--hypothesis-profile new --hypothesis-seed N`` draws others, as ``.ci/run`` does; ``few`` draws 20 instead of 100. An
example that fails becomes an ``@example`` of its test.

Each process of a parallel run (pytest -n) has a home of its own: runs of the same user on this machine would wait for
each other's lock.

A shell without job control starts background commands with SIGINT ignored, nohup with SIGHUP ignored, and children
inherit that: tests of Ctrl-C would fail there.
"""

import logging
import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from tests.beds import machines, required, share

settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("new", deadline=None, print_blob=True, database=None)
settings.register_profile("few", settings.get_profile("same"), max_examples=20)
settings.load_profile("same")

for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


REQUIRED = pytest.StashKey[set[str]]()


def pytest_addoption(parser):
    """``--share N``: the slow tests of the day (tests/beds/share.py)."""
    parser.addoption("--share", type=int, default=1, metavar="N", help="of slow files, one in N: those of the day DAY")


def pytest_report_header(config):
    """Say which share is taken, and how it is taken again."""
    count, day = config.getoption("share"), share.today()
    return f"slow files: one in {count}, those of DAY={day.isoformat()}" if count > 1 else None


def pytest_collection_modifyitems(config, items):
    """Leave out the slow tests of files that have another day, except those that are marked ``gate``."""
    marked = [item for item in items if item.get_closest_marker("slow") and not item.get_closest_marker("gate")]
    slow = {id(item): item.path.as_posix() for item in marked}
    names = {path: path[path.rindex("/tests/") :] for path in slow.values()}
    out = share.left_out(names.values(), config.getoption("share"), share.today())
    dropped = [item for item in items if names.get(slow.get(id(item), "")) in out]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        gone = {id(item) for item in dropped}
        items[:] = [item for item in items if id(item) not in gone]


def pytest_configure(config):
    """End the run if a requirement of ``REQUIRE`` is missing."""
    config.stash[REQUIRED] = required.required()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Report a skip as a failure if a missing requirement caused it."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        path, line, text = report.longrepr
        reason = text.removeprefix("Skipped: ")
        markers = [marker.name for marker in item.iter_markers()]
        if word := required.forbids(item.config.stash[REQUIRED], markers, reason):
            report.outcome = "failed"
            report.longrepr = f"{path}:{line}: skipped, though REQUIRE has {word}: {reason}"
    return report


@pytest.fixture(autouse=True)
def log_level():
    """Restore the log level: commands that run in this process change it."""
    before = logging.getLogger().level
    yield
    logging.getLogger().setLevel(before)


@pytest.fixture(scope="session", autouse=True)
def user_folders():
    """Use temporary folders for compiled templates and the cache's key, which belong to the user's folders.

    Roots and packages of machines, and Python versions, are kept between runs.
    """
    os.environ.setdefault("PUSHSALT_TEST_CACHE", str(machines.cache_dir()))
    os.environ.setdefault("PYENV_ROOT", str(Path.home() / ".pyenv"))
    with tempfile.TemporaryDirectory(prefix="pushsalt-user-") as folder:
        homes = {"HOME": f"{folder}/home", "XDG_CACHE_HOME": f"{folder}/cache", "XDG_STATE_HOME": f"{folder}/state"}
        Path(homes["HOME"]).mkdir(mode=0o700)
        before = {name: os.environ.get(name) for name in homes}
        os.environ.update(homes)
        yield
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
