"""Layers of YAML files, listed in configuration files; both are Jinja templates. Salt: salt.pillar.stack.

``stack: [/a.cfg, /b.cfg]``, or files by a value of the target: ``{'grains:os': {Debian: /debian.cfg}}`` (``pillar:…``,
``opts:…``). A configuration file lists YAML files (globs), one per line or as a YAML list, relative to it. Each is
merged over the previous result; the key ``__`` of a mapping, or ``{__: …}`` first in a list, selects the strategy:
``merge-last`` (the default), ``merge-first``, ``overwrite`` or ``remove``.

Templates have ``stack`` (the result so far), ``pillar``, ``minion_id``, ``pillarenv``, ``__opts__``,
``__grains__``, ``__salt__`` and ``__stack__``.
"""

from __future__ import annotations

import copy
import glob
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import jinja2

from pushsalt.errors import PushsaltError
from pushsalt.ext_pillar import Outside, SourceFunctions
from pushsalt.render.jinja import file_environment
from pushsalt.yamlio import YamlError, load_yaml
from thin.utils.data import traverse_dict_and_list

STRATEGIES: Final = ("overwrite", "merge-first", "merge-last", "remove")


class StackError(PushsaltError):
    """A layer that cannot be rendered, read or merged."""


def ext_pillar(
    minion_id: str, pillar: dict[str, Any], *args: str, outside: Outside, **kwargs: Mapping[Any, Any]
) -> dict[str, Any]:
    opts = outside.opts
    env = str(opts.get("pillarenv") or opts.get("saltenv") or "base")
    seen = {"pillar": pillar, "grains": outside.context.grains, "opts": opts}
    files = [str(file) for file in args]
    for condition, choices in kwargs.items():
        kind, _, key = condition.partition(":")
        if kind not in seen:
            raise StackError(f'Unknown traverse option "{kind}", should be one of {", ".join(seen)}')
        chosen = {env if name == "__env__" else name: value for name, value in choices.items()}
        value = traverse_dict_and_list(seen[kind], key, None)
        names = chosen.get(value, []) if not isinstance(value, list | dict) else []
        files += [str(file).replace("__env__", env) for file in (names if isinstance(names, list) else [names])]
    stack: dict[str, Any] = {}
    for file in map(Path, files):
        if file.is_file():
            stack = _layered(file, stack, minion_id, pillar, outside)
    return stack


def _layered(
    config: Path, stack: dict[str, Any], minion_id: str, pillar: dict[str, Any], outside: Outside
) -> dict[str, Any]:
    """``stack`` with the files that one configuration file lists merged over it."""
    names = {
        "__opts__": outside.opts,
        "__salt__": SourceFunctions(outside),
        "__grains__": outside.context.grains,
        "__stack__": {"traverse": traverse_dict_and_list, "cfg_path": str(config)},
        "minion_id": minion_id,
        "pillar": pillar,
        "pillarenv": outside.opts.get("pillarenv"),
    }
    env = file_environment(config.parent, names)
    for entry in _entries(_rendered(env, config, config.parent, stack=stack)):
        if not entry.strip():
            continue
        for path in sorted(glob.glob(str(config.parent / entry))):  # noqa: PTH207 - `entry` may lead elsewhere
            text = _rendered(env, Path(path), config.parent, stack=stack, ymlpath=path)
            try:
                layer = load_yaml(text, path)
            except YamlError as exc:
                raise StackError(f"Stack pillar yaml parsing error in {path}:\n{exc.message}") from None
            if isinstance(layer, dict):
                stack = _merged(stack, copy.deepcopy(layer), path)
    return stack


def _rendered(env: jinja2.Environment, path: Path, folder: Path, **names: Any) -> str:
    try:
        inside = path.relative_to(folder).as_posix()
        return env.get_template(inside).render(**names)
    except (Exception, SystemExit) as exc:  # templates may raise anything
        raise StackError(f'Stack pillar template render error in {path}:\n"{exc}"') from None


def _entries(text: str) -> list[str]:
    try:
        data = load_yaml(text)
    except YamlError:
        data = None
    return [str(entry) for entry in data] if isinstance(data, list) else text.splitlines()


def _strategy(value: Any, path: str) -> str:
    if value not in STRATEGIES:
        raise StackError(f'Unknown strategy "{value}", should be one of {", ".join(STRATEGIES)} ({path})')
    return str(value)


def _clean(value: Any) -> Any:
    """A value without strategies, for one that is not merged with another."""
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items() if key != "__"}
    if isinstance(value, list) and value and isinstance(value[0], dict) and "__" in value[0]:
        return value[1:]
    return value


def _merged(old: dict[Any, Any], new: dict[Any, Any], path: str) -> dict[Any, Any]:
    strategy = _strategy(new.pop("__", "merge-last"), path)
    if strategy == "overwrite":
        return {key: _clean(value) for key, value in new.items()}
    merged = dict(old)
    for key, value in new.items():
        if strategy == "remove":
            merged.pop(key, None)
        elif key not in merged:
            merged[key] = _clean(value)
        else:
            first, last = merged[key], value
            if strategy == "merge-first":
                first, last = _clean(value), merged[key]
            merged[key] = _joined(first, last, path)
    return merged


def _joined(first: Any, last: Any, path: str) -> Any:
    if type(first) is not type(last):
        return _clean(last)
    if isinstance(last, dict):
        return _merged(first, dict(last), path)
    if isinstance(last, list):
        return _list(first, last, path)
    return last


def _list(first: list[Any], last: list[Any], path: str) -> list[Any]:
    strategy = "merge-last"
    if last and isinstance(last[0], dict) and "__" in last[0]:
        strategy, last = _strategy(last[0]["__"], path), last[1:]
    if strategy == "overwrite":
        return last
    if strategy == "remove":
        return [item for item in first if item not in last]
    return last + first if strategy == "merge-first" else first + last
