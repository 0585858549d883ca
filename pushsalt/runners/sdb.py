"""Values of ``sdb://`` URIs, read and written by the controller. Salt: ``salt/runners/sdb.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.runners.salt import cmd

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def get(run: Run, uri: str) -> Any:
    """The value; the text itself if it is no ``sdb://`` URI."""
    return cmd(run, "sdb.get", uri)


def set(run: Run, uri: str, value: Any) -> Any:
    """Store a value."""
    return cmd(run, "sdb.set", uri, value)


def delete(run: Run, uri: str) -> Any:
    """Remove a value."""
    return cmd(run, "sdb.delete", uri)


def get_or_set_hash(run: Run, uri: str, length: int = 8, chars: str | None = None) -> Any:
    """The value; if there is none, a random text of ``length`` characters, which is stored."""
    given = {} if chars is None else {"chars": chars}
    return cmd(run, "sdb.get_or_set_hash", uri, length=length, **given)
