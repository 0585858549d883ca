"""Finds the trees to check below a path: a formula, a folder of formulas, a project, a file root, or SLS files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pushsalt import regular
from pushsalt.check.systems import Claims, claims
from pushsalt.config import Config
from pushsalt.discover import NAME
from pushsalt.errors import UsageError

EXAMPLE: Final = "pillar.example"
#: Files that mark a folder as a formula; its name may do so too.
_MARKS: Final = ("FORMULA", EXAMPLE)
#: Folders below a tree that contain no states.
_OTHER: Final = frozenset({"test", "tests", "docs", "bin", "node_modules", "__pycache__"})
#: Endings of text files: templates, and files that may name pillar keys.
_TEXT: Final = (".sls", ".jinja", ".j2", ".jinja2", ".tmpl", ".tpl", ".template", ".yaml", ".yml", ".py", ".json")
_TEMPLATES: Final = (".sls", ".jinja", ".j2", ".jinja2")


@dataclass(frozen=True)
class Subject:
    """One tree. Paths are absolute.

    ``sls``: the SLS to compile, each by itself; ``sources``: the templates whose source is checked; ``files``: all
    files of the tree. ``claims``: the systems that its file FORMULA declares as supported. ``project``: the folder of
    its pushsalt.yaml, which defines pillar and other roots.
    """

    name: str
    root: str
    file_roots: tuple[str, ...]
    sls: tuple[str, ...]
    sources: tuple[str, ...]
    files: tuple[str, ...]
    example: str = ""
    project: str = ""
    pillar_roots: tuple[str, ...] = ()
    claims: Claims = field(default_factory=Claims)

    @property
    def has_top(self) -> bool:
        return bool(self.project) and any(os.path.isfile(os.path.join(root, "top.sls")) for root in self.file_roots)  # noqa: PTH118,PTH113


def subjects(paths: Iterable[Path], config: Config, extra_roots: Iterable[str] = ()) -> list[Subject]:
    """The trees, in the order of the paths, without duplicates. ``extra_roots``: other formulas that are included.

    Raises UsageError for a missing path, or one without SLS files.
    """
    extra = tuple(extra_roots)
    by_path: dict[str, Subject] = {}
    for path in paths:
        absolute = Path(os.path.abspath(path))  # noqa: PTH100 (links are left as they are written)
        if not absolute.exists():
            raise UsageError(
                f"{path}: there is no such file or folder", "name a formula, a tree of states, or an SLS file"
            )
        if not absolute.is_dir():
            _refuse_special(path)
        below = list(_below(absolute, config, extra))
        if not below:
            raise UsageError(f"{path}: there are no SLS files", "name a formula, a tree of states, or an SLS file")
        for subject in below:
            earlier = by_path.get(subject.root)
            if earlier is None:
                by_path[subject.root] = subject
            else:
                by_path[subject.root] = replace(
                    earlier,
                    sls=tuple(dict.fromkeys((*earlier.sls, *subject.sls))),
                    sources=tuple(dict.fromkeys((*earlier.sources, *subject.sources))),
                )
    return list(by_path.values())


def _refuse_special(path: Path) -> None:
    try:
        regular.refuse(path, path.stat())
    except OSError as exc:
        raise UsageError(f"{path}: {exc.strerror}", "name a formula, a tree of states, or an SLS file") from None


def _below(path: Path, config: Config, extra: tuple[str, ...]) -> Iterator[Subject]:
    if path.is_file():
        yield _single(path, config, extra)
        return
    if (path / NAME).is_file() and config.path == path / NAME:
        yield from _project(path, config)
        return
    if _is_formula(path):
        yield _formula(path, extra)
        return
    formulas = [each for each in sorted(path.iterdir()) if each.is_dir() and _is_formula(each)]
    if formulas:
        for each in formulas:
            yield _formula(each, extra)
        return
    subject = _tree(path, (str(path), *extra))
    if subject.sls:
        yield subject


def _is_formula(path: Path) -> bool:
    return any((path / mark).is_file() for mark in _MARKS) or (
        path.name.endswith("-formula") and (path / path.name.removesuffix("-formula")).is_dir()
    )


def _formula(path: Path, extra: tuple[str, ...]) -> Subject:
    """A formula: a repository with its states in a folder, or only that folder in a file root."""
    example = path / EXAMPLE
    if (path / "init.sls").is_file():
        tree = _tree(path, (str(path.parent), *extra), path.parent)
        return replace(tree, example=str(example) if example.is_file() else "", claims=claims(path / "FORMULA"))
    tree = _tree(path, (str(path), *extra))
    folders = {name.split(".", 1)[0] for name in tree.sls}
    states = {folder for folder in folders if (path / folder / "init.sls").is_file()} or folders
    tree = replace(tree, sls=tuple(name for name in tree.sls if name.split(".", 1)[0] in states))
    return replace(tree, example=str(example) if example.is_file() else "", claims=claims(path / "FORMULA"))


def _project(path: Path, config: Config) -> Iterator[Subject]:
    """The file roots of a project's saltenv base as one tree."""
    roots = [str(root) for root in config.opts["file_roots"].get("base", []) if Path(root).is_dir()]
    parts = [_tree(Path(root), (root,)) for root in roots]
    sls = tuple(dict.fromkeys(name for part in parts for name in part.sls))
    if sls:
        pillar = tuple(str(root) for root in config.opts["pillar_roots"].get("base", []))
        yield Subject(
            path.name,
            str(path),
            tuple(roots),
            sls,
            tuple(name for part in parts for name in part.sources),
            tuple(name for part in parts for name in part.files),
            project=str(path),
            pillar_roots=pillar,
        )


