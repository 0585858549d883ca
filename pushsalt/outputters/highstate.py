"""State returns in the format of Salt's ``highstate`` outputter.

Options, with Salt's names and defaults: ``state_output`` (full, terse, mixed, changes, filter, each with ``_id``),
``state_verbose``, ``state_tabular``, ``state_output_diff``, ``state_output_profile``, ``state_output_pct``,
``state_output_exclude``, ``state_output_terse``, ``state_compress_ids``. Salt: salt.output.highstate and .nested.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pushsalt.display.safe import DEPTH_LIMIT, escape
from pushsalt.display.states import is_states, result_words
from pushsalt.display.style import STYLES
from pushsalt.display.tabular import row as tabular_row
from pushsalt.display.trim import trimmed

#: (style, text): one line, or several of one style.
Row = tuple[str, str]

_INDENT: Final = 14
_LABELS: Final = ("Succeeded", "Failed", "Not Run", "Warnings")


def output(data: Any, *, color: bool = False, opts: Mapping[str, Any] | None = None, **kw: Any) -> str:
    """A block for each target: its states, then a summary. Other returns are shown as by ``nested``."""
    opts = opts or {}
    blocks = ["\n".join(_host(str(id), trimmed(ret), opts, color)) for id, ret in data.items()]
    return "\n".join(blocks) + "\n" if blocks else ""


def _host(id: str, ret: Any, opts: Mapping[str, Any], color: bool) -> Iterator[str]:
    if is_states(ret):
        states = _States(id, ret, opts)
        style, rows = states.style, states.rows()
    elif isinstance(ret, list) and all(isinstance(text, str) for text in ret):
        style = "bad"
        rows = [(style, "    Data failed to compile:"), *((style, f"----------\n    {text}") for text in ret)]
    else:
        style, rows = "key", list(nested(ret, 4))
    for row in [(style, f"{id}:"), *rows]:
        yield _drawn(*row, color)


def _drawn(style: str, text: str, color: bool) -> str:
    sgr = STYLES[style] if color else ""
    return f"\x1b[{sgr}m{escape(text)}\x1b[0m" if sgr else escape(text)


class _States:
    """The states of one target. ``style`` is the style of its id; it is set by ``rows``."""

    def __init__(self, id: str, ret: Mapping[str, Any], opts: Mapping[str, Any]) -> None:
        self._id, self._opts = id, opts
        states = [
            (tag, _plain(value)) for tag, value in ret.items() if isinstance(value, Mapping) and "result" in value
        ]
        states.sort(key=lambda item: _milliseconds(item[1].get("__run_num__")))
        self._states = _compressed(states) if opts.get("state_compress_ids") else [(tag, ret, 1) for tag, ret in states]
        self._mode = str(opts.get("state_output") or "full").lower()
        self.style = "good"
        self._warned = 0

    def rows(self) -> list[Row]:
        rows: list[Row] = []
        for tag, ret, _ in self._states:
            rows += self._state(tag, ret)
        return [*rows, *self._summary()]

    def _state(self, tag: str, ret: Mapping[str, Any]) -> Iterator[Row]:
        result, changes = ret["result"], ret.get("changes")
        style = "bad" if result is False else "changed" if result is None else "key" if changes else "good"
        changes_only = self._opts.get("state_output_diff") or not self._opts.get("state_verbose", True)
        if result and not changes and changes_only:
            return
        if result is False or (result is None and self.style != "bad"):
            self.style = style
        parts = tag.split("_|-")
        module, id, name, function = parts[0], parts[1], "_|-".join(parts[2:-1]), parts[-1]
        if self._mode.endswith("_id"):
            name = id
        if self._mode.startswith("filter"):
            if str(result) in result_words(self._opts.get("state_output_terse")):
                yield style, self._terse(module, name, function, ret)
                return
            if str(result) in result_words(self._opts.get("state_output_exclude")):
                return
        elif self._is_terse(result, bool(changes)):
            yield style, self._terse(module, name, function, ret)
            return
        yield style, "----------"
        yield style, f"          ID: {id}"
        yield style, f"    Function: {module}.{function}"
        if name != id:
            yield style, f"        Name: {name}"
        yield style, f"      Result: {result}"
        yield style, f"     Comment: {_comment(ret)}"
        if self._opts.get("state_output_profile", True) and "start_time" in ret:
            yield style, f"     Started: {ret['start_time']}"
            yield style, f"    Duration: {_duration(ret)}"
        yield style, "     Changes:   "
        if changes and not isinstance(changes, Mapping):
            yield style, f"Invalid Changes data: {changes}"
        elif changes:
            yield from nested(changes, _INDENT)
        if "warnings" in ret:
            self._warned += 1
            text = "\n".join(ret["warnings"])
            pad = " " * _INDENT
            filled = textwrap.fill(text, width=80, initial_indent=pad, subsequent_indent=pad).lstrip()
            yield "bad", f"    Warnings: {filled}"

    def _is_terse(self, result: Any, changed: bool) -> bool:
        if self._mode.startswith("mixed"):
            return result is not False
        return self._mode.startswith("terse") or (self._mode.startswith("changes") and bool(result) and not changed)

    def _terse(self, module: str, name: str, function: str, ret: Mapping[str, Any]) -> str:
        result = "Changed" if ret.get("changes") else "Clean"
        result = {False: "Failed", None: "Differs"}.get(ret["result"], result)
        timed = bool(self._opts.get("state_output_profile", True)) and "start_time" in ret
        started, took = ret.get("start_time", ""), ret.get("duration", "")
        tabular = self._opts.get("state_tabular")
        warnings = "Warnings:\n" + "\n".join(ret["warnings"]) if "warnings" in ret else ""
        if tabular:
            form = tabular if isinstance(tabular, str) else True
            return tabular_row(form, f"{module}.{function}", name, ret, timed=timed)
        when = f" - Started: {started} - Duration: {took} ms" if timed else ""
        return f"{warnings}  Name: {name} - Function: {module}.{function} - Result: {result}{when}"

    def _summary(self) -> Iterator[Row]:
        counts: Counter[Any] = Counter()
        changed, serial, parallel = 0, 0.0, [0.0]
        for _, ret, number in self._states:
            counts[ret["result"]] += number
            if changes := ret.get("changes"):
                several = changes.get("compressed changes") if isinstance(changes, Mapping) else None
                changed += len(several) if several and isinstance(several, Mapping) else 1
            if "__parallel__" in ret:
                parallel.append(_milliseconds(ret.get("duration")))
            else:
                serial += _milliseconds(ret.get("duration"))
        total = sum(counts.values())
        longest = max((len(str(number)) for number in (*counts.values(), self._warned)), default=0)
        width = max(map(len, _LABELS)) + longest + 2
        good, failed = counts[True] + counts[None], counts[False]

        def count(label: str, number: Any) -> str:
            return f"{label}: {number:>{width - len(label) - 2}}"

        yield "key", f"\nSummary for {self._id}\n{'-' * width}"
        parts = [f"unchanged={counts[None]}"] if counts[None] else []
        parts += [f"changed={changed}"] if changed else []
        yield "good", count("Succeeded", good) + (f" ({', '.join(parts)})" if parts else "")
        yield "bad" if failed else "key", count("Failed", failed)
        if self._opts.get("state_output_pct") and total:
            yield "good", count("Success %", round(good / total * 100, 2))
            yield "bad" if failed else "key", count("Failure %", round(failed / total * 100, 2))
        if self._warned:
            yield "bad", count("Warnings", self._warned)
        yield "key", f"{'-' * width}\nTotal states run: {total:>{width - 7}}"
        if self._opts.get("state_output_profile", True):
            time, unit = serial + max(parallel), "ms"
            if time > 999:
                time, unit = time / 1000, "s"
            yield "key", f"Total run time: {f'{time:.3f}'.rjust(width - 5)} {unit}"


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """A state's return with a result of True, False or None, and warnings, if any, as a list of texts."""
    state = {**value, "result": None if value["result"] is None else bool(value["result"])}
    warnings = state.pop("warnings", None)
    if warnings is not None:
        state["warnings"] = [str(text) for text in (warnings if isinstance(warnings, list | tuple) else [warnings])]
    return state


