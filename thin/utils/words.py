"""Text into words as a POSIX shell reads them, and back: what ``shlex`` does, which a minimal Python lacks."""

import re

_SPACE = " \t\r\n"
_SAFE = re.compile(r"[a-zA-Z0-9@%+=:,./_-]+\Z").match


def quote(word):
    """The word so that a shell reads exactly that."""
    return word if _SAFE(word) else "'" + word.replace("'", "'\"'\"'") + "'"


def split(text):
    """The words of a command line, without quotes. Raises ValueError for a quote or escape that has no end."""
    found, word, at, end = [], None, 0, len(text)
    while at < end:
        char = text[at]
        at += 1
        if char in _SPACE:
            if word is not None:
                found.append(word)
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
    return found if word is None else found + [word]


def quoted(text, at, quote, escapes):
    """(the text between the quotes, the position after it) of a text whose opening quote is before ``at``.

    With ``escapes`` a backslash escapes the quote and itself.
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
