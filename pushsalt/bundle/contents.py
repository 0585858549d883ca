"""Which files of the runtime are in which archive.

Every target gets the first archive of its family at the first contact: the code that runs modules, and the modules that
most runs need (marked ``__usual__ = True``) on its systems (``__fits__``), with their imports. Everything else is in
packs. A pack has the modules and states of one subject, with all their imports that not every first archive has, so a
target that needs a module asks for one pack.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from thin import folder

Contents = Mapping[str, bytes]

#: Folders of which a part is in packs.
APART: Final = ("modules", "states", "beacons", "utils", "resources", "compat")
#: Parts of the worker that only some sessions need; they are in packs of their own.
_LATE: Final = frozenset({"thin/saltown.py", "thin/resourcetypes.py"})
#: Kinds that the loader executes, and that may say which systems they are for.
LOADED: Final = ("modules", "states")
#: Families of systems with a first archive of their own, and the grains that are known of them beforehand. "" is for
#: all other systems.
FAMILIES: Final[Mapping[str, Mapping[str, str]]] = {
    "Debian": {"os_family": "Debian", "kernel": "Linux"},
    "RedHat": {"os_family": "RedHat", "kernel": "Linux"},
    "Suse": {"os_family": "Suse", "kernel": "Linux"},
    "Alpine": {"os_family": "Alpine", "kernel": "Linux"},
    "Arch": {"os_family": "Arch", "kernel": "Linux"},
    "FreeBSD": {"os": "FreeBSD", "os_family": "FreeBSD", "kernel": "FreeBSD"},
    "MacOS": {"os": "MacOS", "os_family": "MacOS", "kernel": "Darwin"},
    "": {"kernel": "Linux"},
}
#: Words of ID and ID_LIKE in os-release, and of ``sys.platform``, that name a family (thin/coldstart.py).
WORDS: Final[Mapping[str, str]] = {
    "debian": "Debian",
    "ubuntu": "Debian",
    "rhel": "RedHat",
    "centos": "RedHat",
    "fedora": "RedHat",
    "photon": "RedHat",
    "suse": "Suse",
    "opensuse": "Suse",
    "sles": "Suse",
    "alpine": "Alpine",
    "arch": "Arch",
    "freebsd": "FreeBSD",
    "darwin": "MacOS",
    "": "",
}
#: Characters of source text up to which packs are joined: some 10 KB when compressed and without docstrings.
_SMALL: Final = 60_000
#: Grains that no family decides: a file that is only for some of their values may be needed anywhere.
_ANYWHERE: Final = frozenset({"init"})
_IMPORT: Final = re.compile(r"^ *from (thin[\w.]*) import +(\([^)]*\)|[^\n#]+)|^ *import (thin[\w.]+)", re.MULTILINE)
#: Files of a type of resources.
_TYPE: Final = re.compile(r"thin/resources/\w+/")
_USUAL: Final = re.compile(r"^__usual__ = True$", re.MULTILINE)
#: The pack of files that no module in a pack imports.
_OTHERS: Final = "others"


class Tree:
    """The files of a runtime, and what is known from their texts.

    ``fits``: name -> {grain: values} of the files that are for some systems only; ``usual``: the names of the modules
    and states that most runs need.
    """

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self._texts = {name: data.decode() for name, data in contents.items() if name.endswith(".py")}
        self._names = sorted(contents)
        self._imports = {name: [one for one in imports(text) if one in contents] for name, text in self._texts.items()}
        self.fits: dict[str, dict[str, tuple[Any, ...]]] = folder.fit_index(self._texts.items())
        self.usual = {name for name, text in self._texts.items() if _kind(name) in LOADED and _USUAL.search(text)}

    def first(self, grains: Mapping[str, str]) -> set[str]:
        """The names of the files in the first archive of a system with these grains."""
        first = {name for name in self._names if _kind(name) not in APART} | self.usual
        first |= {name for name in self._names if name.endswith("/__init__.py")}
        return self._with_imports((name for name in first if self.may_fit(name, grains)), grains)

    def packs(self, common: set[str]) -> dict[str, set[str]]:
        """{subject: the names of its files}; ``common`` are the files that every first archive has."""
        by_pack: dict[str, set[str]] = {}
        for name in self._names:
            if name not in common and (_kind(name) in (*LOADED, "beacons", "resources", "compat") or name in _LATE):
                by_pack.setdefault(self._subject(name), set()).add(name)
        packs = {subject: self._with_imports(names) - common for subject, names in sorted(by_pack.items())}
        rest = set(self._names) - common - set().union(*packs.values())
        return self._joined({**packs, _OTHERS: self._with_imports(rest) - common} if rest else packs)

    def _joined(self, packs: Mapping[str, set[str]]) -> dict[str, set[str]]:
        """The packs, with neighbours joined while they are small: each pack costs a place in every first archive."""
        joined: dict[str, set[str]] = {}
        for subject, names in packs.items():
            last = next(reversed(joined), None)
            if last is not None and self._size(joined[last] | names) <= _SMALL:
                joined[f"{last}, {subject}"] = joined.pop(last) | names
            else:
                joined[subject] = set(names)
        return joined

    def _size(self, names: Iterable[str]) -> int:
        return sum(len(self._texts.get(name, "")) for name in names)

    def may_fit(self, name: str, grains: Mapping[str, str]) -> bool:
        """Whether the file may be in the first archive of a system with these grains."""
        if name in _LATE or name.startswith("thin/compat/") or _TYPE.match(name):
            return False
        wanted = self.fits.get(name)
        return wanted is None or any(
            grain in _ANYWHERE or (grain in grains and grains[grain] in values) for grain, values in wanted.items()
        )

    def _with_imports(self, names: Iterable[str], grains: Mapping[str, str] | None = None) -> set[str]:
        """These files and all that they import; with ``grains`` only what may be needed on such a system."""
        todo = list(names)
        modules = set(todo)
        while todo:
            for name in self._imports.get(todo.pop(), ()):
                if name not in modules and (grains is None or self.may_fit(name, grains)):
                    modules.add(name)
                    todo.append(name)
        return modules

    def _subject(self, name: str) -> str:
        """What a module, a state or a type of resources is about: files with the same subject are needed together."""
        kind, _, rest = name.removeprefix("thin/").partition("/")
        if kind == "resources":
            return f"resources {rest.partition('/')[0]}"
        if kind not in LOADED:
            return kind.removesuffix(".py")
        families = {grain: values for grain, values in self.fits.get(name, {}).items() if grain not in _ANYWHERE}
        if families:  # all providers of a system; those that its first archive has, and the others
            system = min(value for values in families.values() for value in values)
            return f"on {system}" if name in self.usual else f"more on {system}"
        virtual: str = next(iter(folder.index([(_stem(name), self._texts[name])])))
        return virtual.partition("_")[0]


def imports(text: str) -> Iterator[str]:
    """Names of files that a source text may import, anywhere in it."""
    for package, words, module in _IMPORT.findall(text):
        base = (package or module).replace(".", "/")
        yield f"{base}.py"
        yield from (f"{base}/{word}.py" for word in re.findall(r"\w+", words))


def _kind(name: str) -> str:
    return name.split("/")[1]


def _stem(name: str) -> str:
    return name.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2]
