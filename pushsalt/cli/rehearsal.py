"""Runs what every command runs once, with invented data, in the broker of a kept session before it serves.

Commands are forks of the broker. Python runs code faster after it has run a few times, and many libraries compute
something at their first use; a fork has both from its parent. So a command's way to its first target takes less time.
The rehearsal has its own folder, configuration and inventory. Its targets are offline: it connects to nothing, starts
no process, and leaves no thread.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

#: How many times each part runs: Python adapts code to its values when it runs for the second time or later.
_TIMES: Final = 3
#: Seconds for the end of a thread.
_PATIENCE: Final = 5.0
_OPTIONS: Final = ("-i", "hosts.yaml", "-c", "pushsalt.yaml", "--cache-dir", "cache", "--out", "json")
_LINES: Final = {"apply": ("*", "nginx", *_OPTIONS), "run": ("*", "cmd.run", "true", *_OPTIONS)}
_CONFIG: Final = "file_roots: {base: [states]}\npillar_cache: false\n"
_HOST: Final = "{transport: offline, grains: {role: web}}"
_STATE: Final = {
    "name": "/etc/motd",
    "changes": {},
    "result": True,
    "comment": "File /etc/motd is in the correct state",
    "__sls__": "motd",
    "__run_num__": 0,
    "start_time": "00:00:00.000000",
    "duration": 1.0,
    "__id__": "/etc/motd",
}


def rehearse() -> None:
    """Run the parts of a command that need no target. Raises OSError without a writable temporary folder."""
    for _ in range(_TIMES):
        for name, words in _LINES.items():
            _parse(name, words)
    _encrypt()
    with tempfile.TemporaryDirectory(prefix="pushsalt-rehearsal-") as folder:
        place = Path(folder)
        (place / "hosts.yaml").write_text(f"hosts:\n  one: {_HOST}\n  two: {_HOST}\n")
        (place / "pushsalt.yaml").write_text(_CONFIG)
        (place / "states").mkdir()
        for _ in range(_TIMES):
            _job(place)
    for thread in threading.enumerate():  # those of a job end soon after it; the broker forks
        if thread is not threading.current_thread():
            thread.join(_PATIENCE)


def _parse(name: str, words: Sequence[str]) -> None:
    """Parse a command line, without running the command."""
    from pushsalt.cli.app import command

    group = command()
    with (
        group.make_context("pushsalt", [name, *words]) as context,
        group.get_command(context, name).make_context(name, list(words), parent=context),
    ):
        pass


def _encrypt() -> None:
    """Make a cipher of the kind that caches use: the first one of a process takes some milliseconds."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    cipher = AESGCM(bytes(32))
    cipher.decrypt(bytes(12), cipher.encrypt(bytes(12), b"text", b""), b"")


def _job(place: Path) -> None:
    """Run a job that is not recorded on offline targets, and make its output."""
    from pushsalt import outputters
    from pushsalt.api import Client
    from pushsalt.job import Selection, Settings

    client = Client(Settings([place / "hosts.yaml"], config=place / "pushsalt.yaml", cache_dir=place / "cache"))
    client.keeps_jobs = False
    results = client.grains(Selection("*"))
    assert len(results) == 2
    for result in results.values():
        result.ret, result.shape = {"file_|-/etc/motd_|-/etc/motd_|-managed": dict(_STATE)}, "states"
    data: dict[str, Any] = {id: client.redactor().answer(result.ret) for id, result in results.items()}
    for _ in outputters.pieces(outputters.load("json"), data, returns=results):
        pass
