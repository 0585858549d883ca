"""Modules of storage, security and macOS, with programs that print recorded output (tests/cases/thin/storage).

A file has cases: `source` is the origin of the output, or says that it is synthetic; `programs` maps a program to its
answers, {arguments: output}, where an output is text, or {out, err, code}; `steps` are calls and states in order, each
with its return (`want`, or `raises`), and `ran`, all commands that ran. `@` in texts is the folder of the test.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.thin import filebed
from thin import link

CASES = Path(__file__).parents[2] / "cases" / "thin" / "storage"


def _cases() -> list[Any]:
    parameters = []
    for path in sorted(CASES.glob("*.yaml")):
        for case in yaml.safe_load(path.read_text(encoding="utf-8")):
            parameters.append(pytest.param(case, id=f"{path.stem}: {case['title']}"))
    return parameters


def _script(log: Path, name: str, answers: dict[str, Any]) -> str:
    lines = ["#!/bin/sh", f'echo "{name} $*" >> {shlex.quote(str(log))}', 'case "$*" in']
    for arguments, answer in answers.items():
        answer = {"out": answer} if isinstance(answer, str) else answer
        pattern = "*".join(shlex.quote(part) if part else "" for part in arguments.split("*"))
        lines.append(f"{pattern}) {answer.get('do', ':')}")
        lines.append(f"printf '%s' {shlex.quote(answer.get('out', ''))}")
        lines.append(f"printf '%s' {shlex.quote(answer.get('err', ''))} >&2")
        lines.append(f"exit {answer.get('code', 0)};;")
    return "\n".join([*lines, "esac", f'echo "{name}: nothing recorded for $*" >&2', "exit 99", ""])


def _with_folder(value: Any, folder: str) -> Any:
    if isinstance(value, str):
        return value.replace("@", folder)
    if isinstance(value, list):
        return [_with_folder(item, folder) for item in value]
    if isinstance(value, dict):
        return {_with_folder(key, folder): _with_folder(item, folder) for key, item in value.items()}
    return value


@pytest.mark.parametrize("case", _cases())
def test_returns_with_recorded_output(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = _with_folder(case, str(tmp_path))
    assert case["source"], "a case has the source of its output"
    bed = filebed.Bed(tmp_path / "bed")
    before = link.connect(bed.link)
    log, programs = tmp_path / "log", tmp_path / "bin"
    programs.mkdir()
    for name, answers in case.get("programs", {}).items():
        (programs / name).write_text(_script(log, name, answers), encoding="utf-8")
        (programs / name).chmod(0o755)
    for name, text in case.get("files", {}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    bed.grains.update(case.get("grains", {}))
    for dotted, value in case.get("set", {}).items():
        module, _, name = dotted.rpartition(".")
        kind, _, function = module.partition(".")
        monkeypatch.setitem(getattr(bed.loaders, kind).module(function), name, value)
    try:
        for step in case["steps"]:
            _step(bed, step)
    finally:
        link.connect(before)
    if "ran" in case:
        assert log.read_text(encoding="utf-8").splitlines() == case["ran"]


def _step(bed: filebed.Bed, step: dict[str, Any]) -> None:
    bed.opts["test"] = step.get("test", False)
    name = step.get("call") or step["state"]
    functions = bed.loaders.modules if "call" in step else bed.loaders.states
    args, kwargs = list(step.get("args", ())), step.get("kwargs", {})
    if "raises" in step:
        with pytest.raises(Exception) as caught:
            functions[name](*args, **kwargs)
        assert f"{type(caught.value).__name__}: {caught.value}" == step["raises"]
        return
    returned = functions[name](*args, **kwargs)
    if "state" in step:
        returned = {key: returned[key] for key in ("result", "changes", "comment") if key in returned}
    assert returned == step["want"], step


def test_states_of_booleans_are_aggregated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bed = filebed.Bed(tmp_path / "bed")
    monkeypatch.setitem(bed.loaders.modules._functions, "selinux.getenforce", lambda: "Enforcing")

    def chunk(name: str, **kwargs: Any) -> dict[str, Any]:
        return {"state": "selinux", "fun": "boolean", "__id__": name, "name": name, "persist": True, **kwargs}

    low = chunk("a", value=True)
    chunks = [
        chunk("b", value=False),
        chunk("c", booleans=["x", {"y": "off"}], value=True),
        chunk("d", persist=False),
        chunk("ran", value=True),
        {**chunk("e"), "fun": "mode"},
    ]
    joined = bed.loaders.states["selinux.mod_aggregate"](low, chunks, {"selinux_|-ran_|-ran_|-boolean": {}})
    assert joined["booleans"] == {"a": True, "b": False, "x": True, "y": "off"}
    assert ["__agg__" in chunk for chunk in chunks] == [True, True, False, False, False]
