"""Edits of file contents: substitutions, added lines. Most functions are pure; ``commit`` writes the result."""

import os
import re
import sys

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import atomic, diff, large, safepath


def regex_flags(flags):
    """The integer of the flags in Salt's forms: an integer, a flag's name (``MULTILINE``), or a list of names. Raises
    CommandExecutionError."""
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
    """The compiled pattern; accepts a string, bytes or a compiled one. Raises SaltInvocationError for an invalid
    one."""
    try:
        return re.compile(pattern, regex_flags(flags))
    except (re.error, ValueError) as exc:
        raise SaltInvocationError("Invalid regular expression %r: %s" % (pattern, exc))


class Substitution(object):
    """The change that ``file.replace`` makes to a content: replaces each match of ``pattern``. If nothing matches, it
    adds a line where ``append`` or ``prepend`` request it.

    The line is ``not_found_content``, else ``repl``; it is not added if the content has it as a line already.
    ``kind`` is the type of the content, bytes or str; the other arguments are converted to it.
    """

    def __init__(
        self,
        kind,
        pattern,
        repl,
        count=0,
        flags=8,
        append=False,
        prepend=False,
        not_found_content=None,
        backslash_literal=False,
    ):
        def same_kind(value):
            value = value if isinstance(value, (str, bytes)) else str(value)
            if isinstance(value, kind):
                return value
            return value.encode("utf-8") if kind is bytes else value.decode("utf-8")

        self.newline, self.count, self.append, self.prepend = same_kind("\n"), count, append, prepend
        repl = same_kind(repl)
        self.template = repl.replace(same_kind("\\"), same_kind("\\\\")) if backslash_literal else repl
        self.fixed = None if same_kind("\\") in self.template else repl
        self.line = same_kind(not_found_content) if not_found_content is not None else repl
        self.pattern = compiled(same_kind(pattern), flags)
        wanted = same_kind("^") + re.escape(self.line or repl) + same_kind("($|(?=\r\n))")
        self.wanted = compiled(wanted, flags) if append or prepend else None
        try:
            self.pattern.sub(self.template, same_kind(""))
        except re.error as exc:
            raise SaltInvocationError("Invalid replacement %r: %s" % (repl, exc))

    def whole(self, data):
        """The new content."""
        result, hits = self.pattern.subn(self.template, data, self.count)
        if hits or self.wanted is None or self.wanted.search(data):
            return result
        if self.prepend:
            return self.line + self.newline + result
        if result and not result.endswith(self.newline):
            result += self.newline
        return result + self.line + self.newline

    def edits(self, data):
        """Yield (start, end, replacement) of each change, in order; ``data`` may be a memory-mapped file."""
        hits, before = 0, None
        for match in self.pattern.finditer(data):
            if self.count and hits >= self.count:
                return
            start, end = match.span()
            if hits and start == end == before and sys.version_info < (3, 7):
                continue  # as ``sub`` does in Python 3.6
            yield start, end, match.expand(self.template) if self.fixed is None else self.fixed
            hits, before = hits + 1, end
        if hits or self.wanted is None or self.wanted.search(data):
            return
        if self.prepend:
            yield 0, 0, self.line + self.newline
        else:
            end = len(data)
            yield end, end, (b"" if data[-1:] in (b"", self.newline) else self.newline) + self.line + self.newline

    def measured(self, data):
        """Yield a text with the sizes of ``data`` and of the new content; nothing if they are equal."""
        size, differs = len(data), False
        for start, end, new in self.edits(data):
            size += len(new) - (end - start)
            differs = differs or data[start:end] != new
        if differs:
            yield b"%d %d" % (len(data), size)

    def pieces(self, data):
        """Yield the new content."""
        at = 0
        for start, end, new in self.edits(data):
            for piece in _slices(data, at, start):
                yield piece
            yield new
            at = end
        for piece in _slices(data, at, len(data)):
            yield piece


def _slices(data, start, end):
    for at in range(start, end, atomic.PIECE):
        yield data[at : min(at + atomic.PIECE, end)]


def line_diff(old, new):
    """The unified diff of two contents as text; any line break ends a line."""
    if old == new:
        return ""
    both = [content.splitlines(True) for content in (old, new)]
    if isinstance(old, bytes):
        both = [[diff.text(line) for line in lines] for lines in both]
    return diff.of_lines(*both)


