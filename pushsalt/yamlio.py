"""YAML as Salt reads it (``yamldump`` writes it). Salt: salt.utils.yamlloader.

It differs from plain YAML 1.1 in these ways:

- an integer with leading zeros is decimal: ``0644`` is 644;
- a timestamp stays text;
- a key that occurs twice in a mapping is an error;
- an unpadded ``!!binary`` is accepted;
- nesting, expansion of aliases and size are bounded, and a collection cannot contain itself.

Data is built straight from parser events: no recursion, so depth is bounded by MAX_DEPTH and not by a stack (libyaml's
own composer overflows it). libyaml's parser is used when PyYAML has it, the pure one otherwise; both give equal data.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast

import yaml
from yaml import events

from pushsalt.errors import Position, RenderError
from pushsalt.excerpt import excerpt
from pushsalt.yamlscalars import MERGE, SCALARS, STR, TAG, VALUE, implicit_tag

MAX_DEPTH: Final = 200
MAX_CHARS: Final = 64 * 1024 * 1024
#: Limit of the values that repeated aliases add ("billion laughs" attack).
MAX_ALIASED: Final = 1_000_000

HAS_LIBYAML: Final = hasattr(yaml, "CSafeLoader")

#: Path of keys and list indices from the root to a value.
KeyPath = tuple[Hashable, ...]


class YamlError(RenderError):
    """Text that is not valid YAML.

    ``problem`` is only the reason; ``errors`` has the text for people. ``related`` is a second place that belongs to
    the problem, as description and line: ``("first used", 3)``.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str,
        line: int | None,
        column: int | None,
        text: str = "",
        related: tuple[str, int] | None = None,
        related_column: int | None = None,
    ) -> None:
        where = Position(path, line, column)
        shown = excerpt(text, line)
        full = f"{problem} ({related[0]} in line {related[1]})" if related else problem
        super().__init__(f"{where}: {full}" + (f"\n{shown}" if shown else ""), where=where)
        self.message = full
        self.problem = problem
        self.line = line
        self.column = column
        self.related = related
        self.related_column = related_column


def load_yaml(text: str, path: str = "<text>", *, libyaml: bool = HAS_LIBYAML) -> Any:
    """The one document in ``text`` as dict, list, str, int, float, bool, None, bytes or set; None when it is empty.

    ``path`` names the source in errors. Raises YamlError.
    """
    return YamlBuilder(text, path, libyaml=libyaml).document()


def load_yaml_with_lines(
    text: str, path: str = "<text>", *, libyaml: bool = HAS_LIBYAML
) -> tuple[Any, dict[KeyPath, int]]:
    """As ``load_yaml``, and the line (from 1) of each mapping key and list item by its path of keys and indices.

    ``()`` is the line where the document's value begins.
    """
    builder = YamlBuilder(text, path, libyaml=libyaml)
    data = builder.document()
    lines: dict[KeyPath, int] = {}
    if builder.root_line is not None:
        lines[()] = builder.root_line
    stack: list[tuple[KeyPath, Any]] = [((), data)]
    while stack:
        prefix, value = stack.pop()
        if not isinstance(value, dict | list):
            continue
        items: Any = value
        for key, line in builder.lines.get(id(value), {}).items():
            path_to = (*prefix, key)
            lines[path_to] = line
            stack.append((path_to, items[key]))
    return data, lines


# --- reading -----------------------------------------------------------------------------------------------------


class _Mark(Protocol):
    line: int
    column: int


class _Parser(Protocol):
    def get_event(self) -> Any: ...
    def dispose(self) -> None: ...


class _PureLoader(yaml.SafeLoader):
    """PyYAML's own parser, changed to accept tabs where libyaml does: in text and between tokens, not as
    indentation.
    """

    def scan_plain_spaces(self, indent: Any, start_mark: Any) -> list[str] | None:
        length = 0
        while self.peek(length) in " \t":
            length += 1
        blanks = self.prefix(length)
        if "\t" not in blanks:
            return cast("list[str] | None", super().scan_plain_spaces(indent, start_mark))
        self.forward(length)
        if self.peek() in "\r\n\x85\u2028\u2029":
            return cast("list[str] | None", super().scan_plain_spaces(indent, start_mark))
        return [blanks]

    def scan_to_next_token(self) -> None:
        if self.index == 0 and self.peek() == "\ufeff":
            self.forward()
        while True:
            blanks = " \t" if self.flow_level or not self.allow_simple_key else " "
            while self.peek() in blanks:
                self.forward()
            if self.peek() == "#":
                while self.peek() not in "\0\r\n\x85\u2028\u2029":
                    self.forward()
            if not self.scan_line_break():  # type: ignore[no-untyped-call]
                return
            if not self.flow_level:
                self.allow_simple_key = True


