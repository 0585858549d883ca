"""Shortens source files for targets, without changing line numbers.

Removed are declarations for the controller (see pushsalt.modules.effects), and docstrings, except those that
``sys.doc`` shows: of modules and states, and of their public functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

#: Folders whose files have declarations for the controller.
DECLARING: Final = ("modules", "states", "resources")
_DECLARED: Final = re.compile(
    r"^__(?:usual|controller|recorded|reads|reads_unless|changes|runs|any_arguments|known_arguments)__ = "
    r"(?:True|\(.*\)|\{.*\}|[({]\n(?: .*\n)*[)}])(?: +#.*)?\n",
    re.MULTILINE,
)
_HEAD: Final = re.compile(r"( *)(?:def|class) (\w+)")
_HEAD_END: Final = re.compile(r":\s*(?:#.*)?$")


def shortened(name: str, text: str) -> str:
    """The text of a file as it is sent to targets. ``name``: its name in the archive (``thin/modules/file.py``)."""
    declares = name.split("/")[1] in DECLARING
    if declares and "\n__" in text:
        text = _DECLARED.sub(lambda found: "\n" * found.group().count("\n"), text)
    return "\n".join(_without_docs(text.split("\n"), declares))


def _without_docs(lines: list[str], public_stay: bool) -> Iterator[str]:
    """The lines with empty docstrings: the statement stays, since a body must not be empty."""
    at = 0
    while at < len(lines):
        head = _HEAD.match(lines[at])
        if head is None:
            yield lines[at]
            at += 1
            continue
        while not _HEAD_END.search(lines[at]):
            yield lines[at]
            at += 1
        yield lines[at]
        at += 1
        if public_stay and not head[1] and not head[2].startswith("_"):
            continue
        end = _end_of_doc(lines, at)
        if end is not None:
            yield lines[at][: len(lines[at]) - len(lines[at].lstrip())] + '""'
            yield from [""] * (end - at)
            at = end + 1


def _end_of_doc(lines: list[str], at: int) -> int | None:
    """The last line of the docstring that begins in this line; None if there is none."""
    first = lines[at].strip() if at < len(lines) else ""
    if not first.startswith('"""'):
        return None
    if '"""' in first[3:]:
        return at if first.endswith('"""') else None
    end = next(number for number in range(at + 1, len(lines)) if '"""' in lines[number])
    return end if lines[end].endswith('"""') else None
