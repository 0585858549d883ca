"""POST requests of returners: certificates are verified, redirects are not followed, size and time are limited.

A redirect is not followed, since the body, its signature and the path of a webhook are only for the host of the URL.
"""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pushsalt.returners import Trouble

#: bytes of an answer that are read
_MOST: Final = 64 * 1024


class Answer(NamedTuple):
    """``status`` is HTTP's, ``text`` the beginning of its body."""

    status: int
    text: str


class Unanswered(Trouble):
    """No answer came; the request may have arrived."""


def shown(url: str) -> str:
    """A URL for messages: scheme, host and port. Paths of webhooks are passwords."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def checked(url: str, option: str) -> str:
    """The URL, if requests may be sent to it. Raises Trouble for any other."""
    try:
        parts = urllib.parse.urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or any(ord(char) <= 0x20 or ord(char) >= 0x7F for char in url):
        raise Trouble(f"the option `{option}` is no http or https URL", "write it like https://hooks.example/pushsalt")
    if parts.username or parts.password:
        raise Trouble(
            f"the URL of the option `{option}` has a login in it",
            "leave it out: what is sent is signed by `secret`, or put a token into its query",
        )
    return url


def opener(verify: str, option: str) -> urllib.request.OpenerDirector:
    """Makes the opener for requests. ``verify``: a file of certificate authorities, or empty for those of the system.
    Raises Trouble."""
    try:
        context = ssl.create_default_context(cafile=verify or None)
    except (OSError, ssl.SSLError) as exc:
        raise Trouble(f"the authorities in {verify} cannot be read: {exc}", f"correct `{option}`") from None
    director = urllib.request.OpenerDirector()  # build_opener would follow redirects, and open files and ftp
    director.add_handler(urllib.request.ProxyHandler())
    director.add_handler(urllib.request.HTTPHandler())
    director.add_handler(urllib.request.HTTPSHandler(context=context))
    return director


def post(
    opening: urllib.request.OpenerDirector, url: str, body: bytes, headers: Mapping[str, str], limit: float
) -> Answer:
    """Send a request. Returns the answer, of any status except redirects. Raises Trouble; Unanswered without answer."""
    request = urllib.request.Request(url, data=body, headers=dict(headers), method="POST")  # noqa: S310 - `checked`
    try:
        with opening.open(request, timeout=limit) as answer:
            status, text = int(answer.status), answer.read(_MOST).decode("utf-8", "replace")
            location = str(answer.headers.get("Location") or "")
    except (OSError, ValueError, http.client.HTTPException) as exc:
        raise _unanswered(url, exc) from None
    if 300 <= status < 400:
        host: Any = "another place"
        if location:
            host = shown(urllib.parse.urljoin(url, location))
        raise Trouble(
            f"{shown(url)} redirects to {host}, where nothing is sent",
            "write the final address into the option `url`, if it is to be trusted",
        )
    return Answer(status, text)


def _unanswered(url: str, exc: BaseException) -> Trouble:
    reason = getattr(exc, "reason", exc)
    if isinstance(reason, ssl.SSLCertVerificationError):
        hint = "name the file of its authority as `verify`"
        return Trouble(f"the certificate of {shown(url)} cannot be verified: {reason.verify_message}", hint)
    why = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return Unanswered(f"{shown(url)} gives no answer: {why}", "is the server up, and the URL right?")
