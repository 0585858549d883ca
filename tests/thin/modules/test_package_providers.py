"""Package managers that Debian lacks, with recorded outputs of their programs.

``tests/cases/thin/packages/*.yaml``: ``grains``, ``programs`` that exist, ``outputs`` of commands in the order of their
calls (the last one repeats), each with its ``source``, and ``cases``: a call (``fun``, ``args``, ``kwargs``) or a
state, the expected return (``want``, or ``raises``), and the commands that it may run (``runs``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from thin.exceptions import SaltException

CASES = Path(__file__).resolve().parents[2] / "cases" / "thin" / "packages"
FILES = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(CASES.glob("*.yaml"))}

CMD_MODULE = """
def run_all(cmd, python_shell=False, ignore_retcode=False, env=None, **kwargs):
    return __opts__["program"](cmd, env)
"""


class Program:
    """Answers commands with recorded outputs."""

    def __init__(self, outputs: list[dict[str, Any]]) -> None:
        self.remaining = [dict(output) for output in outputs]
        self.ran: list[str] = []

    def __call__(self, command: list[str], env: dict[str, str]) -> dict[str, Any]:
        assert isinstance(command, list) and env["LC_ALL"] == "C"
        text = " ".join(command)
        self.ran.append(text)
        matches = [output for output in self.remaining if output["command"] == text]
        if not matches:
            raise AssertionError(f"nothing is recorded for: {text!r}")
        if len(matches) > 1:
            self.remaining.remove(matches[0])
        return {"retcode": 0, "stderr": "", "pid": 1, **matches[0], "stdout": matches[0].get("stdout", "").rstrip("\n")}


def case_parameters() -> list[Any]:
    return [
        pytest.param(name, case, id=f"{name}-{number}-{case.get('fun') or case['state']}")
        for name, data in FILES.items()
        for number, case in enumerate(data["cases"])
    ]


@pytest.mark.parametrize(("name", "case"), case_parameters())
def test_returns_with_recorded_output(name, case, make_loaders, tmp_path, monkeypatch):
    data = FILES[name]
    for program in data.get("programs", []):
        (tmp_path / program).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    own = {output["command"] for output in case.get("outputs", [])}
    general = [output for output in data["outputs"] if output["command"] not in own]
    outputs = [
        {**output, "command": output["command"].replace("PATH", str(tmp_path))}
        for output in case.get("outputs", []) + general
    ]
    program = Program(outputs)
    opts = {"program": program, "test": case.get("test", False), "cachedir": str(tmp_path)}
    loaders = make_loaders(
        {"thin.modules.cmdmod": '__virtualname__ = "cmd"\n' + CMD_MODULE}, opts, grains=data["grains"]
    )
    call = loaders.states[case["state"]] if "state" in case else loaders.modules[case["fun"]]
    if "raises" in case:
        with pytest.raises(SaltException, match=case["raises"]):
            call(*case.get("args", ()), **case.get("kwargs", {}))
    else:
        assert call(*case.get("args", ()), **case.get("kwargs", {})) == case["want"]
    for expected in case.get("runs", []):
        assert expected in [command.replace(str(tmp_path), "PATH") for command in program.ran]


def test_each_output_has_a_source():
    assert not [
        (name, output["command"]) for name, data in FILES.items() for output in data["outputs"] if not output["source"]
    ]
