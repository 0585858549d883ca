"""How pillar data is merged: the options ``pillar_source_merging_strategy`` and ``pillar_merge_lists``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thin.utils.dictupdate import merge


@dataclass(frozen=True)
class PillarMerge:
    """A function of two mappings that returns a merged one; the second wins. See thin.utils.dictupdate.merge."""

    strategy: str = "smart"
    renderer: str = "yaml"
    merge_lists: bool = False

    @classmethod
    def of(cls, opts: Mapping[str, Any]) -> PillarMerge:
        return cls(
            opts.get("pillar_source_merging_strategy") or "smart",
            opts.get("renderer") or "yaml",
            bool(opts.get("pillar_merge_lists")),
        )

    def __call__(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
        merged: dict[str, Any] = merge(old, new, self.strategy, self.renderer, self.merge_lists)
        return merged
