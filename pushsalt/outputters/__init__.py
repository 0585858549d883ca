"""Outputters, which format the returns of a run as text. One file each; its name is the value of ``--out``.

An outputter is a module with ``output(data, **kw) -> str``, Salt's own signature.
``data`` is ``{target id: return}``, already redacted. Optional keyword arguments:

``returns``   ``{target id: TargetReturn}``: shapes, phases, round trips (for ``rich``)
``color``     whether escape codes may be written (default False)
``terminal``  whether the output goes to a terminal (default False)
``verbose``   the number of ``-v`` options
``elapsed``   wall seconds of the run
``test``      whether it was a dry run
``opts``      the configuration (Salt's option names)

``pieces(data, **kw) -> Iterator[str]``, if a module has it, yields the same text in pieces, for large returns.

``stream = True`` in a module: the concatenation of ``output`` for each single target is the whole output.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from pushsalt.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)

#: Characters that are written in one call.
_AT_ONCE: Final = 64 * 1024
#: The choices of --out in the help, the default first. Others (nested, highstate, plug-ins) are accepted too.
CHOICES = ("rich", "json", "yaml", "ndjson", "quiet")


class Outputter(Protocol):
    """The module contract of this folder."""

    def output(self, data: Any, **kw: Any) -> str:
        """The text to write to stdout, with its last newline; empty for nothing."""


def load(name: str, folders: Sequence[Path] = ()) -> Outputter:
    """The outputter of this name: a shipped one, one in ``folders`` (see plugins), or an installed one.

    Raises UsageError with suggestions.
    """
    if name in CHOICES and not folders:  # the common case, without reading folders
        return cast(Outputter, importlib.import_module(f"{__name__}.{name}"))
    from pushsalt import plugins

    available = plugins.names("outputters", folders)
    if name not in available:
        raise UsageError(f"--out: there is no outputter {name!r}", hint=nearest(name, available))
    return cast(Outputter, plugins.load("outputters", name, folders))


def streams(outputter: Outputter) -> bool:
    """Whether each target's output may be written as soon as that target is done."""
    return bool(getattr(outputter, "stream", False))


def pieces(outputter: Outputter, data: Any, **kw: Any) -> Iterator[str]:
    """The text in pieces, or as a whole if the outputter has no ``pieces``.

    If the outputter fails, the returns are written as JSON, with the error.
    """
    make = getattr(outputter, "pieces", None)
    if make is None:
        try:
            yield outputter.output(data, **kw)
        except (Exception, SystemExit) as exc:
            from pushsalt.plugins import blamed

            text = f"{type(exc).__name__}: {exc}{blamed(exc)}"
            log.error("the outputter failed, JSON takes its place: %s", text)
            log.debug("the outputter failed", exc_info=True)
            yield from pieces(load("json"), data, **kw)
        return
    buffered: list[str] = []
    size = 0
    for piece in make(data, **kw):
        buffered.append(piece)
        size += len(piece)
        if size > _AT_ONCE:
            yield "".join(buffered)
            buffered, size = [], 0
    yield "".join(buffered)


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint that names the words nearest to ``word``, or all of them when none is near."""
    from difflib import get_close_matches

    candidates = sorted(words)
    near = get_close_matches(word, candidates, 3)
    return f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(candidates)}"