def _single(path: Path, config: Config, extra: tuple[str, ...]) -> Subject:
    """One SLS file, within its file root, formula or project."""
    if path.suffix != ".sls":
        raise UsageError(f"{path}: it is not an SLS file", "name a formula, a tree of states, or an SLS file")
    subject: Subject | None = None
    for root in config.opts["file_roots"].get("base", []):
        if path.is_relative_to(root) and config.project is not None:
            subject = next(_project(config.project, config), None)
            base = Path(root)
    if subject is None:
        base = next((parent for parent in path.parents if _is_formula(parent)), _outermost(path))
        subject = _formula(base, extra)
        base = Path(subject.file_roots[0])
    name = ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".init")
    return replace(subject, sls=(name,), sources=(str(path),))


def _outermost(path: Path) -> Path:
    """The parent of the topmost consecutive folder with SLS files."""
    base = path.parent
    while base != base.parent and any(base.parent.glob("*.sls")):
        base = base.parent
    return base.parent if (base / "init.sls").is_file() else base


def _tree(path: Path, roots: tuple[str, ...], base: Path | None = None) -> Subject:
    """The files below ``path``; names of SLS are relative to ``base``."""
    files = list(_files(str(path)))
    relative = [name[len(str(base or path)) + 1 :] for name in files]
    sls = [name.removesuffix(".sls").removesuffix("/init").replace("/", ".") for name in relative if _is_sls(name)]
    sources = [name for name, short in zip(files, relative, strict=True) if short.endswith(_TEMPLATES)]
    return Subject(path.name, str(path), roots, tuple(sls), tuple(sources), tuple(files))


def _is_sls(path: str) -> bool:
    """Whether a path is an SLS of states: not the top file, nor a name that cannot be referenced."""
    stem, dot, suffix = path.rpartition(".")
    return dot + suffix == ".sls" and path != "top.sls" and "." not in stem and not path.startswith("pillar/")


def _files(root: str) -> Iterator[str]:
    """Regular files only: opening a FIFO or a device could block."""
    for folder, folders, names in os.walk(root):
        top = folder == root
        folders[:] = sorted(
            name for name in folders if not name.startswith((".", "_")) and not (top and name in _OTHER)
        )
        for name in sorted(names):
            path = os.path.join(folder, name)  # noqa: PTH118
            if not name.startswith(".") and os.path.isfile(path):  # noqa: PTH113
                yield path


def is_text(path: str) -> bool:
    """Whether a file may contain names of pillar keys: templates, data, and files without an ending."""
    name = os.path.basename(path)  # noqa: PTH119
    return name.endswith(_TEXT) or "." not in name or "files" in path or "templates" in path
