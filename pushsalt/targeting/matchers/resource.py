"""A resource by its type, or by ``type:id``. Salt: salt.matchers.resource_match.

It selects the resource itself; if a Subject has ``resources``, also the manager of such a resource, as a minion of Salt
answers.
"""

from __future__ import annotations

from typing import Any

LETTER = "T"
SOURCE = "subject"


def match(expr: Any, value: Any) -> bool:
    type, colon, id = str(expr).partition(":")
    if value.type == type and (not colon or value.id == id):
        return True
    managed = value.resources.get(type) or ()
    return id in managed if colon else bool(managed)
