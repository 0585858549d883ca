"""The transport of machines without connection; SLS are rendered for them with the grains of the inventory."""

from __future__ import annotations

from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.transport import Connection, ConnectOptions


async def connect(target: Target, options: ConnectOptions) -> Connection:
    """Always raises TargetError."""
    raise TargetError(
        "offline",
        f"{target.id} is offline: this needs the machine itself",
        f"use transport: ssh or local for {target.id}, or ask only for what its grains and pillar answer",
    )
