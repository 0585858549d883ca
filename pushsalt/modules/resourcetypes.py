"""Finds users' own resource types and their files. thin/resourcetypes.py describes their content.

A type is a folder with an ``__init__.py``; a folder without, which has ``modules``, ``states`` or ``grains``, extends
the shipped type of its name. They are found by listing folders, without executing their code.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING

from pushsalt import plugins
from pushsalt.files.found import FileServerError, disk_file

if TYPE_CHECKING:
    from pushsalt.files.found import FoundFile
    from pushsalt.fileserver import FileServer

log = logging.getLogger(__name__)

#: Entry point groups of installed distributions: types by name, and extensions of Salt, which have ``resources/``.
GROUP = "pushsalt.resources"
SALT_GROUP = "salt.loader"
HEAD = "__init__.py"
#: Folders of a type's own modules, which override others inside of its resources.
INNER = ("modules", "states", "grains")

#: The files of a type by their path below ``resources``.
Parts = Mapping[str, "FoundFile"]


def in_folders(tops: Iterable[str]) -> Iterator[tuple[str, Parts]]:
    """(type, its files) of ``module_dirs``."""
    for top in tops:
        for folder in (Path(top) / "_resources", Path(top) / "resources"):
            yield from _types_in(folder)


def in_roots(
    files: FileServer, saltenvs: Iterable[str], left_out: Callable[[str, FileServerError], None]
) -> Iterator[tuple[str, Parts]]:
    """(type, its files) of ``_resources`` of the file roots; ``left_out`` is called with unreadable saltenvs."""
    for saltenv in saltenvs:
        try:
            for folder in files.list_folder("_resources", saltenv):
                by_name = {name: files.find(name, saltenv) for name in _below(files, folder, saltenv)}
                parts = {name.removeprefix("_resources/"): file for name, file in by_name.items() if file is not None}
                yield from _type(folder.rpartition("/")[2], parts)
        except FileServerError as exc:
            left_out(saltenv, exc)


def installed() -> Iterator[tuple[str, Parts]]:
    """(type, its files) of installed distributions."""
    for name, folder in _installed():
        yield from _type_in(folder, name)


def any_installed() -> bool:
    """Whether a distribution may have a resource type; a fast check of the entry points' text."""
    return plugins.mentioned(GROUP, SALT_GROUP)


def forget_installed() -> None:
    """Clear the cached entry points: distributions may be installed before a fork of this process runs."""
    _installed.cache_clear()


@cache
def _installed() -> tuple[tuple[str, Path], ...]:
    """(type, folder) of entry points."""
    if not any_installed():
        return ()
    from importlib.metadata import entry_points

    folders: list[tuple[str, Path]] = []
    for point in entry_points(group=GROUP):
        place = _place(point.module)
        if place is None or not (place / HEAD).is_file():
            log.warning("the resource type %s is left out: %s is no installed package", point.name, point.value)
        else:
            folders.append((point.name, place))
    for point in entry_points(group=SALT_GROUP):
        words = point.module.split(".")
        for length in range(len(words), 0, -1):  # the entry point may be a module within the extension
            place = _place(".".join(words[:length]))
            if place is not None and (place / "resources").is_dir():
                folders += [(folder.name, folder) for folder in sorted((place / "resources").iterdir())]
                break
    return tuple(folders)


def _place(dotted: str) -> Path | None:
    """The folder of an installed package, found without importing it; None for anything else."""
    top, *inner = dotted.split(".")
    spec = _spec(top)
    if spec is None or spec.submodule_search_locations is None:
        return None
    folders = [Path(folder, *inner) for folder in spec.submodule_search_locations]  # a namespace package has several
    existing = [folder for folder in folders if folder.is_dir()]
    return next((folder for folder in existing if (folder / HEAD).is_file()), next(iter(existing), None))


def _spec(name: str) -> ModuleSpec | None:
    """The spec of a top-level module; editable installations have their own finders."""
    specs = (finder.find_spec(name, None) for finder in sys.meta_path if hasattr(finder, "find_spec"))
    return next((spec for spec in specs if spec is not None), None)


def _types_in(folder: Path) -> Iterator[tuple[str, Parts]]:
    for inner in sorted(folder.iterdir()) if folder.is_dir() else ():
        yield from _type_in(inner, inner.name)


def _type_in(folder: Path, name: str) -> Iterator[tuple[str, Parts]]:
    files = {}
    for path in sorted(folder.rglob("*.py")) if folder.is_dir() else ():
        file = disk_file(str(path), path.name)
        if file is not None:
            files[f"{name}/{path.relative_to(folder).as_posix()}"] = file
    yield from _type(name, files)


def _below(files: FileServer, folder: str, saltenv: str, depth: int = 4) -> Iterator[str]:
    for entry in files.list_folder(folder, saltenv) if depth else ():
        if entry.endswith(".py"):
            yield entry
        else:
            yield from _below(files, entry, saltenv, depth - 1)


def _type(name: str, parts: Parts) -> Iterator[tuple[str, Parts]]:
    """(name, valid files, ``__init__.py`` first); nothing if the files are not a resource type."""
    valid = {path: parts[path] for path in sorted(parts) if all(map(_word, path.removesuffix(".py").split("/")))}
    head = f"{name}/{HEAD}"
    if head in valid:
        yield name, {head: valid[head], **valid}
    elif any(path.split("/")[1] in INNER and path.count("/") > 1 for path in valid):
        yield name, valid


def _word(word: str) -> bool:
    return word.isidentifier() and word.isascii()
