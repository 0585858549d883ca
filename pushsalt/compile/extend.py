"""Applies ``extend`` and ``exclude``. Salt: State.reconcile_extend, _apply_exclude."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from typing import Any

from pushsalt.compile.source import High, Place, Problem, SourcePositions
from pushsalt.compile.words import REQUISITE_LISTS, did_you_mean, first_key, is_meta


def copy_high(high: High) -> High:
    """A copy of high data whose bodies and declarations may be changed. Arguments are shared."""
    return {
        id_: {key: list(value) if isinstance(value, list) else value for key, value in body.items()}
        if isinstance(body, dict)
        else (list(body) if isinstance(body, list) else body)
        for id_, body in high.items()
    }


def find_name(name: Any, module: str, high: High, *, strict: bool) -> list[tuple[Any, str]]:
    """The (ID, state module) pairs that a reference matches.

    An ID has precedence; then, for ``sls``, every ID of the SLS; then IDs with this value in *any* of the module's
    arguments, as in Salt. ``strict``: the ID must have that state module. Salt: salt.state.find_name.
    """
    if name in high and (not strict or module in high[name]):
        return [(name, module)]
    if module == "sls":
        return [(id_, first_key(body)) for id_, body in bodies(high) if body.get("__sls__") == name]
    return [
        (id_, module)
        for id_, body in bodies(high)
        for arg in body.get(module) or ()
        if isinstance(arg, dict) and len(arg) == 1 and arg[first_key(arg)] == name
    ]


def bodies(high: High) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The IDs of high data with their bodies."""
    return ((id_, body) for id_, body in high.items() if not is_meta(id_) and isinstance(body, dict))


def reconcile_extend(high: High, sources: SourcePositions, *, strict: bool = False) -> list[Problem]:
    """Apply ``__extend__`` to ``high`` in place and remove it.

    Requisites are appended to existing ones; other arguments, and the function, are replaced. ``strict``: a state
    module that the extended ID does not have is an error. Extensions of an excluded SLS are ignored.
    """
    problems = []
    excluded = _excluded_sls(high)
    for extend in high.pop("__extend__", []):
        for id_, body in extend.items():
            modules = [key for key in body if not is_meta(key)]
            if not modules:
                continue
            name = id_
            if name not in high or modules[0] not in high[name]:
                pairs = find_name(name, modules[0], high, strict=strict)
                if len(pairs) != 1:
                    problems.append(_cannot_extend(name, body, high, sources))
                    continue
                name = pairs[0][0]
            if body.get("__sls__") in excluded:
                continue
            for module in modules:
                high[name][module] = _extended(high[name].get(module), body[module])
    return problems


def _extended(declaration: Any, extension: Any) -> Any:
    """A declaration with an extension's function and arguments. Malformed ones are reported by ``verify_high``."""
    if not isinstance(declaration, list) or not isinstance(extension, list):
        return extension if declaration is None else declaration
    extended = list(declaration)
    for arg in extension:
        replaced = False
        for index, old in enumerate(extended):
            if isinstance(arg, str) and isinstance(old, str):
                extended[index] = arg
                replaced = True
            elif isinstance(arg, dict) and isinstance(old, dict) and arg and old:
                key, old_key = first_key(arg), first_key(old)
                if key == old_key:
                    extended[index] = _replaced(key, old, arg)
                    replaced = True
                elif key == "name" and old_key == "names":
                    extended[index] = arg
        if not replaced:
            extended.append(arg)
    return extended


def _replaced(key: Any, old: dict[Any, Any], new: dict[Any, Any]) -> dict[Any, Any]:
    if key in REQUISITE_LISTS and isinstance(old[key], list) and isinstance(new[key], list):
        return {**old, key: [*old[key], *new[key]]}
    return new


def _cannot_extend(name: Any, body: dict[str, Any], high: High, sources: SourcePositions) -> Problem:
    env, sls = body.get("__env__", "base"), body.get("__sls__", "base")
    extenders = _extenders(name, body, high, sources)
    return Problem(
        f"Cannot extend ID '{name}' in '{env}:{sls}'. It is not part of the high state.\n"
        "This is likely due to a missing include statement or an incorrectly typed ID.\n"
        f"Ensure that a state with an ID of '{name}' is available\nin environment '{env}' and to SLS '{sls}'",
        extenders or sources.at(body, "extend", name),
        did_you_mean(str(name), (str(id_) for id_, _ in bodies(high))),
        dangling=True,
        rule="dangling-requisite" if extenders else "unknown-id",
    )


def _extenders(name: Any, body: dict[str, Any], high: High, sources: SourcePositions) -> tuple[Place, ...]:
    """The places of the ``_in`` requisites that made an extension; none for an ``extend`` of the SLS."""
    places: list[Place] = []
    for module, args in body.items():
        for arg in args if not is_meta(module) and isinstance(args, list) else ():
            requisite = first_key(arg) if isinstance(arg, dict) else None
            if requisite in REQUISITE_LISTS and isinstance(arg[requisite], list):
                for reference in arg[requisite]:
                    pair = next(iter(reference.items()), None) if isinstance(reference, dict) else None
                    owner = high.get(pair[1]) if pair is not None and isinstance(pair[1], str) else None
                    if pair is not None and isinstance(owner, dict) and f"{requisite}_in" in _keys(owner.get(pair[0])):
                        places += sources.where(owner, pair[1], pair[0], f"{requisite}_in", {module: name})
    return tuple(places)


def _keys(args: Any) -> set[Any]:
    return {first_key(arg) for arg in args if isinstance(arg, dict)} if isinstance(args, list) else set()


def _excluded_sls(high: High) -> list[Any]:
    """The literal SLS names in ``__exclude__``; patterns are not expanded, as in Salt."""
    excludes = high.get("__exclude__", [])
    return [
        item["sls"] if isinstance(item, dict) else item
        for item in excludes
        if not isinstance(item, dict) or item.get("sls")
    ]


def apply_exclude(high: High) -> None:
    """Remove ``__exclude__`` from ``high``, and every ID that it names or whose SLS matches one of its patterns."""
    patterns, ids = [], []
    for item in high.pop("__exclude__", []):
        if isinstance(item, str):
            patterns.append(item)
        elif isinstance(item, dict) and len(item) == 1:
            [(kind, name)] = item.items()
            if kind == "sls":
                patterns.append(name)
            elif kind == "id":
                ids.append(name)
    for id_, body in bodies(high):
        if any(fnmatch.fnmatch(body.get("__sls__") or "", str(pattern)) for pattern in patterns):
            ids.append(id_)
    for id_ in ids:
        high.pop(id_, None)
