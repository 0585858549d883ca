"""Fingerprints of secrets in a plan, so that equal secrets can be told from different ones.

The key of a fingerprint is random and part of the plan: without the key it reveals nothing about the secret, and it
differs between plans. ``pushsalt.redact`` decides what is hidden; this module adds a fingerprint to each mask:
``**********(5f0c21aa)``. If the hidden value is unknown (base64 that is broken into lines), the mask has none.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Any, Final

from pushsalt.counterparts import MASK
from pushsalt.redact import Redactor

#: Hexadecimal digits that are shown.
_DIGITS: Final = 8
#: Limits for lines that are examined: characters, and number of masks.
_LONGEST: Final = 20_000
_MOST: Final = 20


class Fingerprints:
    """``answer`` and ``text`` as those of a Redactor, with fingerprints. ``key``: that of the plan."""

    def __init__(self, redactor: Redactor, key: bytes | None = None) -> None:
        self.key = key or secrets.token_bytes(32)
        self._redactor = redactor

    def of(self, secret: str) -> str:
        """The fingerprint of a text."""
        data = secret.encode("utf-8", "surrogateescape")
        return hmac.new(self.key, data, hashlib.sha256).hexdigest()[:_DIGITS]

    def answer(self, value: Any) -> Any:
        """``value`` with each secret replaced by its fingerprint, in texts and where the redactor looks at keys."""
        return self._both(value, self._redactor.answer(value))

    def text(self, text: str) -> str:
        """``text`` with each secret replaced by its fingerprint."""
        return self._of_lines(text, self._redactor.text(text))

    def _both(self, plain: Any, hidden: Any) -> Any:
        if plain is hidden:
            return hidden
        match plain, hidden:
            case str(), str():
                return self._of_lines(plain, hidden)
            case Mapping(), Mapping():
                pairs = zip(plain.items(), hidden.items(), strict=True)
                return {key: self._both(value, shown) for (_, value), (key, shown) in pairs}
            case (list() | tuple(), list() | tuple()) if len(plain) == len(hidden):
                return [self._both(*pair) for pair in zip(plain, hidden, strict=True)]
        if hidden == MASK:
            return f"{MASK}({self.of(repr(plain))})"
        return hidden

    def _of_lines(self, plain: str, hidden: str) -> str:
        before, after = plain.split("\n"), hidden.split("\n")
        if len(before) != len(after):
            return self._line(plain, hidden)
        return "\n".join(self._line(*pair) for pair in zip(before, after, strict=True))

    def _line(self, plain: str, hidden: str) -> str:
        parts = hidden.split(MASK)
        if len(parts) == 1 or len(parts) > _MOST or len(plain) > _LONGEST:
            return hidden
        match = re.fullmatch("(.*?)".join(map(re.escape, parts)), plain, re.DOTALL)
        if match is None:
            return hidden
        pieces = [parts[0]]
        for secret, rest in zip(match.groups(), parts[1:], strict=True):
            pieces += [MASK if secret == MASK else f"{MASK}({self.of(secret)})", rest]
        return "".join(pieces)
