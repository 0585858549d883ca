"""Variables of the environment that pushsalt was started in. Salt: salt.sdb.env.

::

    osenv: {driver: env}          sdb://osenv/DB_PASSWORD
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pushsalt.sdb import Trouble

__func_alias__ = {"set_": "set"}


def get(key: str, service: str | None = None, profile: Mapping[str, Any] | None = None) -> str | None:
    return os.environ.get(key)


def set_(key: str, value: Any, service: str | None = None, profile: Mapping[str, Any] | None = None) -> str:
    """Set a variable for this process and its children; an existing one is kept and returned, as in Salt."""
    if not isinstance(value, str) or "\0" in value or "=" in key or not key:
        raise Trouble("a variable of the environment is text", "set it to text")
    return os.environ.setdefault(key, value)


def delete(key: str, service: str | None = None, profile: Mapping[str, Any] | None = None) -> bool:
    return os.environ.pop(key, None) is not None
