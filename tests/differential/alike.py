"""Compares returns of real Salt and of pushsalt, and describes the differences as lines of text.

Results and changes must be equal. Comments may differ in wording: arguments and changes of the chunk that Salt's
comment names must also be named in ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.differential.casefiles import BLANK

FAILED = "One or more requisite failed: "
RAISED = "An exception occurred in this state: Traceback"
#: keys of a chunk that are not arguments of its function
INTERNAL = {"state", "fun", "order", "__sls__", "__env__", "__id__", "__pub_user", "__pub_jid"}
#: differ from run to run
BLANKED = ("pid",)
#: lists that Salt makes from sets
UNORDERED = ("removed",)


def blanked(value: Any, blank: Callable[[str], str]) -> Any:
    """The value without volatile parts in keys and values; tuples become lists, as in JSON."""
    if isinstance(value, str):
        return blank(value)
    if isinstance(value, dict):
        return {blank(str(key)): _blanked(key, item, blank) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [blanked(item, blank) for item in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        text = blank(str(value))
        return text if text != str(value) else value
    return value


def _blanked(key: Any, value: Any, blank: Callable[[str], str]) -> Any:
    if key in BLANKED:
        return "(any)"
    if key in UNORDERED and isinstance(value, list):
        return sorted(blanked(value, blank), key=str)
    return blanked(value, blank)


def returns(
    theirs: Any, ours: Any, low: list[dict[str, Any]], blank: Callable[[str], str], refused: bool = False
) -> list[str]:
    """The differences between two returns of a run of states; ``refused``: neither program is expected to run any."""
    theirs, ours = blanked(theirs, blank), blanked(ours, blank)
    if not isinstance(theirs, dict) or "raised" in theirs or not isinstance(ours, dict) or "raised" in ours:
        return _refusals(theirs, ours, refused)
    if refused:
        return ["neither refuses it, though the case says `refused`"]
    lines: list[str] = []
    order = [sorted(ret, key=lambda tag: ret[tag].get("__run_num__", 0)) for ret in (theirs, ours)]
    if order[0] != order[1]:
        lines += ["other chunks, or another order:", *(f"    Salt  {tag}" for tag in order[0])]
        lines += [f"    ours  {tag}" for tag in order[1]]
    chunks = {blank(_tag(chunk)): chunk for chunk in low}
    for tag in order[0]:
        if tag in ours:
            differences = _chunk(theirs[tag], ours[tag], chunks.get(tag, {}), blank)
            lines += [tag.replace("_|-", "|"), *differences] if differences else []
    return lines


def _tag(chunk: dict[str, Any]) -> str:
    return "{state}_|-{__id__}_|-{name}_|-{fun}".format(**{"name": "", "__id__": "", **chunk})


def _refusals(theirs: Any, ours: Any, expected: bool) -> list[str]:
    both_refuse = all(isinstance(ret, list) or "raised" in ret for ret in (theirs, ours))
    if both_refuse and expected:
        return []
    title = ["both refuse it (is that meant? then say `refused: true`)"] if both_refuse else ["one of them refuses it:"]
    return [*title, f"    Salt  {_short(theirs)}", f"    ours  {_short(ours)}"]


def _chunk(theirs: dict[str, Any], ours: dict[str, Any], low: dict[str, Any], blank: Callable[[str], str]) -> list[str]:
    lines: list[str] = []
    for name in ("result", "changes"):
        if theirs.get(name) != ours.get(name):
            lines += _unequal(name, theirs.get(name), ours.get(name))
    comment_lines = comments(theirs.get("comment"), ours.get("comment"), low, theirs.get("changes"), blank)
    if lines and not comment_lines and theirs.get("comment") != ours.get("comment"):
        comment_lines = _unequal("comment", theirs.get("comment"), ours.get("comment"))  # the comment has the reason
    return lines + comment_lines


def comments(theirs: Any, ours: Any, low: dict[str, Any], changes: Any, blank: Callable[[str], str]) -> list[str]:
    """Names in Salt's comment that are missing in ours."""
    if theirs == ours:
        return []
    want, got = _text(theirs), _text(ours)
    if RAISED in want:  # Salt raised an exception: its text names nothing of the state
        return []
    if bool(want.strip()) != bool(got.strip()):
        return _unequal("comment", theirs, ours)
    missing = sorted({name for name in named_values(want, low, changes, blank) if name not in got})
    if not missing:
        return []
    return [*_unequal("comment", theirs, ours), f"      not named: {', '.join(missing)}"]


def named_values(comment: str, low: dict[str, Any], changes: Any, blank: Callable[[str], str]) -> Iterator[str]:
    """The arguments and changes of a chunk that a comment names."""
    values = {blank(text) for text in _leaves([value for key, value in low.items() if key not in INTERNAL])}
    names = {value for value in values if len(value) < 200 and BLANK not in value}
    values |= set(_leaves(changes, keys=True))
    for value in values:
        names.update(word for word in _words(value) if _is_specific(word))
    words = set(_words(comment))
    for value in names:
        if value in words or (" " in value and value in comment):
            yield value


def _is_specific(word: str) -> bool:
    """Whether a word is specific to an argument, and not part of a usual sentence: a path, a number, or a name with a
    special character.
    """
    return bool(re.search(r"[/\d_.:@=-]", word)) and len(word) > 1 and BLANK not in word


def _words(text: str) -> list[str]:
    return [found for word in re.split(r"[\s\"'`,;()\[\]{}<>]+", text) if (found := word.strip(".:!?"))]


def _leaves(value: Any, keys: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if keys:
                yield str(key)
            yield from _leaves(item, keys)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item, keys)
    elif value is not None and not isinstance(value, bool) and str(value).strip():
        yield str(value)


def _text(comment: Any) -> str:
    if isinstance(comment, str):
        return comment
    if isinstance(comment, list):
        return "\n".join(map(str, comment))
    return "" if comment is None else str(comment)


def answers(theirs: Any, ours: Any, blank: Callable[[str], str]) -> list[str]:
    """The differences between two answers of an execution function: ``ret``, or ``error`` and ``message``."""
    if "error" in theirs or "error" in ours:
        if theirs.get("error") == ours.get("error"):
            want, got = blank(str(theirs.get("message"))), blank(str(ours.get("message")))
            missing = [word for word in _words(want) if _is_specific(word) and word not in got]
            return [*_unequal("message", want, got), f"      not named: {', '.join(missing)}"] if missing else []
        return _unequal("answer", _raised(theirs), _raised(ours))
    want, got = blanked(theirs["ret"], blank), blanked(ours["ret"], blank)
    return [] if want == got else _unequal("return", want, got)


def _raised(answer: dict[str, Any]) -> Any:
    return f"{answer['error']}: {answer.get('message')}" if "error" in answer else answer["ret"]


def _unequal(title: str, theirs: Any, ours: Any) -> list[str]:
    if isinstance(theirs, dict) and isinstance(ours, dict) and len(_short(theirs)) > 100:
        lines = []
        for key in sorted({*theirs, *ours}, key=str):
            values = [side.get(key, "(none)") for side in (theirs, ours)]
            if values[0] != values[1]:
                lines += _unequal(f"{title}: {key}", *values)
        if lines:
            return lines
    return [f"  {title}", f"    Salt  {_short(theirs)}", f"    ours  {_short(ours)}"]


def _short(value: Any, limit: int = 1500) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)
    if isinstance(value, str) and "\n" in value:
        text = "\n          ".join(["|", *value.splitlines()])
    elif isinstance(value, str):
        text = repr(value)
    return text if len(text) <= limit else text[:limit] + f" … ({len(text)} characters)"
