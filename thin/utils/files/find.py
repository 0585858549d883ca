"""``file.find``: the paths below a directory that pass all given tests. The tests have the names of Salt's options."""

import os
import re
import stat
import time

from thin.utils.files import owner

TYPES = {
    "b": stat.S_IFBLK,
    "c": stat.S_IFCHR,
    "d": stat.S_IFDIR,
    "f": stat.S_IFREG,
    "l": stat.S_IFLNK,
    "p": stat.S_IFIFO,
    "s": stat.S_IFSOCK,
}
LETTERS = {value: key for key, value in TYPES.items()}
UNITS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
SIZES = {"b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
PRINTS = {
    "group": lambda path, st: owner.gid_to_group(st.st_gid),
    "md5": lambda path, st: _hash(path, st),
    "mode": lambda path, st: oct(st.st_mode)[-3:],
    "mtime": lambda path, st: int(st.st_mtime),
    "name": lambda path, st: os.path.basename(path),
    "path": lambda path, st: path,
    "size": lambda path, st: st.st_size,
    "type": lambda path, st: LETTERS.get(stat.S_IFMT(st.st_mode), "?"),
    "user": lambda path, st: owner.uid_to_user(st.st_uid),
}


def _hash(path, st):
    from thin.utils.files import hashes

    return hashes.file_hash(path, "md5") if stat.S_ISREG(st.st_mode) else ""


def find(path, options):
    """Sorted matches below every directory that matches the glob ``path``. Raises ValueError for an unknown or invalid
    option."""
    import glob

    finder = Finder(options)
    return sorted(item for top in glob.glob(os.path.expanduser(path)) for item in finder.find(top))


class Finder(object):
    def __init__(self, options):
        options = {key: value for key, value in options.items() if not key.startswith("_")}
        self.mindepth = int(options.pop("mindepth", 0))
        maxdepth = options.pop("maxdepth", None)
        self.maxdepth = None if maxdepth is None else int(maxdepth)
        delete = options.pop("delete", None)
        self.delete = None if delete in (None, False) else delete or "f"
        self.command = options.pop("exec", None)
        shown = options.pop("print", None)
        self.shown = [word.strip() for word in str(shown).split(",")] if shown else []
        for word in self.shown:
            if word not in PRINTS:
                raise ValueError("invalid print option: %s" % word)
        self.tests = [_test(word, value) for word, value in options.items()]
        if self.delete is not None:
            kinds = _kinds(self.delete)
            self.tests.append(lambda path, st: stat.S_IFMT(st.st_mode) in kinds)

    def find(self, top):
        for folder, dirs, files in os.walk(top, topdown=not self.delete):
            relative = os.path.relpath(folder, top)
            depth = 0 if relative == "." else relative.count(os.sep) + 1
            if self.maxdepth is not None and depth + 1 >= self.maxdepth:
                entries = dirs + files if depth < self.maxdepth else []
                if not self.delete:
                    del dirs[:]
            else:
                entries = dirs + files
            if depth == 0 and self.mindepth == 0:
                for item in self._match(top):
                    yield item
            if depth + 1 >= self.mindepth:
                for name in entries:
                    for item in self._match(os.path.join(folder, name)):
                        yield item

    def _match(self, path):
        try:  # stat follows links
            st = os.stat(path)
        except OSError:
            try:
                st = os.lstat(path)
            except OSError:
                return
        if not all(test(path, st) for test in self.tests):
            return
        if self.delete is not None:
            from thin.utils.files import walk

            walk.remove(path)
            yield path
        elif self.command:
            import subprocess

            from thin.utils import words as shell

            words = [word.replace("{}", path) for word in shell.split(self.command)]
            with open(os.devnull, encoding="utf-8") as null:
                subprocess.call(words, stdin=null)
            yield path
        elif self.shown:
            values = [PRINTS[word](path, st) for word in self.shown]
            yield values[0] if len(values) == 1 else values
        else:
            yield path


def _kinds(letters):
    letters = str(letters).replace("[", "").replace("]", "").replace(",", "")
    for letter in letters:
        if letter not in TYPES:
            raise ValueError("invalid type: %s" % letter)
    return {TYPES[letter] for letter in letters}


def _test(word, value):
    """A function of (path, stat result) that tests one option."""
    if word in ("name", "iname"):
        import fnmatch

        pattern = re.compile(fnmatch.translate(str(value)), re.IGNORECASE if word == "iname" else 0)
        return lambda path, st: pattern.match(os.path.basename(path)) is not None
    if word in ("regex", "iregex"):
        try:
            pattern = re.compile(str(value), re.IGNORECASE if word == "iregex" else 0)
        except re.error:
            raise ValueError('invalid regular expression: "%s"' % value)
        return lambda path, st: pattern.search(path) is not None
    if word == "type":
        kinds = _kinds(value)
        links = stat.S_IFLNK in kinds
        return lambda path, st: stat.S_IFMT(st.st_mode) in kinds or (links and os.path.islink(path))
    if word in ("owner", "group"):
        wanted = set()
        for name in str(value).split(","):
            lookup = owner.user_to_uid if word == "owner" else owner.group_to_gid
            number = int(name) if name.isdigit() else lookup(name)
            if number == "":
                raise ValueError("no such %s: %s" % ("user" if word == "owner" else "group", name))
            wanted.add(number)
        return lambda path, st: (st.st_uid if word == "owner" else st.st_gid) in wanted
    if word == "size":
        return _interval(str(value), _size, lambda st: st.st_size)
    if word == "mtime":
        now = time.time()
        return _interval(str(value), _age, lambda st: now - st.st_mtime)
    if word == "grep":
        pattern = re.compile(str(value).encode("utf-8"))
        return lambda path, st: stat.S_ISREG(st.st_mode) and _grep(pattern, path)
    raise ValueError('invalid option "%s"' % word)


def _grep(pattern, path):
    try:
        with open(path, "rb") as source:
            return any(pattern.search(line) for line in source)
    except OSError:
        return False


def _size(text):
    match = re.match(r"(\d+)([bkmgt]?)$", text.lower())
    if not match:
        raise ValueError('invalid size value: "%s"' % text)
    unit = SIZES[match.group(2) or "b"]
    return int(match.group(1)) * unit, unit


def _age(text):
    parts = re.findall(r"(\d+)([wdhms])", text.lower())
    if "".join(number + unit for number, unit in parts) != text.lower():
        parts = [(text, "d")] if text.isdigit() else None
    if not parts:
        raise ValueError('invalid time value: "%s"' % text)
    return sum(int(number) * UNITS[unit] for number, unit in parts), UNITS[parts[-1][1]]


def _interval(text, parse, value):
    """A test for a range: ``+x`` at least, ``-x`` at most, ``x-y`` between, ``x`` up to one unit more."""
    low, high = 0, float("inf")
    if text[:1] in "+-":
        number, _ = parse(text[1:])
        if text[0] == "+":
            low = number
        else:
            high = number
    elif "-" in text:
        first, _, last = text.partition("-")
        low, high = parse(first)[0], parse(last)[0]
    else:
        low, unit = parse(text)
        high = low + unit - 1
    return lambda path, st: low <= value(st) <= high
