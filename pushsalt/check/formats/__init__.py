"""Output formats. A format is a module here with ``render(report, base, color) -> str``."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Final, Protocol, cast

from pushsalt.errors import UsageError
from pushsalt.nearest import nearest

if TYPE_CHECKING:
    from pushsalt.check.runner import Report

FORMATS: Final = ("text", "json", "sarif", "github", "junit")


class Format(Protocol):
    def render(self, report: Report, base: str, color: bool) -> str:
        """The report as text. Paths below ``base`` are shown relative to it."""
        ...


def load(name: str) -> Format:
    """The format of this name. Raises UsageError for an unknown one."""
    if name not in FORMATS:
        near = nearest(name, FORMATS)
        hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(FORMATS)}"
        raise UsageError(f"unknown format {name!r}", hint)
    return cast("Format", importlib.import_module(f"pushsalt.check.formats.{name}"))


def shown(path: str, base: str) -> str:
    """A path, relative to ``base`` if it is below it."""
    return os.path.relpath(path, base) if path.startswith(base.rstrip("/") + "/") else path
