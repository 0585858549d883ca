"""The part of ``pushsalt.run.project.Project`` that selecting targets needs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pushsalt.select.resources import ResourceProject

if TYPE_CHECKING:
    from pushsalt.cache.grains import GrainBank
    from pushsalt.inventory import Inventory
    from pushsalt.inventory.rendering import Rosters
    from pushsalt.select.resources import Resources
    from pushsalt.targeting.compound import NamedGroups
    from pushsalt.targeting.vocabulary import Vocabulary


class SelectingProject(ResourceProject, Protocol):
    """Configuration, inventory, and the caches of grains, pillar and resources, without connections."""

    rosters: Rosters

    def report_warnings(self, inventory: Inventory, /) -> None: ...
    def need_inventory(self) -> None: ...
    def listed(self, path: Path) -> str: ...
    def target_defaults(self) -> dict[str, Any]: ...
    @property
    def nodegroups(self) -> NamedGroups: ...
    def named_groups(self, groups: Callable[[], Collection[str]]) -> NamedGroups: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def grains(self) -> GrainBank: ...
    @property
    def managed(self) -> Resources: ...
