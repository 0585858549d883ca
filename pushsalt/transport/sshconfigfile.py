"""Files of ssh_config, divided into lines and sections.

A file may have a ``Host`` section for each machine of a fleet, and is used for each of them. So it is read and divided
once, and a section whose ``Host`` has plain names is found by name, in place of comparing every pattern with every
host.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pushsalt import regular

CONDITIONS: Final = ("host", "match")
#: Options whose value is the rest of the line.
_WHOLE: Final = ("proxycommand", "remotecommand", "localcommand", "knownhostscommand")
_LINE: Final = re.compile(r"\s*(?P<word>[^\s=]+)(?:\s*=\s*|\s+|\Z)(?P<rest>.*?)\s*\Z", re.S)
_PLAIN: Final = re.compile(r"[\w.:@%+-]+", re.ASCII)


@dataclass(frozen=True)
class Line:
    """A line with an option: its number, the option's name in lower case, and the words of its value.

    ``problem``: why the value could not be divided into words.
    """

    number: int
    name: str
    words: tuple[str, ...] = ()
    problem: str = ""


@dataclass
class ConfigFile:
    """The sections of a file: the lines before the first condition, then those from each ``Host`` or ``Match`` on."""

    sections: list[list[Line]] = field(default_factory=list)
    #: name in lower case -> indexes of the sections whose ``Host`` has this name, and only plain names
    _named: dict[str, list[int]] = field(default_factory=dict)
    #: indexes of all other sections
    _others: list[int] = field(default_factory=list)

    def add(self, section: list[Line]) -> None:
        """Append a section."""
        place = len(self.sections)
        self.sections.append(section)
        first = section[0] if section else None
        if first is not None and first.name == "host" and first.words and all(map(_PLAIN.fullmatch, first.words)):
            for name in {word.lower() for word in first.words}:
                self._named.setdefault(name, []).append(place)
        else:
            self._others.append(place)

    def lines(self, host: str) -> Iterator[Line]:
        """The lines of all sections that may apply to a host, in order. The caller evaluates the conditions."""
        for place in sorted([*self._others, *self._named.get(host.lower(), ())]):
            yield from self.sections[place]


#: path -> its attributes before it was read, and its sections
_read: dict[Path, tuple[str, ConfigFile]] = {}


def load(path: Path) -> ConfigFile:
    """The sections of a file, which is read again only after a change. Raises OSError, UnicodeDecodeError."""
    attributes = regular.attributes(path)
    found = _read.get(path)
    if found is None or found[0] != attributes or not attributes:
        found = attributes, divided(regular.read_text(path))
        _read[path] = found
    return found[1]


def divided(text: str) -> ConfigFile:
    """The sections of a file's text."""
    file, section = ConfigFile(), list[Line]()
    for number, text_line in enumerate(text.splitlines(), 1):
        match = None if text_line.lstrip().startswith("#") else _LINE.match(text_line)
        if match is None:
            continue
        line = _line(number, match["word"].lower(), match["rest"])
        if line.name in CONDITIONS:
            file.add(section)
            section = []
        section.append(line)
    file.add(section)
    return file


def _line(number: int, name: str, rest: str) -> Line:
    if name in _WHOLE:
        return Line(number, name, (rest,) if rest else ())
    try:
        return Line(number, name, tuple(shlex.split(rest)))
    except ValueError as exc:
        return Line(number, name, problem=str(exc))
