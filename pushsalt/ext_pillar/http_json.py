"""JSON from a web server. ``%s`` in the URL is replaced by the target's id and, with ``with_grains``, ``<os>`` by its
grain ``os``.

Salt: salt.pillar.http_json. A user and password in the URL are sent as basic authentication and never shown.
"""

from __future__ import annotations

import base64
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Final

from pushsalt.ext_pillar import Outside
from thin.utils.data import traverse_dict_and_list

#: Time limit in seconds, and maximum size in bytes.
TIMEOUT: Final = 60.0
MAX_SIZE: Final = 64 * 1024 * 1024


def ext_pillar(minion_id: str, pillar: dict[str, Any], url: str, with_grains: bool = False, *, outside: Outside) -> Any:
    url = url.replace("%s", urllib.parse.quote(minion_id, safe=""))
    if with_grains:
        url = re.sub(r"<(.*?)>", lambda found: _grain(found.group(1), outside), url)
    return fetch(url)


def _grain(name: str, outside: Outside) -> str:
    value = traverse_dict_and_list(outside.context.grains, name, None)
    if not value:
        raise ValueError(f"the target has no grain {name!r} for the URL")
    return urllib.parse.quote(str(value), safe="")


def fetch(url: str) -> Any:
    """The JSON data at a URL. Raises OSError or ValueError, with the URL without user and password."""
    parts = urllib.parse.urlsplit(url)
    place = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    shown = urllib.parse.urlunsplit(place._replace(query="", fragment=""))
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"{shown}: only http and https are supported")
    headers = {"Accept": "application/json"}
    if parts.username is not None:
        user, password = (urllib.parse.unquote(text or "") for text in (parts.username, parts.password))
        headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
    opener = urllib.request.OpenerDirector()  # build_opener would also open files and ftp
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
        _Redirects,
    ):
        opener.add_handler(handler())
    request = urllib.request.Request(urllib.parse.urlunsplit(place), headers=headers)  # noqa: S310 - checked above
    try:
        with opener.open(request, timeout=TIMEOUT) as answer:
            content = answer.read(MAX_SIZE + 1)
    except urllib.error.HTTPError as exc:
        raise OSError(f"{shown}: HTTP {exc.code} {exc.reason}") from None
    except (OSError, ValueError) as exc:
        raise OSError(f"{shown}: {getattr(exc, 'reason', exc)}") from None
    if len(content) > MAX_SIZE:
        raise ValueError(f"{shown}: more than {MAX_SIZE} bytes")
    try:
        return json.loads(content)
    except ValueError as exc:
        raise ValueError(f"{shown}: the answer is not JSON: {exc}") from None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects; a password is only sent to the same host."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None and urllib.parse.urlsplit(newurl).netloc != urllib.parse.urlsplit(req.full_url).netloc:
            request.remove_header("Authorization")
        return request
