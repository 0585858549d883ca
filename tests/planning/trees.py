"""Random states about a folder with files, for comparisons of plans with runs."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATHS = ("a", "b", "c.conf", "d/e", "d/f/g", "h", "l", "t", "t/one", "t/sub/two", "missing/x")
TEXTS = (
    "one\n",
    "one\ntwo\n",
    "# off\nkey = 1\n",
    "key = 2\nother = 3\n",
    "no end",
    "",
    "# begin\nx\n# end\n",
    "zwei äöü\n",
)
BINARY = b"\0\1\2binary"
WAITING = ("require", "watch", "onchanges", "onfail", "prereq", "require_any", "onchanges_any", "listen")


def prepare(top: Path, rng: random.Random) -> None:
    """Create some files, folders and links, or none, in an empty folder."""
    top.mkdir()
    for name in PATHS:
        path = top / name
        how = rng.random()
        if how < 0.45 or os.path.lexists(path):
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if how < 0.8:
                path.write_text(rng.choice(TEXTS))
                path.chmod(rng.choice((0o644, 0o600)))
            elif how < 0.85:
                path.write_bytes(BINARY)
            elif how < 0.92:
                path.mkdir()
            else:
                path.symlink_to(top / rng.choice(PATHS))
        except OSError:
            continue


def tree(top: Path, rng: random.Random) -> dict[str, Any]:
    """The high data of one SLS."""
    data: dict[str, Any] = {}
    for number in range(rng.randint(3, 12)):
        function, arguments = _state(top, rng)
        rows = [{key: value} for key, value in arguments.items()]
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            if data:
                rows.append({rng.choice(WAITING): [rng.choice(list(data))]})
        if rng.random() < 0.04:
            rows.append({"failhard": True})
        if rng.random() < 0.08:
            rows.append(rng.choice(_guards(top, rng)))
        data[f"s{number}"] = {function: rows}
    return data


def _guards(top: Path, rng: random.Random) -> list[dict[str, Any]]:
    path = str(top / rng.choice(PATHS))
    return [{"creates": path}, {"onlyif": f"test -e {path}"}, {"unless": f"test -e {path}"}, {"unless": "false"}]


def _state(top: Path, rng: random.Random) -> tuple[str, dict[str, Any]]:
    path = str(top / rng.choice(PATHS))
    other = str(top / rng.choice(PATHS))
    function = rng.choice(list(STATES))
    return function, {"name": path, **STATES[function](rng, other)}


def _managed(rng: random.Random, other: str) -> dict[str, Any]:
    content = rng.choice(
        (
            {"contents": rng.choice(TEXTS) or "x"},
            {"source": "salt://plain.txt"},
            {"source": "salt://words.jinja", "template": "jinja"},
            {"source": "salt://asks.jinja", "template": "jinja", "context": {"path": other}},
            {"source": "salt://binary"},
            {"source": other},
            {"replace": False},
            {"contents": "new", "user": "no-such-user"},
        )
    )
    more = rng.choice(
        ({}, {"mode": "0600"}, {"mode": "0644"}, {"makedirs": True}, {"user": "root"}, {"show_changes": False})
    )
    return {**content, **more}


def _nothing(rng: random.Random, other: str) -> dict[str, Any]:
    return {}


def _tested(rng: random.Random, other: str) -> dict[str, Any]:
    return {"changes": rng.random() < 0.5, "result": rng.random() < 0.8}


STATES: dict[str, Callable[[random.Random, str], dict[str, Any]]] = {
    "file.managed": _managed,
    "file.append": lambda rng, other: {"text": rng.choice(("two", "key = 1")), "makedirs": rng.random() < 0.5},
    "file.prepend": lambda rng, other: {"text": rng.choice(("zero", "one"))},
    "file.replace": lambda rng, other: {"pattern": rng.choice(("one", "key")), "repl": rng.choice(("1", "key"))},
    "file.line": lambda rng, other: {"content": "key = 9", "match": "key", "mode": rng.choice(("replace", "delete"))},
    "file.comment": lambda rng, other: {"regex": "^key"},
    "file.uncomment": lambda rng, other: {"regex": "key|off"},
    "file.blockreplace": lambda rng, other: {
        "marker_start": "# begin",
        "marker_end": "# end",
        "content": rng.choice(("x", "y")),
        "append_if_not_found": rng.random() < 0.5,
    },
    "file.keyvalue": lambda rng, other: {
        "key": "key",
        "value": rng.choice(("1", "2")),
        "separator": " = ",
        "append_if_not_found": True,
    },
    "file.serialize": lambda rng, other: {"dataset": {"a": rng.randint(0, 1)}, "serializer": "json"},
    "file.touch": lambda rng, other: {"makedirs": rng.random() < 0.5},
    "file.directory": lambda rng, other: rng.choice(
        (
            {},
            {"mode": "0700"},
            {"makedirs": True},
            {"clean": True},
            {"mode": "0755", "recurse": ["mode"], "file_mode": "0640"},
        )
    ),
    "file.recurse": lambda rng, other: {"source": "salt://tree", "clean": rng.random() < 0.3},
    "file.symlink": lambda rng, other: {"target": other, "force": rng.random() < 0.4, "makedirs": rng.random() < 0.3},
    "file.hardlink": lambda rng, other: {"target": other},
    "file.copy": lambda rng, other: {"source": other, "force": rng.random() < 0.4},
    "file.rename": lambda rng, other: {"source": other, "force": rng.random() < 0.4},
    "file.absent": _nothing,
    "file.missing": _nothing,
    "file.exists": _nothing,
    "cmd.run": lambda rng, other: {
        "name": rng.choice((f"echo more >> {other}", "true", "false")),
        **rng.choice(({}, {"creates": other}, {"unless": f"test -e {other}"}, {"onlyif": f"test -e {other}"})),
    },
    "cmd.wait": lambda rng, other: {"name": f"echo waited >> {other}"},
    "test.nop": _nothing,
    "test.succeed_with_changes": _nothing,
    "test.fail_with_changes": _nothing,
    "test.fail_without_changes": _nothing,
    "test.configurable_test_state": _tested,
    "test.show_notification": lambda rng, other: {"text": "hello"},
}
