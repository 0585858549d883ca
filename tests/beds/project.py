"""A project folder and the real command line in it, isolated from the user's own files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: variables of this process that commands have, too; those of coverage let it measure them
_INHERITED = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "COVERAGE_PROCESS_CONFIG",
    "COVERAGE_PROCESS_START",
)


@dataclass
class Done:
    """One finished command."""

    code: int
    out: str
    err: str

    @cached_property
    def data(self) -> dict[str, Any]:
        """The output of ``--out json``: strict JSON, one object."""

        def no_constant(name: str) -> None:
            raise AssertionError(f"{name} is no JSON")

        def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            assert len(pairs) == len(dict(pairs)), "a key comes twice"
            return dict(pairs)

        document = json.loads(self.out, parse_constant=no_constant, object_pairs_hook=no_duplicates)
        assert isinstance(document, dict)
        return document

    def error(self, id: str) -> dict[str, Any]:
        """The error object of a target, whose three texts must not be empty."""
        ret = self.data[id]
        assert isinstance(ret, dict) and set(ret) == {"error"}, ret
        error: dict[str, Any] = ret["error"]
        assert all(isinstance(error[key], str) and error[key].strip() for key in ("kind", "message", "hint")), error
        return error


class Project:
    """``pushsalt.yaml``, ``inventory.yaml``, ``salt/`` and ``pillar/`` in a folder, and a home next to them."""

    def __init__(self, folder: Path, hosts: Mapping[str, Any] | None = None, **config: Any) -> None:
        self.folder = folder / "project"
        self.home = folder / "home"
        self.cache = folder / "cache"
        #: further environment variables
        self.variables: dict[str, str] = {}
        for path in (self.folder / "salt", self.folder / "pillar", self.home / ".ssh"):
            path.mkdir(parents=True, exist_ok=True)
        settings = {"file_roots": {"base": ["salt"]}, "pillar_roots": {"base": ["pillar"]}, **config}
        self.write("pushsalt.yaml", json.dumps(settings))
        if hosts is not None:
            self.write("inventory.yaml", json.dumps({"hosts": hosts}))

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file of the project; folders are created."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def files(self, texts: Mapping[str, str | bytes]) -> None:
        for name, text in texts.items():
            self.write(name, text)

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        cache = {"PUSHSALT_CACHE": str(self.cache), "XDG_RUNTIME_DIR": ""}
        python = {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
        return {**inherited, "HOME": str(self.home), **python, **cache, **self.variables}

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "pushsalt", *arguments]

    def start(self, *arguments: str, **kwargs: Any) -> subprocess.Popen[bytes]:
        """Start the command in a process group of its own."""
        return subprocess.Popen(
            self.argv(*arguments),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            **{"cwd": self.folder, **kwargs},
        )

    def run(self, *arguments: str, timeout: float = 60, **kwargs: Any) -> Done:
        """Run ``pushsalt ARGUMENTS`` to its end. Asserts that no traceback is shown, except in debug logs."""
        return self.finish(self.start(*arguments, **kwargs), timeout)

    @staticmethod
    def finish(process: subprocess.Popen[bytes], timeout: float = 60) -> Done:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"not done after {timeout} s: {out!r} {err!r}") from None
        done = Done(process.returncode, out.decode("utf-8"), err.decode("utf-8"))
        debug = isinstance(process.args, list) and "-l" in process.args
        assert "Traceback" not in done.out + (done.err if not debug else ""), done.err or done.out
        return done

    def json(self, *arguments: str, timeout: float = 60) -> Done:
        """Run with ``--out json``; the first argument is the command."""
        return self.run(arguments[0], "--out", "json", *arguments[1:], timeout=timeout)


def values(ret: Any) -> list[dict[str, Any]]:
    """The state returns of a target, in the order of the run."""
    assert isinstance(ret, dict) and "error" not in ret, ret
    return sorted(ret.values(), key=lambda state: state["__run_num__"])
