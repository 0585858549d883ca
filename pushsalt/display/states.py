"""State returns as text: by default states that changed, would change or failed, with diffs and comments of
failures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pushsalt.display import nested, tabular
from pushsalt.display.style import Line, Span, block, line
from pushsalt.display.trim import trimmed
from pushsalt.model import TargetReturn

#: outcome -> (word, style), in the order of a summary.
OUTCOMES = {
    "failed": ("failed", "bad"),
    "changed": ("changed", "changed"),
    "pending": ("would change", "pending"),
    "same": ("unchanged", "dim"),
}
#: outcome -> the result, as Salt's ``state_output_exclude`` and ``state_output_terse`` name it.
_RESULTS = {"failed": "False", "changed": "True", "pending": "None", "same": "True"}
#: The state function of the return of an empty highstate (Salt's shape).
_NO_STATES = "no.None"
#: Keys of changes whose value only repeats the state's name.
_REPEATED = {"newfile": "new file", "cmd": ""}
#: State modules whose changes are output of a command or query.
_ANSWERING = ("cmd", "module", "http")
_COMMAND_KEYS = {"pid", "retcode", "stdout", "stderr"}
#: Maximum number of lines for all states of a target.
ROWS = 200_000
#: Maximum number of lines for a single state, and for a diff, without -v or --full-diff.
LINE_LIMIT, DIFF_LIMIT = 200, 80


@dataclass(frozen=True)
class Detail:
    """The settings for the shown details. ``verbose``: number of -v; ``mode``: Salt's ``state_output``; empty: changes
    and failures.

    ``unchanged``: Salt's ``state_verbose``, None if it is not set. ``tabular``: Salt's ``state_tabular``, for states
    that the mode shows in one line: a format, or true. ``exclude`` and ``terse``: results that the mode ``filter`` does
    not show, and shows in one line (``result_words``). Salt: output/highstate.py.
    """

    verbose: int = 0
    mode: str = ""
    full_diff: bool = False
    unchanged: bool | None = None
    tabular: bool | str = False
    exclude: frozenset[str] = frozenset()
    terse: frozenset[str] = frozenset()

    @property
    def everything(self) -> bool:
        """Whether states without changes are shown."""
        if self.verbose > 1 or self.unchanged is not None:
            return self.verbose > 1 or bool(self.unchanged)
        return self.mode.startswith(("full", "terse", "mixed", "changes", "filter"))

    def shows(self, item: StateResult) -> bool:
        """Whether a state is shown."""
        result = _RESULTS[item.outcome]
        if self.mode.startswith("filter") and result in self.exclude and result not in self.terse:
            return False
        return self.everything or item.outcome != "same" or bool(item.warnings)

    def of(self, outcome: str) -> bool:
        """Whether a state with this outcome is shown with more than its title and warnings."""
        if self.mode.startswith("filter"):
            return _RESULTS[outcome] not in self.terse
        if self.mode.startswith("changes"):
            return outcome != "same"
        return not self.mode.startswith("terse") and (outcome == "failed" or not self.mode.startswith("mixed"))

    def cap(self, rows: list[Line], limit: int, indent: int) -> list[Line]:
        """The rows, cut to ``limit`` lines with a note, unless all were requested."""
        if self.verbose or self.full_diff or len(rows) <= limit:
            return rows
        left = len(rows) - limit
        return [*rows[:limit], line((f"... {left} more lines (--full-diff shows them)", "dim"), indent=indent)]


@dataclass(frozen=True)
class StateResult:
    """The parsed return of one state. ``outcome`` is a key of OUTCOMES."""

    function: str
    id: str
    name: str
    sls: str
    outcome: str
    changes: Any
    comment: str
    warnings: tuple[str, ...]
    duration: float | None
    salt: str = ""  # the version of real Salt, if the state ran Salt's own module
    hint: str = ""  # an explanation for people, in addition to the comment
    tag: str = ""
    value: Any = None  # the unparsed return


def result_words(value: Any) -> frozenset[str]:
    """The results of ``state_output_exclude`` or ``state_output_terse``: a list, or a text with commas."""
    if isinstance(value, str):
        return frozenset(word.strip() for word in value.split(","))
    return frozenset(map(str, value)) if isinstance(value, list | tuple) else frozenset()


def is_states(ret: Any) -> bool:
    """Whether ``ret`` has the shape of state returns."""
    return isinstance(ret, Mapping) and bool(ret) and all(isinstance(key, str) and "_|-" in key for key in ret)


def parse(ret: Mapping[str, Any]) -> list[StateResult]:
    """The results in the order in which the states ran. Accepts any shape."""
    items = [(tag, value if isinstance(value, Mapping) else {"comment": value}) for tag, value in ret.items()]
    items.sort(key=lambda item: _number(item[1].get("__run_num__")) or 0)
    return [_result(tag, value) for tag, value in items]


def outcome_of(value: Any) -> str:
    """The key of OUTCOMES for the return of one state, by its result and changes."""
    result = value.get("result") if isinstance(value, Mapping) else None
    if result is None:
        return "pending"
    if not result:
        return "failed"
    return "changed" if value.get("changes") else "same"


def outcomes(result: TargetReturn) -> set[str]:
    """The outcomes of the target's states; ``pending`` for a plan with changes."""
    if result.shape == "plan":
        return {"pending"} if result.changes else set()
    return {outcome_of(ret) for ret in result.ret.values()} if result.shape == "states" else set()


