"""The transport of machines that are never connected to: their grains are in the inventory, to render SLS for them."""

from __future__ import annotations

from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.transport import Connection, ConnectOptions


async def connect(target: Target, options: ConnectOptions) -> Connection:
    """Always raises TargetError."""
    raise TargetError(
        "offline",
        f"{target.id} is offline: what was asked for needs the machine itself",
        f"use transport: ssh or local for {target.id}, or ask only for what its grains and pillar answer",
    )
