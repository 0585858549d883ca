"""The native inventory shape: ``defaults``, ``hosts`` and ``groups``."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from typing import Any, Final

from pushsalt.errors import InventoryError, in_words
from pushsalt.inventory.merge import Host
from pushsalt.inventory.schema import Layer, Source, check_id, parse_layer
from pushsalt.nearest import nearest

KEYS: Final = ("defaults", "hosts", "groups")

_WILDCARD: Final = re.compile(r"[*?\[]")


def is_native(data: object) -> bool:
    """Whether these are the keys of a native inventory and not the ids of a roster."""
    return isinstance(data, dict) and bool(data) and ("hosts" in data or all(key in KEYS for key in data))


def parse_native(source: Source, base: Layer, warnings: list[str]) -> list[Host]:
    """The hosts in the file's order, each with its layers: ``base``, defaults, its groups in order, itself."""
    data: dict[Any, Any] = source.data
    for key in data:
        if key not in KEYS:
            near = nearest(str(key), KEYS)
            hint = f" (did you mean `{near[0]}`?)" if near else ""
            warnings.append(f"{source.where((key,))}: unknown key `{key}` of the inventory is ignored{hint}")

    defaults = parse_layer(data.get("defaults"), source, ("defaults",), "defaults", warnings)
    own: dict[str, Layer] = {}
    for raw_id, raw in _mapping(source, "hosts").items():
        key_path = ("hosts", raw_id)
        id = check_id(raw_id, source.where(key_path))
        own[id] = parse_layer({"host": raw} if isinstance(raw, str) else raw, source, key_path, f"host {id}", warnings)

    layers: dict[str, list[Layer]] = {id: [] for id in own}
    groups: dict[str, list[str]] = {id: [] for id in own}
    for raw_name, raw in _mapping(source, "groups").items():
        key_path = ("groups", raw_name)
        name = check_id(raw_name, source.where(key_path))
        members = _members(name, raw, source, list(own), warnings)
        settings = {key: value for key, value in raw.items() if key != "hosts"}
        layer = parse_layer(settings, source, key_path, f"group {name}", warnings)
        for id in members:
            layers[id].append(layer)
            groups[id].append(name)

    return [
        Host(id, source.where(("hosts", id)), (base, defaults, *layers[id], layer), tuple(groups[id]))
        for id, layer in own.items()
    ]


def _mapping(source: Source, key: str) -> Mapping[Any, Any]:
    value = source.data.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InventoryError(
            f"`{key}` must be a mapping of names, not {in_words(value)}",
            hint=f"write  {key}:  and below it, indented, one  name: {{...}}  a line",
            where=source.where((key,)),
        )
    return value


def _members(name: str, raw: object, source: Source, ids: list[str], warnings: list[str]) -> list[str]:
    """The ids that a group's ``hosts`` (ids and globs) names, in the order of ``ids``."""
    where = source.where(("groups", name, "hosts"))
    patterns = raw.get("hosts") if isinstance(raw, dict) else None
    if isinstance(patterns, str):
        patterns = [patterns]
    if not isinstance(patterns, list) or not all(isinstance(item, str | int) for item in patterns):
        raise InventoryError(
            f"group {name} has no list of `hosts`",
            hint=f"write  {name}: {{hosts: ['web*', db1], user: deploy}}",
            where=where,
        )
    distinct = set(ids)
    members: set[str] = set()
    for position, item in enumerate(patterns):
        pattern = str(item)
        if pattern in distinct:
            members.add(pattern)
            continue
        matches = [id for id in ids if fnmatch.fnmatchcase(id, pattern)] if _WILDCARD.search(pattern) else []
        if not matches:
            at = source.where(("groups", name, "hosts", position))
            warnings.append(f"{at}: `{pattern}` in group {name} matches no host of this inventory")
        members.update(matches)
    return [id for id in ids if id in members]
