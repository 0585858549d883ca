"""Text into words as a POSIX shell reads them, and back: what ``shlex`` does, which a minimal Python lacks."""

import re

_SPACE = " \t\r\n"
_SAFE = re.compile(r"[a-zA-Z0-9@%+=:,./_-]+\Z").match


def quote(word):
    """The word so that a shell reads exactly that."""
    return word if _SAFE(word) else "'" + word.replace("'", "'\"'\"'") + "'"


def split(text):
    """The words of a command line, without quotes. Raises ValueError for a quote or escape that has no end."""
    return list(tokens(text))


def tokens(text, special="", escapes='"', comment=""):
    """Yield the words of a text, and each of the ``special`` characters outside of quotes as one by itself.

    Within the quotes named in ``escapes`` a backslash escapes that quote and itself. ``comment`` begins one, to the
    end of the line. Raises ValueError, after the words before it, for a quote or escape that has no end.
    """
    word, at, end = None, 0, len(text)
    while at < end:
        char = text[at]
        at += 1
        if char in _SPACE or char in comment or char in special:
            if word is not None:
                yield word
                word = None
            if char in comment:
                at = text.find("\n", at) + 1 or end
            elif char not in _SPACE:
                yield char
            continue
        word = word or ""
        if char == "\\":
            if at == end:
                raise ValueError("No escaped character")
            word += text[at]
            at += 1
        elif char in "'\"":
            inside, at = _quoted(text, at, char, char in escapes)
            word += inside
        else:
            word += char
    if word is not None:
        yield word


def _quoted(text, at, quote, escapes):
    """(what stands between the quotes, where it goes on) of a text whose opening quote is before ``at``."""
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
