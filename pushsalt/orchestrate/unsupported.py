"""Refuses functions of Salt that have no meaning without a master daemon, and names the replacement."""

from __future__ import annotations

from typing import NoReturn

from pushsalt.errors import FunctionError


def refuse(name: str, reason: str, hint: str) -> NoReturn:
    """Raises FunctionError. ``reason``: why the function does nothing here; ``hint``: what to use instead."""
    raise FunctionError("exception", f"{name} is not supported: {reason}", hint, "SaltException")
