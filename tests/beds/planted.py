"""Secret words that are made up for one test run, and the search for them in files and output."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable
from pathlib import Path


class Planted:
    """``words`` maps each name to a random word of this run."""

    def __init__(self, names: Iterable[str]) -> None:
        self.words = {name: f"canary-{name}-{secrets.token_hex(8)}" for name in names}

    def found(self, data: str | bytes) -> set[str]:
        """The names of the words that a text contains, plain or in base64."""
        data = data.encode() if isinstance(data, str) else data
        plain = {name: word.encode() for name, word in self.words.items()}
        return {name for name, word in plain.items() if word in data or base64.b64encode(word)[:-4] in data}

    def on_disk(self, *folders: Path) -> dict[str, set[str]]:
        """file -> names of the words that it contains, for all files below the folders"""
        hits = {}
        for path in (path for folder in folders for path in folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and (names := self.found(path.read_bytes())):
                hits[str(path)] = names
        return hits
