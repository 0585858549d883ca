"""On-disk indexes of a fleet for targeting: resources with their managers, and grains.

``ResourceIndex`` and ``GrainIndex`` have a folder each. The byte layout: ``format`` and docs/index-format.md.
Each is imported on first use: looking up a resource does not need the code that matches grains.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which takes longer to import than this package
if TYPE_CHECKING:
    from pushsalt.errors import IndexCorrupt
    from pushsalt.index.grains import GrainIndex
    from pushsalt.index.resources import ResourceIndex


def __getattr__(name: str) -> object:
    value: object
    if name == "ResourceIndex":
        from pushsalt.index.resources import ResourceIndex as value
    elif name == "GrainIndex":
        from pushsalt.index.grains import GrainIndex as value
    elif name == "IndexCorrupt":
        from pushsalt.errors import IndexCorrupt as value
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


__all__ = ["GrainIndex", "IndexCorrupt", "ResourceIndex"]
