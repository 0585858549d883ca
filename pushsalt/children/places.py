"""Finds the file and line that a hanging process was rendering.

Such a process does not run Python code any more, but faulthandler can still write the stack frames of its threads.
Another render process, which can read the templates, parses that output with this module.
"""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, Final, NamedTuple, TypeVar

_FRAME: Final = re.compile(r'  File "(.+)", line (\d+) in (.+)')
_OWN: Final = str(Path(__file__).resolve().parents[1])

T = TypeVar("T")


class Frame(NamedTuple):
    path: str
    line: int
    function: str


def _run(function: Callable[[], T]) -> T:
    return function()


def run_numbered(number: int, function: Callable[[], T]) -> T:
    """Call ``function`` so that the name of a stack frame has the number of the work; returns its result."""
    numbered = FunctionType(_run.__code__.replace(co_name=_name(number)), {})
    result: T = numbered(function)
    return result


def place(frames: str, number: int, settings: Mapping[str, Any]) -> tuple[str, int] | None:
    """(path, line) of the file that the work ``number`` rendered; None if there is no file in its frames.

    ``frames`` is the output of faulthandler, ``settings`` are Jinja's options for SLS files.
    """
    threads = [_frames(thread) for thread in frames.split("\n\n")]
    of_work = [thread for thread in threads if any(frame.function == _name(number) for frame in thread)]
    for thread in of_work or threads:
        for frame in thread:
            if _is_users(frame.path):
                return frame.path, _source_line(frame, settings)
    return None


def _name(number: int) -> str:
    return f"work_{number}"


def _frames(text: str) -> list[Frame]:
    return [Frame(path, int(line), function) for path, line, function in _FRAME.findall(text)]


def _is_users(path: str) -> bool:
    """Whether a file does not belong to Python, a package, or pushsalt."""
    if not path.startswith("/"):
        return False
    if "/site-packages/" in path or "/dist-packages/" in path:
        return False
    return not any(path.startswith(f"{folder}/") for folder in (_OWN, sysconfig.get_path("stdlib")))


def _source_line(frame: Frame, settings: Mapping[str, Any]) -> int:
    """The line of the user's file; for a template it is computed from the line of its compiled Python code."""
    from jinja2 import TemplateError

    from pushsalt.render.jinja import template_line
    from pushsalt.render.jinjalines import COMPILED

    if frame.function not in ("root", "macro", COMPILED) and not frame.function.startswith("block_"):
        return frame.line
    try:
        text = Path(frame.path).read_text("utf-8")
        return template_line(text, frame.path, frame.function, frame.line, settings)
    except (OSError, ValueError, TemplateError):
        return 1
