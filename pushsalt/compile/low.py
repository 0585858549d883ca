"""Compiles high data to chunks: one for each declaration and each of its names. Salt: State.compile_high_data."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pushsalt.compile.extend import bodies
from pushsalt.compile.source import High
from pushsalt.compile.words import is_meta
from pushsalt.model import Chunk, tag_of

#: Keys that identify a chunk and must be text: other values are refused here, since later steps rely on it. As in Salt,
#: arguments with the names of internal keys override them: formulas use ``__env__`` for a program's environment.
_IDENTITY = frozenset(("__id__", "__sls__"))
_FIXED = frozenset(("state", "fun", "__sls_included_from__"))


def chunks_of(high: High) -> Iterator[Chunk]:
    """The chunks of verified high data in its order, not sorted by requisites.

    A chunk of ``names`` has ``name_order``, its index, until it is sorted. Values are shared with the high data and
    must not be changed.
    """
    for id_, body in bodies(high):
        for module, args in body.items():
            if not is_meta(module):
                yield from _chunks_of_declaration(id_, body, module, args)


def _chunks_of_declaration(id_: str, body: Mapping[str, Any], module: str, args: list[Any]) -> Iterator[Chunk]:
    chunk: Chunk = {"state": module, "name": id_}
    chunk.update((key, body[key]) for key in ("__sls__", "__env__", "__sls_included_from__") if key in body)
    chunk["__id__"] = id_
    names: list[Any] = []
    function = None
    for arg in args:
        if isinstance(arg, str):
            function = arg
        elif isinstance(arg, dict):
            for key, value in arg.items():
                if key == "names":
                    names.extend(name for name in value or () if name not in names)
                elif key == "name" and not isinstance(value, str):
                    chunk["name"] = id_
                elif _may_say(key, value):
                    chunk[key] = value
    if function is None:  # refused by verify_high
        return
    if not names:
        chunk["fun"] = function
        yield chunk
    for number, entry in enumerate(names, 1):
        yield {**chunk, **_named(entry), "name_order": number, "fun": function}


def _may_say(key: Any, value: Any) -> bool:
    return key not in _FIXED and (key not in _IDENTITY or isinstance(value, str))


def _named(entry: Any) -> dict[str, Any]:
    """The arguments of an entry of ``names``: a name, or ``{name: [{argument: value}, ..]}`` with its own arguments."""
    if not isinstance(entry, dict):
        return {"name": entry}
    [(name, overrides)] = entry.items()
    named: dict[str, Any] = {"name": name}
    for override in overrides:
        named.update((key, value) for key, value in override.items() if _may_say(key, value))
    if not isinstance(named["name"], str):
        named["name"] = name
    return named


def split_disabled(chunks: list[Chunk], patterns: Sequence[str]) -> tuple[list[Chunk], dict[str, dict[str, Any]]]:
    """The chunks that may run, and (tag -> return) for those that ``state.disable`` forbids.

    ``patterns`` is the grain ``state_runs_disabled``. Salt: State._check_disabled.
    """
    enabled: list[Chunk] = []
    disabled: dict[str, dict[str, Any]] = {}
    for chunk in chunks:
        function = f"{chunk['state']}.{chunk['fun']}"
        pattern = next((each for each in patterns if fnmatch.fnmatch(function, each)), None)
        if pattern is None:
            enabled.append(chunk)
            continue
        disabled[tag_of(chunk)] = {
            "changes": {},
            "result": False,
            "comment": f'The state function "{function}" is currently disabled by "{pattern}", to re-enable, '
            f"run state.enable {pattern}.",
            "__run_num__": len(disabled),
            "__sls__": chunk["__sls__"],
        }
    return enabled, disabled
