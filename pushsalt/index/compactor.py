"""The process that merges segments (``compaction.Child`` starts it)."""

from __future__ import annotations

import sys
import time
from typing import Final

from pushsalt.errors import IndexCorrupt
from pushsalt.index import GrainIndex, ResourceIndex

#: Seconds in which readers go over to the new segment before this process lets go of the old one, as the last one:
#: that is when the system clears the removed file away, and somebody has to wait for it
_LINGER: Final = 0.3


def main(kind: str, folder: str) -> None:
    """Rewrite what is worth it. A cache that cannot be written is said by who writes to it, not here."""
    try:
        index: GrainIndex | ResourceIndex = GrainIndex(folder) if kind == "grains" else ResourceIndex(folder)
        with index:
            index.maintain()
            time.sleep(_LINGER)
    except (OSError, IndexCorrupt):
        sys.exit(1)
