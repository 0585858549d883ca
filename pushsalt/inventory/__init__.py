"""The inventory: all targets. ``load`` reads them from files of several formats."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pushsalt import regular
from pushsalt.model import Target
from pushsalt.nearest import nearest

#: The id of this machine, the only target if there is no inventory.
THIS_MACHINE: Final = "localhost"


@dataclass(frozen=True)
class Inventory:
    """All targets, in the order of the files. ``warnings``: texts to report, each with its place.

    ``named_groups``: the names of all groups, if already known. ``secrets``: decrypted texts of vaults.
    """

    targets: Mapping[str, Target]
    paths: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)
    named_groups: frozenset[str] | None = field(default=None, compare=False)
    secrets: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @functools.cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(self.targets)

    @functools.cached_property
    def groups(self) -> frozenset[str]:
        """The names of all groups with at least one id."""
        if self.named_groups is not None:
            return self.named_groups
        return frozenset(name for target in self.targets.values() for name in target.groups)

    def nearest(self, pattern: str, limit: int = 3) -> list[str]:
        """Suggestions for a mistyped ``pattern``: similar ids, the most similar first."""
        words = [word for word in re.split(r"[*?\[\]^$(),|\s]+", pattern) if word]
        near_ids: list[str] = []
        for word in words or [pattern]:
            # comparing is slow: in a large inventory only ids with the same first two letters are compared
            ids = self.ids if len(self.ids) <= 5000 else [id for id in self.ids if id[:2].lower() == word[:2].lower()]
            folded = {id.lower(): id for id in reversed(ids)}
            near = nearest(word.lower(), folded, limit, 0.5)
            near += [id for id in folded if word.lower() in id or id in word.lower()]
            near_ids += [folded[id] for id in near]
        return list(dict.fromkeys(near_ids))[:limit]


def is_program(path: Path) -> bool:
    """Whether a file is executable and begins with ``#!/``."""
    try:
        if not os.access(path, os.X_OK) or not path.is_file():
            return False
        with path.open("rb") as stream:
            return stream.read(3) == b"#!/"
    except OSError:
        return False


#: Endings of files of a folder that are not inventories.
_IGNORED: Final = (".orig", ".cfg", ".retry", ".pyc", ".pyo", ".bak", ".swp", "~", ".md", ".rst", ".csv")


def folder_files(folder: Path) -> list[Path]:
    """The inventory files of a folder, sorted by name; also pipes and devices, which are errors when they are read."""
    return [
        path
        for path in sorted(folder.iterdir())
        if regular.is_meant(path) and not path.name.startswith(".") and not path.name.endswith(_IGNORED)
    ]
