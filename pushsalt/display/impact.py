"""The impact of a change (``pushsalt impact``) as text and as Markdown. Ids with the same difference are shown
together.

``data`` is the object that ``--out json`` writes.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pushsalt.display.forecast import parts
from pushsalt.display.markdown import cell, fenced
from pushsalt.display.states import DIFF_LIMIT, Detail, diff_lines
from pushsalt.display.style import Line, line

#: Maximum characters of a comment on GitHub.
LIMIT: Final = 65_536
_LEFT: Final = 600
_IDS: Final = 8
_WIDTH: Final = 200
_WORDS: Final = (("added", "added"), ("changed", "changed"), ("removed", "removed"))


def groups(ids: Mapping[str, Any]) -> list[tuple[list[str], Mapping[str, Any]]]:
    """Ids with equal differences, and their difference; the largest groups first."""
    by_key: dict[str, tuple[list[str], Mapping[str, Any]]] = {}
    for id, one in ids.items():
        by_key.setdefault(json.dumps(one, sort_keys=True, default=repr), ([], one))[0].append(id)
    return sorted(by_key.values(), key=lambda group: -len(group[0]))


def lines(data: Mapping[str, Any], total: int, detail: Detail) -> Iterator[Line]:
    """The text for people; ``total``: the number of compared ids."""
    for ids, differences in groups(data["ids"]):
        yield line((_named(ids), "title"))
        yield from _states(differences["states"])
        for path, diff in differences["files"].items():
            yield line(("file ", "changed"), path, indent=2)
            yield from detail.cap([*diff_lines(diff, 6)], DIFF_LIMIT, 6)
        if differences["pillar"]:
            yield line(("pillar ", "changed"), ", ".join(differences["pillar"]), indent=2)
        for why in differences["unknown"]:
            yield line(("unknown ", "bad"), why, indent=2)
        yield line("")
    number = len(data["ids"])
    yield line((f"{number} of {total} ids differ between {_short(data['from'])} and {_short(data['to'])}", "dim"))


def _states(states: Mapping[str, Any]) -> Iterator[Line]:
    for kind, word in _WORDS:
        for tag in states[kind]:
            yield line(
                (f"{word} ", {"added": "added", "removed": "removed"}.get(kind, "changed")), _state(tag), indent=2
            )
            for name, (old, new) in (states[kind][tag] if kind == "changed" else {}).items():
                yield line(f"{name}: {_value(old)} -> {_value(new)}", indent=6)


def markdown(data: Mapping[str, Any], total: int, limit: int = LIMIT) -> str:
    """A table of ids, then the differences in folded sections. Text above the limit is left out, with a note."""
    together = groups(data["ids"])
    head = f"{len(data['ids'])} of {total} ids differ between {_short(data['from'])} and {_short(data['to'])}"
    rows = [f"### Impact: {cell(head)}", "", "| targets | added | changed | removed | files | pillar | unknown |"]
    rows.append("|---|---|---|---|---|---|---|")
    for ids, differences in together:
        numbers = [len(differences["states"][kind]) for kind, _ in _WORDS]
        numbers += [len(differences[kind]) for kind in ("files", "pillar", "unknown")]
        rows.append(f"| {cell(_named(ids))} | {' | '.join(map(str, numbers))} |")
    text = "\n".join(rows if together else rows[:1]) + "\n"
    if len(text) > limit - _LEFT:
        cut = text[: limit - _LEFT].rpartition("\n")[0]
        return f"{cut}\n\n_The rest was left out: a comment has at most {limit} characters._\n"
    left = 0
    for ids, differences in together:
        for piece in _pieces(ids, differences):
            if len(text) + len(piece) <= limit - _LEFT:
                text += piece
            else:
                left += 1
    if left:
        text += f"\n_{left} differences were left out: a comment has at most {limit} characters._\n"
    return text


def _pieces(ids: list[str], differences: Mapping[str, Any]) -> Iterator[str]:
    title = _named(ids)
    states = differences["states"]
    names = [f"{word}: {_state(tag)}" for kind, word in (_WORDS[0], _WORDS[2]) for tag in states[kind]]
    if names:
        yield _folded(f"{title}: {len(names)} states added or removed", "\n".join(names), "")
    for tag, arguments in states["changed"].items():
        rows = [f"{name}: {_value(old)} -> {_value(new)}" for name, (old, new) in arguments.items()]
        yield _folded(f"{title}: changed: {_state(tag)}", "\n".join(rows), "")
    for path, diff in differences["files"].items():
        yield _folded(f"{title}: file {path}", diff.rstrip("\n"), "diff")
    if differences["pillar"]:
        yield _folded(f"{title}: pillar", "\n".join(differences["pillar"]), "")
    if differences["unknown"]:
        yield _folded(f"{title}: unknown", "\n".join(differences["unknown"]), "")


def _folded(title: str, body: str, kind: str) -> str:
    return f"\n<details><summary>{html.escape(cell(title))}</summary>\n\n{fenced(body, kind)}\n\n</details>\n"


def _named(ids: list[str]) -> str:
    more = f" and {len(ids) - _IDS} more" if len(ids) > _IDS else ""
    return ", ".join(ids[:_IDS]) + more


def _state(tag: str) -> str:
    function, id, name = parts(tag)
    return f"{function} {name}" + (f" ({id})" if id != name else "")


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"


def _short(revision: str) -> str:
    """A commit hash as git abbreviates it; other names are unchanged."""
    return revision[:12] if len(revision) >= 40 and " " not in revision else revision
