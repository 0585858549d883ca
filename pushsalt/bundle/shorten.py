"""Shortens source files for targets, without changing line numbers.

Removed are declarations for the controller (see pushsalt.modules.effects), docstrings (``sys.doc`` asks the controller
for them, see pushsalt.bundle.docs) and lines that are comments.
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
_COMMENT: Final = re.compile(r"\s*#")


def shortened(name: str, text: str) -> str:
    """The file of that name in the archive (``thin/modules/file.py``) as targets get it."""
    if name.split("/")[1] in DECLARING and "\n__" in text:
        text = _DECLARED.sub(lambda found: "\n" * found.group().count("\n"), text)
    return "\n".join(_without_comments(_without_docs(text.split("\n"))))


def _without_docs(lines: list[str]) -> Iterator[str]:
    """The docstring of a function or class becomes an empty one, since a body cannot be without any statement."""
    end = _end_of_doc(lines, 0)
    at = 0 if end is None else end + 1
    yield from [""] * at
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
        end = _end_of_doc(lines, at)
        if end is not None:
            yield lines[at][: len(lines[at]) - len(lines[at].lstrip())] + '""'
            yield from [""] * (end - at)
            at = end + 1


def _without_comments(lines: Iterator[str]) -> Iterator[str]:
    """Lines that are comments become empty, outside of texts of several lines."""
    within = ""
    for line in lines:
        if not within and _COMMENT.match(line):
            yield ""
            continue
        yield line
        for quotes in ('"""', "'''") if not within else (within,):
            if line.count(quotes) % 2:
                within = "" if within else quotes
                break


def _end_of_doc(lines: list[str], at: int) -> int | None:
    """The last line of the docstring that begins in this line; None if there is none."""
    first = lines[at].strip() if at < len(lines) else ""
    if not first.startswith('"""'):
        return None
    if '"""' in first[3:]:
        return at if first.endswith('"""') else None
    end = next(number for number in range(at + 1, len(lines)) if '"""' in lines[number])
    return end if lines[end].endswith('"""') else None
