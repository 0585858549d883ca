"""Evaluates permissions of accounts: Salt's ``external_auth``. Salt: ``salt.utils.minions.CkMinions``.

The permissions of an account are a list. A text is a regular expression for functions, which are permitted on all
targets; a text that begins with ``@`` permits runner functions (``@runner``, ``@jobs``) or functions for keys
(``@wheel``). A mapping has a compound expression for targets (or ``@runner`` …) and the functions that are permitted on
them, which may have conditions for their arguments:

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

#: The function that every account may call on all targets. Salt: ``publish`` of the master.
ALWAYS: Final = "saltutil.find_job"
#: Returns the ids that a compound expression matches.
Select = Callable[[str], Collection[str]]


def of_account(provider: Mapping[str, Any], name: str, *, permissive: bool = False) -> list[Any]:
    """The permissions of an account in the configuration of its eauth module; empty if it has none.

    Names are globs or regular expressions. ``*`` applies to accounts that no other name matches, with ``permissive`` to
    all. Salt uses the name of the account as the pattern: an account ``*`` would have the permissions of all.
    """
    granted: list[Any] = []
    is_named = False
    for pattern, permissions in provider.items():
        pattern = str(pattern)
        if pattern.startswith("^") or pattern.endswith("%") or (pattern == "*" and not permissive):
            continue
        if _is_name(pattern, name):
            is_named = True
            granted += _as_list(permissions)
    if not permissive and not is_named:
        granted += _as_list(provider.get("*"))
    return granted


def shown(provider: Mapping[str, Any], name: str) -> list[Any]:
    """The permissions of an account for the answer to a login. Salt: ``salt.netapi.sorted_permissions``."""
    granted = [*_as_list(provider.get(name)), *(_as_list(provider.get("*")) if name != "*" else [])]
    texts = sorted({each for each in granted if isinstance(each, str)})
    others: list[Any] = []
    for each in granted:
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
    """Whether an execution function may be called on all of these ids. ``of`` evaluates expressions for targets.

    Salt: ``auth_check``.
    """
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
    """Whether a function of the controller may be called. ``form``: runner or wheel. Salt: ``spec_check``."""
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
            if _matches(name, fun) and any(_meets(one, args, kwargs) for one in _as_list(conditions)):
                return True
    return False


def _meets(condition: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether arguments meet a condition: regular expressions ``args`` and ``kwargs``, None for any value."""
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
    """Whether a regular expression matches the beginning of a text, as in Salt; an invalid one matches nothing."""
    try:
        return re.match(str(pattern), text) is not None
    except re.error:
        return False


def _as_list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
