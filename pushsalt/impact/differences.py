"""The difference of two answers for one id, as data: the value of an id in ``pushsalt impact --out json``."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pushsalt.impact.answers import Answer, Content

#: Maximum size in bytes of a text that is compared by lines.
_LARGEST: Final = 1024 * 1024
_KINDS: Final = ("added", "removed", "changed")


def difference(old: Answer, new: Answer, changed: bool = True) -> dict[str, Any]:
    """The differing ``states``, ``files``, ``pillar`` and ``unknown``; empty if nothing differs.

    ``changed``: whether any file of the two sides differs; if not, unknown values are the same on both sides.
    """
    if not changed and (old is new or old == new):
        return {}
    unknown = list(_unknown(old, new))
    same = old is new or bool(old.errors or new.errors)
    states: dict[str, Any] = {"added": [], "removed": [], "changed": {}} if same else _states(old, new)
    files = {} if same else dict(_files(old, new))
    pillar = sorted(map(str, _keys(old.pillar, new.pillar))) if not same or not (old.errors or new.errors) else []
    if not (any(states[kind] for kind in _KINDS) or files or pillar or unknown):
        return {}
    return {"states": states, "files": files, "pillar": pillar, "unknown": unknown}


def _unknown(old: Answer, new: Answer) -> Iterator[str]:
    """The reasons why the difference is not, or not completely, known: each once, with the side if only one has it."""
    for side, other, word in ((old, new, "before"), (new, old, "after")):
        theirs = {*other.errors, *other.unknown}
        for text in (*side.errors, *side.unknown):
            if text not in theirs:
                yield f"{word}: {text}"
            elif word == "after":
                yield text


def _states(old: Answer, new: Answer) -> dict[str, Any]:
    changed = {}
    for tag, before in old.states.items():
        after = new.states.get(tag)
        if after is not None and before != after:
            changed[tag] = dict(_arguments(before, after))
    return {
        "added": [tag for tag in new.states if tag not in old.states],
        "removed": [tag for tag in old.states if tag not in new.states],
        "changed": {tag: differences for tag, differences in changed.items() if differences},
    }


def _arguments(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """(argument, [old, new]); None where a side has no such argument."""
    for name in {**before, **after}:
        if name not in before or name not in after or before[name] != after[name]:
            yield name, [before.get(name), after.get(name)]


def _files(old: Answer, new: Answer) -> Iterator[tuple[str, str]]:
    for path in {**old.files, **new.files}:
        before, after = old.files.get(path), new.files.get(path)
        if (before and before.digest) != (after and after.digest):
            yield path, _diff(before, after)


def _diff(before: Content | None, after: Content | None) -> str:
    """A unified diff; for content that is not text or too large, the digests."""
    sides = [b"" if side is None else side.read() for side in (before, after)]
    texts = [_text(data) for data in sides]
    if None in texts:
        words = [f"sha256 {side.digest}" if side is not None else "nothing" for side in (before, after)]
        return f"binary: {words[0]} -> {words[1]}"
    rows = difflib.unified_diff(str(texts[0]).splitlines(True), str(texts[1]).splitlines(True))
    return "".join(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows)


def _text(data: bytes) -> str | None:
    if len(data) > _LARGEST or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Any]:
    for key in {**old, **new}:
        if key not in old or key not in new or old[key] != new[key]:
            yield key


def lines(id: str, differences: Mapping[str, Any]) -> Iterator[str]:
    """The lines that ``--fail-on`` is searched in: one for each difference."""
    for kind in _KINDS:
        yield from (f"{id} {kind} {_words(tag)}" for tag in differences["states"][kind])
    yield from (f"{id} file {path}" for path in differences["files"])
    yield from (f"{id} pillar {key}" for key in differences["pillar"])
    yield from (f"{id} unknown {why}" for why in differences["unknown"])


def _words(tag: str) -> str:
    """``file.managed /etc/motd`` of a tag."""
    module, _, rest = tag.partition("_|-")
    rest, _, function = rest.rpartition("_|-")
    id, _, name = rest.partition("_|-")
    return f"{module}.{function} {name}" + (f" ({id})" if id != name else "")
