"""What is known of a fleet, on disk, for targeting: which resources there are, who manages them, and their grains.

``ResourceIndex`` and ``GrainIndex`` own a folder each. The layout of the bytes: ``format`` and docs/index-format.md.
Each is imported when it is asked for: who looks up a resource needs nothing of what matches grains.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which costs more to import than all that is here
if TYPE_CHECKING:
    from pushsalt.errors import IndexCorrupt
    from pushsalt.index.grains import GrainIndex
    from pushsalt.index.resources import ResourceIndex


def __getattr__(name: str) -> object:
    found: object
    if name == "ResourceIndex":
        from pushsalt.index.resources import ResourceIndex as found
    elif name == "GrainIndex":
        from pushsalt.index.grains import GrainIndex as found
    elif name == "IndexCorrupt":
        from pushsalt.errors import IndexCorrupt as found
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


__all__ = ["GrainIndex", "IndexCorrupt", "ResourceIndex"]
