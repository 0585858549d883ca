"""Tokens of logins, which are stored in SQLite as their SHA-256, so that they outlive the process."""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pushsalt import privatefolder
from pushsalt.errors import CommandError

#: Maximum number of tokens of an account; older ones are removed.
_TOKENS: Final = 500
_TABLE: Final = """CREATE TABLE IF NOT EXISTS tokens (
    digest BLOB PRIMARY KEY, name TEXT NOT NULL, eauth TEXT NOT NULL, start REAL NOT NULL, expire REAL NOT NULL
) WITHOUT ROWID"""


@dataclass(frozen=True)
class Token:
    """The data of a token: account, eauth module, and seconds since 1970."""

    name: str
    eauth: str
    start: float
    expire: float


class Tokens:
    """The tokens of one project, in ``serve/tokens.sqlite3`` below its cache folder."""

    def __init__(self, cache_dir: Path) -> None:
        """Raises CommandError if the file cannot be used."""
        self.path = cache_dir / "serve" / "tokens.sqlite3"
        self._lock = threading.Lock()
        try:
            privatefolder.private_dir(self.path.parent)
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            self._connection = sqlite3.connect(self.path, timeout=10.0, isolation_level=None, check_same_thread=False)
            self._connection.execute("PRAGMA trusted_schema = OFF")
            self._connection.execute(_TABLE)
        except (OSError, sqlite3.Error) as exc:
            text = getattr(exc, "strerror", None) or str(exc)
            raise CommandError(f"{self.path}: {text}", "check its folder, or remove it: logins end") from None

    def make(self, name: str, eauth: str, seconds: float) -> tuple[str, Token]:
        """A new token, in hexadecimal digits as in Salt, and its data."""
        now = time.time()
        text, token = secrets.token_hex(32), Token(name, eauth, now, now + seconds)
        with self._lock:
            self._connection.execute("DELETE FROM tokens WHERE expire < ?", (now,))
            query = "SELECT digest FROM tokens WHERE name = ? AND eauth = ? ORDER BY start DESC LIMIT -1 OFFSET ?"
            old = self._connection.execute(query, (name, eauth, _TOKENS - 1)).fetchall()
            self._connection.executemany("DELETE FROM tokens WHERE digest = ?", old)
            row = (_digest(text), name, eauth, token.start, token.expire)
            self._connection.execute("INSERT INTO tokens VALUES (?, ?, ?, ?, ?)", row)
        return text, token

    def get(self, text: str) -> Token | None:
        """The data of a token; None if it is unknown or has expired."""
        query = "SELECT name, eauth, start, expire FROM tokens WHERE digest = ? AND expire > ?"
        with self._lock:
            row = self._connection.execute(query, (_digest(text), time.time())).fetchone()
        return None if row is None else Token(*row)

    def remove(self, text: str) -> None:
        """Remove a token, which ends its login."""
        with self._lock:
            self._connection.execute("DELETE FROM tokens WHERE digest = ?", (_digest(text),))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
