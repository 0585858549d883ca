"""Salt's ``match`` functions that need every matcher; the simple ones are in ``thin/modules/match.py``, for both sides.

They return whether an expression matches this target, by its live grains and its pillar. ``minion_id`` replaces the
target's id, but not its grains and pillar. An invalid expression does not match, and is logged. Salt:
``salt/modules/match.py``.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError, UsageError
from pushsalt.modules.controller import for_targets
from pushsalt.targeting import MatcherFails, Subject, matches
from thin.loader import LazyDict
from thin.utils import dictupdate

if TYPE_CHECKING:
    from pushsalt.minion.minion import Minion

__reads__ = ("compound", "ipcidr", "nodegroup", "data", "filter_by", "search_by", "ifelse")

log = logging.getLogger(__name__)

_DEFAULT = "SALT_IFELSE_FUNCTION_DEFAULT"
_NOTHING = "SALT_IFELSE_MATCH_NOTHING"


def compound(minion: Minion, tgt: Any, minion_id: Any = None) -> bool:
    """Whether a compound expression matches the target."""
    return _matches(minion, "compound", tgt, minion_id)


@for_targets
def ipcidr(minion: Minion, tgt: Any) -> bool:
    """Whether the target has this address, or an address in this network."""
    return _matches(minion, "ipcidr", tgt, None)


@for_targets
def nodegroup(minion: Minion, tgt: Any, nodegroups: Any = None, minion_id: Any = None) -> bool:
    """Whether the target is in a nodegroup of the configuration, or a group of the inventory."""
    return _matches(minion, "compound", f"N@{tgt}", minion_id)


def data(minion: Minion, tgt: Any) -> bool:
    """False: there is no data store on a target."""
    return False


def filter_by(
    minion: Minion,
    lookup: Mapping[Any, Any],
    tgt_type: str = "compound",
    minion_id: Any = None,
    merge: Any = None,
    merge_lists: bool = False,
    default: Any = "default",
) -> Any:
    """The value of the first key that matches, with ``merge`` merged over it; the value of the key ``default`` if none
    matches.
    """
    for key, value in lookup.items():
        if not _matches(minion, tgt_type, key, minion_id or None):
            continue
        if not merge:
            return value
        if not isinstance(merge, Mapping):
            raise _refuse("filter_by merge argument must be a dictionary.", "give a mapping, or none")
        if value is None:
            return merge
        return dictupdate.update(copy.deepcopy(value), copy.deepcopy(merge), merge_lists=merge_lists)
    return lookup.get(default)


def search_by(
    minion: Minion, lookup: Mapping[Any, Any], tgt_type: str = "compound", minion_id: Any = None
) -> list[Any] | None:
    """The keys whose lists have a matching expression, once for each such expression; None without any."""
    keys = [
        key
        for key, expressions in lookup.items()
        for expression in expressions
        if _matches(minion, tgt_type, expression, minion_id or None)
    ]
    return keys or None


def ifelse(
    minion: Minion,
    *args: Any,
    tgt_type: str = "compound",
    minion_id: Any = None,
    merge: Any = None,
    merge_lists: bool = False,
) -> Any:
    """The value after the first matching expression of ``expression, value, expression, value, ..., default``."""
    if len(args) % 2 == 0:
        raise _refuse(
            "The ifelse function must have an odd number of arguments!", "pairs of expression and value, then a default"
        )
    always = {True: "*", False: _NOTHING}
    keys = [always[key] if isinstance(key, bool) else key for key in args[:-1:2]]
    lookup = {**dict(zip(keys, args[1::2], strict=True)), _DEFAULT: args[-1]}
    return filter_by(minion, lookup, tgt_type, minion_id, merge if keys else None, merge_lists, _DEFAULT)


def _matches(minion: Minion, tgt_type: str, tgt: Any, minion_id: Any) -> bool:
    name = minion.id if minion_id is None else str(minion_id)
    pillar = LazyDict(lambda: minion.pillar) if minion.own_pillar is None else minion.own_pillar
    try:
        target = minion.target
        groups = target.groups if name == target.id else ()
        subject = Subject(name, minion.grains, pillar, target.type, target.manager, groups=groups)
        project = minion.project
        return matches(tgt, tgt_type, subject, nodegroups=project.nodegroups, vocabulary=project.vocabulary)
    except MatcherFails as exc:
        raise _refuse(str(exc), exc.hint) from None
    except UsageError as exc:
        log.error("%s: match.%s: %s", minion.id, tgt_type, exc.message)
        return False


def _refuse(text: str, hint: str) -> FunctionError:
    return FunctionError("exception", text, hint, "SaltException")
