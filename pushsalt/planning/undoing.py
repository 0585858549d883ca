"""The effect of undoing a job on one target, and the changes that cannot be undone.

Targets answer with the files whose former content they keep (thin.utils.files.undo); the record of the job has all its
changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

#: The possible results for a path; see thin.utils.files.undo.
ACTIONS: Final = ("remove", "write", "dress", "make", "none", "lost")
_NOT_KEPT: Final = "nothing of it was kept (backup: minion, or --backups)"
_COMMAND: Final = "what a command did is not known"
_OTHER: Final = "only what file states change can be undone"
#: The function that does an undo; its job can be undone, too.
FUNCTION: Final = "file.undo"


def undo_of(ret: Any, answer: Any) -> dict[str, Any]:
    """``files``: what is done with each path, and ``not_undone``: [{``tag``, ``why``}].

    ``ret``: the return of the job in the record; ``answer``: what ``file.undo`` returned, of any shape.
    """
    answer = answer if isinstance(answer, Mapping) else {}
    states = {str(tag): state for tag, state in ret.items() if isinstance(state, Mapping)} if _is_states(ret) else {}
    names = {
        hashlib.sha256((str(salt) + tag).encode("utf-8", "surrogatepass")).hexdigest(): tag
        for salt in _listed(answer.get("salts"))
        for tag in (*states, FUNCTION)
    }
    files = [_file(entry, names) for entry in _listed(answer.get("files")) if isinstance(entry, Mapping)]
    covered = {tag for each in files for tag in each["states"]}
    return {"files": files, "not_undone": list(_not_undone(states, covered))}


def _is_states(ret: Any) -> bool:
    return isinstance(ret, Mapping) and all("_|-" in str(tag) for tag in ret)


def _file(entry: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    action = entry.get("action")
    fields = {
        "path": str(entry.get("path")),
        "action": action if action in ACTIONS else "lost",
        "states": [names[key] for key in map(str, _listed(entry.get("states"))) if key in names],
        "diff": entry["diff"] if isinstance(entry.get("diff"), str) else None,
        "changes": {key: entry[key] for key in ("mode", "user", "group") if isinstance(entry.get(key), list)},
        "drift": bool(entry.get("drift")),
        "comment": str(entry.get("why") or ""),
    }
    if "result" in entry:
        fields["result"] = entry["result"] if isinstance(entry["result"], bool) else None
    return fields


def _not_undone(states: Mapping[str, Mapping[str, Any]], covered: set[str]) -> Iterator[dict[str, str]]:
    for tag, state in states.items():
        if state.get("changes") and tag not in covered:
            module = tag.partition("_|-")[0]
            yield {"tag": tag, "why": {"file": _NOT_KEPT, "cmd": _COMMAND}.get(module, _OTHER)}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def is_open(undo: Mapping[str, Any]) -> bool:
    """Whether any file is left to undo."""
    return any(each["action"] not in ("none", "lost") for each in undo["files"])
