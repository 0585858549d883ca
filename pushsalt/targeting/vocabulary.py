"""The matchers of one configuration: shipped ones, and users' own from plug-in folders and entry points.

Each configuration has its own vocabulary, so that two projects in one process do not share letters. Users' matchers are
only searched for letters, and values of ``tgt_type``, that are not shipped.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, Protocol, cast

from pushsalt import plugins
from pushsalt.errors import ConfigError, Position, UsageError

_LETTER: Final = re.compile(r"^LETTER\s*(?::[^=\n]+)?=\s*(.+?)\s*(?:#.*)?$", re.MULTILINE)
_SOURCES: Final = ("id", "grains", "pillar", "subject")


class Matcher(Protocol):
    """The module contract of ``matchers/``.

    ``LETTER``  prefix in compound expressions (``G@``), one capital letter; empty or missing for none
    ``SOURCE``  the argument ``value`` of ``match``: ``id`` (text), ``grains`` or ``pillar`` (mappings), or ``subject``
                (a Subject)

    A matcher for grains or pillar takes ``delimiter`` too. The result must depend on the arguments only: it is called
    once for equal values. Raises UsageError for an invalid expression.
    """

    LETTER: str
    SOURCE: str

    def match(self, expr: Any, value: Any) -> bool: ...


class Vocabulary:
    """See the module. ``folders`` returns the users' folders of matchers, which cannot override shipped ones."""

    def __init__(self, folders: Callable[[], Sequence[Path]] = tuple) -> None:
        self._folders = folders
        self._matchers: dict[str, Matcher] = {}

    def named(self, tgt_type: str) -> Matcher:
        """The matcher of a type. Raises UsageError if it is unknown, or cannot be loaded."""
        if tgt_type not in self._matchers:
            try:
                # Shipped matchers win, since indexes may answer them without calling a user's file of the same name.
                folders = () if tgt_type in _ours() else self._folders()
                matcher = cast(Matcher, plugins.load("matchers", tgt_type, folders))
                if matcher.SOURCE not in _SOURCES:
                    where = Position(str(getattr(matcher, "__file__", tgt_type)))
                    raise ConfigError(f"SOURCE is {matcher.SOURCE!r}", f"it is one of {', '.join(_SOURCES)}", where)
            except ConfigError as exc:
                raise UsageError(f"the target type {tgt_type!r} cannot be used: {exc}", hint=exc.hint) from exc
            self._matchers[tgt_type] = matcher
        return self._matchers[tgt_type]

    def of_letter(self, letter: str) -> str | None:
        """The type of a letter. Raises UsageError if several users' matchers have it."""
        return _letters().get(letter) or self._own_letters.get(letter)

    def letters(self) -> list[str]:
        """All letters, sorted."""
        return sorted({*_letters(), *self._own_letters})

    def types(self) -> list[str]:
        """The names of all matchers, sorted."""
        return plugins.names("matchers", self._folders())

    @cached_property
    def _own_letters(self) -> Mapping[str, str]:
        """Letter -> tgt_type of users' matchers, read from their source: files are not executed to find letters."""
        letters: dict[str, str] = {}
        for name in plugins.names("matchers", self._folders()):
            if name in _ours():
                continue
            file = next(
                (folder / f"{name}.py" for folder in self._folders() if (folder / f"{name}.py").is_file()),
                None,
            ) or plugins.installed_file("matchers", name)
            letter = _written(file) if file is not None else getattr(self.named(name), "LETTER", "")
            if letter == "":
                continue
            taken = _letters().get(letter) if isinstance(letter, str) else None
            problem = None
            if not (isinstance(letter, str) and re.fullmatch("[A-Z]", letter)):
                problem = f"LETTER is {letter!r}"
            elif taken or letter in letters:
                problem = f"the letter {letter} is that of the matcher {taken or letters[letter]}"
            if problem is not None:
                free = sorted(set(map(chr, range(65, 91))) - {*_letters(), *letters})
                hint = f"LETTER is one capital letter: {' '.join(free)} are free"
                raise UsageError(f"the matcher {name} cannot be used: {file or name}: {problem}", hint)
            letters[letter] = name
        return letters


def _written(file: Path) -> Any:
    """The literal value of LETTER in a file; empty if it is missing or computed."""
    match = _LETTER.search(plugins.text_of(file))
    try:
        return ast.literal_eval(match.group(1)) if match else ""
    except (ValueError, SyntaxError):
        return ""


@cache
def _ours() -> frozenset[str]:
    return frozenset(plugins.own("matchers"))


@cache
def _letters() -> Mapping[str, str]:
    """Letter -> tgt_type, of the shipped matchers."""
    letters = {cast(Matcher, plugins.load("matchers", name)).LETTER: name for name in _ours()}
    return {letter: name for letter, name in letters.items() if letter}


#: Without a configuration: shipped matchers only.
OURS: Final = Vocabulary()
