"""Webhooks: what other programs send becomes an event ``salt/netapi/hook/PATH``. Salt: ``Webhook``.

Without a token, the body has to be signed: ``X-Pushsalt-Signature: sha256=HEX`` or, as GitHub and others send it,
``X-Hub-Signature-256: sha256=HEX``: the HMAC-SHA256 of the body with the secret of the path (``webhook_secret``).
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
    from pushsalt.journal.store import Journal
    from pushsalt.redact import Redactor

TAG: Final = "salt/netapi/hook"
SIGNATURES: Final = ("x-pushsalt-signature", "x-hub-signature-256")
#: Headers that are left out of the event: they let somebody in.
_SECRET: Final = frozenset(("authorization", "cookie", "proxy-authorization", "x-auth-token", *SIGNATURES))
#: Characters of a path.
_LONGEST: Final = 200
_ALLOWED: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/@:+~")


def is_signed(secrets: Mapping[str, str], path: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether the body has a valid signature by one of the secrets of its path."""
    given = next((headers[name] for name in SIGNATURES if name in headers), "")
    right = False
    for glob, secret in secrets.items():
        if fnmatchcase(path, glob):
            wanted = "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest()
            right |= hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
    return right


async def write(
    journal: Journal, redactor: Redactor, path: str, headers: Mapping[str, str], body: bytes, data: Any
) -> None:
    """Write the event; it is durable then. Raises Refused."""
    path = path.strip("/")
    if len(path) > _LONGEST or not _ALLOWED.issuperset(path):
        raise Refused(400, f"the path of a hook has at most {_LONGEST} letters, digits and ._-/@:+~")
    kept = {name: text for name, text in headers.items() if name.lower() not in _SECRET}
    event = redactor.data({"body": body.decode("utf-8", "replace"), "post": data or {}, "headers": kept})
    try:
        await asyncio.to_thread(journal.put, f"{TAG}/{path}" if path else TAG, event)
    except (OSError, sqlite3.Error) as exc:
        raise Refused(503, f"the event cannot be kept: {getattr(exc, 'strerror', None) or exc}") from None
