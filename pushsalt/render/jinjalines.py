"""Which line of which template wrote a piece of output: through includes, imports, inherited blocks and macros.

A template's own output is yielded piece by piece, and the generator that yields knows its line. What a macro, a call
block or ``{% set %}…{% endset %}`` writes is put together to one text first; there the compiled code notes the line of
each piece among the pieces, and ``Sources.join`` keeps them by the text that they gave. Only errors look anything up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from types import FunctionType
from typing import Any, Final, TypeVar

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.optimizer import Optimizer

from pushsalt.render.source import Origin, OutputMap, line_around, literal_line

#: Texts of macros that are remembered for one rendering; what is more has the line of the call.
MAX_MADE: Final = 20_000
#: Macros within macros, as far as a place is followed.
MAX_DEPTH: Final = 20

#: The function of frames that stand for a line of a template while it is compiled.
COMPILED: Final = "compiled"

T = TypeVar("T")

#: Stands before the pieces that a line of a template wrote: its number, and the template's name.
Mark = tuple[int, str | None]


class Written(str):
    """A piece of output, and the line of compiled template code that wrote it.

    It has the template's ``debug_info`` and not the template, which would keep a whole environment in memory.
    """

    __slots__ = ("debug_info", "lineno", "name")

    name: str | None
    debug_info: str
    lineno: int


def joined(pieces: Iterable[str | Mark]) -> str:
    """The text of pieces with marks among them."""
    return "".join([piece for piece in pieces if isinstance(piece, str)])


class TemplateSources:
    """The texts that one rendering reads: the main template and what it imports, by template name, for messages."""

    def __init__(self, name: str, path: str, text: str, header_lines: int) -> None:
        self._name = name
        self._main = (path, text)
        self._header_lines = header_lines
        self._loaded: dict[str, tuple[str, str]] = {}
        self._made: dict[str, Sequence[str | Mark]] = {}

    def add(self, name: str, path: str, text: str) -> None:
        self._loaded[name] = (path, text)

    def has(self, name: str) -> bool:
        return name in self._loaded

    def origin(self, name: str | None, line: int) -> Origin:
        if name is None or name == self._name or name not in self._loaded:
            # a header line was taken out before Jinja counted
            path, text = self._main
            return Origin(path, line + self._header_lines, text)
        path, text = self._loaded[name]
        return Origin(path, line, text)

    def join(self, pieces: Iterable[str | Mark]) -> str:
        """The text of pieces with marks among them: Jinja's ``concat``."""
        items = list(pieces)
        text = joined(items)
        if len(self._made) < MAX_MADE:
            self._made[text] = items
        return text

    def output_map(self, pieces: Sequence[str]) -> OutputMap:
        return OutputMap(pieces, self._origin_at)

    def _origin_at(self, piece: str, offset: int) -> Origin | None:
        """Where the character at ``offset`` of a piece of the output was written."""
        if not isinstance(piece, Written):
            return None
        return self._through(self.origin(piece.name, source_line(piece.debug_info, piece.lineno)), piece, offset)

    def _through(self, origin: Origin, piece: str, offset: int, made: bool = True) -> Origin:
        """As ``origin``, which wrote ``piece``, or within the macro that made it; that has its callers in ``via``."""
        made = made and len(origin.via) < MAX_DEPTH
        items = self._made.get(piece) if made else None
        if items is None:
            literal = literal_line(origin, piece, offset)
            if literal is not None or not made:
                return literal or origin
            # it may have gone through a filter such as indent: a line of its own tells enough
            line = line_around(piece, offset)
            within = [text for text in self._made if line in text] if len(line) > 2 else []
            if len(within) != 1:
                return origin
            items, offset = self._made[within[0]], within[0].index(line)
        found = _part_at(items, offset)
        if found is None:
            return origin
        mark, inner, at = found
        via = (replace(origin, via=()), *origin.via)
        # the text of a macro that has only one piece is that piece: once is enough
        return self._through(replace(self.origin(mark[1], mark[0]), via=via), inner, at, made=inner != piece)


