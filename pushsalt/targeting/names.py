"""Names of selected targets: their ids, or ``type:id`` if two of them share an id.

An id may also be that of a resource or an inventory id that is not selected, so a name contains its key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pushsalt.inventory import Inventory


class Name(str):
    """A name that differs from its key: a str with the key as an attribute (see ``key_of``)."""

    __slots__ = ("key",)
    #: an inventory id, or ``type:id`` of a resource
    key: str

    def __new__(cls, text: str, key: str) -> Name:
        self = super().__new__(cls, text)
        self.key = key
        return self

    def __reduce__(self) -> tuple[type[Name], tuple[str, str]]:
        return Name, (str(self), self.key)


def key_of(name: str) -> str | None:
    """The key of a Name; None for any other text."""
    return name.key if isinstance(name, Name) else None


def names(keys: Iterable[str], inventory: Inventory) -> list[str]:
    """One unique name for each key, in order."""
    keys = list(keys)
    targets = inventory.targets
    if all(map(targets.__contains__, keys)):
        return keys
    result: list[str] = []
    for key in keys:
        if key in targets:
            result.append(key)
            continue
        id = key.partition(":")[2]
        result.append(Name(key if ":" in id and of_whole_name(id, inventory) else id, key))
    while True:
        shared = {name for name, count in Counter(result).items() if count > 1}
        if not shared:
            return result
        result = [
            _full_name(key, inventory) if name in shared else name for name, key in zip(result, keys, strict=True)
        ]


def of_whole_name(text: str, inventory: Inventory) -> bool:
    """Whether this is the ``type:id`` of an inventory id."""
    type, colon, id = text.partition(":")
    return bool(colon) and id in inventory.targets and inventory.targets[id].transport == type


def _full_name(key: str, inventory: Inventory) -> Name:
    target = inventory.targets.get(key)
    return Name(key if target is None else f"{target.transport}:{key}", key)
