"""The renderer ``wempy``: text with Python in double braces. Trusted, as ``#!py`` is: it runs on the controller.

=====================  ========================================================================================
``{{= expression}}``   its value, as text, without escaping
``{{ statements }}``   any Python, on one line or several; indentation does not matter
``{{pass}}``           ends an ``if``, ``for``, ``while``, ``with``, ``try`` or ``def``, as ``return``, ``break``,
                       ``continue`` and ``raise`` do; ``elif``, ``else``, ``except``, ``finally`` begin another branch
``{{include 'path'}}`` the text of another template, from the file server's roots
``{{extend 'path'}}``  this template inside of another one, at its ``{{include}}`` without a path
``{{block name}}``     up to ``{{end}}``: a part that an extending template may replace; ``{{super}}`` in the new block
                       is the replaced one
=====================  ========================================================================================

A template is compiled to a Python program; the template line of each of its lines is known.
"""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pushsalt.render.context import RenderContext
from pushsalt.render.problems import SourceError, raised_in_template, source_text
from pushsalt.render.source import Origin, OutputMap, StageText, Written, as_text, line_within

#: path in the file server's tree -> path of the file and its text; raises SourceError
Reader = Callable[[str], tuple[str, str]]

MAX_DEPTH: Final = 20

_TAG: Final = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_LONG_TEXT: Final = re.compile(r'""".*?"""|\'\'\'.*?\'\'\'', re.DOTALL)
_BRANCH: Final = re.compile(r"(elif\b|else\s*:|except\b|finally\s*:)")
_LEAVES: Final = re.compile(r"(return|continue|break|raise)\b")
_ENDS: Final = re.compile(r"pass\b")
_PROGRAM: Final = "<wempy>"


@dataclass
class _Code:
    """One line of Python, its place in the template, and whether it only writes text."""

    line: str
    origin: Origin
    text: bool = False


@dataclass
class _Block:
    """A named part. The block without a name is where the text of an extending template is inserted."""

    name: str | None
    parts: list[_Part] = field(default_factory=list)


@dataclass
class _Super:
    """Where the replaced block is inserted (``{{super}}``)."""


_Part = _Code | _Block | _Super


def render_wempy(text: str, *, path: str, names: Mapping[str, Any], read: Reader) -> StageText:
    """Render the template. ``path`` is its name in errors. Raises SourceError, TargetError."""
    program = _indented(list(_flat(_parsed(text, path, read, 0))))
    written: list[Written] = []

    def write(value: Any) -> None:
        written.append(Written(_printed(value), sys._getframe(1).f_lineno))

    def origin_at(piece: str, offset: int) -> Origin | None:
        return line_within(program[piece.by - 1].origin, piece, offset) if isinstance(piece, Written) else None

    variables = {**names, "_write": write}
    chain: list[Origin] = []
    try:
        code = compile("\n".join(item.line for item in program), _PROGRAM, "exec", dont_inherit=True)
        exec(code, variables)  # noqa: S102 - running Python is what this language is
    except SyntaxError as exc:
        at = min(exc.lineno or 1, len(program)) - 1
        raise SourceError(f"Wempy: {exc.msg}", [program[at].origin] if program else []) from None
    except (Exception, SystemExit) as exc:
        trace = exc.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == _PROGRAM:
                chain.append(program[trace.tb_lineno - 1].origin)
            trace = trace.tb_next
        raise raised_in_template(exc, chain[::-1]) from None
    return StageText("".join(written), OutputMap(written, origin_at))


