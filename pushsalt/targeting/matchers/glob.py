"""Shell wildcards over the id. Salt: salt.matchers.glob_match."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from typing import Any

#: a bare word of a compound expression is a glob
LETTER = ""
SOURCE = "id"

_compiled = lru_cache(maxsize=256)(lambda expr: re.compile(translate(expr)))


def match(expr: Any, value: Any) -> bool:
    return isinstance(expr, str) and _compiled(expr).match(value) is not None
