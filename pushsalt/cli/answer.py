"""Output of commands that do not connect: lines for people, or data in the format of ``--out``."""

from __future__ import annotations

from typing import Any

from pushsalt.cli.options import Given
from pushsalt.cli.stdio import TERMINAL


def write(given: Given, data: Any, lines: list[str]) -> None:
    """Write the lines, or with ``--out`` the data."""
    from pushsalt.display.safe import one_line

    if not write_data(given, data):
        TERMINAL.get().stdout.write("".join(f"{one_line(line)}\n" for line in lines))


def write_data(given: Given, data: Any) -> bool:
    """Write the data in the format of ``--out``, if there is one; returns whether it was written."""
    from pushsalt.outputters import load

    if given.out in (None, "rich"):
        return False
    out = TERMINAL.get().stdout
    out.write(load(given.out).output(data, terminal=out.is_terminal), utf8=True)
    return True
