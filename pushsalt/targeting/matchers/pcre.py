"""A regular expression that matches the beginning of the id. Salt: salt.matchers.pcre_match."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from pushsalt.errors import UsageError

LETTER = "E"
SOURCE = "id"


@lru_cache(maxsize=256)
def _compiled(expr: str) -> re.Pattern[str]:
    try:
        return re.compile(expr)
    except re.error as exc:
        raise UsageError(f"{expr!r} is no regular expression: {exc}", hint="correct or quote the expression") from None


def match(expr: Any, value: Any) -> bool:
    return _compiled(str(expr)).match(value) is not None
