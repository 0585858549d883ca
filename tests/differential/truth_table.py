"""Every cell of the requisites' truth table as one state tree, and its outcome as lines of text.

A cell consists of a requisite, the outcomes of the one or two states that it names, and the mode. All cells share the
named states, except those of ``prereq``, which decide about the states that they name.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from tests.differential.trees import Tree

REQUISITES = (
    "require",
    "require_any",
    "watch",
    "watch_any",
    "onchanges",
    "onchanges_any",
    "onfail",
    "onfail_any",
    "onfail_all",
    "prereq",
    "listen",
)

#: outcome -> its declaration; in test mode the result of ``changed`` is None, that of ``failed`` False
OUTCOMES: dict[str, list[Any]] = {
    "success": ["configurable_test_state", {"changes": False}, {"result": True}],
    "changed": ["configurable_test_state", {"changes": True}, {"result": True}],
    "failed": ["configurable_test_state", {"changes": False}, {"result": False}, {"allow_test_mode_failure": True}],
    "failed-changed": [
        "configurable_test_state",
        {"changes": True},
        {"result": False},
        {"allow_test_mode_failure": True},
    ],
    "skipped": ["configurable_test_state", {"changes": True}, {"result": True}, {"onlyif": "false"}],
    "not-needed": ["succeed_with_changes", {"onchanges": [{"test": "base-ok"}]}],
    "not-possible": ["succeed_with_changes", {"require": [{"test": "base-no"}]}],
}

#: The state that has the requisite. It makes no changes of its own, so that an effect of watch is visible.
DEPENDENT = ["succeed_without_changes"]


def cells() -> Iterator[tuple[str, tuple[str, ...]]]:
    """``(requisite, outcomes of the named states)``."""
    for requisite in REQUISITES:
        for outcomes in [(name,) for name in OUTCOMES] + list(itertools.product(OUTCOMES, repeat=2)):
            yield requisite, outcomes


def tree(test: bool) -> Tree:
    body: dict[str, Any] = {
        "base-ok": {"test": ["succeed_without_changes"]},
        "base-no": {"test": ["fail_without_changes"]},
    }
    for number in (1, 2):
        for outcome, declaration in OUTCOMES.items():
            body[f"{outcome}-{number}"] = {"test": declaration}
    for requisite, outcomes in cells():
        name = " ".join([requisite, *outcomes])
        if requisite == "prereq":
            named = [f"{name} {number} {outcome}" for number, outcome in enumerate(outcomes, 1)]
            body.update({id_: {"test": OUTCOMES[outcome]} for id_, outcome in zip(named, outcomes, strict=True)})
        else:
            named = [f"{outcome}-{number}" for number, outcome in enumerate(outcomes, 1)]
        body[name] = {"test": [*DEPENDENT, {requisite: [{"test": id_} for id_ in named]}]}
    return Tree({"table.sls": body}, ["table"], test)


def lines(returns: dict[str, dict[str, Any]], test: bool) -> list[str]:
    """One line per cell: ``mode requisite outcomes: result, what happened``."""
    by_id = {ret["__id__"]: ret for ret in returns.values()}
    rows = []
    for requisite, outcomes in cells():
        name = " ".join([requisite, *outcomes])
        parts = [_outcome(by_id[name])]
        if requisite == "listen":
            parts.append(_outcome(by_id[f"listener_{name}"]) if f"listener_{name}" in by_id else "nothing heard")
        if requisite == "prereq":
            parts += [
                f"{outcome}: {_outcome(by_id[f'{name} {number} {outcome}'])}"
                for number, outcome in enumerate(outcomes, 1)
            ]
        rows.append(f"{'test' if test else 'run'} {name}: {'; '.join(parts)}")
    return rows


def _outcome(ret: dict[str, Any]) -> str:
    comment = ret["comment"]
    if comment.startswith("One or more requisite failed: "):
        start, _, names = comment.partition(": ")
        comment = f"{start}: {', '.join(sorted(names.split(', ')))}"
    watched = " [changes]" if ret["changes"] else ""
    return f"{ret['result']}{' (not run)' if ret.get('__state_ran__') is False else ''} {comment}{watched}".rstrip()
