"""Finds damage in the log of an index, for ``cache verify``."""

from __future__ import annotations

from pathlib import Path

from pushsalt.index import format
from pushsalt.index.format import MAGIC, Damage
from pushsalt.index.lock import WritersLock


def log_problems(folder: Path, lock: WritersLock, generation: int) -> list[str]:
    """Damage of the file ``log``, in either copy of a frame, and of the mark of the last write, as texts."""
    problems: list[str] = []
    try:
        data = (folder / "log").read_bytes()
    except OSError as exc:
        return [f"the log cannot be read: {exc.strerror}"]
    if data[: len(MAGIC)] != MAGIC:
        problems.append("the log has no valid header")
    try:
        frames = format.scan(data[len(MAGIC) :], 0, thorough=True)
    except Damage as exc:
        return [*problems, str(exc)]
    problems += [f"log: {text}" for text in frames.notes]
    mark = lock.mark()
    if None in format.stamps(lock.stamps()):
        problems.append("the mark of the last write is damaged")
    if mark is None:
        pass  # reported above
    elif mark[0] == generation and mark[1] > len(frames.payloads) - 1:
        problems.append(f"the log has lost its last {mark[1] - len(frames.payloads) + 1} writes")
    elif frames.end > len(data) - len(MAGIC):
        problems.append("log: the last write is cut off in its second copy")
    return problems
