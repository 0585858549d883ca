"""Machines that are never connected to: their grains are in the inventory, and SLS can be rendered for them."""

from __future__ import annotations

from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.transport import Connection, ConnectOptions


async def connect(target: Target, options: ConnectOptions) -> Connection:
    """Raises TargetError, always."""
    raise TargetError(
        "offline",
        f"{target.id} is offline: what was asked for needs the machine itself",
        f"use transport: ssh or local for {target.id}, or ask only for what its grains and pillar answer",
    )
