"""The controller as the target of an orchestration: the id ``HOSTNAME_master``, as of Salt's master minion."""

from __future__ import annotations

import socket
import sys

from pushsalt.model import Target


def master_id() -> str:
    """The id under which the states of an orchestration run. Salt: the master's id with ``_master`` behind it."""
    return f"{socket.gethostname()}_master"


def master_target() -> Target:
    """This machine, without a connection and as the user of the command."""
    return Target(master_id(), transport="local", python=sys.executable)
