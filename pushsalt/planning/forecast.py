"""The forecast of one target as data: each state with its mark, its reasons and its expected changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from pushsalt.planning.marks import MARKS, Marked, marks
from thin.requisites import tag_of

#: The beginning of the comment of a state that is expected to fail.
FAILS: Final = "It would fail: "


@dataclass(frozen=True)
class Forecast:
    """A dry run for a plan: ``fields`` of the message ``run`` (thin.wire), returns, notes (thin.detail), options."""

    fields: Mapping[str, Any]
    returns: Mapping[str, Any]
    details: Mapping[str, Any]
    opts: Mapping[str, Any]

    @property
    def changes(self) -> bool:
        """Whether any state changes something, or may."""
        return any(each.mark != "none" for each in self._marked)

    def as_data(self) -> dict[str, Any]:
        """``states`` in the order of the run, and ``counts`` of the marks."""
        states = [self._entry(each) for each in self._marked]
        return {"states": states, "counts": {mark: sum(s["mark"] == mark for s in states) for mark in MARKS}}

    @cached_property
    def _marked(self) -> list[Marked]:
        chunks = list(self.fields.get("chunks") or ())
        tags = [tag_of(chunk) for chunk in chunks]
        declared, groups = self.fields.get("declared"), self.fields.get("groups") or ()
        return marks(
            chunks,
            self.returns,
            self.details,
            declared=None if declared is None else [tags[number] for number in declared],
            groups=[[tags[number] for number in group] for group in groups],
            opts=self.opts,
        )

    @property
    def fails(self) -> bool:
        """Whether a state is expected to fail."""
        return any(map(self._fails, self._marked))

    def _fails(self, marked: Marked) -> bool:
        ret = self.returns.get(marked.tag)
        return marked.fails or (isinstance(ret, Mapping) and ret.get("result") is False)

    def _entry(self, marked: Marked) -> dict[str, Any]:
        ret, notes = self.returns.get(marked.tag), self.details.get(marked.tag) or {}
        ret = ret if isinstance(ret, Mapping) else {}
        _, id, name, _ = marked.tag.split("_|-", 3) if marked.tag.count("_|-") >= 3 else ("", marked.tag, "", "")
        comment = "\n".join(filter(None, (str(ret.get("comment") or ""), marked.why)))
        return {
            "tag": marked.tag,
            "__id__": ret.get("__id__", id),
            "__sls__": ret.get("__sls__"),
            "mark": marked.mark,
            "because": marked.because,
            "changes": _changes(ret.get("changes") or {}, notes.get("digests") or {}, name),
            "diff": _diff(ret.get("changes") or {}, notes.get("diffs") or {}),
            "comment": FAILS + comment if self._fails(marked) else comment,
        }


def _changes(changes: Any, digests: Mapping[str, Any], name: str) -> Any:
    """The changes, with the digests of files that have no diff."""
    if not isinstance(changes, Mapping) or not digests:
        return changes
    result = dict(changes)
    for path, (old, new) in digests.items():
        pair = {"sha256": {"old": old, "new": new}}
        inner = result.get(path)
        if path in result and isinstance(inner, Mapping):
            result[path] = {**inner, **pair}
        elif len(digests) == 1:
            result.update(pair)
        else:
            result[path] = pair
    return result


def _diff(changes: Any, diffs: Mapping[str, str]) -> str | None:
    """The unified diff of one file, or of several with their names; None if no text differs."""
    if len(diffs) > 1:
        return "".join(_with_names(path, text) for path, text in diffs.items())
    if diffs:
        return next(iter(diffs.values()))
    text = changes.get("diff") if isinstance(changes, Mapping) else None
    return text if isinstance(text, str) and any(_signs(text)) else None


def _signs(text: str) -> Iterator[bool]:
    return (row[:1] in "+-" and bool(row) for row in text.splitlines())


def _with_names(path: str, text: str) -> str:
    lines = text.split("\n", 2)
    body = lines[2] if len(lines) > 2 else ""
    return f"--- {path}\n+++ {path}\n{body}" + ("" if body.endswith("\n") else "\n")
