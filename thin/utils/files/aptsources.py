"""Reads and writes apt's source lists: sources.list, sources.list.d/*.list (one entry per line) and *.sources (deb822).

Both kinds of entry have the same attributes: ``types``, ``uris``, ``suites``, ``comps`` and ``architectures`` (lists),
``type``, ``uri`` and ``dist`` (text), ``disabled``, ``signedby``, ``trusted`` (True, False, None), ``comment``,
``valid`` and ``path``. ``shown()`` returns an entry's text. A file without changes is never written.
Salt: utils/pkg/deb.py
"""

import os
import re

from thin.exceptions import SaltInvocationError
from thin.utils.files import safepath

LIST = "/etc/apt/sources.list"
PARTS = "/etc/apt/sources.list.d"
TYPES = ("deb", "deb-src", "rpm", "rpm-src")

_BOOLEANS = {
    "no": False,
    "false": False,
    "without": False,
    "off": False,
    "disable": False,
    "0": False,
    "yes": True,
    "true": True,
    "with": True,
    "on": True,
    "enable": True,
    "1": True,
}


def boolean(value):
    """The boolean of one of apt's words for yes and no. Raises ValueError for another word."""
    try:
        return _BOOLEANS[str(value).lower()]
    except KeyError:
        raise ValueError("Unable to convert to boolean: %s" % value)


class Line(object):
    """One line: an entry, an entry that is commented out, or (``valid`` is False) any other line.

    Raises SaltInvocationError for an entry with options that lacks the other parts.
    """

    def __init__(self, text, path=LIST):
        self.path = path
        self.text = text
        self.disabled, self.comment, words = _words(text)
        self.valid = bool(words)
        self.type = self.uri = self.dist = self.signedby = ""
        self.comps, self.architectures, self.trusted = [], [], None
        self.options = {}
        if self.valid:
            self._read(words)

    def _read(self, words):
        if words[1].startswith("["):
            end = next(at for at, word in enumerate(words) if at and word.endswith("]"))
            options = " ".join(words[1 : end + 1]).strip("[] ").split()
            self.options = {_key(option): option for option in options}
            words = words[:1] + words[end + 1 :]
        if len(words) < 3:
            raise SaltInvocationError("Invalid repository definition: %s" % " ".join(words))
        self.type, self.uri, self.dist = words[:3]
        self.comps = words[3:]
        arch = self._option("arch")
        self.architectures = arch.split(",") if arch else []
        self.signedby = self._option("signed-by")
        trusted = self._option("trusted")
        self.trusted = boolean(trusted) if trusted else None

    def _option(self, key):
        return self.options.get(key, "").partition("=")[2]

    # Lists, as in a stanza, which may have several of these; a line has one of each.
    types = property(lambda self: [self.type])
    uris = property(lambda self: [self.uri])

    @property
    def suites(self):
        return [self.dist] if self.dist else []

    @suites.setter
    def suites(self, suites):
        if len(suites) > 1:
            raise ValueError("Only one suite is possible in a line: %s" % " ".join(suites))
        self.dist = suites[0] if suites else ""

    def shown(self):
        """The line, without its end."""
        if not self.valid:
            return self.text.strip()
        options = dict(self.options)
        if self.architectures:
            options["arch"] = "arch=" + ",".join(self.architectures)
        if self.signedby:
            options["signed-by"] = "signed-by=%s" % self.signedby
        if self.trusted:
            options["trusted"] = "trusted=yes"
        elif options.get("trusted") == "trusted=no":
            del options["trusted"]
        words = ["#"] if self.disabled else []
        words.append(self.type)
        if options:
            words.append("[%s]" % " ".join(options.values()))
        words += [self.uri, self.dist] + self.comps
        return " ".join(words) + (" #%s" % self.comment if self.comment else "")


def _key(option):
    name = option.partition("=")[0].rstrip("+-")
    return "arch" if name.startswith("arch") else name


def _words(text):
    """``(disabled, comment, words)`` of a line; ``words`` is empty if the line is no entry."""
    text, disabled, comment = text.strip(), False, ""
    if text.startswith("#"):
        disabled, text = True, text[1:]
    hash_at = text.find("#")
    if hash_at > 0:
        comment, text = text[hash_at + 1 :], text[:hash_at]
    disc = re.match(r"(.*)(cdrom:.*/)(.*)", text.strip())
    words = disc.group(1).split() + [disc.group(2).strip()] + disc.group(3).split() if disc else text.split()
    if len(words) < 3 or words[0] not in TYPES:
        return disabled, comment, []
    if words[1].startswith("[") and not any(word.endswith("]") for word in words[1:]):
        return disabled, comment, []
    return disabled, comment, words