def _part_at(items: Sequence[str | Mark], offset: int) -> tuple[Mark, str, int] | None:
    """The piece that has the character at ``offset``, the mark before it, and the offset in it."""
    mark: Mark | None = None
    for item in items:
        if not isinstance(item, str):
            mark = item
        elif offset < len(item):
            return (mark, item, offset) if mark is not None else None
        else:
            offset -= len(item)
    return None


def _run(function: Callable[[], T]) -> T:
    return function()


def _at_line(path: str | None, line: int, function: Callable[[], T]) -> T:
    """What ``function`` returns, called in a frame that says which line is compiled: it may never return."""
    code = _run.__code__.replace(co_filename=path or "", co_firstlineno=max(1, line - 1), co_name=COMPILED)
    result: T = FunctionType(code, {})(function)
    return result


class _LineKeepingOptimizer(Optimizer):
    """Calls filters and tests of constants in frames of their lines."""

    def __init__(self, environment: jinja2.Environment, path: str | None) -> None:
        super().__init__(environment)
        self._path = path

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        if isinstance(node, nodes.Filter | nodes.Test):
            visit = super().generic_visit
            return _at_line(self._path, node.lineno, lambda: visit(node, *args, **kwargs))
        return super().generic_visit(node, *args, **kwargs)


class LineKeepingGenerator(CodeGenerator):
    """Writes one ``yield`` for each piece of output, with its line; Jinja's own joins constants and forgets theirs."""

    def __init__(self, environment: jinja2.Environment, name: str | None, filename: str | None, *args: Any) -> None:
        super().__init__(environment, name, filename, *args)
        if self.optimizer is not None:
            self.optimizer = _LineKeepingOptimizer(environment, filename)

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        to_const = super()._output_child_to_const
        if isinstance(node, nodes.Const | nodes.TemplateData | nodes.Name):
            return to_const(node, frame, finalize)
        return _at_line(self.filename, node.lineno, lambda: to_const(node, frame, finalize))

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:
        for child in node.nodes:
            self.newline(child)
            self._mark(frame, child)
            super().visit_Output(nodes.Output([child], lineno=child.lineno), frame)

    def start_write(self, frame: Frame, node: nodes.Node | None = None) -> None:
        """Before what a call or filter block writes."""
        if node is not None:
            self._mark(frame, node)
        super().start_write(frame, node)

    def _mark(self, frame: Frame, node: nodes.Node) -> None:
        if frame.buffer is not None:
            self.writeline(f"{frame.buffer}.append({(node.lineno, self.name)!r})")


@lru_cache(maxsize=4096)
def source_line(debug_info: str, lineno: int) -> int:
    """The template's line for a line of its compiled code. ``debug_info`` is Jinja's: ``1=12&3=14``."""
    line = 1
    for entry in debug_info.split("&"):
        source, _, compiled = entry.partition("=")
        if not compiled or int(compiled) > lineno:
            break
        line = int(source)
    return line


def line_keeping(template: jinja2.Template) -> jinja2.Template:
    """``template``, whose output will say where it came from: read off the generator that yields it."""
    render = template.root_render_func

    def render_root(context: Any) -> Iterator[str]:
        generator: Any = render(context)
        for text in generator:
            if not isinstance(text, Written):  # else it came from a template that this one includes
                running = generator
                while hasattr(running.gi_yieldfrom, "gi_frame"):  # a block of a template that extends another
                    running = running.gi_yieldfrom
                frame = running.gi_frame
                text = Written(text)
                text.name = frame.f_globals["name"]
                text.debug_info = frame.f_globals["debug_info"]
                text.lineno = frame.f_lineno
            yield text

    template.root_render_func = render_root
    return template


def unclosed(environment: jinja2.Environment, text: str, tag: str) -> int | None:
    """The line where the last block of this tag begins that has no end; None where that cannot be told."""
    if tag == "set":  # which may be a statement as well
        return None
    opened: list[int] = []
    end = "endload" if tag.startswith("load_") else f"end{tag}"
    begun = 0
    for line, kind, word in environment.lex(text):
        if kind == "block_begin":
            begun = line
        elif begun and kind == "name":
            if word == tag:
                opened.append(begun)
            elif word == end and opened:
                opened.pop()
        if kind not in ("block_begin", "whitespace"):
            begun = 0
    return opened[-1] if opened else None