def replace_in_file(
    path,
    pattern,
    repl,
    count=0,
    flags=8,
    append_if_not_found=False,
    prepend_if_not_found=False,
    not_found_content=None,
    backup=".bak",
    dry_run=False,
    show_changes=True,
    ignore_if_missing=False,
    preserve_inode=True,
    backslash_literal=False,
    encoding=None,
):
    """``file.replace``. Returns the unified diff ("" without changes); with ``show_changes=False`` whether something
    changes. Raises SaltInvocationError, CommandExecutionError."""
    if append_if_not_found and prepend_if_not_found:
        raise SaltInvocationError("Only one of append and prepend_if_not_found is permitted")
    real = _editable(path, ignore_if_missing)
    if real is None:
        return False
    old = None
    if encoding or not large.is_large(real):
        old = _text_of(real, encoding)
    else:
        with _readable(real):
            _refuse_binary(large.head(real), real)
    change = Substitution(
        str if encoding else bytes,
        pattern,
        repl,
        count,
        flags,
        append_if_not_found,
        prepend_if_not_found,
        not_found_content,
        backslash_literal,
    )
    if old is None:
        return _replace_in_large(path, real, change, backup, dry_run, show_changes, preserve_inode)
    new = change.whole(old)
    if new != old and not dry_run:
        path = os.path.expanduser(path)
        commit(path, new.encode(encoding) if encoding else new, backup, keep_inode=preserve_inode)
    return line_diff(old, new) if show_changes else new != old


def _replace_in_large(path, real, change, backup, dry_run, show_changes, preserve_inode):
    with _readable(real):
        sizes = b"".join(large.pieces(real, change.measured)).split()
    if not sizes:
        return "" if show_changes else False
    if not dry_run:
        commit(os.path.expanduser(path), large.pieces(real, change.pieces), backup, keep_inode=preserve_inode)
    return diff.TOO_LARGE % tuple(map(int, sizes)) if show_changes else True


def search_file(path, pattern, flags=8, ignore_if_missing=False, encoding=None):
    """Whether the pattern matches somewhere in the file."""
    real = _editable(path, ignore_if_missing)
    if real is None:
        return False
    if isinstance(pattern, str) and not encoding:
        pattern = pattern.encode("utf-8")
    if not encoding and large.is_large(real):
        with _readable(real):
            _refuse_binary(large.head(real), real)
            search = compiled(pattern, flags).search
            return any(large.pieces(real, lambda data: [b"1"] if search(data) else []))
    return compiled(pattern, flags).search(_text_of(real, encoding)) is not None


def _editable(path, ignore_if_missing):
    """The path without links. For a missing file None with ``ignore_if_missing``, else raises SaltInvocationError."""
    real = safepath.real(os.path.expanduser(path))
    if os.path.exists(real):
        return real
    if ignore_if_missing:
        return None
    raise SaltInvocationError("File not found: %s" % real)


