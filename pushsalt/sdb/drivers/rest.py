"""Values from web servers. Salt: salt.sdb.rest.

::

    api:
      driver: rest
      keys:
        url: https://api.example/users/{{ user }}/keys
        header_dict: {Authorization: sdb://osenv/API_AUTH}
    sdb://api/keys?user=ann        the JSON answer of the server, as data

The part of the key before ``?`` is an entry of the profile; the rest are values for the names in braces in its ``url``,
``params`` and ``data``. Further options of an entry, as in Salt's ``http.query``: ``method``, ``params``, ``data``,
``header_dict``, ``header_list``, ``username``, ``password``, ``verify_ssl``, ``ca_bundle``, ``timeout``; and ``key``,
the path of the value in the answer (``data:password``). ``decode: false`` returns the answer as text.
"""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from collections.abc import Mapping
from typing import Any, Final

from pushsalt.sdb import Trouble, seconds
from pushsalt.sdb.http import checked, request, without_password
from pushsalt.sdb.uri import read_key, replaced
from thin.utils.data import traverse_dict_and_list

_NAME: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def get(key: str, service: str | None = None, profile: Mapping[str, Any] | None = None) -> Any:
    name, fields = read_key(key)
    entry = (profile or {}).get(name)
    if not isinstance(entry, Mapping) or not entry.get("url"):
        names = ", ".join(str(each) for each, value in (profile or {}).items() if isinstance(value, Mapping))
        raise Trouble(f"the profile has no entry {name!r} with a `url`", f"its entries are: {names or 'none'}")
    url = checked(_filled(str(entry["url"]), fields, quote=True), "`url`")
    if entry.get("params"):
        given = {each: _filled(str(value), fields) for each, value in dict(entry["params"]).items()}
        url += ("&" if "?" in url else "?") + urllib.parse.urlencode(given)
    url, headers = _headers(url, entry)
    data = entry.get("data")
    body = None
    if data is not None:
        filled = replaced(data, lambda text: True, lambda text: _filled(text, fields))
        body = (filled if isinstance(filled, str) else json.dumps(filled)).encode()
    answer = request(
        str(entry.get("method") or "GET").upper(),
        url,
        headers=headers,
        body=body,
        limit=seconds(entry),
        verify=entry.get("ca_bundle") or entry.get("verify_ssl", True),
    )
    if answer.status == 404:
        return None
    if answer.status >= 300:
        down = answer.status >= 500
        raise Trouble(f"{without_password(url)}: HTTP {answer.status}", "are URL and credentials right?", down=down)
    return _taken(answer.data, entry, without_password(url))


def _taken(content: bytes, entry: Mapping[str, Any], shown: str) -> Any:
    if not entry.get("decode", True):
        return content.decode("utf-8", "replace")
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise Trouble(f"{shown} does not answer with JSON", "decode: false gives it as text") from None
    return traverse_dict_and_list(data, str(entry["key"]), None) if entry.get("key") else data


def _filled(text: str, fields: Mapping[str, str], *, quote: bool = False) -> str:
    def value(match: re.Match[str]) -> str:
        if match.group(1) not in fields:
            raise Trouble(f"the key gives no {match.group(1)!r}", f"write …?{match.group(1)}=VALUE")
        given = fields[match.group(1)]
        if quote and given in ("", ".", ".."):
            raise Trouble(f"{match.group(1)}={given} is not allowed in a URL", "give it another value")
        return urllib.parse.quote(given, safe="") if quote else given

    return _NAME.sub(value, text)


def _headers(url: str, entry: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """(URL without user and password, headers). The user and password become a header ``Authorization``."""
    headers = {"Accept": "application/json"}
    if entry.get("data") is not None:
        headers["Content-Type"] = "application/json"
    headers |= {str(name): str(value) for name, value in (entry.get("header_dict") or {}).items()}
    for line in entry.get("header_list") or ():
        name, _, value = str(line).partition(":")
        headers[name.strip()] = value.strip()
    if any("\n" in text or "\r" in text for pair in headers.items() for text in pair):
        raise Trouble("a header has a line break in it", "correct the entry's headers")
    parts = urllib.parse.urlsplit(url)
    user = urllib.parse.unquote(parts.username) if parts.username else entry.get("username")
    if user:
        password = urllib.parse.unquote(parts.password) if parts.password else entry.get("password") or ""
        headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])), headers
