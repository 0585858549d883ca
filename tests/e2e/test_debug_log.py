"""``-l debug`` over SSH logs address, user, keys and answers; test_reports tests the log of rendering and files."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.beds import sshd
from tests.beds.project import Project

pytestmark = [
    pytest.mark.sshd,
    pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-"),
]


def test_debug_logs_connections_and_keys(make_project: Callable[..., Project]) -> None:
    done = make_project().run("-l", "debug", "run", "t1", "test.ping")
    assert done.code == 0
    for pattern in (
        r"t1: connecting to 127\.0\.0\.1 port \d+ as \w+\n",
        r"t1: keys to log in with: \S+.*; known host keys: 1\n",
        r"t1: logged in; \S*OpenSSH\S*.*, host key \S+ SHA256:",
        r"t1: Python 3\.\S+ \(\S+\) as uid \d+, the runtime in /",
    ):
        assert re.search(pattern, done.err), done.err
    assert all(line.startswith(("[", "    ")) for line in done.err.splitlines())
