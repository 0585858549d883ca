"""Pillar from elsewhere: one file per source, named like the key under ``ext_pillar`` in the configuration.

A source has ``ext_pillar(minion_id, pillar, ...)``, as Salt's have, so that users' own work unchanged::

    ext_pillar:
      - cmd_yaml: cat /etc/pillar.yaml             ext_pillar(id, pillar, "cat /etc/pillar.yaml")
      - stack: [/a.cfg, /b.cfg]                    ext_pillar(id, pillar, "/a.cfg", "/b.cfg")
      - http_json: {url: "https://...", key: x}    ext_pillar(id, pillar, url="https://...", key="x")
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol


class ExtPillar(Protocol):
    """The function of a source.

    ``pillar`` is what was compiled so far: read only. The returned mapping is merged over it, an empty one or None is
    nothing. Whatever it raises becomes one of the target's pillar errors.
    """

    def __call__(
        self, minion_id: str, pillar: dict[str, Any], /, *args: Any, **kwargs: Any
    ) -> dict[str, Any] | None: ...


def find_source(name: str, folders: Sequence[Path] = ()) -> ExtPillar | None:
    """The function of a source, None when there is none of that name. ``folders`` may hold users' own.

    Raises ConfigError for one that cannot be loaded.
    """
    from pushsalt import plugins

    if name not in plugins.names("ext_pillar", folders):
        return None
    function: ExtPillar = plugins.load("ext_pillar", name, folders).ext_pillar
    return function
