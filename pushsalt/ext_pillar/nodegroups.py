"""The names of the nodegroups that the target is in, under ``pillar_name``. Salt: salt.pillar.nodegroups."""

from __future__ import annotations

from typing import Any

from pushsalt.ext_pillar import Outside


def ext_pillar(
    minion_id: str, pillar: dict[str, Any], pillar_name: str | None = None, *, outside: Outside
) -> dict[str, list[str]]:
    return {pillar_name or "nodegroups": groups_of(outside)}


def groups_of(outside: Outside) -> list[str]:
    """The nodegroups of the target, in the configuration's order."""
    found = []
    for name, expression in (outside.opts.get("nodegroups") or {}).items():
        words = " ".join(map(str, expression)) if isinstance(expression, list) else str(expression)
        if outside.matches(words, "compound"):
            found.append(str(name))
    return found
