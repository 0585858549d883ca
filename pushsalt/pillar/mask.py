"""What is shown of pillar. Salt 3008: salt.utils.secret.serial, the ``unmask`` argument in salt.modules.pillar.

Called by ``run``, pillar functions show keys and structure, and asterisks for values; templates and states see values.
``pillar.items`` shows values by default when the option ``pillar_mask_output`` is false; ``pillar.get``, ``item``,
``raw`` and ``ext`` do not look at that option. ``unmask`` decides wherever it is given. ``keys``, ``ls`` and
``obfuscate`` have no values to hide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PLACEHOLDER = "**********"


def mask(value: Any) -> Any:
    """The value with every leaf hidden but empty text, zero, false and None, which tell nothing; keys stay."""
    if isinstance(value, Mapping):
        return {key: mask(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [mask(item) for item in value]
    if isinstance(value, bytes):
        return PLACEHOLDER.encode() if value else value
    return PLACEHOLDER if value else value


def shown(value: Any, unmask: bool | None, opts: Mapping[str, Any], *, function: str = "pillar.items") -> Any:
    """What a pillar function called by ``run`` returns of a value; ``unmask`` is its argument, None when not given."""
    if unmask is None:
        unmask = function in ("pillar.items", "pillar.data") and not opts.get("pillar_mask_output", True)
    return value if unmask else mask(value)
