"""Runs a check: distributes trees and systems to processes, and caches findings by the content of files."""

from __future__ import annotations

import hashlib
import json
import logging
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pushsalt import __version__, regular
from pushsalt.cache.store import Bank
from pushsalt.check.findings import Finding, Ignores, finding, joined, levelled, with_columns
from pushsalt.check.subjects import Subject, subjects
from pushsalt.check.systems import systems, with_inventory
from pushsalt.config import Config
from pushsalt.errors import CommandError, PushsaltError, RenderError, StateError
from pushsalt.events import Reporter
from pushsalt.fileserver.backends.roots import LIMITS
from pushsalt.job import Settings
from pushsalt.lazy import is_made
from pushsalt.run.project import Project
from pushsalt.trust import Limit

log = logging.getLogger(__name__)

#: Seconds that findings are cached, under a digest of everything that they depend on.
_KEPT: Final = 30 * 86400


@dataclass(frozen=True)
class Options:
    """The options of a check. ``pillar`` is merged over that of examples.

    ``limits``: folder -> the renderers that its files may use, for the copy of a git remote.
    """

    paths: tuple[Path, ...] = ()
    systems: tuple[str, ...] = ()
    pillar: dict[str, Any] = field(default_factory=dict)
    jobs: int = 0
    keep: bool = True
    limits: dict[str, Limit] = field(default_factory=dict)


@dataclass
class Report:
    """All findings, and the checked trees, SLS and systems."""

    findings: list[Finding]
    trees: int
    sls: int
    systems: list[str]

    def count(self, level: str) -> int:
        return sum(each.level == level for each in self.findings)


@dataclass(frozen=True)
class _Task:
    subject: Subject
    system: str
    grains: dict[str, Any]
    settings: Settings
    pillar: dict[str, Any]
    limits: dict[str, Limit]


#: Called with (finished tasks, number of tasks, name of the last).
Progress = Callable[[int, int, str], None]


def check(settings: Settings, options: Options, reporter: Reporter, progress: Progress = lambda *_: None) -> Report:
    """Run a check. Raises UsageError for invalid paths and systems, ConfigError for an invalid configuration."""
    project = Project.open(settings, reporter)
    config = project.config
    chosen = systems(options.systems or tuple(config.opts["check"].get("systems") or ()))
    paths = options.paths or ((config.project,) if config.project else (Path(),))
    all_subjects = subjects(
        [path for path in paths if path is not None], config, [str(root) for root in settings.file_roots]
    )
    hosts = _inventory_grains(project) if any(subject.project for subject in all_subjects) else []
    tasks = [
        _Task(
            subject,
            name,
            with_inventory(grains, hosts) if subject.project else grains,
            settings,
            options.pillar,
            options.limits,
        )
        for subject in all_subjects
        for name, grains in chosen.items()
    ]
    sources = [_of_sources(subject) for subject in all_subjects]
    sources += [_of_wants(subject, options.limits, project) for subject in all_subjects]
    results = [each for some in sources for each in some]
    results += _all(tasks, config, options, progress)
    levels = config.opts["check"].get("levels") or {}
    if not isinstance(levels, dict):
        raise CommandError("check: levels: must be a mapping of rules and levels", "for example {PS310: off}")
    ignores = Ignores()
    kept = [each for each in levelled(joined(with_columns(results)), levels) if not ignores.has(each)]
    return Report(kept, len(all_subjects), sum(len(each.sls) for each in all_subjects), list(chosen))


def _inventory_grains(project: Project) -> list[Mapping[str, Any]]:
    """The grains of the inventory's hosts; empty without a readable inventory."""
    if not project.config.has_inventory:
        return []
    try:
        return [target.grains for target in project.inventory.targets.values() if target.grains]
    except PushsaltError as exc:
        log.warning("the grains of the inventory are not used: %s", exc)
        return []


def _of_sources(subject: Subject) -> list[Finding]:
    from pushsalt.check.pillaruse import unread
    from pushsalt.check.sources import check_source
    from pushsalt.render.jinja import parsing_environment

    environment = parsing_environment()
    findings = [each for path in subject.sources for each in check_source(path, environment)]
    return [*findings, *unread(subject)]


