"""Compares two sides of a project for every id: ``pushsalt impact`` (docs/impact.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import UsageError
from pushsalt.events import Reporter
from pushsalt.impact.answers import NOTHING, Answer, answer
from pushsalt.impact.differences import difference
from pushsalt.impact.revisions import Repository, written
from pushsalt.impact.side import Place, Side, settings_of
from pushsalt.lazy import cached_property
from pushsalt.memo.keys import Key, NoKeyError
from pushsalt.memo.tree import Once

if TYPE_CHECKING:
    from pushsalt.fileserver import FileServer
    from pushsalt.job import Settings
    from pushsalt.model import Target
    from pushsalt.run.project import Project

#: The name of the working tree as a side.
WORKING: Final = "the working tree"


@dataclass
class Impact:
    """``old`` and ``new``: names of the sides; ``ids``: id -> difference, only those with one; ``total``: ids that were
    compared; ``rendered``: answers that were not the same object for another id or side."""

    old: str
    new: str
    ids: dict[str, Any] = field(default_factory=dict)
    total: int = 0
    rendered: int = 0

    def as_data(self) -> dict[str, Any]:
        return {"from": self.old, "to": self.new, "ids": self.ids}


def repository(project: Project) -> Repository:
    """The git repository of a project: that of its configuration, or of its file roots. Raises UsageError."""
    config = project.config
    roots = [root for folders in (config.opts.get("file_roots") or {}).values() for root in folders or ()]
    for folder in (*([config.path.parent] if config.path is not None else []), *map(Path, roots)):
        repository = Repository.around(folder.absolute())
        if repository is not None:
            return repository
    where = config.project or config.path or Path.cwd()
    raise UsageError(f"{where} is in no git repository", hint="impact compares revisions: git init, and commit")


def sides(repo: Repository, words: str | None) -> tuple[str, str]:
    """The two commits that REV or REV..REV names; "" is the working tree. Raises UsageError."""
    old, dots, new = (words or "HEAD").partition("..")
    if new.startswith("."):
        raise UsageError(f"{words!r}: three dots compare with a common ancestor", hint="write REV..REV")
    return repo.commit(old or "HEAD"), repo.commit(new or "HEAD") if dots else ""


def compare(
    settings: Settings,
    project: Project,
    words: str | None,
    ids: Collection[str] | None,
    reporter: Reporter,
    *,
    everything: bool = False,
) -> Impact:
    """The impact between the sides that ``words`` name. ``ids``: only these, None: all; ``everything``: compile each id
    of each side by itself, without what is memoized.

    Raises UsageError, ConfigError, InventoryError.
    """
    repo = repository(project)
    commits = sides(repo, words)
    with ExitStack() as stack:
        folders = [stack.enter_context(_folder(repo, commit, project.config.cache_dir, reporter)) for commit in commits]
        impacts = []
        for commit, folder in zip(commits, folders, strict=True):
            place = Place(repo.top, folder, tuple(folders))
            own = settings_of(settings, project, place)
            if own.config is not None and not own.config.exists():
                text = f"{commit[:12]} has no {own.config.relative_to(folder)}: the project was not there yet"
                raise UsageError(text, hint="name a later revision")
            impacts.append(Side(commit or WORKING, own, place, reporter, everything))
            stack.callback(impacts[-1].close)
        return between(impacts[0], impacts[1], project, ids)


def locked(settings: Settings, project: Project, old: Path, new: Path, reporter: Reporter) -> Impact:
    """The impact of another lock file: both sides are the present project. Raises the same as ``compare``.

    ``old``, ``new``: lock files. Refs that are used and not pinned are added to them.
    """
    top = project.config.path.parent if project.config.path else Path.cwd()
    place = Place(top, top, (top,))
    own = settings_of(settings, project, place)
    made = [
        Side("the revisions of pushsalt.lock", replace(own, lock_file=old), place, reporter, False),
        Side("the new revisions", replace(own, lock_file=new), place, reporter, False),
    ]
    try:
        return between(made[0], made[1], project, None)
    finally:
        for side in made:
            side.close()


@contextmanager
def _folder(repo: Repository, commit: str, cache: Path, reporter: Reporter) -> Iterator[Path]:
    if not commit:
        yield repo.top
        return
    with written(repo, commit, cache) as (folder, submodules):
        for path in submodules:
            reporter.warning(None, f"the submodule {path} is left out of {commit[:12]}")
        yield folder


def between(old: Side, new: Side, project: Project, ids: Collection[str] | None) -> Impact:
    """The differences of two sides. ``project`` has the cached grains; all secrets are added to its redactor."""
    shared = _Shared(old, new)
    impact = Impact(old.name, new.name)
    differences: dict[tuple[int, int], dict[str, Any]] = {}
    kept: list[Answer] = []  # keeps the objects alive, so that ``id()`` is not used for another one
    before, after = old.targets(), new.targets()
    for id in {**after, **before}:
        if ids is not None and id not in ids:
            continue
        first = _answer(old, before.get(id), project)
        same = shared.is_same(first, before.get(id), after.get(id))
        pair = (first, first if same else _answer(new, after.get(id), project))
        kept += pair
        key = id_of(pair[0]), id_of(pair[1])
        if key not in differences:
            differences[key] = difference(pair[0], pair[1], shared.changed)
        if differences[key]:
            impact.ids[id] = differences[key]
        impact.total += 1
    impact.rendered = len({id_of(each) for each in kept})
    for side in (old, new):
        project.redactor.add_secrets(*side.project.redactor.secrets())
    return impact


#: ``id`` is the name of a target here.
id_of = id


def _answer(side: Side, target: Any, project: Project) -> Answer:
    if target is None:
        return NOTHING
    cached = None if target.transport == "offline" else project.grains.get(target.key)
    return answer(side, target, cached)


class _Shared:
    """The common data of both sides. They use the same memoized results if that is possible."""

    def __init__(self, old: Side, new: Side) -> None:
        self._old, self._new = old, new
        once, numbers = Once(), dict[Key, int]()
        try:
            self._ground = old.ground() == new.ground()
        except NoKeyError:
            self._ground = False
        old.share(once, numbers)
        new.share(once if self._ground else Once(), numbers if self._ground else {})
        self._compared: dict[int, bool] = {}

    @cached_property
    def changed(self) -> bool:
        """Whether configuration, users' modules or any file differs."""
        return (
            not self._ground
            or not self._same_pillar
            or _files(self._old.project.files) != _files(self._new.project.files)
        )

    @cached_property
    def _same_pillar(self) -> bool:
        return _files(self._old.project.pillar_files) == _files(self._new.project.pillar_files)

    def is_same(self, first: Answer, before: Target | None, after: Target | None) -> bool:
        """Whether the old side's answer for a target is also that of the new side: none of its dependencies differs."""
        if not self._ground or first.reads is None or before is None or after is None or not self._same_pillar:
            return False
        if any(getattr(before, name) != getattr(after, name) for name in _OWN):
            return False
        key = id_of(first)
        if key not in self._compared:
            self._compared[key] = self._old.same(self._new, first.reads)
        return self._compared[key]


#: Fields of a target that renderings can read.
_OWN: Final = ("transport", "minion_opts", "grains", "pillar", "groups", "resource", "manager", "enter")


def _files(files: FileServer) -> list[tuple[str, str, str]]:
    """(saltenv, path, digest) of all files."""
    paths = []
    for saltenv in files.envs():
        for path in files.list_files(saltenv):
            file = files.find(path, saltenv)
            paths.append((saltenv, path, file.digest() if file is not None else ""))
    return paths
