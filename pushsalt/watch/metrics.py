"""Figures of watched targets in the text format of Prometheus, in a file or over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pushsalt.cache.store import write_atomic
from pushsalt.errors import CommandError

if TYPE_CHECKING:
    from pushsalt.watch.drift import TargetDrift

_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
#: Limits: bytes and seconds of a request, and concurrent connections.
_HEAD: Final = 8192
_PATIENCE: Final = 5.0
_CONNECTIONS: Final = 32
#: name without ``pushsalt_``, type, help
_OF_TARGETS: Final = (
    ("up", "gauge", "Whether the target answered in the last round."),
    ("last_contact_timestamp_seconds", "gauge", "When the target answered last."),
    ("states", "gauge", "States of the target in the last round in which it answered."),
    ("drifted_states", "gauge", "States that are not as they should be."),
    ("failed_states", "gauge", "States that failed."),
    ("run_seconds", "gauge", "Seconds that the last round took for the target."),
    ("failures_total", "counter", "Rounds in which the target did not answer, or a state failed."),
    ("applied_total", "counter", "Runs that put the target right."),
)
_OF_ROUNDS: Final = (
    ("rounds_total", "counter", "Rounds that have ended."),
    ("round_seconds", "gauge", "Seconds that the last round took."),
    ("last_round_timestamp_seconds", "gauge", "When the last round ended."),
)
_OF_JOBS: Final = (
    ("scheduled_runs_total", "counter", "Runs of a job of the schedule that have ended."),
    ("scheduled_failures_total", "counter", "Those of them that failed."),
    ("scheduled_skipped_total", "counter", "Times that a job was not run, since maxrunning of it were under way."),
)


@dataclass
class Metrics:
    """Figures by name, and by id of the target or name of the job."""

    targets: dict[str, dict[str, float]] = field(default_factory=dict)
    rounds: dict[str, float] = field(default_factory=dict)
    jobs: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(self, drift: TargetDrift) -> None:
        """Add the result of a round for a target."""
        row = self.targets.setdefault(drift.id, dict.fromkeys(("failures_total", "applied_total"), 0.0))
        row["up"] = float(drift.answered)
        row["run_seconds"] = drift.seconds
        if drift.answered:
            row["last_contact_timestamp_seconds"] = time.time()
        if drift.is_known:
            row["states"], row["drifted_states"] = float(drift.total), float(len(drift.drifted))
            row["failed_states"] = float(len(drift.failed))
        if not drift.is_known or drift.failed:
            row["failures_total"] += 1

    def applied(self, id: str) -> None:
        """Count a run that applied the states to a drifted target."""
        self.targets[id]["applied_total"] += 1

    def round_ended(self, seconds: float) -> None:
        """Record the end of a round and its duration."""
        self.rounds["rounds_total"] = self.rounds.get("rounds_total", 0.0) + 1
        self.rounds["round_seconds"], self.rounds["last_round_timestamp_seconds"] = seconds, time.time()

    def count(self, name: str, what: str) -> None:
        """Increase a counter of a job of the schedule."""
        row = self.jobs.setdefault(name, dict.fromkeys((key for key, _, _ in _OF_JOBS), 0.0))
        row[what] += 1

    def text(self) -> str:
        """All figures in the text format of Prometheus."""
        lines: list[str] = []
        for key, kind, help in _OF_ROUNDS:
            if key in self.rounds:
                lines += [*_about(key, kind, help), f"pushsalt_{key} {self.rounds[key]:.15g}"]
        for rows, label, figures in ((self.targets, "id", _OF_TARGETS), (self.jobs, "job", _OF_JOBS)):
            for key, kind, help in figures:
                values = [(name, row[key]) for name, row in sorted(rows.items()) if key in row]
                if values:
                    lines += _about(key, kind, help)
                    lines += [f'pushsalt_{key}{{{label}="{_escaped(name)}"}} {value:.15g}' for name, value in values]
        return "".join(f"{line}\n" for line in lines)


def _about(key: str, kind: str, help: str) -> list[str]:
    return [f"# HELP pushsalt_{key} {help}", f"# TYPE pushsalt_{key} {kind}"]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def address(text: str) -> tuple[str, int] | None:
    """Host and port of ``HOST:PORT`` or ``:PORT`` (loopback only); None for the name of a file."""
    host, colon, port = text.rpartition(":")
    if not colon or "/" in text or not port.isdigit() or not 0 < int(port) < 65536:
        return None
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


def write(path: Path, text: str) -> None:
    """Write the file of a textfile collector. Raises OSError."""
    write_atomic(path, text.encode(), 0o644)


async def serve(host: str, port: int, text: Callable[[], str]) -> asyncio.Server:
    """Answer ``GET /metrics``. Raises CommandError if the address cannot be used."""
    room = asyncio.Semaphore(_CONNECTIONS)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with room:
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _PATIENCE)
                method, _, rest = head.partition(b" ")
                is_there = rest.partition(b" ")[0].partition(b"?")[0] in (b"/metrics", b"/")
                if method not in (b"GET", b"HEAD"):
                    status, body = "405 Method Not Allowed", b""
                elif not is_there:
                    status, body = "404 Not Found", b"/metrics is here\n"
                else:
                    status, body = "200 OK", text().encode()
                lines = (f"HTTP/1.1 {status}", f"Content-Type: {_TYPE}", f"Content-Length: {len(body)}")
                head = "\r\n".join((*lines, "Connection: close", "", "")).encode("ascii")
                writer.write(head + (b"" if method == b"HEAD" else body))
                await asyncio.wait_for(writer.drain(), _PATIENCE)
        except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    try:
        return await asyncio.start_server(answer, host, port, limit=_HEAD)
    except OSError as exc:
        text_of = exc.strerror or str(exc)
        raise CommandError(f"--metrics: {host}:{port}: {text_of}", "name another port, or a file") from None
