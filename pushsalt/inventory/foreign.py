"""Restrictions for inventories that programs print or clouds make (``Source.foreign``).

Their values are data about machines. They must not control what runs on the controller: options for finding and
rendering states and pillar, files of host keys, the agent's socket. Their grains must not contain line breaks, since
templates put them into YAML.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from pushsalt.inventory.sshwords import CONTROL, option

#: minion options that concern the target alone
_OPTIONS: Final = ("mine_*", "test", "saltenv", "pillarenv", "state_verbose", "log_level", "timeout")
_FILES: Final = ("userknownhostsfile", "globalknownhostsfile", "identityagent")


def problem(name: str, value: Any) -> str | None:
    """Why a foreign source must not set this field of Target to this (checked) value; None if it may."""
    if name == "minion_opts":
        for key in value:
            if not any(fnmatchcase(str(key), pattern) for pattern in _OPTIONS):
                return f"has {str(key)[:80]!r}, which only a file or the configuration can set (`ssh_minion_opts`)"
    if name == "ssh_options":
        for each in value:
            if option(each)[0] in _FILES:
                return f"names a file of this machine, which only a file or the configuration can set: {each[:80]!r}"
    return None


def on_one_line(value: Any) -> tuple[Any, list[str]]:
    """(grains without values that contain control characters or line breaks, keys of those that were left out)."""
    left_out: list[str] = []
    return _on_one_line(value, "", left_out), left_out


def _on_one_line(value: Any, at: str, left_out: list[str]) -> Any:
    if isinstance(value, Mapping):
        kept = {}
        for key, item in value.items():
            place = f"{at}:{key}" if at else str(key)
            if CONTROL.search(str(key)) or (isinstance(item, str) and CONTROL.search(item)):
                left_out.append(place)
            else:
                kept[key] = _on_one_line(item, place, left_out)
        return kept
    if isinstance(value, list):
        if any(isinstance(item, str) and CONTROL.search(item) for item in value):
            left_out.append(at)
        return [
            _on_one_line(item, at, left_out) for item in value if not (isinstance(item, str) and CONTROL.search(item))
        ]
    return value
