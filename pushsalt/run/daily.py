"""Selects warnings that were not reported in the last 24 hours, for warnings that hold until a file is edited."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pushsalt.cache.store import Bank

log = logging.getLogger(__name__)

DAY: Final = 86400
_KEY: Final = "warnings"


def not_reported(cache_dir: Path, texts: Sequence[str], now: float | None = None) -> list[str]:
    """The texts that were not reported in the 24 hours before ``now`` (seconds since the epoch).

    They are recorded as reported, by digests in the cache's folder ``said``. If that cannot be written, all texts are
    reported each time.
    """
    now = time.time() if now is None else now
    bank = Bank(cache_dir, "said")
    kept = bank.get(_KEY)
    times = kept if isinstance(kept, dict) else {}
    recent = {key: at for key, at in times.items() if isinstance(at, float) and now - DAY < at <= now}
    new = [text for text in texts if _digest(text) not in recent]
    if new:
        bank.put(_KEY, {**recent, **dict.fromkeys(map(_digest, new), now)})
    return new


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
