"""The protocol of ``pushsalt.run.project.Project`` for functions that run in the command's own process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pushsalt.cache.banks import Banks

if TYPE_CHECKING:
    from pushsalt.sdb.store import Sdb
    from pushsalt.sources import Sources


class ManagedResources(Protocol):
    """The resources that targets manage, by ``type:id``."""

    def declared(self, manager: str, /) -> dict[str, Any]: ...


class CommandResources(ManagedResources, Protocol):
    """Managed resources, with the data that only the command has."""

    def managed_by(self, manager: str) -> list[str]: ...
    def manager(self, key: str) -> str | None: ...


class Requests(Protocol):
    """State runs that were requested and not run yet, by target."""

    def get(self, key: str) -> Any: ...
    def put(self, key: str, value: Any) -> Any: ...
    def delete(self, key: str) -> Any: ...


class CommandProject(Banks, Protocol):
    """The caches, secrets and sources that no render process has."""

    @property
    def managed(self) -> CommandResources: ...
    @property
    def sdb(self) -> Sdb: ...
    @property
    def sources(self) -> Sources: ...
    def names(self, keys: Sequence[str]) -> list[str]: ...
    def find(self, expr: Any, tgt_type: str, *, pillar_exact: bool = True) -> list[str]: ...
