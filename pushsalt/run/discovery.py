"""What lies behind one target: what of it is declared, having the target look, and taking in what it says."""

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

#: Failures of types that are said.
_SAID = 20
#: type -> what is declared of it.
Declared = dict[str, Any]


class Discovery:
    """Of one inventory id; ``in_thread`` runs what reads and writes caches."""

    def __init__(
        self, project: Project, target: Target, in_thread: Callable[[Callable[[], Any]], Awaitable[Any]]
    ) -> None:
        self._project = project
        self._target = target
        self._in_thread = in_thread

    def kept(self) -> Declared | None:
        """What is declared by the pillar as it is kept; None when it has to be compiled to know."""
        target, project = self._target, self._project
        if target.resource:
            return {}
        kept = project.pillar_bank.get(target.id) if project.keeps_pillar else None
        if isinstance(kept, dict):
            return project.managed.declarations(target, {**kept, **target.pillar})
        return None if project.has_pillar else project.managed.declarations(target, target.pillar)

    async def declared_by(self, rendered: RenderedTarget) -> Declared:
        """What is declared by the pillar as it is now; without a sound one, by configuration and inventory."""
        try:
            pillar: Mapping[str, Any] = await rendered.pillar()
        except StateError as exc:
            log.debug("%s: its pillar declares nothing, since it cannot be compiled: %s", self._target.id, exc)
            pillar = self._target.pillar
        return self.declared_in(pillar)

    def declared_in(self, pillar: Mapping[str, Any]) -> Declared:
        """What a compiled pillar declares."""
        return self._project.managed.declarations(self._target, pillar)

    async def discover(self, session: Session, declared: Declared) -> dict[str, list[str]]:
        """Have the target say what it manages of these types, and take it in. Returns type -> ids."""
        if not declared and not self._project.managed.declared(self._target.id):
            return {}
        try:
            said = await session.discover(declared) if declared else {}
        except FunctionError as exc:
            log.warning("%s: resources cannot be looked for: %s", self._target.id, exc.message)
            return {}
        return await self.take_in(declared, said)

    async def take_in(self, declared: Declared, said: Any) -> dict[str, list[str]]:
        """Keep what the target said, of what it was asked for. Returns type -> ids."""
        said = said if isinstance(said, dict) else {}
        found, failed = (part if isinstance(part, dict) else {} for part in (said.get("found"), said.get("failed")))
        for type, text in itertools.islice(failed.items(), _SAID):
            what = "there is trouble with some" if type in found else "they cannot be looked for"
            log.warning("%s: resources of type %.60s: %s: %.300s", self._target.id, type, what, text)
        asked = {type: ids for type, ids in found.items() if type in declared}
        broken = [type for type in failed if type in declared]
        registered: dict[str, list[str]] = await self._in_thread(
            partial(self._project.managed.register, self._target.id, asked, broken, declared)
        )
        return registered
