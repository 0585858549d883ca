"""The interface of an external pillar source, as the pillar compiler calls it."""

from __future__ import annotations

from typing import Any, Protocol


class ExtPillar(Protocol):
    """The function of a source.

    ``pillar`` is the pillar compiled so far, and must not be changed. The returned mapping (or None) is merged over it.
    Exceptions become pillar errors of the target.
    """

    def __call__(
        self, minion_id: str, pillar: dict[str, Any], /, *args: Any, **kwargs: Any
    ) -> dict[str, Any] | None: ...