class _readable(object):
    """Context manager: an error of reading within it is an error of the file ``path``. Raises
    CommandExecutionError."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        pass

    def __exit__(self, kind, exc, trace):
        if isinstance(exc, (OSError, UnicodeError, LookupError)):
            raise CommandExecutionError("Unable to open file '%s'. Exception: %s" % (self.path, exc))


def _refuse_binary(data, path):
    if diff.is_binary(data[:512]):
        raise SaltInvocationError("Cannot perform string replacements on a binary file: %s" % path)


def _text_of(path, encoding):
    """The bytes of a file, or its text if an encoding is given."""
    with _readable(path):
        data = read(path)
        if encoding:
            return data.decode(encoding)
    _refuse_binary(data, path)
    return data


def add_lines(data, lines):
    """``data`` with lines appended. A newline is added to its last line if that has none."""
    if data and not data.endswith(b"\n"):
        data += b"\n"
    return data + b"".join(_encoded(line) + b"\n" for line in lines)


def addition(path, lines):
    """The bytes that ``add_lines`` would append to a file. Raises OSError."""
    with open(path, "rb", opener=safepath.opener) as source:
        source.seek(max(0, source.seek(0, os.SEEK_END) - 1))
        return (b"\n" if source.read(1) not in (b"", b"\n") else b"") + add_lines(b"", lines)


def preface(data, lines):
    """``data`` with lines prepended."""
    return b"".join(_encoded(line) + b"\n" for line in lines) + data


def prefaced(path, lines):
    """Yield the content of a file with lines prepended. Raises OSError."""
    yield preface(b"", lines)
    for piece in atomic.pieces(path):
        yield piece


def begins(path, lines):
    """Whether a file begins with these lines. Raises OSError."""
    with open(path, "rb", opener=safepath.opener) as source:
        head = source.read(sum(len(_encoded(line)) + 4 for line in lines) + 4)  # with room for newlines and a character
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as exc:
        text = head[: exc.start].decode("utf-8") if len(head) - exc.start < 4 else head.decode("latin-1")
    return text.splitlines()[: len(lines)] == lines


def _encoded(line):
    return line if isinstance(line, bytes) else str(line).encode("utf-8", "surrogateescape")


def spaced(text):
    """A regular expression that matches ``text`` with any white space, or none, between its words. Salt:
    stringutils."""

    def words(line):
        if "'" not in line or '"' not in line:
            return line.split()
        if "'\\\"" in line:
            return re.findall(r"[^ \t\r\n]+", line)
        matches = re.findall(r'"[^"]*"|[^" \t\r\n][^ \t\r\n]*|"', line)  # spaces within quotes belong to the word
        return line.split() if '"' in matches else matches

    gap = r"(?:[\s]+)?"
    lines = (gap + gap.join(re.escape(word) for word in words(line)) + gap for line in text.splitlines())
    return "(?m)^%s$" % "".join(lines)


def has(data, text, ignore_whitespace=True):
    """Whether ``data`` (bytes, or a mapped file) contains the text: its words with any white space between them, or,
    with ``ignore_whitespace=False``, a match of it as a regular expression."""
    pattern = spaced(text) if ignore_whitespace else text
    try:
        return re.search(_encoded(pattern), data, re.MULTILINE) is not None
    except re.error:
        return data.find(_encoded(text)) >= 0


#: The bytes of a large file that are searched together, and how many of those before are searched again.
WINDOW, AGAIN = 8 * 1024 * 1024, 1024 * 1024


def lacking(path, texts, ignore_whitespace=True):
    """The texts that the file does not contain (see ``has``). It is not read as a whole. Raises OSError."""
    if large.is_large(path):

        def look(data):
            return (b"%d " % at for at, text in enumerate(texts) if has(data, text, ignore_whitespace))

        numbers = set(map(int, b"".join(large.pieces(path, look)).split()))
    else:  # small, or a Python that cannot map files
        numbers, again = set(), max([AGAIN] + [2 * len(_encoded(text)) for text in texts])
        for window in _windows(path, again):
            numbers |= {
                at for at, text in enumerate(texts) if at not in numbers and has(window, text, ignore_whitespace)
            }
    return [text for at, text in enumerate(texts) if at not in numbers]


def _windows(path, again):
    """Yield windows of a file that end at a line end; each begins with the last ``again`` bytes of the one before."""
    held, fresh = b"", 0
    for piece in atomic.pieces(path):
        held, fresh = held + piece, fresh + len(piece)
        end = held.rfind(b"\n") + 1
        if fresh >= WINDOW and end:
            yield held[:end]
            held, fresh = held[held.find(b"\n", max(0, end - again - 1)) + 1 :], 0
    yield held


def read(path):
    return safepath.read(path)


def commit(path, data, backup=None, keep_inode=False):
    """Write the edited content; owner and mode are kept. ``backup``: a suffix for a copy of the old file in the same
    folder.

    Follows links. Raises CommandExecutionError with the reason; then the file is unchanged.
    """
    real = safepath.real(path)
    try:
        if backup:
            save(path, backup)
        atomic.write(real, data, keep_inode=keep_inode)
    except OSError as exc:
        raise CommandExecutionError("Unable to write file '%s'. Exception: %s" % (path, exc))


def extend(path, data):
    """Append bytes to the file, following links; it keeps its inode. Raises CommandExecutionError."""
    try:
        atomic.append(safepath.real(path), data)
    except OSError as exc:
        raise CommandExecutionError("Unable to write file '%s'. Exception: %s" % (path, exc))


def save(path, suffix):
    """Copy the file to its path with a suffix. If ``path`` is a link, a link with that suffix to the copy is made."""
    real = safepath.real(path)
    with open(real, "rb", opener=safepath.opener) as source:
        atomic.write(real + suffix, iter(lambda: source.read(atomic.PIECE), b""), like=source.fileno())
    if os.path.islink(path):
        safepath.remove(path + suffix)
        safepath.symlink(os.readlink(path) + suffix, path + suffix)
