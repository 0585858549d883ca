"""Paths that are not served: ``file_ignore_regex`` and ``file_ignore_glob``. Salt: salt.fileserver.is_file_ignored."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from typing import Any

from pushsalt.errors import ConfigError
from pushsalt.files.found import Listing


class Ignored:
    """Tests whether a path is ignored. The object is false if nothing is ignored."""

    def __init__(self, opts: Mapping[str, Any]) -> None:
        """Raises ConfigError for an invalid regular expression."""
        self._patterns: list[re.Pattern[str]] = []
        for pattern in _texts(opts.get("file_ignore_regex")):
            try:
                self._patterns.append(re.compile(pattern))
            except re.error as exc:
                raise ConfigError(
                    f"file_ignore_regex: {pattern!r} is not a regular expression: {exc}", hint="correct the pattern"
                ) from None
        globs = _texts(opts.get("file_ignore_glob"))
        # One expression for all globs, since a listing tests each of its paths.
        self._globs = re.compile("|".join(fnmatch.translate(glob) for glob in globs)) if globs else None

    def __bool__(self) -> bool:
        return bool(self._patterns) or self._globs is not None

    def __call__(self, path: str) -> bool:
        if self._globs is not None and self._globs.match(path):
            return True
        return any(pattern.search(path) for pattern in self._patterns)

    def without(self, listing: Listing) -> Listing:
        """The listing without ignored paths."""
        return Listing(
            [path for path in listing.files if not self(path)],
            [path for path in listing.dirs if not self(path)],
            [path for path in listing.empty_dirs if not self(path)],
            {path: target for path, target in listing.links.items() if not self(path)},
        )


def _texts(value: Any) -> list[str]:
    """An option that is a text or a list of texts, as a list."""
    return [value] if isinstance(value, str) else [str(item) for item in value or ()]
