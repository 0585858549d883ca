"""The notations in which programs print a secret."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

#: Shorter values are not hidden, since they occur in other texts.
SHORTEST: Final = 6
#: In the base64 of a longer text, the characters at a value's ends depend on its neighbours; for a value of length
#: SHORTEST this number of characters does not.
_BASE64_SHORTEST: Final = 7
_PERCENT: Final = re.compile("%[0-9A-F]{2}")


def forms(value: str) -> Iterator[str]:
    """``value`` as programs print it: quoted, escaped, percent-encoded and so on."""
    yield value
    if value.isascii() and value.isalnum():
        return
    from html import escape  # on demand: most commands have no such secret

    data = value.encode("utf-8", "surrogateescape")
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield json.dumps(value)[1:-1].replace("/", "\\/")  # PHP
    yield json.dumps(json.dumps(value)[1:-1])[1:-1]  # JSON within JSON
    yield repr(value)[1:-1]
    yield repr("'\"" + value)[4:-1]  # within a text that has both kinds of quotes
    yield repr(data)[2:-1]
    percent_encoded = quote(data, safe="")
    unescaped = re.sub("%(21|27|28|29|2A)", lambda found: chr(int(found[1], 16)), percent_encoded)  # of JavaScript
    for quoted in {
        percent_encoded,
        percent_encoded.replace("%2F", "/"),
        unescaped,
        percent_encoded.replace("%20", "+"),
        percent_encoded.replace("%", "%25"),
    } - {value}:
        yield quoted
        yield _PERCENT.sub(lambda found: found[0].lower(), quoted)
    yield escape(value)
    yield escape(value).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")  # Jinja
    yield escape(value, quote=False)
    yield value.replace("'", "'\"'\"'")  # sh
    yield value.replace("'", "'\\''")
    yield re.sub(r'([$`"\\])', r"\\\1", value)  # within double quotes
    yield re.sub(r"([^\w@%+=:,./-])", r"\\\1", value)
    yield value.replace("'", "''")  # YAML, SQL


def base64_parts(value: str) -> Iterator[str]:
    """The parts that the base64 of any text with ``value`` contains, one for each offset."""
    data = value.encode("utf-8", "surrogateescape")
    for code in (base64.standard_b64encode, base64.urlsafe_b64encode):
        # One part for each offset in a group of three bytes, without characters that depend on neighbours.
        for shift in range(3):
            encoded = code(b"\0" * shift + data).decode("ascii")
            start = -(-shift * 8 // 6)
            end = (shift + len(data)) * 8 // 6
            if end - start >= _BASE64_SHORTEST:
                yield encoded[start:end]
        if len(data) * 4 // 3 >= SHORTEST + 2:
            yield code(data).decode("ascii")
