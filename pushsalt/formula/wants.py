"""Finds files of a git remote that use renderers which the remote may not use, by reading, without rendering."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pushsalt import plugins
from pushsalt.render.pipeline import parse_pipe, pipe_of
from pushsalt.trust import PYTHON

if TYPE_CHECKING:
    from pushsalt.formula.sources import Source
    from pushsalt.trust import Limit

#: Folders of plug-ins that would run on the controller.
PLUGINS: Final = ("_renderers/", "_serializers/", "_pillar/", "_tops/", "_output/")
_NOT_READ: Final = ("test/", "tests/", "docs/", ".", "bin/")
_TEMPLATES: Final = (".sls", ".jinja", ".j2", ".yaml", ".yml")
#: ``template: py`` of a state, ``template='py'`` of a call.
_TEMPLATE: Final = re.compile(r"""\btemplate['"]?\s*[:=]\s*['"]?([A-Za-z_]\w*)""")
#: Former template engines of Salt that are not renderers of pushsalt.
_OTHERS: Final = frozenset({"cheetah", "genshi"})
_SHOWN: Final = 5


@dataclass(frozen=True)
class Want:
    """A place that requires a renderer. ``words``: the text in the file, or a description."""

    path: str
    line: int
    renderer: str
    words: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} ({self.words})"


def wants(source: Source, root: str = "") -> list[Want]:
    """The places in a source's files, below its ``root``, that require a renderer beyond its limit."""
    limit = source.limit
    if limit is None:
        return []
    wants: list[Want] = []
    before = f"{root}/" if root else ""
    for path in source.listing().files:
        if path.startswith(before):
            wants += _in_file(path, path[len(before) :], source, limit)
    return wants


def _in_file(path: str, inside: str, source: Source, limit: Limit) -> Iterable[Want]:
    if inside.startswith(PLUGINS) and inside.endswith(".py"):
        if not limit.runs_python:
            yield Want(path, 1, PYTHON, "Python for the controller")
    elif inside.endswith(_TEMPLATES) and not inside.startswith(_NOT_READ):
        text = source.text(path)
        if inside.endswith(".sls") and (pipe := pipe_of(text, "")):
            for stage in parse_pipe(pipe):
                if stage.name not in limit.engines:
                    yield Want(path, 1, stage.name, f"#!{pipe.strip()}")
        renderers = _OTHERS.union(plugins.names("renderers")) - limit.engines
        for number, line in enumerate(text.splitlines() if "template" in text else (), 1):
            for engine in _TEMPLATE.findall(line.partition(" #")[0]):
                if engine in renderers:
                    yield Want(path, number, engine, f"template: {engine}")


def texts(name: str, limit: Limit, wants: Iterable[Want]) -> list[str]:
    """One text for people for each renderer that is used."""
    by_renderer: dict[str, list[Want]] = {}
    for want in wants:
        by_renderer.setdefault(want.renderer, []).append(want)
    texts = []
    for renderer, places in sorted(by_renderer.items()):
        more = f" and {len(places) - _SHOWN} more places" if len(places) > _SHOWN else ""
        where = ", ".join(map(str, places[:_SHOWN]))
        texts.append(f"{name} uses {renderer}, which it may not, in {where}{more}; {limit.hint(renderer)}")
    return texts
