"""Finds private keys in PEM within any text, and masks their bodies."""

from __future__ import annotations

import re
import string

from pushsalt.counterparts import MASK

#: contained in each text with a private key
IN_KEYS = "PRIVATE KEY-----"
#: a private key in PEM: its first line, and its body up to the last line; the key may be cut off
KEY = re.compile(
    r"(-----BEGIN ((?:[A-Z0-9]+ )*PRIVATE KEY)-----)"
    r"(?:(?:(?!-----BEGIN ).)+?(?=-----END \2-----)|(?:(?:\\[rn]|[\s+-])*[A-Za-z0-9+/=]{16,}(?![^\s\\]))+)",
    re.S,
)


def hide_keys(text: str) -> str:
    """The text with MASK in place of the body of each private key."""
    return KEY.sub(_without_body, text) if IN_KEYS in text else text


def _without_body(match: re.Match[str]) -> str:
    """A private key with MASK in place of its body; in a diff, the sign of the last line is kept."""
    body = match[0][len(match[1]) :]
    end = "\n" if "\n" in body else "\\n" if "\\n" in body else ""
    if not end:
        return match[1] + MASK
    last = body.rpartition(end)[2]
    if last.strip("+- \t"):  # cut off
        return f"{match[1]}{end}{body.partition(end)[2][:1].strip(string.ascii_letters)}{MASK}"
    return f"{match[1]}{end}{last}{MASK}{end}{last}"