@dataclass(slots=True)
class _Pair:
    """A key and its value in a mapping. ``raw`` is the key's text: merging compares that, as Salt does."""

    raw: str | None
    tag: str
    key: Any
    key_mark: _Mark
    value: Any = None
    #: the pairs of the value, for a merge with ``<<``: pairs, a list of pairs, or None
    merge: Any = None


@dataclass(slots=True)
class _Frame:
    """A collection under construction."""

    tag: str
    mark: _Mark
    anchor: str | None
    items: list[Any] | None  # of a sequence
    pairs: list[_Pair] | None  # of a mapping
    item_lines: list[int] = field(default_factory=list)
    merges: list[Any] = field(default_factory=list)  # of a sequence: each item's pairs
    expect_value: bool = False
    weight: int = 1


@dataclass(slots=True)
class _Anchored:
    value: Any
    tag: str
    raw: str | None
    merge: Any
    weight: int


class _Problem(Exception):
    def __init__(self, problem: str, mark: _Mark, related: tuple[str, int] | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.mark = mark
        self.related = related


class YamlBuilder:
    """Builds data from parser events. ``scalar``, ``sequence`` and ``mapping`` make the values; dialects override
    them.
    """

    #: whether pairs that ``<<`` adds stay if the mapping itself has the same key
    keeps_merged = False

    def __init__(self, text: str, path: str, *, libyaml: bool) -> None:
        self.text = str(text)  # PyYAML would call ``read`` of a str that has it
        self.path = path
        self.libyaml = libyaml
        #: id of a dict or list -> key or index -> line
        self.lines: dict[int, dict[Hashable, int]] = {}
        self.root_line: int | None = None
        self._anchors: dict[str, _Anchored | None] = {}  # None while the collection is still open
        self._aliased = 0

    def document(self) -> Any:
        if len(self.text) > MAX_CHARS:
            raise self._error(f"the text is longer than {MAX_CHARS} characters", None, None)
        try:
            parser: _Parser = yaml.CSafeLoader(self.text) if self.libyaml else _PureLoader(self.text)
            try:
                return self._build(parser.get_event)
            finally:
                parser.dispose()
        except _Problem as exc:
            raise self._error(exc.problem, exc.mark.line + 1, exc.mark.column + 1, exc.related) from None
        except yaml.reader.ReaderError as exc:
            raise self._reader_error(exc) from None
        except yaml.MarkedYAMLError as exc:
            raise self._syntax_error(exc) from None

    def _build(self, next_event: Callable[[], Any]) -> Any:
        result: Any = None
        documents = 0
        stack: list[_Frame] = []
        while True:
            event = next_event()
            kind = type(event)
            if kind is events.ScalarEvent:
                tag = event.tag
                if tag is None or tag == "!":
                    is_untagged = tag == "!" and not event.value and not event.style  # which libyaml takes for text
                    tag = implicit_tag(event.value) if event.implicit[0] and not is_untagged else STR
                raw = event.value
                key_position = bool(stack) and stack[-1].pairs is not None and not stack[-1].expect_value
                if key_position and tag in (MERGE, VALUE):
                    value = raw
                else:
                    value = self.scalar(tag, raw, event.start_mark)
                if event.anchor is not None:
                    self._open_anchor(event.anchor, event.start_mark)
                    self._anchors[event.anchor] = _Anchored(value, tag, raw, None, 1)
                mark, merge, weight = event.start_mark, None, 1
            elif kind is events.MappingStartEvent or kind is events.SequenceStartEvent:
                if len(stack) >= MAX_DEPTH:
                    raise _Problem(f"more than {MAX_DEPTH} levels of nesting", event.start_mark)
                if event.anchor is not None:
                    self._open_anchor(event.anchor, event.start_mark)
                mapping = kind is events.MappingStartEvent
                tag = event.tag
                if tag is None or tag == "!":
                    tag = TAG + ("map" if mapping else "seq")
                frame = _Frame(tag, event.start_mark, event.anchor, None if mapping else [], [] if mapping else None)
                stack.append(frame)
                continue
            elif kind is events.MappingEndEvent or kind is events.SequenceEndEvent:
                frame = stack.pop()
                raw, tag, mark, weight = None, frame.tag, frame.mark, frame.weight
                value, merge = self._mapping(frame) if frame.pairs is not None else self._sequence(frame)
                if frame.anchor is not None:
                    self._anchors[frame.anchor] = _Anchored(value, tag, None, merge, weight)
            elif kind is events.AliasEvent:
                anchored = self._alias(event)
                value, tag, raw, merge = anchored.value, anchored.tag, anchored.raw, anchored.merge
                mark, weight = event.start_mark, anchored.weight
            elif kind is events.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise _Problem("expected a single document in the stream, but found another", event.start_mark)
                continue
            elif kind is events.StreamEndEvent:
                return result
            else:
                continue
            if not stack:
                result, self.root_line = value, mark.line + 1
                continue
            self._place(stack[-1], value, tag, raw, mark, merge)
            stack[-1].weight += weight

    def _place(self, parent: _Frame, value: Any, tag: str, raw: str | None, mark: _Mark, merge: Any) -> None:
        """Add a completed value to its parent."""
        if parent.items is not None:
            parent.items.append(value)
            parent.item_lines.append(mark.line + 1)
            parent.merges.append(merge)
        elif parent.expect_value:
            assert parent.pairs
            pair = parent.pairs[-1]
            pair.value, pair.merge = value, merge
            parent.expect_value = False
        else:
            assert parent.pairs is not None
            if raw is None:  # a collection; tuples and similar types are not keys in Salt either
                raise _Problem(_unacceptable_key(value), mark)
            parent.pairs.append(_Pair(raw, tag, value, mark))
            parent.expect_value = True

    def _open_anchor(self, anchor: str, mark: _Mark) -> None:
        if anchor in self._anchors:
            raise _Problem(f"found duplicate anchor {anchor!r}", mark)
        self._anchors[anchor] = None

    def _alias(self, event: Any) -> _Anchored:
        if event.anchor not in self._anchors:
            raise _Problem(f"found undefined alias {event.anchor!r}", event.start_mark)
        anchored = self._anchors[event.anchor]
        if anchored is None:
            raise _Problem(f"alias {event.anchor!r} is inside of the value of its anchor", event.start_mark)
        self._aliased += anchored.weight
        if self._aliased > MAX_ALIASED:
            raise _Problem(f"aliases expand to more than {MAX_ALIASED} values", event.start_mark)
        return anchored

    def _sequence(self, frame: _Frame) -> tuple[Any, Any]:
        assert frame.items is not None
        value = self.sequence(frame.tag, frame.items, frame.mark)
        if isinstance(value, list):
            self.lines[id(value)] = dict(enumerate(frame.item_lines))
        return value, frame.merges

    def sequence(self, tag: str, items: list[Any], mark: _Mark) -> Any:
        """The value of a list. Raises ``problem``."""
        name = tag.removeprefix(TAG)
        if name in ("omap", "pairs"):
            pairs: list[tuple[Any, Any]] = []
            for item in items:
                if not isinstance(item, dict) or len(item) != 1:
                    raise _Problem("expected a list of mappings with one key each", mark)
                pairs.extend(item.items())
            return pairs
        if name != "seq":
            raise _Problem(_unknown_tag(tag), mark)
        return items

    def _mapping(self, frame: _Frame) -> tuple[Any, list[_Pair]]:
        pairs = self._flatten(frame)
        return self.mapping(frame.tag, pairs, frame.mark), pairs

    def mapping(self, tag: str, pairs: list[_Pair], mark: _Mark) -> Any:
        """The value of a mapping, with ``lines`` of its keys noted. Raises ``problem``."""
        data: dict[Any, Any] = {}
        lines: dict[Hashable, int] = {}
        for pair in pairs:
            if pair.key in data:
                first = ("first used", lines[pair.key])
                raise _Problem(f"found conflicting ID {str(pair.key)!r}", pair.key_mark, first)
            data[pair.key] = pair.value
            lines[pair.key] = pair.key_mark.line + 1
        name = tag.removeprefix(TAG)
        if name == "set":
            return set(data)
        if name != "map":
            raise _Problem(_unknown_tag(tag), mark)
        self.lines[id(data)] = lines
        return data

    def _flatten(self, frame: _Frame) -> list[_Pair]:
        """The pairs of a mapping with ``<<`` replaced by what it merges; the mapping's own keys win."""
        assert frame.pairs is not None
        merged: list[_Pair] = []
        own: list[_Pair] = []
        for pair in frame.pairs:
            if pair.tag != MERGE:
                own.append(pair)
                continue
            sources = pair.merge
            if isinstance(pair.value, list) and isinstance(sources, list):
                # a list: earlier mappings come last, as in PyYAML
                sources = list(reversed(sources))
            elif isinstance(pair.value, dict):
                sources = [sources]
            else:
                raise _Problem("expected a mapping or list of mappings for merging", pair.key_mark)
            for source in sources:
                if not isinstance(source, list) or not all(isinstance(item, _Pair) for item in source):
                    raise _Problem("expected a mapping for merging", pair.key_mark)
                merged.extend(source)
        if not merged or self.keeps_merged:
            return merged + own
        existing = {pair.raw for pair in own}
        return [pair for pair in merged if pair.raw not in existing] + own

    def scalar(self, tag: str, text: str, mark: _Mark) -> Any:
        """The value of a scalar. Raises ``problem``."""
        if tag == STR:
            return text
        construct = SCALARS.get(tag)
        if construct is None:
            raise _Problem(_unknown_tag(tag), mark)
        try:
            return construct(text)
        except (ValueError, LookupError, binascii.Error) as exc:
            raise _Problem(f"{text!r} is no {tag.removeprefix(TAG)}: {exc}", mark) from None

    # for dialects

    @staticmethod
    def implicit_tag(text: str) -> str:
        """The tag of a plain scalar."""
        return implicit_tag(text)

    @staticmethod
    def problem(words: str, mark: _Mark) -> Exception:
        """The exception for an invalid value, which becomes a YamlError."""
        return _Problem(words, mark)

    # errors

    def _error(
        self,
        problem: str,
        line: int | None,
        column: int | None,
        related: tuple[str, int] | None = None,
        related_column: int | None = None,
    ) -> YamlError:
        return YamlError(
            problem,
            path=self.path,
            line=line,
            column=column,
            text=self.text,
            related=related,
            related_column=related_column,
        )

    def _reader_error(self, exc: Any) -> YamlError:
        character = exc.character if isinstance(exc.character, int) else ord(exc.character)
        position = self.text.find(chr(character))
        line = self.text.count("\n", 0, position) + 1 if position >= 0 else None
        return self._error(f"control character U+{character:04X} is not allowed", line, None)

    def _syntax_error(self, exc: yaml.MarkedYAMLError) -> YamlError:
        mark = exc.problem_mark or exc.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        last = len(self.text.rstrip().splitlines())
        if line is not None and line > last:  # the end is missing: report the last line that is not empty
            line, column = max(last, 1), None
        problem = exc.problem or "cannot be parsed"
        if "cannot start any token" in problem and mark is not None:
            lines = self.text.splitlines()
            character = lines[mark.line][mark.column : mark.column + 1] if mark.line < len(lines) else ""
            problem = (
                "illegal tab character: YAML is indented with spaces"
                if character == "\t"
                else f"character {character!r} cannot start a value here: quote it"
            )
        elif exc.context:
            problem = f"{exc.context}: {problem}"
            if exc.context_mark and mark and exc.context_mark.line != mark.line:
                start = exc.context_mark
                return self._error(problem, line, column, ("it starts", start.line + 1), start.column + 1)
        return self._error(problem, line, column)


def _unknown_tag(tag: str) -> str:
    return f"could not determine a constructor for the tag {tag!r}"


def _unacceptable_key(value: Any) -> str:
    if isinstance(value, dict):
        return "found unacceptable key: a mapping (is this an unquoted double curly brace?)"
    return f"found unacceptable key: {value!r:.80}"
