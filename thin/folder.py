"""The runtime's code where it is not sent: on the controller and in tests, from the files of the package."""


class Folder(object):
    """A package's files on disk. ``root`` is the folder that holds the package, ``package`` its name."""

    def __init__(self, root=None, package="thin"):
        import os

        self.root = root or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.package = package
        self._codes = {}
        self._indexes = {}

    def _path(self, name):
        import os

        parts = name.split(".")
        if parts[0] == self.package and all(part.isidentifier() for part in parts):
            base = os.path.join(self.root, *parts)
            for path in (base + ".py", os.path.join(base, "__init__.py")):
                if os.path.isfile(path):
                    return path
        raise ImportError("no module named %r" % name, name=name)

    def source(self, name):
        import tokenize

        with tokenize.open(self._path(name)) as handle:
            return handle.read()

    def code(self, name):
        if name not in self._codes:
            from importlib.machinery import SourceFileLoader

            self._codes[name] = SourceFileLoader(name, self._path(name)).get_code(name)
        return self._codes[name]

    def names(self, prefix):
        import os

        folder = os.path.join(self.root, *prefix.split("."))
        names = set()
        for entry in os.listdir(folder) if os.path.isdir(folder) else ():
            stem, extension = os.path.splitext(entry)
            if extension == ".py" and stem.isidentifier() and stem != "__init__":
                names.add("%s.%s" % (prefix, stem))
            elif entry.isidentifier() and os.path.isfile(os.path.join(folder, entry, "__init__.py")):
                names.add("%s.%s" % (prefix, entry))
        return sorted(names)

    def virtual_index(self, kind):
        if kind not in self._indexes:
            prefix = "%s.%s" % (self.package, kind)
            self._indexes[kind] = index((name.rpartition(".")[2], self._says(name)) for name in self.names(prefix))
        return self._indexes[kind]

    def fits(self, kind):
        if ("fits", kind) not in self._indexes:
            prefix = "%s.%s" % (self.package, kind)
            index = fit_index((name.rpartition(".")[2], self._says(name, b"__fits__")) for name in self.names(prefix))
            self._indexes["fits", kind] = index
        return self._indexes["fits", kind]

    def _says(self, name, *words):
        """The text of a module if it contains one of ``words`` (default: ``__virtualname__`` and aliases), else ""."""
        with open(self._path(name), "rb") as handle:
            data = handle.read()
        words = words or (b"__virtualname__", b"__virtual_aliases__")
        return data.decode("utf-8") if any(word in data for word in words) else ""


def fit_index(sources):
    """{file name: {grain: (values)}} of (file name, text) pairs: the literals of ``__fits__``.

    A file is executed only if one of the grains has one of its values, so that the providers of other systems are
    neither loaded nor sent. ``__virtual__`` can still refuse to load.
    """
    import ast
    import re

    literal = re.compile(r"^__fits__\s*=\s*(\{[^}]*\})", re.MULTILINE)
    result = {}
    for stem, text in sources:
        match = literal.search(text) if "__fits__" in text else None
        if match:
            result[stem] = {grain: tuple(values) for grain, values in ast.literal_eval(match.group(1)).items()}
    return result


def index(sources):
    """{virtual name: [file names]} of (file name, text) pairs.

    A module's names are the literals of its ``__virtualname__`` and ``__virtual_aliases__``, or its file name. They are
    found by a text search, since parsing hundreds of modules would take a second.
    """
    import re

    literal = re.compile(r"^__virtualname__\s*(?::[^=\n]+)?=\s*[\"'](\w+)[\"']", re.MULTILINE)
    aliases = re.compile(r"^__virtual_aliases__\s*(?::[^=\n]+)?=\s*[(\[]([^)\]]*)[)\]]", re.MULTILINE)
    result = {}
    for stem, text in sources:
        match = literal.search(text)
        more = aliases.search(text) if "__virtual_aliases__" in text else None
        virtual = [match.group(1) if match else stem] + (re.findall(r"[\"'](\w+)[\"']", more.group(1)) if more else [])
        for name in virtual:
            result.setdefault(name, []).append(stem)
    return {name: sorted(set(stems)) for name, stems in sorted(result.items())}
