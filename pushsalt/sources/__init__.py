"""Sources for URL schemes that targets do not fetch themselves (``s3://bucket/key``): one file per scheme.

A source has ``fetch(url, folder, opts)``. It returns the path of a copy on the controller, in ``folder`` (private to
the source, kept between runs) or elsewhere, or None for a missing file; ``opts`` is the configuration. The copy is sent
like a file of the file roots: by digest, streamed, only to targets that lack it. None is shipped; see
docs/extending.md.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from pushsalt import plugins
from pushsalt.cache.store import private_dir
from pushsalt.errors import ConfigError, FunctionError
from pushsalt.files.found import DiskFile, disk_file


class Source(Protocol):
    """The function of a source. What it raises is the error of the state that named the URL."""

    def __call__(self, url: str, folder: Path, opts: Mapping[str, Any]) -> str | Path | None: ...


class Sources:
    """The sources and fetched files of one command: each URL is fetched once, for all targets."""

    def __init__(self, opts: Mapping[str, Any], cache_dir: Path) -> None:
        self._opts, self._cache_dir = opts, cache_dir
        self._paths: dict[str, Path | None] = {}
        self._lock = threading.Lock()

    def find(self, url: str) -> DiskFile | None:
        """The copy of a URL, or None. Raises FunctionError for an unknown scheme, or if fetching fails."""
        with self._lock:
            if url not in self._paths:
                self._paths[url] = self._fetch(url)
            path = self._paths[url]
        return disk_file(str(path), url) if path is not None else None

    def _fetch(self, url: str) -> Path | None:
        scheme = url.partition("://")[0].lower()
        try:
            fetch: Source = plugins.load("sources", scheme, plugins.folders("sources", self._opts)).fetch
        except (ConfigError, AttributeError) as exc:
            text = f"Source {url}: the protocol {scheme} is not supported: {exc}; {getattr(exc, 'hint', '')}"
            raise FunctionError("exception", text, "docs/extending.md", "CommandExecutionError") from exc
        try:
            folder = private_dir(self._cache_dir / "sources" / scheme)
            file = fetch(url, folder, self._opts)
        except (Exception, SystemExit) as exc:  # a plug-in may raise anything
            text = f"Failed to cache {url}: {type(exc).__name__}: {exc}{plugins.blamed(exc)}"
            raise FunctionError("exception", text, "see the message", "CommandExecutionError") from exc
        return Path(file) if file else None
