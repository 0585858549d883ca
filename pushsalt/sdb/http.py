"""HTTP for drivers: limits the size and time of an answer, and only contacts the host of the URL.

Certificates are verified unless ``verify`` is false; a path is a file with certificates of authorities. Only redirects
to the same host are followed, since requests contain credentials.
"""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from pushsalt.sdb import MAX_BYTES, Trouble
from pushsalt.sdb.bounded import within

_REDIRECTS: Final = 3


class Answer(NamedTuple):
    """``status`` is the HTTP status code."""

    status: int
    data: bytes


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
    limit: float,
    verify: Any = True,
) -> Answer:
    """Send a request; returns the answer, whatever its status. Raises Trouble if there is none."""
    shown = without_password(url)
    hint = "is the server up, and the URL right?"
    opener = _opener(verify)
    for _ in range(_REDIRECTS + 1):
        call = partial(_once, opener, method, url, dict(headers), body, limit)
        try:
            status, data, location = within(limit, call, shown, hint)
        except Trouble:
            raise
        except (OSError, ValueError, http.client.HTTPException) as exc:
            reason = getattr(exc, "reason", exc) or type(exc).__name__
            why = "its certificate cannot be verified" if isinstance(reason, ssl.SSLCertVerificationError) else ""
            more = "name the file of its authority as `verify`" if why else hint
            raise Trouble(f"{shown} cannot be reached: {why or reason}", more, down=True) from None
        if status not in (301, 302, 303, 307, 308) or not location:
            return Answer(status, data)
        target = urllib.parse.urljoin(url, location)
        if _place(target) != _place(url):
            raise Trouble(
                f"{shown} redirects to another host, {urllib.parse.urlsplit(target).hostname}",
                "nothing is sent there: name that server in the profile if you trust it",
            )
        url = target
        if status in (301, 302, 303) and method != "GET":
            method, body = "GET", None
    raise Trouble(f"{shown} redirects again and again", hint)


def without_password(url: str) -> str:
    """A URL for messages: without user, password, query and fragment."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def checked(url: object, what: str) -> str:
    """The URL, if it is an http or https URL. Raises Trouble for any other."""
    text = str(url or "")
    try:
        parts = urllib.parse.urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or any(ord(char) <= 0x20 or ord(char) == 0x7F for char in text):
        raise Trouble(f"{what} is no http or https URL", f"write {what} like https://vault.example:8200")
    return text


def _place(url: str) -> tuple[str, str | None, int | None]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _opener(verify: Any) -> urllib.request.OpenerDirector:
    try:
        context = ssl.create_default_context(cafile=verify if isinstance(verify, str) else None)
    except (OSError, ssl.SSLError) as exc:
        raise Trouble(f"the authorities in {verify} cannot be read: {exc}", "correct `verify`") from None
    if verify is False:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    opener = urllib.request.OpenerDirector()  # build_opener would add handlers for file: and ftp:
    opener.add_handler(urllib.request.ProxyHandler())
    opener.add_handler(urllib.request.HTTPHandler())
    opener.add_handler(urllib.request.HTTPSHandler(context=context))
    return opener


def _once(
    opener: urllib.request.OpenerDirector,
    method: str,
    url: str,
    headers: dict[str, str],
    body: bytes | None,
    limit: float,
) -> tuple[int, bytes, str]:
    request = urllib.request.Request(url, data=body, headers=headers, method=method)  # noqa: S310 - `checked`
    with opener.open(request, timeout=limit) as answer:
        data = answer.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            text = f"{without_password(url)} answers with more than {MAX_BYTES // 1024} KiB"
            raise Trouble(text, "a secret is smaller: is the URL right?")
        return int(answer.status), data, str(answer.headers.get("Location") or "")
