"""``pushsalt plan show FILE`` and ``pushsalt plan diff FILE FILE``: the content of plan files, without connections."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pushsalt.ages import age_text
from pushsalt.cli.client import Watcher, open_client
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import EXIT_CHANGES, UsageError
from pushsalt.model import TargetReturn
from pushsalt.planning.fingerprints import Fingerprints

if TYPE_CHECKING:
    from pushsalt.api import Client
    from pushsalt.cli.options import Given
    from pushsalt.planning.planfile import PlanFile

#: Formats that only ``plan show`` has.
_PAGES: Final = ("markdown", "html")


def show(given: Given, words: Sequence[str]) -> int:
    """``plan show FILE``. Raises UsageError."""
    if len(words) != 1:
        raise UsageError("plan show takes one file", hint="pushsalt plan show FILE.plan")
    client, (plan,) = _opened(given, words)
    hides = Fingerprints(client.redactor(), plan.made["key"])
    data = hides.answer({**{id: entry["data"] for id, entry in plan.targets.items()}, **plan.failed})
    if given.out in _PAGES:
        from pushsalt.display import planpages

        make = planpages.markdown if given.out == "markdown" else planpages.page
        TERMINAL.get().stdout.write(make(data, hides.text(_about(plan))), utf8=True)
        return 0
    if given.out in (None, "rich"):
        TERMINAL.get().stdout.write(hides.text(_about(plan)) + "\n\n")
    returns = {id: TargetReturn(id, ret, shape=_shape(ret), changes=_changes(ret)) for id, ret in data.items()}
    _write(given, client, data, returns)
    return 0


def diff(given: Given, words: Sequence[str]) -> int:
    """``plan diff FILE FILE``: the states whose plans differ. Raises UsageError."""
    if len(words) != 2:
        raise UsageError("plan diff takes two files", hint="pushsalt plan diff OLD.plan NEW.plan")
    client, (old, new) = _opened(given, words)
    hides = Fingerprints(client.redactor(), old.made["key"])  # one key for both, so that equal secrets have equal masks
    data = hides.answer(compared(old, new))
    _write(given, client, data, {id: TargetReturn(id, ret) for id, ret in data.items()})
    return EXIT_CHANGES if data and given.detailed_exitcode else 0


def compared(old: PlanFile, new: PlanFile) -> dict[str, Any]:
    """id -> ``added`` and ``removed`` tags, ``changed``: tag -> {key: [old, new]}; only ids with a difference."""
    differences = {}
    for id in {**old.targets, **new.targets}:
        sides = [_states(plan, id) for plan in (old, new)]
        added = [tag for tag in sides[1] if tag not in sides[0]]
        removed = [tag for tag in sides[0] if tag not in sides[1]]
        changed = {
            tag: pairs for tag, state in sides[0].items() if tag in sides[1] and (pairs := _pairs(state, sides[1][tag]))
        }
        if added or removed or changed:
            differences[id] = {"added": added, "removed": removed, "changed": changed}
    return differences


def _states(plan: PlanFile, id: str) -> dict[str, Mapping[str, Any]]:
    entry = plan.targets.get(id)
    return {} if entry is None else {state["tag"]: state for state in entry["data"]["states"]}


def _pairs(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {key: [old[key], new[key]] for key in ("mark", "because", "changes", "diff") if old[key] != new[key]}


def _opened(given: Given, words: Sequence[str]) -> tuple[Client, list[PlanFile]]:
    from pushsalt.cli.planfiles import opened

    client, _ = open_client(given, TERMINAL.get(), Watcher())
    return client, [opened(client, word) for word in words]


def _about(plan: PlanFile) -> str:
    """A description of a plan: its command, time and revision."""
    created = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(plan.made["created"]))
    commit = f", revision {plan.made['revision'][:12]}" if plan.made["revision"] else ""
    commit += " with uncommitted changes" if commit and plan.made.get("dirty") else ""
    return f"{' '.join(plan.made['words'])}, made {created} ({age_text(plan.age)} ago){commit}"


def _shape(ret: Any) -> Any:
    if isinstance(ret, Mapping) and "states" in ret:
        return "plan"
    return "errors" if isinstance(ret, list) else "error"


def _changes(ret: Any) -> bool:
    return _shape(ret) == "plan" and any(ret["counts"][mark] for mark in ("will", "may", "unknown"))


def _write(given: Given, client: Client, data: Mapping[str, Any], returns: Mapping[str, TargetReturn]) -> None:
    from pushsalt import outputters
    from pushsalt.cli.returns import outputter_named

    terminal = TERMINAL.get()
    output = outputters.pieces(
        outputter_named(given.out, client),
        data,
        returns=returns,
        color=terminal.color,
        terminal=terminal.stdout.is_terminal,
        verbose=given.verbose or 0,
        full_diff=bool(given.full_diff),
        opts=client.project.config.opts,
        state_output="",
    )
    for piece in output:
        terminal.stdout.write(piece, utf8=given.out not in (None, "rich"))
