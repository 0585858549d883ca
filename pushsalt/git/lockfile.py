"""``pushsalt.lock``: the exact revisions of the git refs in use.

If the file exists, its revisions are used, also when the remotes have newer ones; ``pushsalt formula update`` updates
them. A ref that is not in it yet is added when it is used; with ``--locked`` that is an error, and the file is never
written.

::

    version: 1
    remotes:
      https://example.org/nginx-formula.git:
        refs/heads/master: 0a1b2c…
"""

from __future__ import annotations

import fcntl
import os
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pushsalt import regular
from pushsalt.cache.store import write_atomic
from pushsalt.errors import ConfigError, Position
from pushsalt.yamlio import YamlError, load_yaml

if TYPE_CHECKING:
    from pushsalt.config import Config

NAME: Final = "pushsalt.lock"
VERSION: Final = 1
_HEAD: Final = """\
# The revision of every git remote in use. Keep it next to pushsalt.yaml, under version control. `pushsalt formula
# update` updates it. With --locked no other revisions are used.
"""
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

Pins = dict[str, dict[str, str]]


def lock_path(config: Config) -> Path | None:
    """The path of the lock file next to ``pushsalt.yaml``; next to another configuration only if the file exists."""
    if config.lock_file is not None:
        return config.lock_file
    if config.path is None:
        return None
    path = config.path.parent / NAME
    return path if config.path.name == "pushsalt.yaml" or path.exists() else None


class LockFile:
    """``url`` is a remote's without credentials, ``ref`` ``refs/heads/…`` or ``refs/tags/…``."""

    def __init__(self, path: Path | None, strict: bool = False) -> None:
        """``path``: the file, which may not exist. Raises ConfigError if it is damaged, or ``strict`` and missing."""
        self.path = path
        self.strict = strict
        self._lock = threading.Lock()
        pins = _read(path) if path is not None else None
        if strict and pins is None:
            where = f"there is no {path}" if path else f"there is no project folder for a {NAME}"
            raise ConfigError(f"--locked: {where}", hint="`pushsalt formula update` writes it")
        #: whether the file exists; otherwise no ref is pinned
        self.exists = pins is not None
        self.pins: Pins = pins or {}

    def revision(self, url: str, ref: str) -> str | None:
        return self.pins.get(url, {}).get(ref)

    def refs(self, url: str) -> Mapping[str, str] | None:
        """ref -> commit, for one remote; None if it is not in the file."""
        return self.pins.get(url) if self.exists else None

    def add(self, url: str, ref: str, commit: str) -> None:
        """Pin a ref that is used for the first time. Raises ConfigError with ``--locked``."""
        if not self.exists or self.revision(url, ref) == commit:
            return
        if self.strict:
            raise ConfigError(
                f"--locked: {self.path} does not have {ref} of {url}",
                hint="run `pushsalt formula update`, and commit the lock file",
            )
        self.change({url: {ref: commit}})

    def replace(self, pins: Mapping[str, Mapping[str, str]], remotes: Iterable[str]) -> None:
        """Replace the pins of these remotes; other remotes than ``remotes`` are removed from the file."""
        self.change(pins, remotes, whole=True)

    def change(
        self, pins: Mapping[str, Mapping[str, str]], remotes: Iterable[str] | None = None, whole: bool = False
    ) -> None:
        """Merge these pins into the file; with ``remotes``, all others are removed. Raises ConfigError."""
        if self.path is None:
            raise ConfigError(f"there is no project folder for a {NAME}", hint="`pushsalt init` makes one")
        with self._lock:
            try:
                folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    fcntl.flock(folder, fcntl.LOCK_EX)  # another command may add pins concurrently
                    now = _read(self.path) or {}
                    for url, refs in pins.items():
                        now[url] = {**({} if whole else now.get(url, {})), **refs}
                    if remotes is not None:
                        kept = set(remotes)
                        now = {url: refs for url, refs in now.items() if url in kept}
                    write_atomic(self.path, _text(now).encode(), 0o644)
                finally:
                    os.close(folder)
            except OSError as exc:
                raise ConfigError(
                    f"{self.path} cannot be written: {exc.strerror}", hint="check its permissions"
                ) from None
            self.pins, self.exists = now, True


def _read(path: Path) -> Pins | None:
    try:
        text = regular.read_text(path)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path} cannot be read: {exc}", hint="restore it from version control") from None
    try:
        data = load_yaml(text, str(path))
    except YamlError as exc:
        where = Position(str(path), exc.line)
        raise ConfigError(
            f"not a lock file: {exc.problem}", hint="restore it from version control", where=where
        ) from None
    if not isinstance(data, dict) or data.get("version") != VERSION or not isinstance(data.get("remotes"), dict | None):
        raise ConfigError(
            f"{path} is not a lock file of this version", hint="`pushsalt formula update` writes a new one"
        )
    pins: Pins = {}
    for url, refs in (data.get("remotes") or {}).items():
        for ref, commit in (refs if isinstance(refs, dict) else {"": None}).items():
            if not isinstance(commit, str) or not _HASH.fullmatch(commit):
                raise ConfigError(
                    f"{path}: {url}: the value of {ref} is not the hash of a commit",
                    hint="restore it from version control",
                )
            pins.setdefault(str(url), {})[str(ref)] = commit
    return pins


def _text(pins: Mapping[str, Mapping[str, str]]) -> str:
    import json

    lines = [_HEAD + f"version: {VERSION}", "remotes:" if pins else "remotes: {}"]
    for url, refs in sorted(pins.items()):
        lines.append(f"  {json.dumps(url)}:")
        lines += [f"    {json.dumps(ref)}: {json.dumps(commit)}" for ref, commit in sorted(refs.items())]
    return "\n".join(lines) + "\n"
