"""Job ids in Salt's form: when the job began, UTC, in twenty digits (year to microsecond). Salt: utils/jid.py."""

from __future__ import annotations

import re
import threading
from datetime import datetime, timedelta, timezone
from typing import Any, Final

DIGITS: Final = 20
_FORM: Final = "%Y%m%d%H%M%S%f"
_JID: Final = re.compile(r"[0-9]{20}\Z")

_lock = threading.Lock()
_last = datetime.min.replace(tzinfo=timezone.utc)


def new_jid() -> str:
    """A job id that this process has not made before."""
    global _last
    with _lock:
        _last = max(datetime.now(timezone.utc), _last + timedelta(microseconds=1))
        return _last.strftime(_FORM)


def is_jid(text: Any) -> bool:
    """Whether a value is a job id: twenty digits that are a time."""
    return isinstance(text, str) and _JID.match(text) is not None and began(text) is not None


def began(jid: str) -> datetime | None:
    """The time at which the job of this id began; None if the digits are not a time."""
    try:
        return datetime.strptime(jid, _FORM).replace(tzinfo=timezone.utc)
    except ValueError:
        return None
