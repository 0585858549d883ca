"""A glob over the value of a grain: ``os:Deb*``, ``ip_interfaces:eth0:192.0.2.*``. Salt: salt.matchers.grain_match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pushsalt.targeting.nested import subdict_match

LETTER = "G"
SOURCE = "grains"


def match(expr: Any, value: Mapping[str, Any], delimiter: str = ":") -> bool:
    return subdict_match(value, expr, delimiter)
