"""What is said once a day: warnings that stay true until somebody edits a file."""

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


def unsaid(cache_dir: Path, texts: Sequence[str], now: float | None = None) -> list[str]:
    """Those of the texts that were not said in the day before ``now`` (seconds since the epoch); they count as said.

    What was said is kept in ``said`` in the cache, as hashes. Where that cannot be written, all are said each time.
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