def _of_wants(subject: Subject, limits: dict[str, Limit], project: Project) -> list[Finding]:
    """Findings for files of git remotes that use renderers that the remote may not use."""
    from pushsalt.formula.sources import FolderSource, RemoteSource
    from pushsalt.formula.wants import wants
    from pushsalt.git.project import configured

    wanted = []
    if (limit := limits.get(subject.root)) is not None:
        copy = FolderSource(Path(subject.root), limit)
        wanted += [(f"{subject.root}/{each.path}", each, limit) for each in wants(copy)]
    for remote in configured(project.config) if subject.project else ():
        if remote.limit is not None:
            with suppress(StateError):  # the remote cannot be fetched, which is reported when its files are needed
                place = RemoteSource(project.remotes, remote)
                before = f"{place.place}@{place.revision[:12]}:"
                wanted += [(before + each.path, each, remote.limit) for each in wants(place, remote.root)]
    if is_made(project, "remotes"):
        project.remotes.close()  # before processes are forked
    return [
        finding(
            "renderer-not-allowed",
            f"{each.words} asks for {each.renderer}, which {limit.source} may not use",
            path,
            each.line,
            hint=limit.hint(each.renderer),
        )
        for path, each, limit in wanted
    ]


def _all(tasks: Sequence[_Task], config: Config, options: Options, progress: Progress) -> Iterator[Finding]:
    """The findings of all tasks: cached ones, and those of new processes, as many as there are cores."""
    kept = _Kept(config.cache_dir) if options.keep else None
    left: list[tuple[_Task, str]] = []
    done = 0
    digests: dict[str, str] = {}
    for task in tasks:
        key = _key(task, digests) if kept else ""
        findings = kept.get(key) if kept else None
        if findings is None:
            left.append((task, key))
            continue
        yield from findings
        done += 1
        progress(done, len(tasks), task.subject.name)
    jobs = min(options.jobs or os.cpu_count() or 1, len(left))
    for task, key, results in _worked(left, jobs):
        if kept:
            kept.put(key, results)
        yield from results
        done += 1
        progress(done, len(tasks), task.subject.name)
    if kept and left:
        kept.sweep()


