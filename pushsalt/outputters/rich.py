"""Output for people: changes only, equal results of several targets once, failures last, and a summary.

The text is the same on a terminal and in a file; only the colours differ.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pushsalt.display import forecast, nested
from pushsalt.display import states as highstate
from pushsalt.display.alike import Normal, Own, differing
from pushsalt.display.durations import seconds
from pushsalt.display.problems import problem_lines
from pushsalt.display.style import Line, Span, block, draw, line
from pushsalt.display.trim import trimmed
from pushsalt.errors import EXIT_FAILED, EXIT_NO_ANSWER
from pushsalt.model import TargetReturn

PHASES = ("connect", "bootstrap", "grains", "render", "run")
COMPARE = "hint: compare with `ssh-keygen -lf` of /etc/ssh/ssh_host_*_key.pub on the machines, then"
#: Most ids in a title, before "and 12 more" (-v: all).
IDS_IN_TITLE = 5
#: Limit for the failed targets that are named at the end.
IDS_LEFT = 20
#: Outcomes of targets that failed.
_BAD = ("failed", "no answer", "not begun")
#: The error kind of targets that a rollout left out.
NOT_BEGUN = "not_begun"
_HOST_KEY = re.compile(r"the host key of (\S+) port (\d+) is not known: (\S+ SHA256:\S+)$")


@dataclass(frozen=True)
class Section:
    """The output for one target without its id: equal sections are shown once."""

    status: tuple[Span, ...]
    body: tuple[Line, ...]
    exit_code: int
    #: The body fits after the title, as ``id: value``.
    short: bool = False


@dataclass
class _Group:
    """Targets with equal sections. ``differing``: names of the values in which they differ; the first is shown."""

    section: Section
    ids: list[str]
    differing: list[str] = field(default_factory=list)


def output(
    data: Any,
    *,
    returns: Mapping[str, TargetReturn] | None = None,
    color: bool = False,
    verbose: int = 0,
    elapsed: float | None = None,
    state_output: str = "",
    full_diff: bool = False,
    state_verbose: bool | None = None,
    state_tabular: Any = None,
    own: Own | None = None,
    again: Callable[[list[str]], str] | None = None,
    opts: Mapping[str, Any] | None = None,
    **kw: Any,
) -> str:
    """Sections, then the summary. Without ``returns`` the shapes are guessed from the data.

    ``own``: own values of a target (``display.alike``); ``again``: the command line for the same job on given ids.
    """
    detail = highstate.Detail(
        *(verbose, state_output.lower(), full_diff, state_verbose),
        state_tabular if isinstance(state_tabular, str) else bool(state_tabular),
        *(highstate.result_words((opts or {}).get(f"state_output_{word}")) for word in ("exclude", "terse")),
    )
    results = {id: _with_data(id, ret, returns) for id, ret in data.items()}
    groups: dict[Section, list[str]] = {}
    for id, result in results.items():
        groups.setdefault(_section(result, detail), []).append(id)
    rows: list[Line] = []
    joined = [*_host_keys(results, groups), *_alike(results, groups, own)]
    ordered = sorted(joined, key=lambda group: group.section.exit_code)
    loose = any(len(group.section.body) and not group.section.short for group in ordered)
    for group in ordered:
        if rows and loose:
            rows.append(())
        rows += _shown(group, verbose)
    summary = list(_summary(list(results.values()), elapsed, verbose))
    if rows and summary:
        rows.append(())
    return draw([*rows, *summary, *_left(results, again, verbose)], color)


def _alike(results: Mapping[str, TargetReturn], groups: Mapping[Section, list[str]], own: Own | None) -> list[_Group]:
    """Groups sections that differ only in own values of targets, unless these values are the result."""
    looks = {section: _look(section, results[ids[0]]) for section, ids in groups.items()} if own else {}
    number = Counter(look for look in looks.values() if look is not None)
    by_key: dict[Any, tuple[_Group, list[Mapping[str, list[str]]]]] = {}
    for section, ids in groups.items():
        key: Any = section
        normal = Normal({})
        if own and number[look := looks[section]] > 1:  # own values are slow to compute: only if there are candidates
            normal = Normal(own(ids[0]))
            texts = _normal_texts(section, normal)
            # For targets with identical texts, the value is own of one target only, thus not of the others.
            if not normal.used or all(_normal_texts(section, Normal(own(id))) == texts for id in ids[1:]):
                key = look, texts
        group, used = by_key.setdefault(key, (_Group(section, []), []))
        group.ids += ids
        used.append(normal.used)
    for group, used in by_key.values():
        group.differing = differing(used)
    return [group for group, _ in by_key.values()]


def _normal_texts(section: Section, normal: Normal) -> tuple[str, ...]:
    return tuple(normal.text(span.text) for row in section.body for span in row)


def _look(section: Section, result: TargetReturn) -> Any:
    """A key that is equal for sections that may be grouped; None for other sections than state runs and errors."""
    answers: tuple[str, ...] = ()
    if result.shape == "states":
        states = highstate.parse(result.ret)
        if all(item.outcome == "same" for item in states):
            return None
        answers = tuple(highstate.answers(states))
    elif result.shape != "errors" and result.exit_code < EXIT_NO_ANSWER:
        return None
    return (
        section.status,
        section.exit_code,
        section.short,
        answers,
        tuple(tuple(span.style for span in row) for row in section.body),
    )


def _host_keys(results: Mapping[str, TargetReturn], groups: dict[Section, list[str]]) -> Iterator[_Group]:
    """Unknown host keys as one group, removed from ``groups``, with instructions to verify them."""
    keys: dict[str, tuple[str, str, str]] = {}
    code = EXIT_NO_ANSWER
    for section, ids in list(groups.items()):
        for id in ids[:1]:
            ret = results[id].ret
            # Only errors of our own: a function's return may look like one, and users copy the command line below.
            error = ret.get("error") if results[id].shape == "error" and isinstance(ret, Mapping) else None
            match = _HOST_KEY.search(str(error.get("message"))) if isinstance(error, Mapping) else None
            if match is not None and isinstance(error, Mapping) and error.get("kind") == "host_key_unknown":
                keys.update(dict.fromkeys(ids, (match[1], match[2], match[3])))
                code = section.exit_code
                del groups[section]
    if not keys:
        return
    width, names = max(map(len, keys)), max(len(name) for name, _, _ in keys.values())
    rows = [
        line(f"{id:<{width}}  {name:<{names}}  port {port}  ", (key, "bad"), indent=2)
        for id, (name, port, key) in keys.items()
    ]
    rows.append(line(COMPARE, indent=2))
    rows.append(line("give --accept-new-host-keys once; to see the keys from here:", indent=8))
    for port in dict.fromkeys(port for _, port, _ in keys.values()):
        hosts = shlex.join(dict.fromkeys(name for name, of, _ in keys.values() if of == port))
        rows.append(line(f"ssh-keyscan -p {port} {hosts} 2>/dev/null | ssh-keygen -lf -", indent=8))
    status = (Span("no answer: host_key_unknown", "bad"),)
    yield _Group(Section(status, tuple(rows), code), list(keys))


def _left(
    results: Mapping[str, TargetReturn], again: Callable[[list[str]], str] | None, verbose: int
) -> Iterator[Line]:
    """Lines with the targets that failed or did not answer, and the command line for these; none for one target."""
    outcomes = {id: _outcome(result) for id, result in results.items()}
    failed, silent, left = ([id for id, word in outcomes.items() if word == each] for each in _BAD)
    if len(results) < 2 or not (failed or silent or left):
        return
    for word, ids in zip(_BAD, (failed, silent, left), strict=True):
        if ids:
            yield line((f"{word:<11}", "bad"), _names(ids, verbose, IDS_LEFT))
    if again is not None and len(failed) + len(silent) + len(left) < len(results):
        yield line(("again      ", "dim"), again([id for id, result in results.items() if result.exit_code]))


def _outcome(result: TargetReturn) -> str:
    """A word of _BAD; empty for a target without errors."""
    if not result.exit_code:
        return ""
    if result.error_kind == NOT_BEGUN:
        return "not begun"
    return "failed" if result.exit_code == EXIT_FAILED else "no answer"


def _with_data(id: str, ret: Any, returns: Mapping[str, TargetReturn] | None) -> TargetReturn:
    """The target's return with ``ret``, which is redacted, in place of its data."""
    result = returns.get(id) if returns else None
    if result is None:
        return infer(id, ret)
    shape = result.shape if isinstance(ret, Mapping) or result.shape != "states" else "value"
    return replace(result, ret=ret, shape=shape, events=[])


