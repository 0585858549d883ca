"""A line of JSON for each return, and each event, at the end of a file. Salt: salt.returners.rawfile_json.

::

    returner.rawfile_json: {filename: /var/log/pushsalt/returns.json}

The file is made for its owner alone. Lines of several commands do not mix. A link, a pipe or a device is refused.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pushsalt.returners import Outside, Trouble

OPTIONS: Final = {"filename": "/var/log/salt/events"}
SECRETS: Final = ()


def returner(ret: Mapping[str, Any], *, outside: Outside) -> None:
    _append(outside, [ret])


def event_return(events: Sequence[Mapping[str, Any]], *, outside: Outside) -> None:
    if events:
        _append(outside, events)


def _append(outside: Outside, rows: Sequence[Mapping[str, Any]]) -> None:
    path = outside.options["filename"]
    data = "".join(json.dumps(row, default=str) + "\n" for row in rows).encode()
    hint = "is the folder there, and may you write into it?"
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            _check(path, os.fstat(descriptor))
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            _write(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as exc:
        raise Trouble(f"{path} cannot be written: {exc.strerror or exc}", hint) from None


def _check(path: str, status: os.stat_result) -> None:
    """Raises Trouble for anything but a file, and for another user's file in a shared folder such as ``/tmp``."""
    if not stat.S_ISREG(status.st_mode):
        raise Trouble(f"{path} is no regular file", "name another file")
    is_of_all = Path(path).parent.stat().st_mode & stat.S_IWOTH
    if is_of_all and status.st_uid not in (0, os.geteuid()):
        raise Trouble(f"{path} belongs to another user, in a folder that all can write to", "name another file")


def _write(descriptor: int, data: bytes) -> None:
    """Append all data or none: a partial write on a full disk is undone. An incomplete last line is ended first."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        data = b"\n" + data
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError:
        os.ftruncate(descriptor, size)
        raise
