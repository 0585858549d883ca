"""Webhooks: requests of other programs become events ``salt/netapi/hook/PATH``. Salt: ``Webhook``.

A request without a token must be signed: ``X-Pushsalt-Signature: sha256=HEX`` or, as GitHub and others do,
``X-Hub-Signature-256: sha256=HEX``, with the HMAC-SHA256 of the body by the secret of the path (``webhook_secret``).
"""

from __future__ import annotations

import asyncio
import hmac
import sqlite3
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from pushsalt.serve.answers import Refused

if TYPE_CHECKING:
    from pushsalt.journal.interface import EventJournal
    from pushsalt.redact import Redactor

TAG: Final = "salt/netapi/hook"
SIGNATURES: Final = ("x-pushsalt-signature", "x-hub-signature-256")
#: Headers that are not in the event, since they contain credentials.
_SECRET: Final = frozenset(("authorization", "cookie", "proxy-authorization", "x-auth-token", *SIGNATURES))
#: Maximum characters of a path, and the permitted ones.
_PATH_LENGTH: Final = 200
_ALLOWED: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/@:+~")


def is_signed(secrets: Mapping[str, str], path: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether the body has a valid signature by one of the secrets of its path."""
    given = next((headers[name] for name in SIGNATURES if name in headers), "")
    matches = False
    for glob, secret in secrets.items():
        if fnmatchcase(path, glob):
            expected = "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest()
            matches |= hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
    return matches


async def write(
    journal: EventJournal, redactor: Redactor, path: str, headers: Mapping[str, str], body: bytes, data: Any
) -> None:
    """Write the event into the journal; it is durable after this call. Raises Refused."""
    path = path.strip("/")
    if len(path) > _PATH_LENGTH or not _ALLOWED.issuperset(path):
        raise Refused(400, f"the path of a hook may have {_PATH_LENGTH} letters, digits and ._-/@:+~")
    kept = {name: text for name, text in headers.items() if name.lower() not in _SECRET}
    event = redactor.data({"body": body.decode("utf-8", "replace"), "post": data or {}, "headers": kept})
    try:
        await asyncio.to_thread(journal.put, f"{TAG}/{path}" if path else TAG, event)
    except (OSError, sqlite3.Error) as exc:
        raise Refused(503, f"the event cannot be written: {getattr(exc, 'strerror', None) or exc}") from None
