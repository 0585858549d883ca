"""Folders on the controller's disk (``file_roots``). A saltenv can have several; the first that has a file wins.

A saltenv that is not configured is served from ``__env__``, if that is configured; ``__env__`` in its folders' paths is
replaced by the saltenv's name. Salt: salt.fileserver.roots.
"""

# os.path and os.scandir rather than pathlib for speed: trees may have many thousand files.
# ruff: noqa: PTH115, PTH116, PTH118

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from pushsalt.files.found import DiskFile, Listing, disk_file
from pushsalt.fileserver.ignored import Ignored
from pushsalt.trust import Limit

log = logging.getLogger(__name__)

ANY_ENV: Final = "__env__"
#: Internal option: folder -> pushsalt.trust.Limit, for the copy of a git remote, or [renderers, source in words].
LIMITS: Final = "__limits__"


def backend(opts: Mapping[str, Any]) -> Roots:
    return Roots(opts)


class Roots:
    def __init__(self, opts: Mapping[str, Any]) -> None:
        """Raises ConfigError for an invalid regular expression of an ignore pattern."""
        self._roots: Mapping[str, list[str]] = opts.get("file_roots") or {}
        limits = opts.get(LIMITS)
        self._limits = {top: _limit(one) for top, one in limits.items()} if isinstance(limits, Mapping) else {}
        follow = opts.get("fileserver_followsymlinks")
        self._follow = follow is None or bool(follow)
        #: whether links that leave the roots are followed; Salt follows them by default
        self._outside = bool(follow)
        self._real_roots: list[str] | None = None
        self._said: set[str] = set()
        self._skip_links = bool(opts.get("fileserver_ignoresymlinks", False))
        self._ignored = Ignored(opts)

    def envs(self) -> list[str]:
        return sorted(self._roots)

    def find(self, path: str, saltenv: str) -> DiskFile | None:
        for root in self._folders(saltenv):
            full = os.path.join(root, path)
            file = disk_file(full, path)
            if file is not None and not self._ignored(full) and self._is_ours(root, full):
                return self._limited(file) if self._limits else file
        return None

    def _limited(self, file: DiskFile) -> DiskFile:
        return replace(file, limit=next((one for top, one in self._limits.items() if _inside(file.path, top)), None))

    def listing(self, saltenv: str) -> Listing:
        files: set[str] = set()
        dirs: set[str] = set()
        empty: set[str] = set()
        links: dict[str, str] = {}
        for root in self._folders(saltenv):
            for entry, rel in self._walk(root, "", (), root):
                if self._ignored(rel):
                    continue
                if entry.is_symlink():
                    if self._skip_links or (self._follow and not self._is_ours(root, entry.path)):
                        continue
                    if not self._follow or _within(root, entry.path):
                        links.setdefault(rel, os.readlink(entry.path))
                if entry.is_dir():
                    dirs.add(rel)
                    if _is_empty(entry.path):
                        empty.add(rel)
                elif entry.is_file() and (self._follow or _within(root, entry.path)):
                    files.add(rel)
        return Listing(sorted(files), sorted(dirs), sorted(empty), links)

    def list_folder(self, folder: str, saltenv: str) -> list[str]:
        entries: set[str] = set()
        for root in self._folders(saltenv):
            try:
                names = os.listdir(os.path.join(root, folder))  # noqa: PTH208 - for speed
            except OSError:
                continue
            entries.update(f"{folder}/{name}" for name in names)
        return sorted(entries)

    def _folders(self, saltenv: str) -> list[str]:
        """The roots of a saltenv, in order."""
        if saltenv in self._roots:
            return [str(root) for root in self._roots[saltenv]]
        return [str(root).replace(ANY_ENV, saltenv) for root in self._roots.get(ANY_ENV, ())]

    def _is_ours(self, root: str, path: str) -> bool:
        """Whether a path may be served: its real path is inside of a root, unless all links are followed."""
        if self._outside:
            return True
        if not self._follow:
            return _within(root, path)
        real = os.path.realpath(path)
        if _inside(real, os.path.realpath(root)):
            return True
        if self._real_roots is None:
            all_roots = {str(each) for paths in self._roots.values() for each in paths or ()}
            self._real_roots = [os.path.realpath(each) for each in all_roots if ANY_ENV not in each]
        if any(_inside(real, each) for each in self._real_roots):
            return True
        if path not in self._said:
            log.warning(
                "file server: %s is a link out of the file roots, to %s, and is not served: "
                "fileserver_followsymlinks: true follows it",
                path,
                real,
            )
            self._said.add(path)
        return False

    def _walk(
        self, folder: str, rel: str, above: tuple[tuple[int, int], ...], root: str
    ) -> Iterator[tuple[os.DirEntry[str], str]]:
        """(entry, relative path) of all entries below a folder. Links to a parent folder are not followed."""
        try:
            status = os.stat(folder)
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as exc:
            if rel:  # a missing root is not reported
                log.warning("file server: %s cannot be listed: %s", folder, exc.strerror)
            return
        identity = (status.st_dev, status.st_ino)
        if identity in above:
            return
        for entry in entries:
            path = f"{rel}/{entry.name}" if rel else entry.name
            yield entry, path
            if entry.is_dir(follow_symlinks=self._follow) and (
                not entry.is_symlink() or self._is_ours(root, entry.path)
            ):
                yield from self._walk(entry.path, path, (*above, identity), root)


def _limit(value: Any) -> Limit:
    if isinstance(value, Limit):
        return value
    engines, source = value
    return Limit(frozenset(engines), str(source))


def _within(root: str, path: str) -> bool:
    real = os.path.realpath(root)
    return os.path.commonpath([real, os.path.realpath(path)]) == real


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _is_empty(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError:
        return False
