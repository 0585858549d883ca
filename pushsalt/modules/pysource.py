"""Parses Python source without running it."""

from __future__ import annotations

import ast
import threading

_TURN = threading.Lock()


def parse(source: str) -> ast.Module:
    """The ``ast`` of a source. Raises SyntaxError, ValueError.

    One thread at a time: CPython before 3.13 counts the depth of trees in a variable that all threads share, and
    raises SystemError when two threads parse at once.
    """
    with _TURN:
        return ast.parse(source)


def outline(source: str) -> ast.Module:
    """The ``ast`` of a source without function bodies, which is much faster. Raises as ``parse`` does.

    For sources in the usual layout; others are parsed as a whole.
    """
    lines, header, body = [], False, False
    for line in source.splitlines():
        if header or line.startswith("def "):
            header, body = True, True
            if line.rstrip().endswith(":"):
                line, header = line.rstrip() + " pass", False
        elif body and (not line or line[0] in " \t#"):
            continue
        else:
            body = False
        lines.append(line)
    try:
        return parse("\n".join(lines))
    except (SyntaxError, ValueError):
        return parse(source)