def infer(id: str, ret: Any) -> TargetReturn:
    """A TargetReturn for data without one, as Salt's outputters get it; shape and exit code are guessed."""
    if highstate.is_states(ret):
        failed = any(item.outcome == "failed" for item in highstate.parse(ret))
        return TargetReturn(id, ret, "states", EXIT_FAILED if failed else 0)
    if isinstance(ret, Mapping) and set(ret) == {"error"} and isinstance(ret["error"], Mapping):
        failed = "exception" in ret["error"]
        return TargetReturn(id, ret, "error", EXIT_FAILED if failed else EXIT_NO_ANSWER)
    return TargetReturn(id, ret)


def _section(result: TargetReturn, detail: highstate.Detail) -> Section:
    if not result.check:
        return _plain_section(result, detail)
    # Only returns without errors are checked, so their exit codes are those of the check.
    section = _plain_section(replace(result, exit_code=0, retcode=0), detail)
    shown = [(Span(" " * 4), *row) for row in section.body if row[0].text] if section.short else section.body
    body = (*shown, *block(result.check, "bad", 2))
    return Section((*section.status, Span("  " if section.status else ""), Span("batch check failed", "bad")), body, 2)


def _plain_section(result: TargetReturn, detail: highstate.Detail) -> Section:
    ret = result.ret if result.shape in ("states", "plan") else trimmed(result.ret)
    match result.shape:
        case "states":
            states = highstate.parse(ret)
            return Section(tuple(highstate.counts(states)), tuple(highstate.body(states, detail)), result.exit_code)
        case "plan" if isinstance(ret, Mapping):
            return Section(tuple(forecast.counts(ret)), tuple(forecast.body(ret, detail)), result.exit_code)
        case "errors" if isinstance(ret, list):
            texts = [getattr(text, "explanation", str(text)) for text in ret]
            number = f": {len(ret)} errors" if len(ret) > 2 else ""
            status = (Span(f"cannot be rendered or compiled{number}", "bad"),)
            return Section(status, tuple(problem_lines(texts, 2)), result.exit_code)
        case "error" if isinstance(ret, Mapping):
            return _error_section(result.id, ret.get("error"), result.exit_code, detail)
        case _:
            if result.salt:
                by = (Span(f"by Salt {result.salt}'s own module", "dim"),)
                return Section(by, tuple(nested.lines(ret, 4)), result.exit_code)
            short = nested.inline(ret)
            if result.retcode:
                body = [] if short is not None and not short.text else nested.lines(ret, 4)
                return Section((Span(f"exit status {result.retcode}", "bad"),), tuple(body), result.exit_code)
            if short is not None:
                style = "bad" if result.exit_code else short.style
                return Section((), (line((short.text, style)),), result.exit_code, short=True)
            return Section((), tuple(nested.lines(ret, 4)), result.exit_code)


