"""Secret words made up for one test run, and the search for them in what the run left behind."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable
from pathlib import Path


class Planted:
    """``words`` has a word of this time for each name."""

    def __init__(self, names: Iterable[str]) -> None:
        self.words = {name: f"canary-{name}-{secrets.token_hex(8)}" for name in names}

    def found(self, data: str | bytes) -> set[str]:
        """Names of the words that stand in it, as they are or in base64."""
        data = data.encode() if isinstance(data, str) else data
        plain = {name: word.encode() for name, word in self.words.items()}
        return {name for name, word in plain.items() if word in data or base64.b64encode(word)[:-4] in data}

    def on_disk(self, *folders: Path) -> dict[str, set[str]]:
        """File -> names of the words in it, for all files below the folders."""
        hits = {}
        for path in (path for folder in folders for path in folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and (names := self.found(path.read_bytes())):
                hits[str(path)] = names
        return hits
