"""What the named manager manages: the very id, no wildcards. Salt: salt.matchers.managing_minion_match.

Where nothing is known of managers, it is the manager itself that is meant, as a minion of Salt answers.
"""

from __future__ import annotations

from typing import Any

LETTER = "M"
SOURCE = "subject"


def match(expr: Any, value: Any) -> bool:
    return bool((value.manager or value.id) == expr)