def _error_section(id: str, error: Any, exit_code: int, detail: highstate.Detail) -> Section:
    fields: Mapping[str, Any] = error if isinstance(error, Mapping) else {"message": error}
    kind, exception = (str(fields.get(name) or "") for name in ("kind", "exception"))
    if kind == NOT_BEGUN:
        rows = block(str(fields.get("message") or "").partition(": not begun: ")[2], "", 2)
        return Section((Span("not begun", "changed"),), tuple(rows), exit_code)
    words = "failed" if exit_code == EXIT_FAILED else "no answer"
    what = exception if exception and kind == "exception" else kind
    rows = block(str(fields.get("message") or "").removeprefix(f"{id}: "), "bad", 2)
    if fields.get("hint"):
        rows += block(f"hint: {fields['hint']}", "", 2)
    if highstate.is_states(fields.get("returned")):
        had_run = highstate.parse(fields["returned"])
        rows += [line("until then: ", *highstate.counts(had_run), indent=2), *highstate.body(had_run, detail)]
    return Section((Span(f"{words}: {what}" if what else words, "bad"),), tuple(rows), exit_code)


def _shown(group: _Group, verbose: int) -> Iterator[Line]:
    section, ids = group.section, group.ids
    title = Span(_names(ids, verbose), "bad_title" if section.exit_code else "title")
    how = f"alike, differing in {', '.join(group.differing)}" if group.differing else "same"
    same = (Span(f"  ({len(ids)} targets: {how})", "dim"),) if len(ids) > 1 else ()
    if section.short:
        yield line(title, ": ", *section.body[0], *same)
        return
    if section.status:
        yield line(title, "  ", *section.status, *same)
    else:
        yield line(title, ":", *same)
    yield from section.body


