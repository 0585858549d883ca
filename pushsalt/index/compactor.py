"""The process that merges segments (``compaction.Child`` starts it)."""

from __future__ import annotations

import sys
import time
from typing import Final

from pushsalt.errors import IndexCorrupt
from pushsalt.index import GrainIndex, ResourceIndex

#: Seconds after which this process closes the old segment. Readers have switched to the new one by then: the process
#: that closes a removed file last waits until the system has freed it, and that should not be a reader
_LINGER: Final = 0.3


def main(kind: str, folder: str) -> None:
    """Merge what is due. Errors of writing the cache are reported by its writers, not here."""
    try:
        index: GrainIndex | ResourceIndex = GrainIndex(folder) if kind == "grains" else ResourceIndex(folder)
        with index:
            index.maintain()
            time.sleep(_LINGER)
    except (OSError, IndexCorrupt):
        sys.exit(1)
