"""Compares two jobs: their returns for each target, and for each state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pushsalt.model import TargetReturn

#: Keys of a state's return that are compared; others, such as times and numbers, differ in each run.
_COMPARED = ("result", "changes", "comment")


def difference(old: Mapping[str, TargetReturn], new: Mapping[str, TargetReturn]) -> dict[str, dict[str, Any]]:
    """Target -> its differences, for all targets that have any.

    ``{"states": {tag: {"result": [old, new], "changed": [bool, bool], "changes": [old, new], "comment": [old, new]}}}``
    has only the differing keys of each state, with None for the job that has no such state. Other returns are
    ``{"return": [old, new]}``. A target that has a return in only one job is ``{"only": "old" or "new"}``.
    """
    differences: dict[str, dict[str, Any]] = {}
    for id in dict.fromkeys((*old, *new)):
        if id not in old or id not in new:
            differences[id] = {"only": "new" if id in new else "old"}
            continue
        one, other = _states(old[id]), _states(new[id])
        if one is None or other is None:
            if old[id].ret != new[id].ret:
                differences[id] = {"return": [old[id].ret, new[id].ret]}
            continue
        states = {tag: _of_state(one.get(tag), other.get(tag)) for tag in dict.fromkeys((*one, *other))}
        states = {tag: changes for tag, changes in states.items() if changes}
        if states:
            differences[id] = {"states": states}
    return differences


def _states(result: TargetReturn) -> dict[str, Any] | None:
    return result.ret if result.shape == "states" and isinstance(result.ret, dict) else None


def _of_state(old: Any, new: Any) -> dict[str, Any]:
    one, other = old if isinstance(old, dict) else None, new if isinstance(new, dict) else None
    pairs = {
        key: [None if one is None else one.get(key), None if other is None else other.get(key)] for key in _COMPARED
    }
    pairs["changed"] = [None if side is None else bool(side.get("changes")) for side in (one, other)]
    differing = {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}
    return differing or ({"result": pairs["result"]} if (one is None) != (other is None) else {})


def lines(differences: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The differences as text, with a line for each state."""
    texts: list[str] = []
    for id, what in differences.items():
        if "only" in what:
            texts.append(f"{id}: only in the {'first' if what['only'] == 'old' else 'second'} job")
        elif "return" in what:
            texts.append(f"{id}: {_short(what['return'][0])} -> {_short(what['return'][1])}")
        else:
            texts.append(f"{id}:")
            texts += [f"    {tag.replace('_|-', ' ')}: {_of_pairs(pairs)}" for tag, pairs in what["states"].items()]
    return texts


def _of_pairs(pairs: Mapping[str, list[Any]]) -> str:
    words = []
    for key in ("result", "changed"):
        if key in pairs:
            words.append(f"{key} {_word(pairs[key][0])} -> {_word(pairs[key][1])}")
    if "changes" in pairs and "changed" not in pairs:
        words.append("other changes")
    if not words:
        words.append(f"comment {_short(pairs['comment'][0])} -> {_short(pairs['comment'][1])}")
    return ", ".join(words)


def _word(value: Any) -> str:
    return {True: "true", False: "false", None: "none"}.get(value, str(value))


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 120 else f"{text[:117]}…"
