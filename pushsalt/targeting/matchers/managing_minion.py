"""The resources of a manager, by its exact id. Salt: salt.matchers.managing_minion_match.

If managers are unknown, it matches the manager itself, as a minion of Salt answers.
"""

from __future__ import annotations

from typing import Any

LETTER = "M"
SOURCE = "subject"


def match(expr: Any, value: Any) -> bool:
    return bool((value.manager or value.id) == expr)
