"""Diffs of two contents, with the texts of Salt's ``changes: {diff: ...}``."""

import os

from thin.utils.files import safepath

#: The maximum of bytes (for lists of lines: characters) of either side that are compared line by line.
LIMIT = 2 * 1024 * 1024
TOO_LARGE = "Replace a text of %d bytes with one of %d bytes (too large to show what differs)"
HIDDEN = "<show_changes=False>"
OBFUSCATED = "<Obfuscated Template>"
_ASCII = bytes(range(32, 127)) + b"\n\r\t\f\b"
_HIGH = bytes(range(128, 255))


def is_binary(data):
    """Whether data are binary, by Salt's rule: a zero byte, or more than 30 % of bytes that are no text. Bytes above
    127 are text if the data are valid UTF-8."""
    if not data or b"\0" in data:
        return bool(data)
    try:
        data.decode("utf-8")
        text_bytes = _ASCII + _HIGH
    except UnicodeDecodeError as exc:
        text_bytes = _ASCII + _HIGH if exc.reason == "unexpected end of data" else _ASCII
    return len(data.translate(None, text_bytes)) > 0.3 * len(data)


def is_text_file(path):
    """Whether the first 512 bytes of a file are text; False for a file that cannot be read."""
    try:
        with open(path, "rb") as source:
            return not is_binary(source.read(512))
    except OSError:
        return False


def text(data):
    """Bytes as text for people: decoded as UTF-8, else as Latin-1."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _lines(data):
    """The lines of bytes; only line feeds end one, as in a binary file object."""
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    if parts[-1]:
        lines.append(parts[-1])
    return [text(line) for line in lines]


def unified(old, new, old_name="", new_name="", binary=True):
    """The unified diff of two contents (bytes): "" if they are equal, a sentence if one of them is binary.

    ``binary=False``: compare them as text in any case.
    """
    if old == new:
        return ""
    sentence = _of_binaries(old[:512], new[:512]) if binary else ""
    if sentence:
        return sentence
    if max(len(old), len(new)) > LIMIT:
        return TOO_LARGE % (len(old), len(new))
    from thin.utils import unified as lines

    return "".join(lines.unified(_lines(old), _lines(new), old_name, new_name))


def _of_binaries(old, new):
    """The sentence if one of the contents with these beginnings is binary, else ""."""
    binaries = is_binary(old), is_binary(new)
    if all(binaries):
        return "Replace binary file"
    if binaries[0]:
        return "Replace binary file with text file"
    return "Replace text file with binary file" if binaries[1] else ""


def of_files(old, new, old_name="", new_name=""):
    """``unified`` of two different files; binary and large ones are not read as a whole.

    ``old``: a path, or None if there was no file.
    """
    heads, sizes = [], []
    for path in (old, new):
        with open(path or "/dev/null", "rb", opener=safepath.opener) as source:
            heads.append(source.read(512))
            sizes.append(os.fstat(source.fileno()).st_size if path else 0)
    sentence = _of_binaries(*heads)
    if sentence:
        return sentence
    if max(sizes) > LIMIT:
        return TOO_LARGE % tuple(sizes)
    data = []
    for path in (old, new):
        with open(path or "/dev/null", "rb", opener=safepath.opener) as source:
            data.append(source.read())
    return unified(data[0], data[1], old_name, new_name)


def of_lines(old, new, joint=""):
    """The unified diff of two lists of lines."""
    sizes = [sum(map(len, side)) for side in (old, new)]
    if max(sizes) > LIMIT:
        return TOO_LARGE % tuple(sizes)
    from thin.utils import unified as lines

    return joint.join(lines.unified(old, new))


def matters(diff, ignore_ordering=False, ignore_whitespace=False, ignore_comment_characters=None):
    """Whether a unified diff has differences other than ignored ones: moved lines, white space, comments."""
    if diff.startswith(TOO_LARGE[:14]):
        return True
    comments = ignore_comment_characters or []
    if isinstance(comments, str):
        comments = [comments]
    added, removed = [], []
    for line in diff.splitlines():
        if line[:1] not in ("+", "-") or line.startswith(("+++", "---")):
            continue
        content = line[1:]
        for character in comments:
            content = content.partition(character)[0]
        if ignore_whitespace:
            content = content.strip()
        if content:
            (added if line[0] == "+" else removed).append(content)
    return sorted(added) != sorted(removed)
