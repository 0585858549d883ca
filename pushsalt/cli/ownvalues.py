"""What is a target's own: its id, its address, and what the inventory and its grains say of it alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import PushsaltError

if TYPE_CHECKING:
    from pushsalt.run.project import Project

#: Collected grains that are names and addresses, and what people call them.
_GRAINS: Final = {
    "host": "host name", "fqdn": "host name", "localhost": "host name", "nodename": "host name",
    "domain": "domain", "ipv4": "address", "ipv6": "address", "machine_id": "machine id",
}  # fmt: skip
#: Shorter values occur in any text.
_SHORTEST: Final = 2
_MOST: Final = 300


def own_values(project: Project, id: str) -> dict[str, str]:
    """value -> what it is; the first that has a value names it."""
    try:
        target = project.target(id)
    except PushsaltError:
        return {id: "id"}
    found = {id: "id", target.id: "id"}

    def add(value: Any, name: str) -> None:
        if isinstance(value, str | int) and not isinstance(value, bool) and len(found) < _MOST:
            text = str(value)
            if len(text) >= _SHORTEST:
                found.setdefault(text, name)

    add(target.host, "address")
    add(target.port, "port")
    for name, value in (*_leaves(target.grains), *_leaves(target.pillar), *_leaves(target.minion_opts)):
        add(value, name)
    collected = project.grains_of(target).get(target.key) or {}
    for grain, name in _GRAINS.items():
        values = collected.get(grain)
        for value in values if isinstance(values, list) else [values]:
            if value not in ("127.0.0.1", "::1", "localhost"):
                add(value, name)
    return found


def _leaves(data: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, Mapping) and depth < 8:
            yield from _leaves(value, depth + 1)
        else:
            for item in value if isinstance(value, list | tuple) else [value]:
                yield str(key), item
