"""Finds the source lines of the keys of rendered data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pushsalt.render.source import Origin, StageText
from pushsalt.yamlio import YamlError, load_yaml_with_lines


@dataclass(frozen=True, eq=False)
class KeyLines(Mapping[str, int]):
    """Top-level key of the data -> line of ``path``. Computed on first access, since only errors need it.

    If the last stage read YAML or JSON, the places of all keys are known; otherwise only lines of the source that
    contain the key as a word. As a mapping it has lines of ``path`` only: for a macro, that of the call.
    """

    _text: StageText | None
    _path: str
    _source: str = ""

    @cached_property
    def _found(self) -> dict[tuple[Any, ...], int]:
        """Path of keys and indices -> line of the input of the last stage."""
        if self._text is None or self._text.origin is None:
            return {}
        try:
            return load_yaml_with_lines(str(self._text))[1]
        except YamlError:
            return {}

    @cached_property
    def _lines(self) -> dict[str, int]:
        lines: dict[str, int] = {}
        for key in self._found:
            origin = self.origin(key) if len(key) == 1 else None
            for place in (origin, *origin.via) if origin is not None else ():
                if place.path == self._path:
                    lines[str(key[0])] = place.line
                    break
        return lines

    def origin(self, keys: Sequence[str | int]) -> Origin | None:
        """The place of a key, by its path of keys and indices: in ``path``, or in a file that it imports."""
        line = self._found.get(tuple(keys))
        if line is not None and self._text is not None and self._text.origin is not None:
            return self._text.origin(line, 1)
        word = keys[-1] if keys else ""
        if self._found or not isinstance(word, str) or not word:
            return None
        used = re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", self._source)
        return Origin(self._path, self._source.count("\n", 0, used.start()) + 1, self._source) if used else None

    def __getitem__(self, key: str) -> int:
        return self._lines[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)
