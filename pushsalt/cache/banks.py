"""The banks of a project with data about its targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pushsalt.cache.grains import GrainBank
    from pushsalt.cache.mine import MineBank
    from pushsalt.cache.pillar import PillarBank


class Banks(Protocol):
    """The banks of pillar, of grains of managed resources, and of the mine; a base class of
    ``pushsalt.run.project.Project``.
    """

    @property
    def cache_life(self) -> float:
        """Seconds after which an entry is reported as old."""

    @property
    def keeps_pillar(self) -> bool: ...
    @property
    def pillar_bank(self) -> PillarBank: ...
    @property
    def resource_grains(self) -> GrainBank: ...
    @property
    def mine(self) -> MineBank: ...
