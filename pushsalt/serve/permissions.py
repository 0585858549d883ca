"""What an account may call: Salt's ``external_auth``. Pure. Salt: ``salt.utils.minions.CkMinions``.

The permissions of an account are a list. A text is a regular expression of functions, for all targets; a text that
begins with ``@`` is for runner functions (``@runner``, ``@jobs``) or for keys (``@wheel``). A mapping has a compound
expression of targets (or ``@runner`` …) and the functions there, which may have conditions for their arguments:

    external_auth:
      file:
        ^filename: users
        anna: ['test.*', {'web*': ['state.apply', {'pkg.install': {args: ['nginx|curl']}}]}, '@jobs']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

#: Functions that everybody with an account may call on any target. Salt: ``publish`` of the master.
ALWAYS: Final = "saltutil.find_job"
#: Gives the ids of a compound expression.
Select = Callable[[str], Collection[str]]


def of_account(provider: Mapping[str, Any], name: str, *, permissive: bool = False) -> list[Any]:
    """The permissions of an account in the configuration of its eauth module; empty: it may do nothing.

    Names are globs or regular expressions. ``*`` counts for accounts that no other name matches, and with
    ``permissive`` for all. Salt matches the other way round: there, an account ``*`` would have everybody's.
    """
    found: list[Any] = []
    is_named = False
    for pattern, permissions in provider.items():
        pattern = str(pattern)
        if pattern.startswith("^") or pattern.endswith("%") or (pattern == "*" and not permissive):
            continue
        if _is_name(pattern, name):
            is_named = True
            found += _as_list(permissions)
    if not permissive and not is_named:
        found += _as_list(provider.get("*"))
    return found


def shown(provider: Mapping[str, Any], name: str) -> list[Any]:
    """The permissions of an account as a login shows them. Salt: ``salt.netapi.sorted_permissions``."""
    found = [*_as_list(provider.get(name)), *(_as_list(provider.get("*")) if name != "*" else [])]
    texts = sorted({each for each in found if isinstance(each, str)})
    others: list[Any] = []
    for each in found:
        if not isinstance(each, str) and each not in others:
            others.append(each)
    return [*texts, *sorted(others, key=repr)]


def may_call(
    permissions: Sequence[Any],
    fun: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    ids: Collection[str],
    of: Select,
) -> bool:
    """Whether an execution function may be called on all of these ids. Salt: ``auth_check``."""
    if fun == ALWAYS:
        return True
    for each in permissions:
        if isinstance(each, str):
            if not each.startswith("@") and _matches(each, fun):
                return True
        elif isinstance(each, Mapping) and len(each) == 1:
            [(valid, functions)] = each.items()
            if not isinstance(valid, str) or valid.startswith("@"):
                continue
            if _is_permitted(functions, fun, args, kwargs) and (valid == "*" or set(ids) <= set(of(valid))):
                return True
    return False


def may_run(
    permissions: Sequence[Any], fun: str, args: Sequence[Any], kwargs: Mapping[str, Any], form: str = "runner"
) -> bool:
    """Whether a function of the controller may be called; ``form``: runner, wheel. Salt: ``spec_check``."""
    module, dot, name = fun.partition(".")
    if not dot or not name or "." in name:
        return False
    for each in permissions:
        if isinstance(each, str):
            if each in (f"@{module}", f"@{form}", f"@{form}s"):
                return True
        elif isinstance(each, Mapping) and len(each) == 1:
            [(valid, functions)] = each.items()
            if valid == f"@{module}" and _is_permitted(functions, name, args, kwargs):
                return True
            if valid in (f"@{form}", f"@{form}s") and _is_permitted(functions, fun, args, kwargs):
                return True
    return False


def _is_name(pattern: str, name: str) -> bool:
    if fnmatchcase(name, pattern):
        return True
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error:
        return False


def _is_permitted(functions: Any, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    for each in _as_list(functions):
        if isinstance(each, str) and _matches(each, fun):
            return True
        if isinstance(each, Mapping) and len(each) == 1:
            [(name, conditions)] = each.items()
            if _matches(name, fun) and any(_has(one, args, kwargs) for one in _as_list(conditions)):
                return True
    return False


def _has(condition: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether arguments meet a condition: ``args`` and ``kwargs`` by regular expressions; an empty one is any value."""
    if not isinstance(condition, Mapping):
        return False
    for at, wanted in enumerate(condition.get("args") or ()):
        if at >= len(args) or (wanted is not None and not _matches(wanted, str(args[at]))):
            return False
    for key, wanted in (condition.get("kwargs") or {}).items():
        if key not in kwargs or (wanted is not None and not _matches(wanted, str(kwargs[key]))):
            return False
    return True


def _matches(pattern: Any, text: str) -> bool:
    """Whether a regular expression matches the begin of a text, as in Salt; an invalid one matches nothing."""
    try:
        return re.match(str(pattern), text) is not None
    except re.error:
        return False


def _as_list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
