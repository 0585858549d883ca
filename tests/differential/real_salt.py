"""Real Salt as a permanent helper process: the calls of `salt-call --local`, without its start each time."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).with_name("salt_driver.py")


class RealSalt:
    """Salt 3008 with ``root`` as its file root; its own files are below ``folder``."""

    def __init__(self, python: Path, folder: Path, root: Path) -> None:
        (folder / "home").mkdir(parents=True, exist_ok=True)
        self._log = open(folder / "stderr", "w+", encoding="utf-8", errors="replace")  # noqa: SIM115  (see close)
        inherited = {name: os.environ[name] for name in ("PATH", "SHELL") if name in os.environ}
        environment = {**inherited, "HOME": str(folder / "home"), "LANG": "C.UTF-8"}
        self._process = subprocess.Popen(
            [python, "-W", "ignore", DRIVER, folder, root],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=folder,
            env=environment,
            encoding="utf-8",
        )

    def call(self, fun: str, *args: Any, opts: dict[str, Any] | None = None, **kwargs: Any) -> Any:
        """The return of an execution function, through JSON. Raises RuntimeError if the function raised."""
        answer = self.ask({"fun": fun, "args": args, "kwargs": kwargs, "opts": opts})
        if "error" in answer:
            raise RuntimeError(f"{fun}: {answer['error']}: {answer['message']}")
        return answer["ret"]

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """The answer to a question, in the form of `salt_driver.py`."""
        self._write(question)
        return self.receive()

    def send(self, fun: str, *args: Any, opts: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Begin a call; ``receive`` returns its answer, so that the caller can do other work meanwhile."""
        self._write({"fun": fun, "args": args, "kwargs": kwargs, "opts": opts})

    def receive(self) -> dict[str, Any]:
        """``ret``, or ``error`` and ``message``."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            raise AssertionError(f"Salt's process has ended:\n{self._log.read()[-4000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _write(self, question: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()
