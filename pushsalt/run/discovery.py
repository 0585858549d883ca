"""Discovery of the managed resources of one target: reads the declarations, asks the target, stores the answer."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError, StateError

if TYPE_CHECKING:
    from pushsalt.model import Target
    from pushsalt.run.project import Project
    from pushsalt.run.rendered import RenderedTarget
    from pushsalt.session.session import Session

log = logging.getLogger(__name__)

#: Limit for the failed types that are reported.
_SAID = 20
#: resource type -> its declaration in pillar, configuration or inventory.
Declared = dict[str, Any]


class Discovery:
    """Discovery for one inventory id; ``in_thread`` runs functions that read and write caches."""

    def __init__(
        self, project: Project, target: Target, in_thread: Callable[[Callable[[], Any]], Awaitable[Any]]
    ) -> None:
        self._project = project
        self._target = target
        self._in_thread = in_thread

    def kept(self) -> Declared | None:
        """The declarations by the cached pillar; None if the pillar must be compiled first."""
        target, project = self._target, self._project
        if target.resource:
            return {}
        kept = project.pillar_bank.get(target.id) if project.keeps_pillar else None
        if isinstance(kept, dict):
            return project.managed.declarations(target, {**kept, **target.pillar})
        return None if project.has_pillar else project.managed.declarations(target, target.pillar)

    async def declared_by(self, rendered: RenderedTarget) -> Declared:
        """The declarations by the compiled pillar; if it has errors, those of configuration and inventory."""
        try:
            pillar: Mapping[str, Any] = await rendered.pillar()
        except StateError as exc:
            log.debug("%s: no resources are declared by its pillar, which cannot be compiled: %s", self._target.id, exc)
            pillar = self._target.pillar
        return self.declared_in(pillar)

    def declared_in(self, pillar: Mapping[str, Any]) -> Declared:
        """The declarations by this compiled pillar."""
        return self._project.managed.declarations(self._target, pillar)

    async def discover(self, session: Session, declared: Declared) -> dict[str, list[str]]:
        """Ask the target which resources of these types it manages, and store the answer. Returns type -> ids."""
        if not declared and not self._project.managed.declared(self._target.id):
            return {}
        try:
            reply = await session.discover(declared) if declared else {}
        except FunctionError as exc:
            log.warning("%s: resources cannot be looked for: %s", self._target.id, exc.message)
            return {}
        return await self.take_in(declared, reply)

    async def take_in(self, declared: Declared, reply: Any) -> dict[str, list[str]]:
        """Store the target's answer, limited to the types that it was asked for. Returns type -> ids."""
        reply = reply if isinstance(reply, dict) else {}
        resources, failed = (
            part if isinstance(part, dict) else {} for part in (reply.get("found"), reply.get("failed"))
        )
        for type, text in itertools.islice(failed.items(), _SAID):
            what = "discovery failed for some" if type in resources else "discovery failed"
            log.warning("%s: resources of type %.60s: %s: %.300s", self._target.id, type, what, text)
        of_types = {type: ids for type, ids in resources.items() if type in declared}
        broken = [type for type in failed if type in declared]
        registered: dict[str, list[str]] = await self._in_thread(
            partial(self._project.managed.register, self._target.id, of_types, broken, declared)
        )
        return registered
