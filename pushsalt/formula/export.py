"""Exports a formula of any source to files on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pushsalt.formula.sources import FolderSource
from pushsalt.formula.wants import PLUGINS

if TYPE_CHECKING:
    from pushsalt.formula.sources import Source


@contextmanager
def exported(source: Source) -> Iterator[Path]:
    """A context with the formula's folder: its own one, or a temporary copy of the revision in use.

    Plug-ins of the controller are left out if the source may not have any.
    """
    if isinstance(source, FolderSource):
        yield Path(source.place)
        return
    with tempfile.TemporaryDirectory(prefix="pushsalt-") as folder:
        root = Path(folder, source.name)
        root.mkdir()
        runs_python = source.limit is None or source.limit.runs_python
        for name in source.listing().files:
            if name.startswith(PLUGINS) and not runs_python:
                continue
            data = source.read(name)
            if data is not None:
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        yield root
