"""Salt's ``sdb.*`` for templates and command lines: the configuration's profiles, by drivers on the controller.

What a target sends cannot call these: only texts of the operator's do. Salt: salt.modules.sdb.
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
    """The value of ``uri``; what is no URI of a profile is its own answer, with ``strict`` an error.

    A command line sees it masked, unless it says ``unmask=True``, as with pillar. Raises TargetError when the driver
    cannot answer, FunctionError else.
    """
    return _asked(minion, uri, lambda sdb: sdb.get(uri, strict))


@for_command
def set_(minion: Minion, uri: Any, value: Any) -> Any:
    """What the driver says to a new ``value`` of ``uri``; False for what is no URI of a profile."""
    return _asked(minion, uri, lambda sdb: sdb.set(uri, value))


@for_command
def delete(minion: Minion, uri: Any) -> Any:
    """The driver's return for the deletion of ``uri``; False for a text that is not a URI of a profile."""
    return _asked(minion, uri, lambda sdb: sdb.delete(uri))


@for_command
def get_or_set_hash(minion: Minion, uri: Any, length: int = 8, chars: str = CHARS) -> Any:
    """The value of ``uri``; if there is none, a random text of ``length`` characters of ``chars``, which is stored.

    In a dry run a template gets an existing value; no value is stored unless the options of dry runs allow ``sdb.set``.
    """

    def call(sdb: Sdb) -> Any:
        if minion.rendering and minion.test:
            from pushsalt.minion import dryrun

            found = sdb.get(uri)
            guarded = dryrun.guarded("sdb.set", _set_hash, minion.opts, minion.effect("sdb.set"), minion.warn)
            return found if found is not None else guarded(sdb)
        return _set_hash(sdb)

    def _set_hash(sdb: Sdb) -> Any:
        return sdb.get_or_set_hash(uri, length, chars)

    return _asked(minion, uri, call)


def _asked(minion: Minion, uri: Any, call: Any) -> Any:
    sdb: Sdb = minion.project.command.sdb
    profile, key = split(uri) if is_uri(uri) else ("", "")
    if key and not sdb.has(profile) and _named_elsewhere(minion, profile):
        text = f"{uri}: the sdb profile {profile!r} is in the pillar or the minion_opts"
        raise _refuse(text, "write it into the configuration: its driver runs on the controller")
    try:
        return call(sdb)
    except TargetError as exc:
        raise TargetError(exc.kind, f"{minion.id}: {exc.message}", exc.hint) from None


def _named_elsewhere(minion: Minion, profile: str) -> bool:
    found = minion.opts.get(profile) or minion.pillar.get(profile)
    return isinstance(found, dict) and "driver" in found


def _refuse(text: str, hint: str) -> FunctionError:
    return FunctionError("exception", text, hint, "SaltInvocationError")
