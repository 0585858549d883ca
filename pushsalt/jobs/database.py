"""Opens, makes and migrates the SQLite database of the record, and renames it when it is damaged.

It is the file ``jobs/jobs.sqlite3`` below the cache folder, readable only for its user, in WAL mode, so that several
commands can write at once. A commit survives a kill of the process at any point. A power cut may lose the last commits,
but does not damage the file.

``PRAGMA user_version`` is the version of the tables; ``MIGRATIONS`` has the steps from each version to the next.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pushsalt.privatefolder import private_dir

FOLDER: Final = "jobs"
NAME: Final = "jobs.sqlite3"
#: Seconds to wait for another command that writes.
PATIENCE: Final = 5.0

MIGRATIONS: Final = (
    """
    CREATE TABLE jobs (
        jid TEXT PRIMARY KEY, fun TEXT NOT NULL, arg TEXT NOT NULL, kwarg TEXT NOT NULL, tgt TEXT NOT NULL,
        tgt_type TEXT NOT NULL, user TEXT NOT NULL, start REAL NOT NULL, end REAL, state TEXT NOT NULL,
        exit_code INTEGER, targets INTEGER NOT NULL, returned INTEGER NOT NULL DEFAULT 0,
        failed INTEGER NOT NULL DEFAULT 0, unanswered INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL DEFAULT 0,
        mark TEXT NOT NULL, detail BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE returns (
        jid TEXT NOT NULL, id TEXT NOT NULL, ret BLOB NOT NULL, retcode INTEGER NOT NULL, exit_code INTEGER NOT NULL,
        shape TEXT NOT NULL, kind TEXT NOT NULL, more BLOB NOT NULL, size INTEGER NOT NULL, time REAL NOT NULL
    );
    CREATE UNIQUE INDEX returns_by_job ON returns (jid, id);
    CREATE TABLE meta (key TEXT PRIMARY KEY, value REAL) WITHOUT ROWID;
    """,
    # what an orchestration consists of: its jobs (key: their jid), and until its end the returns of its states (tag)
    """
    CREATE TABLE parts (
        jid TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (jid, kind, key)
    ) WITHOUT ROWID;
    """,
)
VERSION: Final = len(MIGRATIONS)


class NotUsableError(Exception):
    """The record cannot be used; the message says why, for people. ``hint``: what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class NewerVersionError(NotUsableError):
    """The file was written by a newer pushsalt."""


class DamagedError(NotUsableError):
    """The file is not a database, or its content is inconsistent."""


def path_of(cache_dir: Path) -> Path:
    return cache_dir / FOLDER / NAME


def open_database(path: Path) -> sqlite3.Connection:
    """Open the database; make or migrate it if necessary. Raises NotUsableError, also its subclass DamagedError."""
    with _explained(path):
        private_dir(path.parent)
        _make_private(path)
        connection = _connect(path)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def open_to_read(path: Path) -> sqlite3.Connection | None:
    """Open the database for reading, also without permission to write; None if there is none. Raises NotUsableError."""
    if not path.exists():
        return None
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return open_database(path)
    with _explained(path):
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True, check_same_thread=False)
        try:
            if _version_of(connection, path) < VERSION:
                raise NotUsableError(f"{path} has tables of an older version, and cannot be written", "check its mode")
        except BaseException:
            connection.close()
            raise
        return connection


def put_aside(path: Path, sees_damage: type[DamagedError] = DamagedError) -> Path | None:
    """Rename a damaged database, with its journal; None if another command has already done so.

    Raises NotUsableError if it cannot be renamed.
    """
    with _explained(path):
        lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                connection = open_database(path)
            except sees_damage:
                pass
            else:
                sound = _is_sound(connection)
                connection.close()
                if sound:
                    return None
            aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}")
            for end in ("-wal", "-shm", ""):
                with contextlib.suppress(FileNotFoundError):
                    path.with_name(path.name + end).rename(aside.with_name(aside.name + end))
            return aside
        finally:
            os.close(lock)


def _is_sound(connection: sqlite3.Connection) -> bool:
    try:
        verdict: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        return verdict == "ok"
    except sqlite3.DatabaseError:
        return False


def _make_private(path: Path) -> None:
    """Make the file private before SQLite creates it with wider permissions; the journal gets the same mode."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise PermissionError(1, f"{path} is no regular file of its user") from None
        if status.st_mode & 0o077:
            path.chmod(0o600)
        if not os.access(path, os.W_OK):  # SQLite hides the reason. Opening and closing it would drop SQLite's locks
            code = errno.EROFS if os.statvfs(path).f_flag & os.ST_RDONLY else errno.EACCES
            raise OSError(code, os.strerror(code)) from None


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        for words in (
            "synchronous = NORMAL",
            "secure_delete = ON",
            "auto_vacuum = INCREMENTAL",
            "trusted_schema = OFF",
        ):
            connection.execute(f"PRAGMA {words}")
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    if _version_of(connection, path) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version_of(connection, path)  # another command may have migrated it meanwhile
        for script in MIGRATIONS[version:]:
            for statement in filter(str.strip, script.split(";")):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _version_of(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise NewerVersionError(
            f"{path} was written by a newer pushsalt (version {version} of its tables; this one knows {VERSION})",
            "use that pushsalt, or another --cache-dir",
        )
    return version


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Convert errors of the file system and of SQLite to NotUsableError."""
    try:
        yield
    except OSError as exc:
        raise NotUsableError(f"{exc.strerror or exc}: {path.parent}", "check the cache folder") from None
    except sqlite3.Error as exc:
        raise trouble(exc, path) from None


def trouble(exc: sqlite3.Error, path: Path) -> NotUsableError:
    """The error with a message for people. SQLite has its own class for files that are damaged or no database."""
    if type(exc) is sqlite3.DatabaseError or "malformed" in str(exc):
        return DamagedError(f"{path} is damaged ({exc})")
    return NotUsableError(f"{path}: {exc}", "check the free space and the mode of the cache folder")
