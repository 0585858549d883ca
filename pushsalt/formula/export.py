"""A formula as files on disk, wherever it comes from."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pushsalt.formula.sources import FolderSource

if TYPE_CHECKING:
    from pushsalt.formula.sources import Source


@contextmanager
def exported(source: Source) -> Iterator[Path]:
    """Its folder: the one that it is in, or a copy of the revision in use, which goes away afterwards."""
    if isinstance(source, FolderSource):
        yield Path(source.place)
        return
    with tempfile.TemporaryDirectory(prefix="pushsalt-") as folder:
        root = Path(folder, source.name)
        root.mkdir()
        for name in source.listing().files:
            data = source.read(name)
            if data is not None:
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        yield root
