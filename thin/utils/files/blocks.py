"""Finds, replaces and adds text between two marker lines, and comments lines out. Pure, except for ``*_in_file`` and
``comment_line``."""

import re

from thin.exceptions import CommandExecutionError, SaltInvocationError

NOT_FOUND = "Cannot edit marked block. Markers were not found in file."


def lines_of(text):
    """The lines of a text with their newlines, ``\\n`` or ``\\r\\n``."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _newline(lines):
    return "\r\n" if lines and lines[0].endswith("\r\n") else "\n"


def replace(
    text,
    marker_start,
    marker_end,
    content="",
    append=False,
    prepend=False,
    append_newline=False,
    insert_before_match=None,
    insert_after_match=None,
):
    """``text`` with ``content`` between the markers. If there are no markers, the block is added where requested.

    Raises CommandExecutionError if there is no place for it, or the end marker is missing. Salt: ``file.blockreplace``.
    """
    old = lines_of(text)
    newline = _newline(old)
    if append_newline is None:
        append_newline = not content.endswith("\n")
    new, inside, result = [], False, False
    for line in old:
        if marker_start in line:
            inside = True
        elif inside:
            at = line.find(marker_end)
            if at >= 0:
                inside, result = False, True
                new += _body(content, line[at:], newline, append_newline)
            continue
        new.append(line)
    if inside:
        raise CommandExecutionError("Unterminated marked block. End of file reached before marker_end.")
    if result:
        return "".join(new)
    block = [marker_start + newline] + _body(content, marker_end, newline, append_newline)
    if prepend:
        return "".join(block + new)
    if append:
        if new and not new[-1].endswith(newline):
            new[-1] += newline
        return "".join(new + block)
    pattern = insert_before_match or insert_after_match
    for at, line in enumerate(old if pattern else ()):
        if re.search(pattern, line):
            at += 0 if insert_before_match else 1
            if at and not new[at - 1].endswith("\n"):
                new[at - 1] += newline
            return "".join(new[:at] + block + new[at:])
    raise CommandExecutionError(NOT_FOUND)


def _body(content, end, newline, append_newline):
    """The lines of the content and the end marker. The marker follows the content's last line without a newline, unless
    ``append_newline``."""
    lines = [line + newline for line in content.replace("\r\n", "\n").split("\n")]
    if not append_newline:
        end = lines.pop()[: -len(newline)] + end
    return lines + [end.rstrip("\r\n") + newline]


def replace_in_file(
    path,
    marker_start,
    marker_end,
    content="",
    append_if_not_found=False,
    prepend_if_not_found=False,
    backup=".bak",
    dry_run=False,
    show_changes=True,
    append_newline=False,
    insert_before_match=None,
    insert_after_match=None,
):
    """``file.blockreplace``. Returns the unified diff ("" without changes); with ``show_changes=False`` whether
    something changes. Raises SaltInvocationError, CommandExecutionError."""
    import os

    from thin.utils.files import diff, edit

    places = (append_if_not_found, prepend_if_not_found, insert_before_match, insert_after_match)
    if sum(bool(place) for place in places) > 1:
        raise SaltInvocationError(
            "Only one of append_if_not_found, prepend_if_not_found, insert_before_match, and insert_after_match is "
            "permitted"
        )
    path = os.path.expanduser(path)
    if not os.path.exists(path):
        raise SaltInvocationError("File not found: %s" % path)
    for word, pattern in (("insert_before_match", insert_before_match), ("insert_after_match", insert_after_match)):
        if pattern and not isinstance(pattern, str):
            raise CommandExecutionError("RegEx expected in %s parameter." % word)
    data = edit.read(path)
    if diff.is_binary(data[:2048]):
        raise SaltInvocationError("Cannot perform string replacements on a binary file: %s" % path)
    old = data.decode("utf-8", "surrogateescape")
    new = replace(
        old,
        marker_start,
        marker_end,
        content,
        append_if_not_found,
        prepend_if_not_found,
        append_newline,
        insert_before_match,
        insert_after_match,
    ).encode("utf-8", "surrogateescape")
    if new != data and not dry_run:
        edit.commit(path, new, backup)
    return edit.line_diff(data, new) if show_changes else new != data


def comment_pattern(regex, char="#", cmnt=True):
    """The regular expression of the lines to comment out (``cmnt``), or of those to comment in."""
    core, end = regex.lstrip("^").rstrip("$"), "$" if regex.endswith("$") else ""
    if cmnt:
        return "%s(%s)%s" % ("^" if regex.startswith("^") else "", core, end)
    return "^%s\\s*(%s)%s" % (char, core, end)


def comment_line(path, regex, char="#", cmnt=True, backup=".bak"):
    """Comment lines out or in. Returns the diff of these lines, or False if none matched. Salt:
    ``file.comment_line``."""
    import os

    from thin.utils.files import diff, edit, safepath

    real = safepath.real(os.path.expanduser(path))
    if not os.path.isfile(real):
        raise SaltInvocationError("File not found: %s" % real)
    data = edit.read(real)
    if diff.is_binary(data[:512]):
        raise SaltInvocationError("Cannot perform string replacements on a binary file: %s" % real)
    old, new, content = commented(data, regex, char, cmnt)
    if not old:
        return False
    edit.commit(real, content, backup)
    return diff.of_lines(
        *([line.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for line in side] for side in (old, new))
    )


def commented(data, regex, char="#", cmnt=True):
    """``(lines that match, the changed lines, all bytes of the new content)``."""
    from thin.utils.files import edit

    search = edit.compiled(comment_pattern(regex, char, cmnt)).match
    old, new, lines = [], [], []
    for line in lines_of(data.decode("utf-8", "surrogateescape")):
        if search(line):
            old.append(line)
            line = char + line if cmnt else line.lstrip(char)
            new.append(line)
        lines.append(line)
    return old, new, "".join(lines).encode("utf-8", "surrogateescape")
