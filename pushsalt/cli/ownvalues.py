"""The own values of a target: its id, addresses and host names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import PushsaltError

if TYPE_CHECKING:
    from pushsalt.run.project import Project

#: Grains with names and addresses -> their description.
_GRAINS: Final = {
    "host": "host name",
    "fqdn": "host name",
    "localhost": "host name",
    "nodename": "host name",
    "ipv4": "address",
    "ipv6": "address",
}
#: Shorter values, and numbers, occur in any text.
_SHORTEST: Final = 2
_MOST: Final = 300


def own_values(project: Project, id: str) -> dict[str, str]:
    """value -> its description, that of the first grain with this value."""
    descriptions: dict[str, str] = {}

    def add(value: Any, name: str) -> None:
        if isinstance(value, str) and len(value) >= _SHORTEST and not value.isdigit() and len(descriptions) < _MOST:
            descriptions.setdefault(value, name)

    add(id, "id")
    try:
        target = project.target(id)
    except PushsaltError:
        return descriptions
    add(target.id, "id")
    add(target.host, "address")
    grains = {**(project.grains_of(target).get(target.key) or {}), **target.grains}
    for grain, name in _GRAINS.items():
        values = grains.get(grain)
        for value in values if isinstance(values, list) else [values]:
            if value not in ("127.0.0.1", "::1", "localhost"):
                add(value, name)
    return descriptions
