"""Masks pillar in output. Salt 3008: salt.utils.secret.serial, the ``unmask`` argument in salt.modules.pillar.

If ``run`` calls them, pillar functions return keys and structure with asterisks for values; templates and states get
the values. ``pillar.items`` returns values if the option ``pillar_mask_output`` is false; ``pillar.get``, ``item``,
``raw`` and ``ext`` ignore that option. The argument ``unmask`` overrides both. ``keys``, ``ls`` and ``obfuscate``
return no values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PLACEHOLDER = "**********"


def mask(value: Any) -> Any:
    """The value with all leaves masked except empty text, zero, false and None; keys are kept."""
    if isinstance(value, Mapping):
        return {key: mask(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [mask(item) for item in value]
    if isinstance(value, bytes):
        return PLACEHOLDER.encode() if value else value
    return PLACEHOLDER if value else value


def shown(value: Any, unmask: bool | None, opts: Mapping[str, Any], *, function: str = "pillar.items") -> Any:
    """The return of a pillar function that ``run`` calls; ``unmask`` is its argument, None if not given."""
    if unmask is None:
        unmask = function in ("pillar.items", "pillar.data") and not opts.get("pillar_mask_output", True)
    return value if unmask else mask(value)