def _several(key):
    """A property that returns the words of a field as a list."""

    def get(self):
        return (self.field(key) or "").split()

    return property(get, lambda self, value: self.set(key, " ".join(value)))


def _one(key):
    return property(lambda self: self.field(key), lambda self, value: self.set(key, value))


class Stanza(object):
    """One stanza of a ``.sources`` file, with its comments."""

    def __init__(self, text, path):
        self.path = path
        self.text = text
        self.fields, self.header, self.footer = {}, [], []
        self._read(text)

    def _read(self, text):
        name, fields_seen = None, False
        for line in text.splitlines():
            match = re.match(r"([^\s#:]\S*?):\s*(.*)", line)
            if line.startswith("#"):
                (self.footer if fields_seen else self.header).append(line)
                continue
            fields_seen = True
            if match:
                name = match.group(1)
                self.fields[name] = match.group(2)
            elif name is not None:
                self.fields[name] += "\n" + line
        self.fields = {key: value.rstrip() for key, value in self.fields.items()}

    def _name(self, key):
        return next((name for name in self.fields if name.lower() == key.lower()), key)

    def field(self, key):
        value = self.fields.get(self._name(key))
        return value and value.strip()

    def set(self, key, value):
        """Set a field; None removes it."""
        if value is None:
            self.fields.pop(self._name(key), None)
        else:
            self.fields[self._name(key)] = str(value)

    types, uris, suites, comps, architectures = [
        _several(key) for key in ("Types", "URIs", "Suites", "Components", "Architectures")
    ]
    type, uri, dist, signedby = [_one(key) for key in ("Types", "URIs", "Suites", "Signed-By")]

    @property
    def valid(self):
        return bool(self.fields)

    @property
    def disabled(self):
        return not boolean(self.field("Enabled") or "yes")

    @disabled.setter
    def disabled(self, value):
        self.set("Enabled", "no" if value else None)

    @property
    def trusted(self):
        value = self.field("Trusted")
        return boolean(value) if value else None

    @trusted.setter
    def trusted(self, value):
        self.set("Trusted", None if value is None else "yes" if boolean(value) else "no")

    @property
    def comment(self):
        return "\n".join(self.header)

    @comment.setter
    def comment(self, text):
        self.header = [line if line.startswith("#") else "#" + line for line in text.splitlines()]

    def shown(self):
        """The lines of the stanza, without the last newline."""
        fields = [
            "%s:%s%s" % (key, "" if value.startswith("\n") else " ", value)
            for key, value in self.fields.items()
            if value != ""
        ]
        return "\n".join(self.header + fields + self.footer)


class AptSources(object):
    """All entries of the machine, in apt's order. Files that cannot be read are left out and never written."""

    def __init__(self, listed=LIST, parts=PARTS):
        self.entries = []
        self._were = {}  # path -> [text of each entry when the file was read]
        self._list = listed
        paths = [listed]
        if os.path.isdir(parts):
            paths += sorted(os.path.join(parts, name) for name in os.listdir(parts))
        for path in paths:
            if (path == listed or path.endswith((".list", ".sources"))) and os.path.isfile(path):
                self._load(path)

    def _load(self, path):
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as stream:
                text = stream.read()
        except OSError:
            return
        if path.endswith(".sources"):
            parts = [part for part in re.split(r"\n(?:[ \t]*\n)+", text) if part.strip()]
            result = [Stanza(part.strip("\n"), path) for part in parts]
        else:
            result = [_line(line, path) for line in text.splitlines()]
        self._were[path] = [entry.shown() for entry in result]
        self.entries += result

    def save(self):
        """Write the files whose entries have changed. A file without entries becomes empty."""
        from thin.utils.files import atomic

        now = {path: [] for path in self._were}
        for entry in self.entries:
            now.setdefault(entry.path, []).append(entry.shown())
        for path, texts in now.items():
            if texts == self._were.get(path):
                continue
            between = "\n\n" if path.endswith(".sources") else "\n"
            safepath.makedirs(os.path.dirname(path))  # sources.list.d need not exist
            data = (between.join(texts) + "\n" if texts else "").encode("utf-8", "surrogateescape")
            atomic.write(path, data, mode=None if os.path.exists(path) else 0o644)
            self._were[path] = texts


def _line(text, path):
    try:
        return Line(text, path)
    except (SaltInvocationError, ValueError):  # apt itself reports the invalid line
        broken = Line("", path)
        broken.text = text
        return broken


def comments(given):
    """A comment, or a list of comments, as one line."""
    return " ".join(str(one) for one in (given if isinstance(given, list) else [given])).strip()


def without_slash(repo):
    """The words of an entry, without a slash at the end of its URI."""
    web = ("http://", "https://", "ftp://")
    return " ".join(word.rstrip("/") if word.startswith(web) else word for word in repo.split())
