"""Salt's ``sdb.*`` for templates and command lines, with profiles of the configuration and drivers on the controller.

Only text of the operator can call these functions, not text from targets. Salt: salt.modules.sdb.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError, TargetError
from pushsalt.modules.controller import for_command
from pushsalt.sdb.store import CHARS
from pushsalt.sdb.uri import is_uri, split

if TYPE_CHECKING:
    from pushsalt.minion.minion import Minion
    from pushsalt.sdb.store import Sdb

__reads__ = ("get", "get_or_set_hash")
__changes__ = ("set", "delete")


@for_command
def get(minion: Minion, uri: Any, strict: bool = False, unmask: Any = None) -> Any:
    """The value of ``uri``. A text that is not a URI of a profile is returned unchanged, or with ``strict`` an error.

    The value is masked for a command line without ``unmask=True``, as with pillar. Raises TargetError if the driver
    cannot read it, FunctionError for other errors.
    """
    return _called(minion, uri, lambda sdb: sdb.get(uri, strict))


@for_command
def set_(minion: Minion, uri: Any, value: Any) -> Any:
    """Set the value of ``uri``; returns the driver's return. False for a text that is not a URI of a profile."""
    return _called(minion, uri, lambda sdb: sdb.set(uri, value))


@for_command
def delete(minion: Minion, uri: Any) -> Any:
    """The driver's return for the deletion of ``uri``; False for a text that is not a URI of a profile."""
    return _called(minion, uri, lambda sdb: sdb.delete(uri))


@for_command
def get_or_set_hash(minion: Minion, uri: Any, length: int = 8, chars: str = CHARS) -> Any:
    """The value of ``uri``; if there is none, a random text of ``length`` characters of ``chars``, which is stored.

    In a dry run a template gets an existing value; no value is stored unless the options of dry runs allow ``sdb.set``.
    """

    def call(sdb: Sdb) -> Any:
        if minion.rendering and minion.test:
            from pushsalt.minion import dryrun

            value = sdb.get(uri)
            guarded = dryrun.guarded("sdb.set", _set_hash, minion.opts, minion.effect("sdb.set"), minion.warn)
            return value if value is not None else guarded(sdb)
        return _set_hash(sdb)

    def _set_hash(sdb: Sdb) -> Any:
        return sdb.get_or_set_hash(uri, length, chars)

    return _called(minion, uri, call)


def _called(minion: Minion, uri: Any, call: Any) -> Any:
    sdb: Sdb = minion.project.command.sdb
    profile, key = split(uri) if is_uri(uri) else ("", "")
    if key and not sdb.has(profile) and _in_pillar_or_minion_opts(minion, profile):
        text = f"{uri}: the sdb profile {profile!r} is in pillar or minion_opts, which is not supported"
        raise _refuse(text, "write it into the configuration: its driver runs on the controller")
    try:
        return call(sdb)
    except TargetError as exc:
        raise TargetError(exc.kind, f"{minion.id}: {exc.message}", exc.hint) from None


def _in_pillar_or_minion_opts(minion: Minion, profile: str) -> bool:
    settings = minion.opts.get(profile) or minion.pillar.get(profile)
    return isinstance(settings, dict) and "driver" in settings


def _refuse(text: str, hint: str) -> FunctionError:
    return FunctionError("exception", text, hint, "SaltInvocationError")
