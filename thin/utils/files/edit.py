"""Editing what a file says: substitutions, text at its end or beginning. Pure on bytes; ``commit`` writes the
result."""

import os
import re

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils import safepath
from thin.utils.files import atomic, diff


def regex_flags(flags):
    """The number behind Salt's flags: a number, a flag's name (``MULTILINE``), or a list of names."""
    if isinstance(flags, int):
        return int(flags)
    names = [flags] if isinstance(flags, str) else flags
    if isinstance(names, dict) or not hasattr(names, "__iter__"):
        raise CommandExecutionError(
            'Invalid re flags: "%s", must be given either as a single flag string, a list of strings, as an integer, '
            "or as an re flag" % (flags,)
        )
    number = 0
    for name in names:
        flag = getattr(re.RegexFlag, str(name).upper(), None)
        if not flag:
            raise CommandExecutionError("Invalid re flag given: %s" % name)
        number |= int(flag)
    return number


def compiled(pattern, flags=0):
    """The pattern, whatever it is given as. Raises SaltInvocationError with the reason for one that is none."""
    try:
        return re.compile(pattern, regex_flags(flags))
    except (re.error, ValueError) as exc:
        raise SaltInvocationError("Invalid regular expression %r: %s" % (pattern, exc))


def substitute(data, pattern, repl, count=0, flags=8, append=False, prepend=False, not_found_content=None,
               backslash_literal=False):
    """``data`` with every match of ``pattern`` replaced; where none matched, with a line added if that is asked for.

    ``data`` is bytes or text, and the others become the same. The line is ``not_found_content``, else ``repl``;
    it is not added when ``data`` has it as a line already. Salt: ``file.replace``.
    """
    kind = type(data)

    def same_kind(value):
        value = value if isinstance(value, (str, bytes)) else str(value)
        if isinstance(value, kind):
            return value
        return value.encode("utf-8") if kind is bytes else value.decode("utf-8")

    newline, repl = same_kind("\n"), same_kind(repl)
    template = repl.replace(same_kind("\\"), same_kind("\\\\")) if backslash_literal else repl
    try:
        result, hits = compiled(same_kind(pattern), flags).subn(template, data, count)
    except re.error as exc:
        raise SaltInvocationError("Invalid replacement %r: %s" % (repl, exc))
    if hits or not (append or prepend):
        return result
    line = same_kind(not_found_content) if not_found_content is not None else repl
    wanted = same_kind("^") + re.escape(line or repl) + same_kind("($|(?=\r\n))")
    if compiled(wanted, flags).search(data):
        return result
    if prepend:
        return line + newline + result
    if result and not result.endswith(newline):
        result += newline
    return result + line + newline


def line_diff(old, new):
    """The unified diff of two contents as text, lines ending at any line break."""
    if old == new:
        return ""
    both = [content.splitlines(True) for content in (old, new)]
    if isinstance(old, bytes):
        both = [[diff.text(line) for line in lines] for lines in both]
    return diff.of_lines(*both)


def replace_in_file(path, pattern, repl, count=0, flags=8, append_if_not_found=False, prepend_if_not_found=False,
                    not_found_content=None, backup=".bak", dry_run=False, show_changes=True, ignore_if_missing=False,
                    preserve_inode=True, backslash_literal=False, encoding=None):
    """``file.replace``: the unified diff (True when it is not to be shown); "" or False when nothing is to change."""
    if append_if_not_found and prepend_if_not_found:
        raise SaltInvocationError("Only one of append and prepend_if_not_found is permitted")
    old = _text_of(path, ignore_if_missing, encoding)
    if old is None:
        return False
    new = substitute(old, pattern, repl, count, flags, append_if_not_found, prepend_if_not_found, not_found_content,
                     backslash_literal)
    if new != old and not dry_run:
        path = os.path.expanduser(path)
        commit(path, new.encode(encoding) if encoding else new, backup, keep_inode=preserve_inode)
    return line_diff(old, new) if show_changes else new != old


def search_file(path, pattern, flags=8, ignore_if_missing=False, encoding=None):
    """True when the pattern matches somewhere in the file."""
    data = _text_of(path, ignore_if_missing, encoding)
    if data is None:
        return False
    if isinstance(data, bytes) and isinstance(pattern, str):
        pattern = pattern.encode("utf-8")
    return compiled(pattern, flags).search(data) is not None


