"""Recognizes Ansible's inventories by their shape; ``inventory.ansible`` parses them.

This is a module of its own since every inventory is examined, and the parser takes time to import.
"""

from __future__ import annotations

import re
from typing import Final

#: a line that begins a section of an INI inventory
SECTION: Final = re.compile(r"\[(?P<name>[^:\]]+)(?::(?P<kind>\w+))?\]\s*(?:#.*)?$")


def is_ini(text: str, name: str = "") -> bool:
    """Whether a file is an Ansible INI inventory: its name ends in ``.ini``, or its first line (comments are skipped)
    is a section or ``host key=value``.
    """
    if name.lower().endswith(".ini"):
        return True
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith(("#", ";")):
            return SECTION.match(line) is not None or re.match(r"[\w.\[\]:-]*[\w\]]\s+\w+=\S", line) is not None
    return False


def is_yaml(data: object) -> bool:
    """Whether data is a YAML inventory: groups, which are mappings with no other keys than hosts, children and vars."""
    if not isinstance(data, dict) or not data:
        return False
    keys = [set(group) for group in data.values() if isinstance(group, dict)]
    return (
        len(keys) == len([group for group in data.values() if group is not None])
        and all(each <= {"hosts", "children", "vars"} for each in keys)
        and any(each & {"hosts", "children"} for each in keys)
        and not any(isinstance(group.get("hosts"), str) for group in data.values() if group)
    )


def is_listing(data: object) -> bool:
    """Whether data has the shape of ``--list``'s output."""
    return isinstance(data, dict) and (
        isinstance(data.get("_meta"), dict)
        or (isinstance(data.get("all"), dict) and isinstance(data["all"].get("children"), list))
    )


def has_tags(text: str) -> bool:
    """Whether a text has tags that only Ansible's YAML has."""
    return re.search(r"[:-]\s+!(vault|unsafe)\b", text) is not None