def _compressed(states: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any], int]]:
    """(tag, return, number of states): states with the same ID, SLS and result are one, with changes by name."""
    groups: dict[tuple[str, ...], list[tuple[str, dict[str, Any]]]] = {}
    for tag, ret in states:
        key = (tag.partition("_|-")[0], str(ret.get("__id__")), str(ret.get("__sls__")), str(ret["result"]))
        groups.setdefault(key, []).append((tag, ret))
    rows: list[tuple[str, dict[str, Any], int]] = []
    for (module, id, sls, result), members in groups.items():
        tag, ret = members[0]
        if len(members) > 1:
            name = f"state_compressed_{sls}_{id}_{result}"
            tag = "_|-".join((module, f"{id} ({len(members)})", name, tag.rpartition("_|-")[2]))
            changes = {str(each.get("name")): each["changes"] for _, each in members if each.get("changes")}
            only_the_first = len(changes) == 1 and bool(ret.get("changes"))
            ret = {**ret, "duration": round(sum(_milliseconds(each.get("duration")) for _, each in members), 3)}
            ret["start_time"] = min(str(each.get("start_time", "")) for _, each in members)
            if changes and not only_the_first:
                ret["changes"] = {"compressed changes": changes}
        rows.append((tag, ret, len(members)))
    return rows


def _comment(ret: Mapping[str, Any]) -> str:
    text = str(ret.get("comment", "")).strip().replace("\n", "\n" + " " * _INDENT)
    match ret.get("data"):
        case None:
            return text
        case list() as items:
            return " ".join([text, *map(str, items)])
        case dict() as items:
            return "".join([text, *(f"\n\t\t{key}: {value}" for key, value in items.items())])
        case data:
            return f"{text} {data}"


def _duration(ret: Mapping[str, Any]) -> str:
    return f"{ret['duration']} ms" if ret.get("duration", "") != "" else ""


def _milliseconds(value: Any) -> float:
    try:
        return float(str(value).partition(" ")[0])
    except ValueError:
        return 0.0


def nested(value: Any, indent: int, prefix: str = "") -> Iterator[Row]:
    """Data as Salt's ``nested`` outputter shows it."""
    pad = " " * indent
    match value:
        case None | bool():
            yield "changed", f"{pad}{prefix}{value}"
        case int() | float():
            yield "changed", f"{pad}{prefix}{value!r}"
        case str() | bytes():
            text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            for number, row in enumerate(text.splitlines()):
                yield "good", pad + (" " * len(prefix) if number else prefix) + row
        case _ if indent > DEPTH_LIMIT * 4:
            yield "good", f"{pad}..."
        case list() | tuple():
            for item in value:
                if isinstance(item, list | tuple | Mapping):
                    yield "good", f"{pad}|_"
                    yield from nested(item, indent + 2, "" if isinstance(item, Mapping) else "- ")
                else:
                    yield from nested(item, indent, "- ")
        case Mapping():
            if indent:
                yield "key", f"{pad}----------"
            for key in sorted(value, key=str):
                yield "key", f"{pad}{prefix}{key}:"
                yield from nested(value[key], indent + 4)
        case _:
            yield "good", f"{pad}{prefix}{value}"