def _worked(left: Sequence[tuple[_Task, str]], jobs: int) -> Iterator[tuple[_Task, str, list[Finding]]]:
    if jobs <= 1:
        for task, key in left:
            yield task, key, run_task(task)
        return
    # fork, so that loaded modules are shared; there are no threads yet
    context = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else None)
    _load()
    pool = ProcessPoolExecutor(jobs, mp_context=context)
    try:
        # all systems of a tree go to one process, since they share most of the rendering
        groups: dict[str, list[tuple[_Task, str]]] = {}
        for task, key in left:
            groups.setdefault(task.subject.root, []).append((task, key))
        shares = [
            share for group in groups.values() for share in _shared_out(group, jobs if len(groups) < 2 * jobs else 1)
        ]
        shares.sort(key=lambda share: -sum(len(task.subject.sls) for task, _ in share))
        waiting = {pool.submit(run_tasks, [task for task, _ in share]): share for share in shares}
        for future in as_completed(waiting):
            for (task, key), findings in zip(waiting[future], future.result(), strict=True):
                yield task, key, findings
        # Wait for the end: if Python exits while a pool is closing, it may print a traceback.
        pool.shutdown()
    except BrokenProcessPool:
        raise CommandError(
            "a process of the check was killed", "there may be too little memory: try --jobs 1"
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _shared_out(group: list[tuple[_Task, str]], parts: int) -> list[list[tuple[_Task, str]]]:
    return [share for share in (group[at::parts] for at in range(parts)) if share]


def _load() -> None:
    import pushsalt.check.rendering
    import pushsalt.pillar
    import pushsalt.render.jinja
    import pushsalt.run.answers  # noqa: F401


def run_tasks(tasks: Sequence[_Task]) -> list[list[Finding]]:
    """Run several tasks of one tree, which share a project."""
    projects: dict[str, Project] = {}
    return [run_task(task, projects) for task in tasks]


def run_task(task: _Task, projects: dict[str, Project] | None = None) -> list[Finding]:
    """Check one tree on one system."""
    with _quiet():
        return _looked_at(task, {} if projects is None else projects)


@contextmanager
def _quiet() -> Iterator[None]:
    """A context in which log messages of templates are suppressed."""
    loggers = [logging.getLogger(name) for name in ("pushsalt", "thin")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)


def _looked_at(task: _Task, projects: dict[str, Project]) -> list[Finding]:
    from pushsalt.check.rendering import System, check_tree, example_pillar

    subject = task.subject
    project = projects.get(subject.root)
    if project is None:
        project = projects[subject.root] = _project(task)
    try:
        pillar = {**example_pillar(subject, project, task.grains), **task.pillar}
    except RenderError as exc:
        where = exc.where
        return [
            finding(
                "pillar",
                exc.message.split("\n")[0],
                subject.example,
                where.line if where else 0,
                where.column if where else 0,
                detail=exc.message,
                at=((task.system, ""),),
            )
        ]
    findings = check_tree(project, subject, System(task.system, task.grains, pillar))
    elsewhere = not subject.claims.has(task.grains)
    return [replace(each, elsewhere=elsewhere) for each in findings]


def _project(task: _Task) -> Project:
    """The project of a tree: its own configuration, or that of the command with the tree as file root."""
    project = Project.open(task.settings, Reporter())
    config = project.config
    shown = {**config.opts, "strict_arguments": "near"}  # levels are set by `check: levels:`
    if task.subject.project:
        return _offline(Project(replace(config, opts=shown), Reporter()))
    opts = {
        **shown,
        "file_roots": {"base": list(task.subject.file_roots)},
        "pillar_roots": {"base": []},
        "fileserver_backend": ["roots"],
        "gitfs_remotes": [],
        "ext_pillar": [],
        "master_tops": {},
        LIMITS: task.limits,
    }
    return _offline(Project(replace(config, opts=opts), Reporter()))


def _offline(project: Project) -> Project:
    """The project without access to its secret stores."""
    from pushsalt.sdb.store import NoSdb

    project.sdb = NoSdb(project.config.opts)
    return project


# --- cached findings ------------------------------------------------------------------------------------------------


def _key(task: _Task, digests: dict[str, str]) -> str:
    """A digest of everything that a task's findings depend on: version, tree, system, pillar."""
    subject = task.subject
    tree = digests.get(subject.root)
    if tree is None:
        tree = digests[subject.root] = _digest([*subject.files, *_further_files(subject)])
    limits = sorted(task.limits[subject.root].engines) if subject.root in task.limits else None
    parts = [__version__, _own_digest(), tree, asdict(subject), task.system, task.grains, task.pillar, limits]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _further_files(subject: Subject) -> Iterator[str]:
    """Further files that findings depend on: of other roots, pillar, users' modules, the configuration."""
    for root in (*subject.file_roots, *subject.pillar_roots):
        if root != subject.root or subject.project:
            for folder, folders, names in os.walk(root):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                yield from (os.path.join(folder, name) for name in sorted(names))  # noqa: PTH118
    for path in Path(subject.root).glob("_*/**/*.py"):
        yield str(path)
    if subject.project:
        yield from map(str, sorted(Path(subject.project).glob("*.yaml")))


def _digest(paths: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for path in dict.fromkeys(paths):
        try:
            content = hashlib.sha256(regular.read_bytes(path)).digest() if Path(path).is_file() else b"-"
        except OSError:
            content = b"-"
        digest.update(path.encode("utf-8", "surrogateescape") + b"\0" + content)
    return digest.hexdigest()


_own: list[str] = []


def _own_digest() -> str:
    """A digest of pushsalt's code: findings of another version are not used."""
    if not _own:
        package = Path(__file__).parents[1]
        stamps = [
            f"{path}:{path.stat().st_mtime_ns}:{path.stat().st_size}"
            for base in (package, package.parent / "thin")
            for path in sorted(base.rglob("*.py"))
        ]
        _own.append(hashlib.sha256("\n".join(stamps).encode()).hexdigest())
    return _own[0]


def _finding(row: dict[str, Any]) -> Finding:
    return Finding(**{**row, "at": tuple((system, sls) for system, sls in row["at"])})


class _Kept:
    """Cached findings of earlier checks, by key."""

    def __init__(self, cache_dir: Path) -> None:
        self._bank = Bank(cache_dir, "check")

    def get(self, key: str) -> list[Finding] | None:
        try:
            rows = self._bank.get(key)
            return None if rows is None else [_finding(row) for row in rows]
        except (TypeError, KeyError):  # of another version
            return None

    def put(self, key: str, findings: Sequence[Finding]) -> None:
        self._bank.put(key, [asdict(each) for each in findings])

    def sweep(self) -> None:
        """Remove old entries."""
        self._bank.expire(time.time() - _KEPT)
