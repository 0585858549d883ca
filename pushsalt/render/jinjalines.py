"""Finds the template line that wrote a part of the output, through includes, imports, inherited blocks and macros.

A template yields its output in pieces, and the yielding generator knows its line. The output of a macro, a call block
or ``{% set %}…{% endset %}`` is joined to one text first: there the compiled code puts marks with lines between the
pieces, and ``TemplateSources.join`` keeps them by the joined text. Lines are only looked up for errors.
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

#: Limit for the texts of macros that are kept per rendering; for others, the line of the call is reported.
MAX_MADE: Final = 20_000
#: Limit for the levels of nested macros that are followed.
MAX_DEPTH: Final = 20

#: Function name of frames that represent a template line during compilation.
COMPILED: Final = "compiled"

T = TypeVar("T")

#: A mark before the pieces of a template line: (line, name of the template).
Mark = tuple[int, str | None]


class Written(str):
    """A piece of output with the line of compiled template code that wrote it.

    It references the template's ``debug_info``, not the template, which would keep an environment in memory.
    """

    __slots__ = ("debug_info", "lineno", "name")

    name: str | None
    debug_info: str
    lineno: int


def joined(pieces: Iterable[str | Mark]) -> str:
    """The joined text of pieces, without marks."""
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
            # a header line was removed before Jinja counted lines
            path, text = self._main
            return Origin(path, line + self._header_lines, text)
        path, text = self._loaded[name]
        return Origin(path, line, text)

    def join(self, pieces: Iterable[str | Mark]) -> str:
        """The joined text of pieces with marks: Jinja's ``concat``."""
        items = list(pieces)
        text = joined(items)
        if len(self._made) < MAX_MADE:
            self._made[text] = items
        return text

    def output_map(self, pieces: Sequence[str]) -> OutputMap:
        return OutputMap(pieces, self._origin_at)

    def _origin_at(self, piece: str, offset: int) -> Origin | None:
        """The place that wrote the character at ``offset`` of a piece of the output."""
        if not isinstance(piece, Written):
            return None
        return self._through(self.origin(piece.name, source_line(piece.debug_info, piece.lineno)), piece, offset)

    def _through(self, origin: Origin, piece: str, offset: int, made: bool = True) -> Origin:
        """The origin of ``piece``, or the place in the macro that made it, with its callers in ``via``."""
        made = made and len(origin.via) < MAX_DEPTH
        items = self._made.get(piece) if made else None
        if items is None:
            literal = literal_line(origin, piece, offset)
            if literal is not None or not made:
                return literal or origin
            # a filter such as indent may have changed it: search by its line
            line = line_around(piece, offset)
            within = [text for text in self._made if line in text] if len(line) > 2 else []
            if len(within) != 1:
                return origin
            items, offset = self._made[within[0]], within[0].index(line)
        part = _part_at(items, offset)
        if part is None:
            return origin
        mark, inner, at = part
        via = (replace(origin, via=()), *origin.via)
        # the text of a macro with a single piece is that piece: do not follow it twice
        return self._through(replace(self.origin(mark[1], mark[0]), via=via), inner, at, made=inner != piece)


def _part_at(items: Sequence[str | Mark], offset: int) -> tuple[Mark, str, int] | None:
    """(mark, piece, offset in it) of the piece that contains the character at ``offset``."""
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
    """Call ``function`` in a frame with the template line that is compiled, for reports if it hangs."""
    code = _run.__code__.replace(co_filename=path or "", co_firstlineno=max(1, line - 1), co_name=COMPILED)
    result: T = FunctionType(code, {})(function)
    return result


class _LineKeepingOptimizer(Optimizer):
    """Calls filters and tests of constants in frames with their template lines."""

    def __init__(self, environment: jinja2.Environment, path: str | None) -> None:
        super().__init__(environment)
        self._path = path

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        if isinstance(node, nodes.Filter | nodes.Test):
            visit = super().generic_visit
            return _at_line(self._path, node.lineno, lambda: visit(node, *args, **kwargs))
        return super().generic_visit(node, *args, **kwargs)


class LineKeepingGenerator(CodeGenerator):
    """Writes one ``yield`` per piece of output, with its line; Jinja's generator joins constants without lines."""

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
        """Called before the output of a call or filter block."""
        if node is not None:
            self._mark(frame, node)
        super().start_write(frame, node)

    def _mark(self, frame: Frame, node: nodes.Node) -> None:
        if frame.buffer is not None:
            self.writeline(f"{frame.buffer}.append({(node.lineno, self.name)!r})")


@lru_cache(maxsize=4096)
def source_line(debug_info: str, lineno: int) -> int:
    """The template line for a line of its compiled code. ``debug_info`` is Jinja's: ``1=12&3=14``."""
    line = 1
    for entry in debug_info.split("&"):
        source, _, compiled = entry.partition("=")
        if not compiled or int(compiled) > lineno:
            break
        line = int(source)
    return line


def line_keeping(template: jinja2.Template) -> jinja2.Template:
    """``template``, changed so that its output knows its lines, which are read from the yielding generator."""
    render = template.root_render_func

    def render_root(context: Any) -> Iterator[str]:
        generator: Any = render(context)
        for text in generator:
            if not isinstance(text, Written):  # otherwise it comes from an included template
                running = generator
                while hasattr(running.gi_yieldfrom, "gi_frame"):  # a block of an extending template
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
    """The line of the last unclosed block of this tag; None if it cannot be found."""
    if tag == "set":  # it may be a statement without end
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
