"""Ensures, inserts, replaces or deletes one line of a text. Salt: ``file.line``."""

import os
import re
import time

from thin.exceptions import CommandExecutionError

MODES = ("insert", "ensure", "delete", "replace")
_END = re.compile(r"(\r\n|\n|\r)\Z")


def end_of(line):
    match = _END.search(line)
    return match.group(1) if match else ""


def split(text):
    """The lines of a text with their newlines; only \\n, \\r\\n and \\r end one. If the last line has a newline, an
    empty line follows."""
    lines = re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+", text)
    if lines and end_of(lines[-1]):
        lines.append("")
    return lines


def join(lines):
    """The text of edited lines. A line without a newline, except for the last, gets that of its neighbour."""
    lines = list(lines)
    for at, line in enumerate(lines[:-1]):
        if not end_of(line):
            neighbour = lines[at - 1 if at > 1 else 0 if at else 1]
            lines[at] = line.rstrip() + (end_of(neighbour) or "\n")
    return "".join(lines)


def indented(like, line, indent):
    """``line`` with the leading white space of ``like``."""
    if not indent:
        return line
    return like[: len(like) - len(like.lstrip(" \t"))] + line.lstrip()


def edit(lines, content, match=None, mode=None, location=None, before=None, after=None, indent=True):
    """The lines (in the form of ``split``) after the edit. Raises CommandExecutionError with Salt's texts.

    ``match``, ``before`` and ``after`` are regular expressions, or parts of lines.
    """
    if not match and before is None and after is None:
        match = content
    matching, before, after = (_matching(lines, pattern) for pattern in (match, before, after))
    lines = list(lines)
    if mode == "delete":
        return [line for line in lines if not matching or line != matching[0]]
    if mode == "replace":
        if matching:
            at = lines.index(matching[0])
            lines[at] = indented(lines[at], content, indent)
        return lines
    if mode == "insert" and location:
        return _at_edge(lines, content, location, indent)
    edges = [("before", before), ("after", after)] if mode == "insert" else [("after", after), ("before", before)]
    result = {}
    for word, hits in edges:
        if hits:
            if len(hits) > 1:
                raise CommandExecutionError('Found more than expected occurrences in "%s" expression' % word)
            result[word] = lines.index(hits[0])
    if not result:
        raise CommandExecutionError(_nowhere(mode, location, before, after))
    place = _insert_place if mode == "insert" else _ensure_place
    return place(lines, content, result.get("before"), result.get("after"), indent)


def _matching(lines, pattern):
    """The lines that a pattern matches, or that contain it; None without a pattern or such a line."""
    if not lines or not pattern:
        return None
    try:
        search = re.compile(pattern, re.DOTALL).search
    except re.error as exc:
        raise CommandExecutionError("%s: '%s'" % (exc, pattern))
    return [line for line in lines if search(line) or pattern in line]


def _nowhere(mode, location, before, after):
    if mode == "ensure":
        return "Wrong conditions? Unable to ensure line without knowing where to put it before and/or after."
    if before is None and after is None and location is None:
        return 'On insert either "location" or "before/after" conditions are required.'
    return "Neither before or after was found in file"


def _same(line, content):
    return line.rstrip("\r\n") == content.rstrip("\r\n")


def _at_edge(lines, content, location, indent):
    if location == "end":
        return lines + [indented(lines[-1], content, indent) if lines else content]
    if location == "start":
        first = content.rstrip() + (end_of(lines[0]) or "\n") if lines else content + "\n"
        return [first] + lines
    return lines


def _insert_place(lines, content, before, after, indent):
    if before is not None and after is not None:
        lines.insert(before, indented(lines[before], content, indent))
    elif after is not None:
        if after + 1 >= len(lines) or not _same(lines[after + 1], content):
            lines.insert(after + 1, indented(lines[after], content, indent))
    elif not _same(lines[before - 1], content):
        lines.insert(before, indented(lines[before], content, indent))
    return lines


def _ensure_place(lines, content, before, after, indent):
    if before is not None and after is not None:
        if any(line.lstrip() == content for line in lines):
            return lines
        if after + 1 == before:
            lines.insert(after + 1, indented(lines[after], content, indent))
        elif after + 2 == before:
            lines[after + 1] = indented(lines[after], content, indent)
        else:
            raise CommandExecutionError('Found more than one line between boundaries "before" and "after".')
    elif before is not None:
        if before == 0 or not _same(lines[before - 1], content):
            lines.insert(before, indented(lines[before - 1], content, indent))
    elif after + 1 >= len(lines) or not _same(lines[after + 1], content):
        lines.insert(after + 1, indented(lines[after], content, indent))
    return lines


def change(path, content=None, match=None, mode=None, location=None, before=None, after=None, indent=True):
    """(old text, new text) of a file under this edit. Raises CommandExecutionError."""
    mode = mode.lower() if mode else mode
    if mode is None:
        raise CommandExecutionError("Mode was not defined. How to process the file?")
    if mode not in MODES:
        raise CommandExecutionError('Unknown mode: "%s"' % mode)
    if mode != "delete" and content is None:
        raise CommandExecutionError('Content can only be empty if mode is "delete"')
    from thin.utils.files import safepath

    old = safepath.read(path).decode("utf-8", "surrogateescape")
    lines = split(old)
    if not lines and mode in ("delete", "replace"):
        return old, old
    return old, join(edit(lines, content, match, mode, location, before, after, indent))


def edit_file(
    path,
    content=None,
    match=None,
    mode=None,
    location=None,
    before=None,
    after=None,
    show_changes=True,
    backup=False,
    quiet=False,
    indent=True,
    test=False,
):
    """``file.line``. Returns the unified diff (True if it is not to be shown), or False without changes."""
    from thin.utils.files import edit as edits
    from thin.utils.files import safepath

    path = safepath.real(os.path.expanduser(path))
    if not os.path.isfile(path):
        if quiet:
            return False
        raise CommandExecutionError('File "%s" does not exists or is not a file.' % path)
    old, new = change(path, content, match, mode, location, before, after, indent)
    if old == new:
        return False
    if not test:
        suffix = time.strftime(".%Y-%m-%d-%H-%M-%S") if backup else None
        edits.commit(path, new.encode("utf-8", "surrogateescape"), suffix)
    if not show_changes:
        return True
    return edits.line_diff(old.encode("utf-8", "surrogateescape"), new.encode("utf-8", "surrogateescape"))
