"""An option of the command line as a row of a table, and conversions of values that several options have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import typer

from pushsalt.cli import words
from pushsalt.errors import UsageError


@dataclass(frozen=True)
class Opt:
    """An option: its attribute in ``Given``, its flags, its help. The module ``words`` has its spellings in other
    tools.
    """

    name: str
    flags: tuple[str, ...]
    help: str
    kind: Literal["value", "flag", "list", "count"] = "value"
    metavar: str | None = None
    complete: Callable[[str], list[str]] | None = None
    panel: str = ""
    hidden: bool = False

    @property
    def spellings(self) -> tuple[str, ...]:
        """Its flags, and the spellings of other tools."""
        return (*self.flags, *words.also(self.flags))

    @property
    def has_value(self) -> bool:
        return self.kind in ("value", "list")

    def parameter(self, taken: Collection[str] = ()) -> inspect.Parameter:
        """The parameter for Typer. ``taken``: flags of the command, which are not used as spellings of other tools."""
        others = (word for word in words.also(self.flags) if word not in taken)
        types: dict[str, Any] = {"value": str | None, "flag": bool, "list": list[str] | None, "count": int}
        more: dict[str, Any] = {}
        if self.kind == "count":
            more["count"] = True
        if self.complete:
            more["autocompletion"] = self.complete
        info = typer.Option(
            *self.flags,
            *others,
            help=self.help,
            metavar=self.metavar,
            show_default=False,
            rich_help_panel=self.panel,
            hidden=self.hidden,
            **more,
        )
        default = {"flag": False, "count": 0}.get(self.kind)
        return inspect.Parameter(
            self.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[types[self.kind], info]
        )


def rows(panel: str, *options: Opt) -> tuple[Opt, ...]:
    """The options, listed under this heading in the help."""
    return tuple(replace(row, panel=panel) for row in options)


def positive(flag: str, text: str | None) -> int | None:
    """A whole number above 0. Raises UsageError."""
    if text is None:
        return None
    if not is_count(text):
        raise UsageError(f"{flag}: {text!r} is not a whole number above 0", hint=words.other_meaning(flag))
    return int(text)


def is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0


def seconds(flag: str, text: str | None, *, zero: bool = False) -> float | None:
    """A number of seconds. Raises UsageError."""
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not (0 < value < 1e9 or (zero and value == 0)):
        message = f"{flag}: {text!r} is not a number of seconds{'' if zero else ' above 0'}"
        raise UsageError(message, hint=words.other_meaning(flag))
    return value