def _result(tag: object, value: Mapping[str, Any]) -> StateResult:
    text, value = trimmed(_text(tag)), trimmed(value)
    module, _, rest = text.partition("_|-")
    rest, _, function = rest.rpartition("_|-")
    id, _, name = rest.partition("_|-")
    warnings = value.get("warnings") or []
    return StateResult(
        function=f"{module}.{function}",
        id=_text(value.get("__id__", id)),
        name=_text(value.get("name", name)),
        sls=_text(value.get("__sls__", "")),
        outcome=outcome_of(value),
        changes=value.get("changes"),
        comment=_comment(value.get("comment")),
        warnings=tuple(map(_text, warnings if isinstance(warnings, (list, tuple)) else [warnings])),
        duration=_number(value.get("duration")),
        salt=_text(value.get("__salt_python__", "")),
        hint=getattr(value.get("comment"), "explanation", ""),
        tag=_text(tag),
        value=value,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _comment(value: Any) -> str:
    return "\n".join(map(_text, value)) if isinstance(value, (list, tuple)) else _text(value or "")


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def answers(results: list[StateResult]) -> Iterator[str]:
    """The outputs of states that run commands, functions and queries."""
    for item in results:
        if item.function.partition(".")[0] in _ANSWERING:
            shown = item.changes
            yield str({key: shown[key] for key in shown if key != "pid"} if isinstance(shown, Mapping) else shown)


def counts(results: list[StateResult]) -> list[Span]:
    """``2 changed, 40 unchanged`` as spans."""
    number = Counter(result.outcome for result in results)
    spans: list[Span] = []
    for outcome, (word, style) in OUTCOMES.items():
        if number[outcome]:
            spans += [Span(", " if spans else ""), Span(f"{number[outcome]} {word}", style)]
    return spans or [Span("no states", "dim")]


def body(results: list[StateResult], detail: Detail = Detail()) -> list[Line]:
    """The lines below a target's title. States without changes are only shown with ``-vv`` or some modes."""
    shown = [item for item in results if detail.shows(item)]
    word_width = max((len(OUTCOMES[item.outcome][0]) for item in shown), default=0)
    function_width = min(max((len(item.function) for item in shown), default=0), 24)
    rows: list[Line] = []
    for number, item in enumerate(shown):
        if len(rows) > ROWS:
            rows.append(line((f"... {len(shown) - number} more states: --out json shows all", "dim"), indent=2))
            break
        word, style = OUTCOMES[item.outcome]
        if item.function == _NO_STATES:
            comment = item.comment.replace("Please see master log for details.", "").strip()
            rows.append(line((f"  {word}  ", style), comment))
            rows += block(f"hint: {item.hint}", "dim", 2) if item.hint else ()
            continue
        if detail.tabular and not detail.of(item.outcome):
            name = item.id if detail.mode.endswith("_id") else item.name
            text = tabular.row(detail.tabular, item.function, name, item.value, timed=bool(item.value))
            rows += block(text, style, 2)
            continue
        parts = [Span(f"  {word:<{word_width}}  ", style), Span(f"{item.function:<{function_width}}  ")]
        parts.append(Span(" ".join(item.name.split("\n")), "title"))
        if item.id != item.name:
            parts.append(Span(f"  ({item.id})", "dim"))
        rows.append((*parts, *_origin(item, detail.verbose)))
        if detail.of(item.outcome):
            rows += detail.cap([*_details(item, word_width + 4, detail)], LINE_LIMIT, word_width + 4)
        else:
            rows += _warnings(item, word_width + 4)
    return rows


def _origin(item: StateResult, verbose: int) -> Iterator[Span]:
    if item.salt:
        yield Span(f" by Salt {item.salt}'s own module", "dim")
    if verbose and item.sls:
        yield Span(f"  {item.sls}", "dim")
    if verbose > 1 and item.duration is not None:
        yield Span(f"  {item.duration:.0f} ms", "dim")


def _warnings(item: StateResult, indent: int) -> Iterator[Line]:
    for warning in item.warnings:
        yield from block(f"warning: {warning}", "changed", indent)


def _details(item: StateResult, indent: int, detail: Detail) -> Iterator[Line]:
    yield from _warnings(item, indent)
    if item.outcome == "failed" or (item.outcome != "same" and not item.changes):
        yield from block(item.comment, "bad" if item.outcome == "failed" else "", indent) if item.comment else ()
    if item.changes:
        changes = _without_name(item.changes, item.name)
        yield from change_lines(changes, indent, detail) if changes != "" else ()


def _without_name(changes: Any, name: str) -> Any:
    """Changes without the state's name, which is in the title: for ``{NAME: {directory: new}}`` the inner mapping, for
    ``{newfile: NAME}`` a word.
    """
    if not isinstance(changes, Mapping):
        return changes
    inner = changes.get(name)
    if len(changes) == 1 and isinstance(inner, Mapping) and inner and set(inner) != {"old", "new"}:
        return inner
    alone = [key for key, value in changes.items() if value == name]
    if not alone or len(alone) != len(changes):
        return changes
    return "\n".join(filter(None, (_REPEATED.get(key, key) for key in map(_text, alone))))


def change_lines(changes: Any, indent: int, detail: Detail = Detail()) -> Iterator[Line]:
    """Changes as lines: a diff coloured, ``old``/``new`` as ``old -> new``, other values as nested text."""
    if not isinstance(changes, Mapping):
        yield from nested.lines(changes, indent)
    elif set(changes) == _COMMAND_KEYS:  # the changes of cmd.run, without those that say nothing
        fields = {key: changes[key] for key in ("retcode", "stdout", "stderr") if changes[key] not in (0, "", None)}
        yield from nested.lines(fields, indent) if fields else ()
    elif set(changes) == {"old", "new"}:
        yield from _old_new(None, changes, indent)
    else:
        for key, value in changes.items():
            if key == "diff" and isinstance(value, str):
                yield from detail.cap([*diff_lines(value, indent)], DIFF_LIMIT, indent)
            elif isinstance(value, Mapping) and set(value) == {"old", "new"}:
                yield from _old_new(key, value, indent)
            elif isinstance(value, Mapping) and isinstance(value.get("diff"), str):  # file.recurse
                yield line((f"{key}:", "key"), indent=indent)
                yield from change_lines(value, indent + 2, detail)
            else:
                yield from nested.lines({key: value}, indent)


def _old_new(key: Any, pair: Mapping[str, Any], indent: int) -> Iterator[Line]:
    name = () if key is None else (Span(f"{key}: ", "key"),)
    old, new = (nested.inline(pair[side]) if pair[side] != "" else Span("(none)", "dim") for side in ("old", "new"))
    if old is not None and new is not None:
        yield line(
            *name,
            (old.text, "removed" if old.style == "" else "dim"),
            (" -> ", "dim"),
            (new.text, "added" if new.style == "" else "dim"),
            indent=indent,
        )
        return
    if name:
        yield line(*name, indent=indent)
    for side, sign, style in (("old", "-", "removed"), ("new", "+", "added")):
        for row in nested.lines(pair[side]):
            yield line((sign + "".join(span.text for span in row), style), indent=indent)


def diff_lines(text: str, indent: int) -> Iterator[Line]:
    """A coloured unified diff; other texts (``New file``) are unchanged."""
    header = True
    for row in block(text):
        content = row[0].text
        if content.startswith("@@"):
            header, style = False, "hunk"
        elif header and content.startswith(("---", "+++")):
            if not content[3:].strip():  # a header without file name is useless
                continue
            style = "dim"
        else:
            style = {"+": "added", "-": "removed"}.get(content[:1], "")
        yield line((content, style), indent=indent)
