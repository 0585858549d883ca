"""The process that merges segments (``compaction.Child`` starts it)."""

from __future__ import annotations

import sys
import time
from typing import Final

from pushsalt.errors import IndexCorrupt
from pushsalt.index import GrainIndex, ResourceIndex

#: Seconds after which this process closes the old segment. Readers switch to the new one before, so that this process
#: closes it last and waits for the system to free the removed file
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