def _text_of(path, ignore_if_missing, encoding):
    """The file's bytes, or its text when an encoding is given; None for a missing one that does not matter."""
    real = safepath.real(os.path.expanduser(path))
    if not os.path.exists(real):
        if ignore_if_missing:
            return None
        raise SaltInvocationError("File not found: %s" % real)
    try:
        data = read(real)
        if encoding:
            return data.decode(encoding)
    except (OSError, UnicodeError, LookupError) as exc:
        raise CommandExecutionError("Unable to open file '%s'. Exception: %s" % (real, exc))
    if diff.is_binary(data[:512]):
        raise SaltInvocationError("Cannot perform string replacements on a binary file: %s" % real)
    return data


def add_lines(data, lines):
    """``data`` with lines after its last one, which gets its end if it has none."""
    if data and not data.endswith(b"\n"):
        data += b"\n"
    return data + b"".join(_encoded(line) + b"\n" for line in lines)


def addition(path, lines):
    """The bytes that ``add_lines`` puts behind those of a file. Raises OSError."""
    with open(path, "rb", opener=safepath.opener) as source:
        source.seek(max(0, source.seek(0, os.SEEK_END) - 1))
        return (b"\n" if source.read(1) not in (b"", b"\n") else b"") + add_lines(b"", lines)


def preface(data, lines):
    """``data`` with lines before its first one."""
    return b"".join(_encoded(line) + b"\n" for line in lines) + data


def _encoded(line):
    return line if isinstance(line, bytes) else str(line).encode("utf-8", "surrogateescape")


def spaced(text):
    """A regular expression for ``text`` with any white space, or none, between its words. Salt: stringutils."""

    def words(line):
        if "'" not in line or '"' not in line:
            return line.split()
        if "'\\\"" in line:
            return re.findall(r"[^ \t\r\n]+", line)
        found = re.findall(r'"[^"]*"|[^" \t\r\n][^ \t\r\n]*|"', line)  # quotes that begin a word keep its spaces
        return line.split() if '"' in found else found

    gap = r"(?:[\s]+)?"
    lines = (gap + gap.join(re.escape(word) for word in words(line)) + gap for line in text.splitlines())
    return "(?m)^%s$" % "".join(lines)


def has(data, text, ignore_whitespace=True):
    """True when ``data`` (bytes) has the text already: its words, or else what it matches as a regular expression."""
    pattern = spaced(text) if ignore_whitespace else text
    try:
        return re.search(_encoded(pattern), data, re.MULTILINE) is not None
    except re.error:
        return _encoded(text) in data


#: Bytes of a large file that are looked at together, and of those before them that are looked at again.
WINDOW, AGAIN = 8 * 1024 * 1024, 1024 * 1024


def lacking(path, texts, ignore_whitespace=True):
    """Those of the texts that the file does not have (see ``has``), read piece by piece. Raises OSError."""
    found, again = set(), max([AGAIN] + [2 * len(_encoded(text)) for text in texts])
    for window in _windows(path, again):
        found.update(at for at, text in enumerate(texts) if at not in found and has(window, text, ignore_whitespace))
    return [text for at, text in enumerate(texts) if at not in found]


def _windows(path, again):
    """The lines of a file, many at once, each time with the last ones before them."""
    held, fresh = b"", 0
    for piece in atomic.pieces(path):
        held, fresh = held + piece, fresh + len(piece)
        end = held.rfind(b"\n") + 1
        if fresh >= WINDOW and end:
            yield held[:end]
            held, fresh = held[held.find(b"\n", max(0, end - again - 1)) + 1:], 0
    yield held


def read(path):
    return safepath.read(path)


def commit(path, data, backup=None, keep_inode=False):
    """Write the edited content; owner and mode stay. ``backup`` is a suffix for a copy of the old one beside it.

    Follows links. Raises CommandExecutionError with the reason; the file is as it was then.
    """
    real = safepath.real(path)
    try:
        if backup:
            save(path, backup)
        atomic.write(real, data, keep_inode=keep_inode)
    except OSError as exc:
        raise CommandExecutionError("Unable to write file '%s'. Exception: %s" % (path, exc))


def extend(path, data):
    """Add bytes at the end of the file, through links; it keeps its inode. Raises CommandExecutionError."""
    try:
        atomic.append(safepath.real(path), data)
    except OSError as exc:
        raise CommandExecutionError("Unable to write file '%s'. Exception: %s" % (path, exc))


def save(path, suffix):
    """Copy the file to its name with a suffix; where the name is a link, a link of that suffix leads to the copy."""
    import stat

    real = safepath.real(path)
    with open(real, "rb", opener=safepath.opener) as source:
        st = os.fstat(source.fileno())
        pieces = iter(lambda: source.read(atomic.PIECE), b"")
        atomic.write(real + suffix, pieces, st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode))
    if os.path.islink(path):
        safepath.remove(path + suffix)
        safepath.symlink(os.readlink(path) + suffix, path + suffix)
