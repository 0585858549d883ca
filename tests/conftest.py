"""For all tests: the usual signals, whatever started us, a cache folder that is not the user's, and no time limits of
hypothesis, which measure the machine.

A shell without job control starts what runs in the background with SIGINT ignored, nohup does so with SIGHUP, and
children inherit that: what stops at Ctrl-C could not be tested there.
"""

import os
import signal
import tempfile

import pytest
from hypothesis import settings

settings.register_profile("pushsalt", deadline=None)
settings.load_profile("pushsalt")

for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


@pytest.fixture(scope="session", autouse=True)
def cache_folder():
    """Compiled templates are kept in the user's cache folder; one of these tests' own instead."""
    with tempfile.TemporaryDirectory(prefix="pushsalt-cache-") as folder:
        before, os.environ["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME"), folder
        yield
        if before is None:
            os.environ.pop("XDG_CACHE_HOME", None)
        else:
            os.environ["XDG_CACHE_HOME"] = before
