"""Times of jobs as people write and read them."""

from __future__ import annotations

import re
import time
from datetime import datetime, timezone


def since(text: str, now: float | None = None) -> float:
    """``2h``, ``30d``, ``90`` (seconds) before now, or a date in ISO 8601, as seconds since the epoch.

    Raises ValueError.
    """
    try:
        return (time.time() if now is None else now) - seconds(text)
    except ValueError:
        when = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return (when if when.tzinfo else when.astimezone()).timestamp()


def seconds(text: str) -> float:
    """``90``, ``90s``, ``15m``, ``2h``, ``30d``, ``2w`` as seconds. Raises ValueError."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)\s*([smhdw]?)", text.strip().lower(), re.ASCII)
    if match is None:
        raise ValueError(f"{text!r} is no duration")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[match[2]]


def iso(moment: float) -> str:
    """A time as ISO 8601, UTC."""
    return datetime.fromtimestamp(moment, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
