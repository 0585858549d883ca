"""Recordings that other tests use equal the current answers of real Salt. ``RECORD=1`` writes them again.

Inputs are taken from the recording: to add one, insert it with any answer, and record.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pushsalt.yamlio import load_yaml

DRIVER = Path(__file__).with_name("recorder.py")
TESTS = Path(__file__).resolve().parents[1]
#: keys that differ from run to run, or that the chunk has
_NOT_RECORDED = ("start_time", "duration", "__id__", "__sls__")


@dataclass(frozen=True)
class Recording:
    """``inputs`` in a file, and the ``text`` of the file with new answers."""

    kind: str
    inputs: Callable[[str], list[Any]]
    text: Callable[[str, list[Any]], str]


def _lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def _yaml(text: str, answers: list[Any]) -> str:
    cases = [{"text": case["text"], **answer} for case, answer in zip(_lines(text), answers, strict=True)]
    return "".join(json.dumps(case) + "\n" for case in cases)


def _arguments(text: str, answers: list[Any]) -> str:
    arguments = [argument for argument, _ in json.loads(text)]
    rows = [f"  {json.dumps(list(row), ensure_ascii=False)}" for row in zip(arguments, answers, strict=True)]
    return "[\n" + ",\n".join(rows) + "\n]\n"


def _filters(text: str, answers: list[Any]) -> str:
    results = iter(answers)
    lines = [text.splitlines()[0]]
    for name, cases in load_yaml(text).items():
        lines.append(f"{json.dumps(name)}:")
        for template, _ in cases:
            lines.append(f"- {json.dumps([template, next(results)], ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def _helpers(text: str, answers: list[Any]) -> str:
    calls = [{name: call[name] for name in ("fun", "args", "kwargs")} for call in json.loads(text)]
    rows = [json.dumps({**call, **answer}, ensure_ascii=False) for call, answer in zip(calls, answers, strict=True)]
    return "[\n" + ",\n".join(rows) + "\n]\n"


def _engine(text: str, answers: list[Any]) -> str:
    run = json.loads(text)
    (returns,) = answers
    before = run["ret"]
    run["ret"] = {tag: _return(ret, before.get(tag, {})) for tag, ret in returns.items()}
    if not any("__run_num__" in ret for ret in before.values()):  # the order of listeners is not compared
        for ret in run["ret"].values():
            ret.pop("__run_num__", None)
    return json.dumps(run, indent=0)


def _return(ret: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """A return in recorded form: without times, and its comment without volatile parts."""
    comment = str(ret["comment"])
    start = "One or more requisite failed: "
    if "Traceback" in comment:
        name = comment.strip().splitlines()[-1].split(":")[0].rpartition(".")[2]
        comment = f"{comment.split('Traceback')[0]}...{name}"
    elif comment.startswith(start):
        comment = start + ", ".join(sorted(comment[len(start) :].split(", ")))
    recorded = {name: value for name, value in ret.items() if name not in _NOT_RECORDED}
    recorded["comment"] = comment
    return {**{name: recorded[name] for name in before if name in recorded}, **recorded}


RECORDINGS = {
    "cases/yaml/salt.jsonl": Recording("yaml_texts", lambda text: [case["text"] for case in _lines(text)], _yaml),
    "cli/cases/arguments.json": Recording(
        "arguments", lambda text: [argument for argument, _ in json.loads(text)], _arguments
    ),
    "render/cases/filters.yaml": Recording(
        "filters", lambda text: [case[0] for cases in load_yaml(text).values() for case in cases], _filters
    ),
    "thin/cases/salt_helpers.json": Recording("helpers", json.loads, _helpers),
    **{
        path.relative_to(TESTS).as_posix(): Recording("engine", lambda text: [json.loads(text)], _engine)
        for path in sorted((TESTS / "thin/cases/engine").glob("*.json"))
    },
}


def ask_salt(salt_python: Path, kind: str, inputs: list[Any], folder: Path) -> list[Any]:
    """Salt's answers."""
    inherited = {name: os.environ[name] for name in ("PATH", "SHELL") if name in os.environ}
    done = subprocess.run(
        [salt_python, "-W", "ignore", DRIVER, kind, folder],
        input=json.dumps(inputs),
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
        cwd=folder,
        env={**inherited, "HOME": str(folder), "LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers = json.loads(done.stdout)
    assert isinstance(answers, list) and len(answers) == len(inputs)
    return answers


@pytest.mark.parametrize("name", RECORDINGS)
def test_recordings_equal_salts_answers(salt_python: Path, name: str, tmp_path: Path) -> None:
    recording, path = RECORDINGS[name], TESTS / name
    text = path.read_text("utf-8")
    recorded = recording.text(text, ask_salt(salt_python, recording.kind, recording.inputs(text), tmp_path))
    if os.environ.get("RECORD"):
        path.write_text(recorded, "utf-8")
    parse: Callable[[str], Any] = {".jsonl": _lines, ".yaml": load_yaml}.get(path.suffix, json.loads)
    assert parse(recorded) == parse(text)
