"""Splits text into words as a POSIX shell does, and quotes words, as ``shlex``, which a minimal Python lacks."""

import re

_SPACE = " \t\r\n"
_SAFE = re.compile(r"[a-zA-Z0-9@%+=:,./_-]+\Z").match


def quote(word):
    """The word, quoted for a shell if necessary."""
    return word if _SAFE(word) else "'" + word.replace("'", "'\"'\"'") + "'"


def split(text):
    """The words of a command line, without quotes. Raises ValueError for an unterminated quote or escape."""
    result, word, at, end = [], None, 0, len(text)
    while at < end:
        char = text[at]
        at += 1
        if char in _SPACE:
            if word is not None:
                result.append(word)
                word = None
            continue
        word = word or ""
        if char == "\\":
            if at == end:
                raise ValueError("No escaped character")
            word += text[at]
            at += 1
        elif char in "'\"":
            inside, at = quoted(text, at, char, char == '"')
            word += inside
        else:
            word += char
    return result if word is None else result + [word]


def quoted(text, at, quote, escapes):
    """(text between the quotes, position after them); the opening quote is before position ``at`` of ``text``.

    ``escapes``: a backslash escapes the quote and itself.
    """
    inside = ""
    while at < len(text):
        char = text[at]
        at += 1
        if char == quote:
            return inside, at
        if char == "\\" and escapes:
            if at == len(text):
                raise ValueError("No escaped character")
            inside += text[at] if text[at] in (quote, "\\") else "\\" + text[at]
            at += 1
        else:
            inside += char
    raise ValueError("No closing quotation")
