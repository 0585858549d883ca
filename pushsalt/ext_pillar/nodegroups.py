"""The names of the nodegroups that the target is in, under ``pillar_name``. Salt: salt.pillar.nodegroups."""

from __future__ import annotations

import logging
from typing import Any

from pushsalt.errors import UsageError
from pushsalt.ext_pillar import Outside

log = logging.getLogger(__name__)


def ext_pillar(
    minion_id: str, pillar: dict[str, Any], pillar_name: str | None = None, *, outside: Outside
) -> dict[str, list[str]]:
    return {pillar_name or "nodegroups": groups_of(outside)}


def groups_of(outside: Outside) -> list[str]:
    """The nodegroups of the target, in the configuration's order."""
    groups = []
    for name in outside.opts.get("nodegroups") or {}:
        try:
            if outside.matches(str(name), "nodegroup"):
                groups.append(str(name))
        except UsageError as exc:
            log.error("the nodegroup %r is not used: %s", name, exc.message)
    return groups
