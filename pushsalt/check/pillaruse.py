"""Finds keys of pillar.example that no file reads: misspelt or obsolete ones.

A key counts as read if its name is anywhere in a file of the formula. If none of the names below a key is in a file
(users, sites: templates iterate over them), these names are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pushsalt import regular
from pushsalt.check.findings import Finding, finding
from pushsalt.check.subjects import Subject, is_text
from pushsalt.nearest import nearest
from pushsalt.yamlio import KeyPath, YamlError, load_yaml_with_lines

_WORD: Final = re.compile(r"[A-Za-z0-9_][\w.-]*")
_LARGEST: Final = 1_000_000
#: Levels of keys that are checked; deeper ones are usually settings that templates pass to a program.
_DEPTH: Final = 3
#: Keys that are used by convention without being written in a file: TOFS, lookup tables.
_CONVENTIONS: Final = frozenset({"lookup", "tofs", "map_jinja", "strict_mode", "mine_functions"})


def unread(subject: Subject) -> Iterator[Finding]:
    """The keys of pillar.example that no file of the formula reads."""
    if not subject.example:
        return
    try:
        data, lines = load_yaml_with_lines(regular.read_text(subject.example, "replace"), subject.example)
    except (YamlError, OSError):
        return  # reported before, or a template
    if not isinstance(data, dict):
        return
    words = _words(subject.files, subject.example)
    # ``salt['pillar.get'](tplroot)``: the formula's own name
    own = {Path(subject.root).name, *(name.split(".", 1)[0] for name in subject.sls)}
    yield from _unread(data, (), lines, words | own | _CONVENTIONS, subject.example)


def _words(files: Iterable[str], example: str) -> set[str]:
    words: set[str] = set()
    for path in files:
        if path == example or not is_text(path):
            continue
        file = Path(path)
        try:
            if file.stat().st_size > _LARGEST:
                continue
            text = regular.read_text(file, "replace")
        except OSError:
            continue
        for word in _WORD.findall(text):
            words.add(word)
            words.update(re.split(r"[.:-]", word))
    return words


def _unread(
    data: Mapping[Any, Any], above: KeyPath, lines: Mapping[KeyPath, int], words: set[str], path: str
) -> Iterator[Finding]:
    names = [str(key) for key in data]
    used = [name for name in names if name in words]
    if above and not used:
        return  # a template iterates over the names, so they are arbitrary
    for key, value in data.items():
        name, place = str(key), (*above, key)
        if name in words:
            if isinstance(value, dict) and len(place) < _DEPTH and name not in _CONVENTIONS:
                yield from _unread(value, place, lines, words, path)
            continue
        if above and not _alike(name, words):
            continue  # the name may be arbitrary
        near = _alike(name, words)
        hint = f"did you mean {near}?" if near else "remove it, or use it in the formula"
        text = f"no file of the formula reads the pillar key '{':'.join(map(str, place))}'"
        yield finding("unread-pillar", text, path, lines.get(place, 0), hint=hint)


def _alike(name: str, words: set[str]) -> str:
    """The word of which the name is probably a misspelling, or ""."""
    if len(name) < 4:
        return ""
    names = nearest(name, {word for word in words if abs(len(word) - len(name)) < 3 and word != name}, cutoff=0.88)
    return names[0] if names else ""
