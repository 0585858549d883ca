"""What a person reads: changes only, equal results of several targets once, failures last, and a summary.

The same text on a terminal and in a file; only the colours differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from pushsalt.display.problems import problem_lines
from pushsalt.display.style import Line, Span, block, draw, line
from pushsalt.display.trim import trimmed
from pushsalt.errors import EXIT_FAILED, EXIT_NO_ANSWER
from pushsalt.model import TargetReturn
from pushsalt.outputters import highstate, nested

PHASES = ("connect", "bootstrap", "grains", "render", "send", "run")
#: A title names so many ids before it says "and 12 more" (-v: all).
IDS_IN_TITLE = 5


@dataclass(frozen=True)
class Section:
    """What is shown of one target, but for its id: equal sections are shown once."""

    status: tuple[Span, ...]
    body: tuple[Line, ...]
    exit_code: int
    #: The body fits behind the title, as ``id: value``.
    short: bool = False


def output(
    data: Any,
    *,
    returns: Mapping[str, TargetReturn] | None = None,
    color: bool = False,
    verbose: int = 0,
    elapsed: float | None = None,
    **kw: Any,
) -> str:
    """Sections, then the summary. Without ``returns`` the shapes are told from the data."""
    results = {id: _with_data(id, ret, returns) for id, ret in data.items()}
    groups: dict[Section, list[str]] = {}
    for id, result in results.items():
        groups.setdefault(_section(result, verbose), []).append(id)
    rows: list[Line] = []
    ordered = sorted(groups.items(), key=lambda item: item[0].exit_code)
    loose = any(len(section.body) and not section.short for section in groups)
    for section, ids in ordered:
        if rows and loose:
            rows.append(())
        rows += _shown(section, ids, verbose)
    summary = list(_summary(list(results.values()), elapsed, verbose))
    if rows and summary:
        rows.append(())
    return draw([*rows, *summary], color)


def _with_data(id: str, ret: Any, returns: Mapping[str, TargetReturn] | None) -> TargetReturn:
    """The target's return with the (redacted) data that is to be shown."""
    known = returns.get(id) if returns else None
    if known is None:
        return infer(id, ret)
    shape = known.shape if isinstance(ret, Mapping) or known.shape != "states" else "value"
    return replace(known, ret=ret, shape=shape, events=[])


def infer(id: str, ret: Any) -> TargetReturn:
    """A TargetReturn around bare data, as an outputter of Salt's gets it."""
    if highstate.is_states(ret):
        failed = any(item.outcome == "failed" for item in highstate.parse(ret))
        return TargetReturn(id, ret, "states", EXIT_FAILED if failed else 0)
    if isinstance(ret, Mapping) and set(ret) == {"error"} and isinstance(ret["error"], Mapping):
        failed = "exception" in ret["error"]
        return TargetReturn(id, ret, "error", EXIT_FAILED if failed else EXIT_NO_ANSWER)
    return TargetReturn(id, ret)


def _section(result: TargetReturn, verbose: int) -> Section:
    ret = result.ret if result.shape == "states" else trimmed(result.ret)
    match result.shape:
        case "states":
            states = highstate.parse(ret)
            return Section(tuple(highstate.counts(states)), tuple(highstate.body(states, verbose)), result.exit_code)
        case "errors" if isinstance(ret, list):
            texts = [getattr(text, "explanation", str(text)) for text in ret]
            number = f": {len(ret)} errors" if len(ret) > 2 else ""
            status = (Span(f"cannot be rendered or compiled{number}", "bad"),)
            return Section(status, tuple(problem_lines(texts, 2)), result.exit_code)
        case "error" if isinstance(ret, Mapping):
            return _error_section(ret.get("error"), result.exit_code, verbose)
        case _:
            if result.salt:
                by = (Span(f"by Salt {result.salt}'s own module", "dim"),)
                return Section(by, tuple(nested.lines(ret, 4)), result.exit_code)
            short = nested.inline(ret)
            if short is not None:
                style = "bad" if result.exit_code else short.style
                return Section((), (line((short.text, style)),), result.exit_code, short=True)
            return Section((), tuple(nested.lines(ret, 4)), result.exit_code)


