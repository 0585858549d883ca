"""The interface of an external pillar source, as the pillar compiler calls it."""

from __future__ import annotations

from typing import Any, Protocol


class ExtPillar(Protocol):
    """The function of a source.

    ``pillar`` is what was compiled so far: read only. The returned mapping is merged over it, an empty one or None is
    nothing. Whatever it raises becomes one of the target's pillar errors.
    """

    def __call__(
        self, minion_id: str, pillar: dict[str, Any], /, *args: Any, **kwargs: Any
    ) -> dict[str, Any] | None: ...
