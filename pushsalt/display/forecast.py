"""Plans as text: each state that will or may change, its mark, the states that it depends on, and the difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pushsalt.display.states import DIFF_LIMIT, Detail, change_lines, diff_lines
from pushsalt.display.style import Line, Span, block, line

#: mark -> (words, style), in the order of a summary.
WORDS = {
    "will": ("will change", "pending"),
    "may": ("may change", "changed"),
    "unknown": ("unknown", "bad"),
    "none": ("no change", "dim"),
}
#: The beginning of the comment of a state that the plan expects to fail.
FAILS = "It would fail: "
#: Maximum number of reasons that are named.
_REASONS = 3


def counts(plan: Mapping[str, Any]) -> list[Span]:
    """``2 will change, 40 no change`` as spans."""
    numbers = plan.get("counts")
    numbers = numbers if isinstance(numbers, Mapping) else {}
    spans: list[Span] = []
    for mark, (words, style) in WORDS.items():
        if numbers.get(mark):
            spans += [Span(", " if spans else ""), Span(f"{numbers[mark]} {words}", style)]
    return spans or [Span("no states", "dim")]


def body(plan: Mapping[str, Any], detail: Detail) -> list[Line]:
    """The lines below a target's title. States without changes are shown with ``-vv``, those that would fail always."""
    states = [state for state in _listed(plan.get("states")) if isinstance(state, Mapping)]
    shown = [state for state in states if state.get("mark") != "none" or detail.everything or fails(state)]
    rows: list[Line] = []
    for state in shown:
        words, style = WORDS.get(str(state.get("mark")), ("", ""))
        function, id, name = parts(str(state.get("tag")))
        title = [Span(f"  {words:<11}  ", style), Span(f"{function}  "), Span(" ".join(name.split("\n")), "title")]
        title += [Span(f"  ({id})", "dim")] if id != name else []
        title += [Span(f"  {state.get('__sls__')}", "dim")] if detail.verbose and state.get("__sls__") else []
        rows.append(tuple(title))
        rows += _details(state, detail)
    return rows


def fails(state: Mapping[str, Any]) -> bool:
    """Whether the plan expects the state to fail."""
    return str(state.get("comment")).startswith(FAILS)


def parts(tag: str) -> tuple[str, str, str]:
    """(function, id, name) of a tag."""
    module, _, rest = tag.partition("_|-")
    rest, _, function = rest.rpartition("_|-")
    id, _, name = rest.partition("_|-")
    return f"{module}.{function}", id, name


def _details(state: Mapping[str, Any], detail: Detail) -> Iterator[Line]:
    indent = 15
    because = [_named(str(tag)) for tag in _listed(state.get("because"))]
    if because:
        more = f" and {len(because) - _REASONS} more" if len(because) > _REASONS else ""
        yield line((f"because of {', '.join(because[:_REASONS])}{more}", "dim"), indent=indent)
    if not detail.of("pending"):
        return
    diff, changes = state.get("diff"), state.get("changes")
    if isinstance(changes, Mapping):
        values = {key: value for key, value in changes.items() if not (diff and key in ("diff", "newfile"))}
        yield from change_lines(values, indent, detail) if values else ()
    if isinstance(diff, str) and diff:
        yield from detail.cap([*diff_lines(diff, indent)], DIFF_LIMIT, indent)
    elif not changes and state.get("comment"):
        yield from block(str(state["comment"]), "dim", indent)
    elif state.get("mark") == "unknown":
        yield from block(str(state.get("comment") or "").split("\n")[-1], "dim", indent)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _named(tag: str) -> str:
    function, id, _ = parts(tag)
    return f"{function} {id}"