def _names(ids: list[str], verbose: int, most: int = IDS_IN_TITLE) -> str:
    if verbose or len(ids) <= most + 1:
        return ", ".join(ids)
    return f"{', '.join(ids[:most])} and {len(ids) - most} more"


def _summary(results: list[TargetReturn], elapsed: float | None, verbose: int) -> Iterator[Line]:
    states = any(result.shape in ("states", "plan", "errors") for result in results)
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
    outcomes = [highstate.outcomes(result) for result in results]
    numbers = (
        (sum(result.exit_code == 0 for result in results), "succeeded", "good"),
        (sum("changed" in each for each in outcomes), "changed", "changed"),
        (sum("pending" in each for each in outcomes), "would change", "pending"),
        *((sum(_outcome(result) == word for result in results), word, "bad") for word in _BAD),
    )
    spans = [Span(f"{len(results)} target{'s' if len(results) != 1 else ''}", "title"), Span(": ")]
    for number, word, style in numbers:
        if number or word == "succeeded":
            spans += [Span("" if len(spans) == 2 else ", "), Span(f"{number} {word}", style if number else "dim")]
    if elapsed is not None:
        spans.append(Span(f"  in {seconds(elapsed)}", "dim"))
    return tuple(spans)


def _times(results: list[TargetReturn]) -> Iterator[Line]:
    """Wall time by phase: that of the only target, or the median and the slowest of each phase."""
    times = {phase: [r.phases[phase] for r in results if phase in r.phases] for phase in PHASES}
    measured = {phase: values for phase, values in times.items() if values}
    if not measured:
        return
    from statistics import median  # its import takes as long as all other steps

    rows: list[tuple[str, Callable[[list[float]], float]]]
    rows = [("median", median), ("slowest", max)] if len(results) > 1 else [("time", max)]
    widths = {phase: max(len(phase), 7) for phase in measured}
    label = max(len(name) for name, _ in rows)
    yield line((" " * label + "".join(f"  {phase:>{widths[phase]}}" for phase in measured), "dim"))
    for name, pick in rows:
        cells = "".join(f"  {seconds(pick(values)):>{widths[phase]}}" for phase, values in measured.items())
        yield line((f"{name:<{label}}", "dim"), cells)
