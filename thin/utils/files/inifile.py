"""Reads, changes and writes INI files, with their comments and order. Salt: modules/ini_manage.py

A ``Section`` is a dict of options (text) and of sections. Comments and unknown lines are stored in it with keys that
begin with ``#``. A file is a Section, too: its options are those before the first section header.
"""

import os
import re

from thin.utils.files import safepath

_HEADER = re.compile(r"^\s*\[(.+?)\]\s*$", re.MULTILINE)
_COMMENT = re.compile(r"^\s*[#;]\s*(.*)")
_INDENTED = re.compile(r"(\s+)(.*)")


class Section(dict):
    """Options in order. ``separator`` is the text between key and value; it is written with spaces around it, unless
    ``no_spaces``."""

    def __init__(self, separator="=", no_spaces=False):
        super(Section, self).__init__()
        self.separator = separator
        self.no_spaces = no_spaces
        self.option = re.compile(r"(\s*)(.+?)\s*(\%s)\s*(.*)\s*" % separator)

    def read(self, text):
        """Add the lines of a section. A line that is indented more than its option is part of the value."""
        text = text.strip("\n")
        indent = ""
        for line in text.split("\n") if text else ():
            if _COMMENT.match(line):
                self._keep("#comment", line)
                continue
            deeper = _INDENTED.match(line)
            if deeper and deeper.group(1).replace("\t", "    ") > indent and self:
                last = list(self)[-1]
                self[last] += "\n" + line
                continue
            match = self.option.match(line)
            if match:
                indent = match.group(1).replace("\t", "    ")
                self[match.group(2)] = match.group(4)
            else:
                self._keep("#unknown", line)

    def _keep(self, name, line):
        self[name + str(sum(key.startswith(name) for key in self) + 1)] = line

    def change(self, wanted):
        """Set options, also those of sections. Returns the changes: ``{key: {"before", "after"}}``, nested for
        sections.

        If an option is there as a comment, it replaces this comment.
        """
        changes = {}
        for key, value in wanted.items():
            if isinstance(value, dict):
                if not isinstance(self.get(key), Section):
                    self[key] = Section(self.separator, self.no_spaces)
                    self[key].change(value)
                    changes[key] = {"before": None, "after": dict(self[key])}
                elif value:
                    inner = self[key].change(value)
                    if inner:
                        changes[key] = inner
                continue
            value = str(value)
            if key not in self:
                changes[key] = {"before": None, "after": value}
                self._insert(key, value)
            elif self[key] != value:
                changes[key] = {"before": self[key], "after": value}
                self[key] = value
        return changes

    def _insert(self, key, value):
        items = list(self.items())
        for at, (name, line) in enumerate(items):
            match = self.option.match(line.lstrip("#")) if name.startswith("#comment") else None
            if match and match.group(2) == key:
                items[at] = key, value
                self.clear()
                self.update(items)
                return
        self[key] = value

    def lines(self):
        """Yield the lines with their newlines; the sections follow the options."""
        separator = " " if not self.separator.strip(" ") else self.separator.strip()
        if separator != " " and not self.no_spaces:
            separator = " %s " % separator
        for key, value in self.items():
            if key.startswith("#"):
                yield value + "\n"
            elif not isinstance(value, Section):
                yield "%s%s%s\n" % (key, separator, value)
        for key, value in self.items():
            if isinstance(value, Section):
                yield "\n[%s]\n" % key
                for line in value.lines():
                    yield line

    def plain(self):
        """The options and sections as a dict, without the comments."""
        return {
            key: value.plain() if isinstance(value, Section) else value
            for key, value in self.items()
            if not key.startswith("#")
        }


class File(Section):
    """An INI file. If it does not exist, it has no options. Raises OSError, UnicodeError, LookupError."""

    def __init__(self, path, separator="=", encoding=None, no_spaces=False):
        super(File, self).__init__(separator, no_spaces)
        self.path = path
        self.encoding = encoding or "utf-8"
        if not os.path.exists(path):
            return
        with open(path, encoding=self.encoding, opener=safepath.opener) as stream:
            parts = _HEADER.split("\n".join(stream.read().splitlines()))
        self.read(parts[0])
        for name, text in zip(parts[1::2], parts[2::2]):
            if not isinstance(self.get(name), Section):
                self[name] = Section(separator, no_spaces)
            self[name].read(text)

    def text(self):
        """The text of the file."""
        text = "".join(self.lines())
        return text[1:] if text.startswith("\n[") else text

    def as_written(self):
        """Whether the file exists and ``write`` would not change it."""
        if not os.path.exists(self.path):
            return False
        with open(self.path, encoding=self.encoding, newline="", opener=safepath.opener) as stream:
            return stream.read() == self.text()

    def write(self):
        """Write the file atomically; owner and mode are kept."""
        from thin.utils.files import atomic, owner

        mode = None if os.path.exists(self.path) else owner.mode_bits(owner.default_mode())
        atomic.write(safepath.real(self.path), self.text().encode(self.encoding), mode=mode)
