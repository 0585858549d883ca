"""What is known of a fleet, on disk, for targeting: which resources there are, who manages them, and their grains.

``ResourceIndex`` and ``GrainIndex`` own a folder each. The layout of the bytes: ``format`` and docs/index-format.md.
"""

from pushsalt.errors import IndexCorrupt
from pushsalt.index.grains import GrainIndex
from pushsalt.index.resources import ResourceIndex

__all__ = ["GrainIndex", "IndexCorrupt", "ResourceIndex"]
