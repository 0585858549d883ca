"""Computes the mark of each state, which is the certainty of its effect, and the states that the mark depends on.

======= ================================================================================================
none    the state changes nothing
will    the state changes what its dry run reports
may     the effect depends on an earlier state that changes something, or may: through a requisite, or because
        the state reads what that one changes
unknown the effect cannot be known before the run: a command without a guard, a function without a dry run
======= ================================================================================================

A mark is valid for the next run if nothing else changes the target. ``will`` does not mean that the state succeeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from pushsalt.model import Chunk
from pushsalt.planning import footprints
from thin.requisites import Graph, listeners, tag_of

Mark = Literal["none", "will", "may", "unknown"]
MARKS: Final[tuple[Mark, ...]] = ("none", "will", "may", "unknown")

_UNTOLD: Final = "it makes changes that its return, as Salt's, does not report"
#: Functions whose dry run does not show what they do, with the reason.
UNKNOWN: Final = {
    "debconf.set_file": _UNTOLD,
    "docker_container.run": "it runs a command in a container",
    "file.cached": _UNTOLD,
    "http.*": "what the server answers is not known before",
    "loop.*": "it calls a function of any kind",
    "module.*": "it calls a function of any kind",
    "mysql_query.*": "it runs a query",
    "npm.bootstrap": "npm says what it changes when it is run",
    "saltutil.*": "it copies the modules of the file roots",
    "selinux.module*": _UNTOLD,
    "*.mod_watch": "it reacts to another state",
}
#: Commands: their effect is not known either, but with a guard it is known whether they run.
_COMMANDS: Final = ("cmd.run", "cmd.script", "cmd.call")
_GUARDS: Final = ("onlyif", "unless", "creates")
#: Arguments without which a function may fail, as its dry run does, which does not take them into account.
_UNFORESEEN: Final = {"file.symlink": "backupname", "file.line": "create"}
_REACTIVE: Final = ("onchanges", "onchanges_any", "onfail", "onfail_any", "onfail_all", "prereq")
#: Maximum number of states that are named as the reason.
MOST: Final = 20
#: Maximum number of times that marks are computed, since a state may depend on a later one (prereq).
_ROUNDS: Final = 10


@dataclass
class Marked:
    """The mark of one state. ``because``: the tags of the states it depends on; ``why``: a text for people."""

    tag: str
    mark: Mark
    because: list[str] = field(default_factory=list)
    why: str = ""
    #: a requirement is missing, and no state provides it
    fails: bool = False


@dataclass(frozen=True)
class _State:
    """The properties of one chunk that do not depend on other chunks."""

    tag: str
    own: Mark
    why: str
    footprint: footprints.Footprint
    needs: Sequence[tuple[footprints.Parts, str]]
    requires: Sequence[str]
    failhard: bool
    failed: bool
    parallel: bool


def marks(
    chunks: Sequence[Chunk],
    returns: Mapping[str, Any],
    details: Mapping[str, Any],
    *,
    declared: Sequence[str] | None = None,
    groups: Sequence[Sequence[str]] = (),
    opts: Mapping[str, Any] | None = None,
) -> list[Marked]:
    """The mark of each state of a dry run, in the order of the run.

    ``returns``: tag -> return; ``details``: tag -> notes (thin.detail); ``declared`` and ``groups``: as for
    ``thin.requisites.Graph``; ``opts``: options of the target.
    """
    opts = opts or {}
    unique: dict[str, Chunk] = {}
    for chunk in chunks:
        unique.setdefault(tag_of(chunk), {k: v for k, v in chunk.items() if k not in _INNER})
    ignored = opts.get("disabled_requisites") or []
    graph = Graph(unique, declared, groups, [ignored] if isinstance(ignored, str) else ignored)
    failhard = bool(opts.get("failhard"))
    states = [
        _state(tag, unique[tag], returns.get(tag), details.get(tag) or {}, graph, failhard)
        for tag in sorted(unique, key=lambda tag: _number(returns.get(tag), len(unique)))
    ]
    marked = _settled(states)
    ordered = [marked[state.tag] for state in states]
    ordered += _listening(list(unique.values()), returns, marked)
    tags = {each.tag for each in ordered}
    return ordered + [_inner(tag, ret, ordered) for tag, ret in returns.items() if tag not in tags]


def _inner(tag: str, ret: Any, outer: Sequence[Marked]) -> Marked:
    """The mark of a state that ran inside of another one (x509), which has the same ID and decides what it writes."""
    own = _own(None, ret, {})[0]
    if not isinstance(ret, Mapping) or ret.get("__state_ran__") is not True:
        return Marked(tag, own)
    causes = [each.tag for each in outer if each.mark != "none" and f"_|-{ret.get('__id__')}_|-" in each.tag]
    return Marked(tag, "may" if causes else own, causes[:MOST])


#: What the graph writes into chunks.
_INNER: Final = ("__prereq__", "__prerequiring__")


def _number(ret: Any, last: int) -> tuple[int, int]:
    number = ret.get("__run_num__") if isinstance(ret, Mapping) else None
    return (0, number) if isinstance(number, int) else (1, last)


def _state(tag: str, chunk: Chunk, ret: Any, notes: Mapping[str, Any], graph: Graph, failhard: bool) -> _State:
    chunk.pop("__prereq__", None)
    own, why = _own(chunk, ret, notes)
    requires = dict.fromkeys(tag_of(other) for _, other in graph.dependencies(chunk))
    needs = list(footprints.needs(chunk, notes)) if own == "will" else []
    return _State(
        tag,
        own,
        why,
        footprints.of(chunk, notes),
        needs,
        list(requires),
        bool(chunk.get("failhard", failhard)),
        isinstance(ret, Mapping) and ret.get("result") is False,
        bool(chunk.get("parallel")),
    )


def _own(chunk: Chunk | None, ret: Any, notes: Mapping[str, Any]) -> tuple[Mark, str]:
    """The mark that the state has if no other state changes anything, and the reason for ``unknown``."""
    if not isinstance(ret, Mapping):
        return "unknown", "the dry run did not come to it"
    if ret.get("__state_ran__", True) is False or chunk is None:
        return ("will" if ret.get("changes") else "none"), ""
    if ret.get("result") is True and not ret.get("changes") and ret.get("skip_watch"):
        return "none", ""  # a guard prevents that it runs
    function = f"{chunk['state']}.{chunk['fun']}"
    if notes.get("own"):
        return "unknown", f"{function} is a module of your own that does not say that its dry run is true (__dry_run__)"
    if ret.get("comment") == "Failed to meet global state conditions. State not called.":
        return "none", ""
    for pattern, why in UNKNOWN.items():
        if fnmatchcase(function, pattern):
            return "unknown", f"{function}: {why}"
    if notes.get("unsure"):
        return "unknown", f"{function}: {notes['unsure']}"
    changes = (ret.get("result") is None or bool(ret.get("changes"))) and not notes.get("same")
    if function in _COMMANDS and chunk.get("stateful"):  # also where the command of test_name says that nothing changes
        return "unknown", f"{function}: the command says itself what it changed (stateful)"
    if function in _COMMANDS and changes and not any(key in chunk for key in _GUARDS + _REACTIVE):
        return "unknown", f"{function} has no onlyif, unless or creates"
    if ret.get("result") is False and chunk.get(argument := _UNFORESEEN.get(function, "")):
        return "unknown", f"its dry run, as Salt's, does not take {argument} into account"
    if ret.get("result") is False and "retry" in chunk:
        return "unknown", "it fails, and would be tried again"
    return ("will" if changes else "none"), ""


def _settled(states: Sequence[_State]) -> dict[str, Marked]:
    """The marks, with the effects of earlier states and of requisites."""
    marked = {state.tag: Marked(state.tag, state.own, why=state.why) for state in states}
    for _ in range(_ROUNDS):
        before = {tag: each.mark for tag, each in marked.items()}
        _pass(states, marked)
        if all(marked[tag].mark == mark for tag, mark in before.items()):
            break
    return marked


def _pass(states: Sequence[_State], marked: dict[str, Marked]) -> None:
    written = footprints.Written()
    for state in states:
        if state.parallel and marked[state.tag].mark != "none":
            written.add(state.tag, state.footprint.writes)
    ending: list[str] = []  # states that end the run if they fail
    ended = ""  # the state that is certain to end the run
    for state in states:
        if ended:
            marked[state.tag] = Marked(state.tag, "none", [ended], "it is not reached: that state fails, with failhard")
            continue
        each = marked[state.tag] = _one(state, marked, written, ending)
        if each.mark != "none":
            written.add(state.tag, state.footprint.writes) if not state.parallel else None
            ending += [state.tag] if state.failhard else []
        elif state.failhard and (state.failed or each.fails):
            ended = state.tag


def _one(state: _State, marked: Mapping[str, Marked], written: footprints.Written, ending: Iterable[str]) -> Marked:
    causes = [tag for tag in state.requires if tag in marked and _is_open(marked[tag])]
    causes += [*written.by(state.footprint.reads), *ending]
    for things, words in state.needs:
        bringing = [tag for tag in written.by(things) if tag != state.tag]
        if not bringing and not causes:
            return Marked(state.tag, "none", [], words, fails=True)
        causes += bringing
    because = [tag for tag in dict.fromkeys(causes) if tag != state.tag]
    more = f"and {len(because) - MOST} more" if len(because) > MOST else ""
    mark: Mark = state.own if state.own == "unknown" or not because else "may"
    return Marked(state.tag, mark, because[-MOST:], "; ".join(filter(None, (state.why, more))))


def _is_open(marked: Marked) -> bool:
    """Whether the return of the run may differ from that of the dry run."""
    return marked.mark != "none" or marked.fails


def _listening(chunks: list[Chunk], returns: Mapping[str, Any], marked: Mapping[str, Marked]) -> list[Marked]:
    """Marks of the reactions of chunks that listen, which run at the end."""
    by_key = {(low["state"], low["__id__"], low["name"]): low for low in chunks}
    because: dict[str, dict[str, None]] = {}
    for (state, name), (kind, text) in listeners(chunks):
        sources = [tag_of(low) for key, low in by_key.items() if key[0] == kind and text in key]
        causes = dict.fromkeys(tag for tag in sources if _is_open(marked[tag]))
        for key, low in by_key.items():
            if key[0] == state and name in key:
                tag = tag_of({**low, "fun": "mod_watch", "__id__": f"listener_{low['__id__']}"})
                if causes or tag in returns:
                    because.setdefault(tag, {}).update(causes)
    return [
        Marked(tag, "may" if causes else _due(returns[tag]), list(causes)[:MOST]) for tag, causes in because.items()
    ]


def _due(ret: Mapping[str, Any]) -> Mark:
    """The mark of a reaction without a change in this run: an earlier run may have caused it (thin.due)."""
    return "will" if "It was due: " in str(ret.get("comment")) else "none"