def _error_section(error: Any, exit_code: int, verbose: int) -> Section:
    fields: Mapping[str, Any] = error if isinstance(error, Mapping) else {"message": error}
    kind, exception = (str(fields.get(name) or "") for name in ("kind", "exception"))
    words = "failed" if exit_code == EXIT_FAILED else "no answer"
    detail = exception if exception and kind == "exception" else kind
    rows = block(str(fields.get("message") or ""), "bad", 2)
    if fields.get("hint"):
        rows += block(f"hint: {fields['hint']}", "", 2)
    if highstate.is_states(fields.get("returned")):
        had_run = highstate.parse(fields["returned"])
        rows += [line("until then: ", *highstate.counts(had_run), indent=2), *highstate.body(had_run, verbose)]
    return Section((Span(f"{words}: {detail}" if detail else words, "bad"),), tuple(rows), exit_code)


def _shown(section: Section, ids: list[str], verbose: int) -> Iterator[Line]:
    title = Span(_names(ids, verbose), "bad_title" if section.exit_code else "title")
    same = (Span(f"  ({len(ids)} targets: same)", "dim"),) if len(ids) > 1 else ()
    if section.short:
        yield line(title, ": ", *section.body[0], *same)
        return
    if section.status:
        yield line(title, "  ", *section.status, *same)
    else:
        yield line(title, ":", *same)
    yield from section.body


def _names(ids: list[str], verbose: int) -> str:
    if verbose or len(ids) <= IDS_IN_TITLE + 1:
        return ", ".join(ids)
    return f"{', '.join(ids[:IDS_IN_TITLE])} and {len(ids) - IDS_IN_TITLE} more"


def _summary(results: list[TargetReturn], elapsed: float | None, verbose: int) -> Iterator[Line]:
    states = any(result.shape in ("states", "errors") for result in results)
    if not states and len(results) < 2 and not verbose:
        return
    yield _totals(results, elapsed)
    if states or verbose:
        yield from _times(results)
    if verbose:
        trips = [result.round_trips for result in results if result.round_trips]
        if trips:
            most = "" if min(trips) == max(trips) else f" to {max(trips)}"
            yield line(("round trips  ", "dim"), f"{min(trips)}{most} per target")


def _totals(results: list[TargetReturn], elapsed: float | None) -> Line:
    outcomes = [{item.outcome for item in highstate.parse(r.ret)} for r in results if r.shape == "states"]
    numbers = (
        (sum(result.exit_code == 0 for result in results), "succeeded", "good"),
        (sum("changed" in each for each in outcomes), "changed", "changed"),
        (sum("pending" in each for each in outcomes), "would change", "pending"),
        (sum(result.exit_code == EXIT_FAILED for result in results), "failed", "bad"),
        (sum(result.exit_code >= EXIT_NO_ANSWER for result in results), "no answer", "bad"),
    )
    spans = [Span(f"{len(results)} target{'s' if len(results) != 1 else ''}", "title"), Span(": ")]
    for number, word, style in numbers:
        if number or word == "succeeded":
            spans += [Span("" if len(spans) == 2 else ", "), Span(f"{number} {word}", style if number else "dim")]
    if elapsed is not None:
        spans.append(Span(f"  in {seconds(elapsed)}", "dim"))
    return tuple(spans)


def _times(results: list[TargetReturn]) -> Iterator[Line]:
    """Wall time by phase: of the one target, else the median and the slowest of each phase."""
    times = {phase: [r.phases[phase] for r in results if phase in r.phases] for phase in PHASES}
    known = {phase: values for phase, values in times.items() if values}
    if not known:
        return
    rows: list[tuple[str, Callable[[list[float]], float]]]
    rows = [("median", median), ("slowest", max)] if len(results) > 1 else [("time", max)]
    widths = {phase: max(len(phase), 7) for phase in known}
    label = max(len(name) for name, _ in rows)
    yield line((" " * label + "".join(f"  {phase:>{widths[phase]}}" for phase in known), "dim"))
    for name, pick in rows:
        cells = "".join(f"  {seconds(pick(values)):>{widths[phase]}}" for phase, values in known.items())
        yield line((f"{name:<{label}}", "dim"), cells)


def seconds(value: float) -> str:
    """A duration for people: ``35 ms``, ``2.4 s``, ``3 m 05 s``."""
    if value < 0.9995:
        return f"{value * 1000:.0f} ms"
    if value < 99.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} m {rest:02d} s"