def _printed(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _parsed(text: str, path: str, read: Reader, depth: int) -> list[_Part]:
    """A template parsed into its parts, with the templates that it includes and extends."""
    if depth > MAX_DEPTH:
        problem = f"Wempy: more than {MAX_DEPTH} templates include or extend each other"
        raise SourceError(problem, [Origin(path, 1, text)])
    root = _Block(None)
    stack = [root]
    extended: tuple[str, Origin] | None = None
    before: list[_Part] = []
    at = 0
    for tag in [*_TAG.finditer(text), None]:
        literal = text[at : tag.start() if tag else len(text)]
        if literal:
            stack[-1].parts.append(_Code(f"_write({literal!r})", Origin(path, text.count("\n", 0, at) + 1, text), True))
        if tag is None:
            break
        at = tag.end()
        first = tag.start(1) + len(tag.group(1)) - len(tag.group(1).lstrip())
        origin = Origin(path, text.count("\n", 0, first) + 1, text)
        content = tag.group(1).strip()
        word, _, rest = content.partition(" ")
        rest = rest.strip()
        if rest.startswith("="):  # an assignment to a variable that is named like a keyword of Wempy
            stack[-1].parts.extend(_statements(content, origin))
        elif word == "block":
            block = _Block(rest)
            stack[-1].parts.append(block)
            stack.append(block)
        elif word == "end":
            if len(stack) == 1:
                raise SourceError("Wempy: {{end}} without a {{block}}", [origin])
            stack.pop()
        elif word == "super":
            stack[-1].parts.append(_Super())
        elif word == "include" and not rest:
            stack[-1].parts.append(_Block(None))
        elif word == "include":
            stack[-1].parts.extend(_parsed(*_other(rest, origin, read), read, depth + 1))
        elif word == "extend":
            extended = (rest, origin)
            before, root.parts = root.parts, []
        else:
            stack[-1].parts.extend(_statements(content, origin))
    if len(stack) > 1:
        problem = f"Wempy: the block {stack[-1].name!r} has no {{{{end}}}}"
        raise SourceError(problem, [Origin(path, text.count("\n") + 1, text)])
    if extended is None:
        return root.parts
    outer = _parsed(*_other(*extended, read), read, depth + 1)
    blocks = {part.name: part for part in root.parts if isinstance(part, _Block) and part.name}
    inner = [part for part in root.parts if not (isinstance(part, _Block) and part.name in _names(outer))]
    return [*before, *_filled(outer, blocks, inner)]


def _other(argument: str, origin: Origin, read: Reader) -> tuple[str, str]:
    """Text and path of the template that ``include`` or ``extend`` name."""
    try:
        name = ast.literal_eval(argument)
    except (ValueError, SyntaxError):
        name = None
    if not isinstance(name, str):
        raise SourceError(f"Wempy: {argument}: the path of a template is written in quotes", [origin])
    try:
        path, text = read(name)
    except SourceError as exc:
        raise SourceError(exc.problem, [*exc.chain, origin], exc.hint) from None
    return text, path


def _names(parts: list[_Part]) -> set[str]:
    names: set[str] = set()
    for part in parts:
        if isinstance(part, _Block):
            names |= _names(part.parts) | ({part.name} if part.name else set())
    return names


def _filled(parts: list[_Part], blocks: Mapping[str, _Block], inner: list[_Part]) -> list[_Part]:
    """An outer template's parts, with blocks and text of the inner one inserted."""
    filled: list[_Part] = []
    for part in parts:
        if not isinstance(part, _Block):
            filled.append(part)
        elif part.name is None:
            filled.append(_Block("", inner))
        elif part.name in blocks:
            new: list[_Part] = []
            for item in blocks[part.name].parts:
                new.extend(part.parts if isinstance(item, _Super) else [item])
            filled.append(_Block(part.name, new))
        else:
            filled.append(_Block(part.name, _filled(part.parts, blocks, inner)))
    return filled


def _flat(parts: list[_Part]) -> Iterator[_Code]:
    for part in parts:
        if isinstance(part, _Code):
            yield part
        elif isinstance(part, _Block):
            yield from _flat(part.parts)


def _statements(content: str, origin: Origin) -> Iterator[_Code]:
    """The lines of one tag; a tag that begins with ``=`` writes a value, which may be several lines long."""
    content = _LONG_TEXT.sub(lambda found: found.group().replace("\n", "\\n"), content)
    if content.startswith("="):
        content = f"_write({content[1:].lstrip(' ')})"
    for offset, raw in enumerate(content.split("\n")):
        line = raw.strip()
        if line.startswith("="):
            line = f"_write({line[1:].strip()})"
        if line:
            yield _Code(line, Origin(origin.path, origin.line + offset, origin.text))


def _indented(lines: list[_Code]) -> list[_Code]:
    """The program with the indentation that follows from its blocks and ``pass``."""
    program: list[_Code] = []
    opened: list[Origin] = []
    left = False  # whether the previous line has ended a block by return, break or the like
    for code in lines:
        line = code.line
        if not code.text and _BRANCH.match(line) and not left:
            if not opened:
                raise SourceError(f"Wempy: {line.split()[0]} without a block that it continues", [code.origin])
            opened.pop()
        program.append(_Code("    " * len(opened) + line, code.origin))
        left = False
        if code.text or line.startswith("#"):
            continue
        if _ENDS.match(line):
            if not opened:
                raise SourceError("Wempy: one {{pass}} too many: nothing is open", [code.origin])
            opened.pop()
        elif _LEAVES.match(line) and opened:
            opened.pop()
            left = True
        elif line.endswith(":"):
            opened.append(code.origin)
    if opened:
        raise SourceError("Wempy: a {{pass}} is missing for what begins here", [opened[-1]])
    return program


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> StageText:
    path = str(kwargs.get("tmplpath") or sls or "<text>")
    context: RenderContext = kwargs["render_context"]

    def read(name: str) -> tuple[str, str]:
        inside = posixpath.normpath(name.removeprefix("salt://").lstrip("/"))
        outside = inside.split("/", 1)[0] == ".." or context.fileserver is None
        file = None if outside or context.fileserver is None else context.fileserver.find(inside, saltenv)
        if file is None:
            raise SourceError(f"Wempy: {name}: no such file in the file server to include")
        return file.path, source_text(file, "wempy")

    names = context.template_names(saltenv=saltenv, sls=sls, path=path, variables=kwargs.get("context"))
    return render_wempy(as_text(data), path=path, names=names, read=read)
