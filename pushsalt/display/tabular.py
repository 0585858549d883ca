"""A state as a row: Salt's ``state_tabular``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def row(tabular: bool | str, function: str, name: str, ret: Mapping[str, Any], *, timed: bool = True) -> str:
    """The row. ``tabular``: Salt's format, ``{1}`` is the name, ``{2}`` and ``{3}`` the function, ``{4}`` the result,
    ``{6}`` the whole return; or true, for Salt's own. ``timed``: with begin and duration, if the return has them.
    """
    module, _, short = function.partition(".")
    state = ret.get("result")
    changed = "Changed" if ret.get("changes") else "Clean"
    result = "Failed" if state is False else "Differs" if state is None else changed
    if isinstance(tabular, str):
        try:
            return tabular.format("", name, module, short, result, "", ret)
        except (LookupError, ValueError, AttributeError, TypeError) as exc:
            return f"state_tabular: {type(exc).__name__}: {exc}"
    messages = ret.get("warnings") or ()
    texts = messages if isinstance(messages, list | tuple) else [messages]
    warnings = "".join(f"{text}\n" for text in ("Warnings:", *map(str, texts))) if messages else ""
    when = ""
    if timed and "start_time" in ret:
        when = f"{ret['start_time']} [{ret.get('duration', '')!s:>7} ms] "
    return f"{warnings}{when}{module:>10}.{short:<10} {result:7}   Name: {name}"
