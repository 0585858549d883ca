"""Changes, uncomments, adds and prunes ``key = value`` lines. Salt: ``file.keyvalue``."""

from thin.utils.files import atomic, diff, safepath

_CODE = {"encoding": "utf-8", "errors": "surrogateescape"}


def lines_of(path):
    """Yield the lines of a file with their newlines. Raises OSError."""
    with open(path, newline="", opener=safepath.opener, **_CODE) as source:
        for line in source:
            yield line


class Change(object):
    """The change that ``file.keyvalue`` makes to the lines of a file, which are never all in memory.

    At most ``count`` lines of a key are kept (all if it is negative), with its value; further ones are removed. With
    ``uncomment``, lines that begin with one of these characters are uncommented, until there are ``count`` of the key.

    After ``look``, ``changed`` and ``deleted`` are the numbers of changed and pruned lines.
    """

    def __init__(
        self,
        key_values,
        separator="=",
        append=False,
        prepend=False,
        count=1,
        uncomment=None,
        key_ignore_case=False,
        value_ignore_case=False,
        prune=False,
    ):
        self.key_values, self.separator, self.count, self.uncomment = key_values, separator, count, uncomment
        self.append, self.prepend, self.prune = append, prepend and not append, prune
        self.key_ignore_case, self.value_ignore_case = key_ignore_case, value_ignore_case
        self.keys = {}
        for key in key_values:
            self.keys.setdefault(self._fold_key(str(key)), []).append(key)
        self._begin()

    def _begin(self):
        self.left = dict.fromkeys(self.key_values, self.count)
        self.changed = self.deleted = self.grown = self.shown = 0
        self.went, self.pruned, self.first = [], [], []

    def _fold_key(self, text):
        return text.lower() if self.key_ignore_case else text

    def _fold_value(self, value):
        text = str(value).strip()
        return text.lower() if self.value_ignore_case else text

    def _render(self, key):
        return "%s%s%s\n" % (key, self.separator, self.key_values[key])

    def _show(self, lines, line):
        """Append a line to the diff, unless the diff exceeds its limit."""
        self.shown += len(line)
        if self.shown <= diff.LIMIT:
            lines.append(line)

    def look(self, lines):
        """Find out what changes in ``lines``; sets the attributes and the diff."""
        self._begin()
        for _ in self._edited(lines):
            pass

    def pieces(self, lines):
        """Yield the new content as bytes."""
        first = self.first
        self._begin()
        gathered = bytearray("".join(first).encode(**_CODE))
        for line in self._edited(lines):
            gathered += line.encode(**_CODE)
            if len(gathered) >= atomic.PIECE:
                yield bytes(gathered)
                del gathered[:]
        yield bytes(gathered)

    def diff(self, size):
        """The lines of the diff, in Salt's order; one sentence if it is too long. ``size``: the file's size in
        bytes."""
        if self.shown > diff.LIMIT:
            return [diff.TOO_LARGE % (size, size + self.grown)]
        lines = (["  <SOF>\n"] + ["+ " + line for line in self.first] if self.first else []) + self.went
        if not lines:
            lines, self.pruned = self.pruned[:1], self.pruned[1:]
        return lines[:1] + self.pruned[::-1] + lines[1:]

    def _edited(self, lines):
        """Yield the new lines, without the prepended ones (``first``)."""
        keys, separator, last = self.keys, self.separator, "\n"
        prefixes = tuple(keys)
        for line in lines:
            if separator not in line and not self.prune:
                last = line
                yield line
                continue
            bare = line.lstrip(self.uncomment)
            if self.prune and not self._fold_key(bare).startswith(prefixes):
                self.deleted += 1
                self.grown -= len(line.encode(**_CODE))
                self._show(self.pruned, "- " + line)
                continue
            line_key, mark, line_value = bare.partition(separator)
            matching = keys.get(self._fold_key(line_key)) if mark else None
            if matching:
                line = self._line(line, matching, line_key, line_value, len(bare) < len(line))
            last = line
            if line:
                yield line
        missing = [self._render(key) for key in self.key_values if self.left[key] > 0]
        if not missing or not (self.append or self.prepend):
            return
        self.changed += len(missing)
        self.grown += sum(len(line.encode(**_CODE)) for line in missing)
        if self.prepend:
            self.first, self.shown = missing[::-1], self.shown + sum(map(len, missing))
            return
        if last and not last.endswith("\n"):
            self.grown += 1
            yield "\n"
        for line in missing:
            yield line
        for line in ["- <EOF>\n"] + ["+ " + line for line in missing] + ["+ <EOF>\n"]:
            self._show(self.went, line)

    def _line(self, line, matching, line_key, line_value, commented):
        """The new line for one that has one of the keys ``matching``; "" if it is removed."""
        before = line
        for key in matching:
            value, left = self.key_values[key], self.left[key]
            if commented:
                wrong = left > 0  # if there are enough lines, a comment is kept
            else:
                wrong = left == 0 or self._fold_value(line_value) != self._fold_value(value)
            if wrong:
                self._show(self.went, "- " + line)
                line = ""
                if left != 0:
                    line = "%s%s%s\n" % (line_key, self.separator, value)
                    kind = "" if isinstance(value, str) else " (from %s type)\n" % type(value).__name__
                    self._show(self.went, "+ " + (line.rstrip() + kind if kind else line))
                self.changed += 1
            if left > 0:
                self.left[key] -= 1
            if not line:
                break
        self.grown += len(line.encode(**_CODE)) - len(before.encode(**_CODE))
        return line
