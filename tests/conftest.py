"""For all tests: the usual signals, whatever started us, a home that is not the user's, and no time limits of
hypothesis, which measure the machine.

By default hypothesis draws the same examples everywhere, so that the suite fails for a change and not for a draw;
``--hypothesis-profile new --hypothesis-seed N`` draws others, as ``.ci/run`` does. What it finds becomes an
``@example`` of its test.

Each process of a parallel run (pytest -n) has a home of its own: there runs of this machine on itself lock each other
out.

A shell without job control starts what runs in the background with SIGINT ignored, nohup does so with SIGHUP, and
children inherit that: what stops at Ctrl-C could not be tested there.
"""

import logging
import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from tests.beds import machines, required

settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("new", deadline=None, print_blob=True, database=None)
settings.load_profile("same")

for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


REQUIRED = pytest.StashKey[set[str]]()


def pytest_configure(config):
    """What ``REQUIRE`` names is there, or nothing is run."""
    config.stash[REQUIRED] = required.required()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """A skip for the lack of something that is required is a failure."""
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
    """Commands that run in this process set it, for good."""
    before = logging.getLogger().level
    yield
    logging.getLogger().setLevel(before)


@pytest.fixture(scope="session", autouse=True)
def user_folders():
    """Compiled templates and the cache's key are kept in folders of the user; in some of these tests' own instead.

    Machines' roots and packages stay where they are from one time to the next, and so do Python versions.
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
