"""Repeats a recorded job: same function, arguments, pillar and git revisions, on the ids without a good return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import UsageError
from pushsalt.job import Job, JobOptions, Selection
from pushsalt.jobs.jobs import JobError, KeptJob
from pushsalt.lazy import forget, is_made
from pushsalt.redact import has_mask
from pushsalt.run.projectstate import differences, project_state
from pushsalt.targeting.names import key_of

if TYPE_CHECKING:
    from pushsalt.model import TargetReturn
    from pushsalt.run.project import Project

#: Options that do not affect the result of a job: only those of the new command are used.
_OF_THE_COMMAND = frozenset(("log_level", "verbose", "accept_new_host_keys", "detach"))
#: Kind of jobs that cannot be repeated -> (name in messages, hint).
_NOT_REPEATED: Final = {
    "copy": ("a copy", "run the command itself again"),
    "planned": ("a run of a plan file", "run the command itself again"),
    "orchestrate": ("an orchestration", "pushsalt orchestrate --resume {} goes on with it"),
}


@dataclass(frozen=True)
class Repeated:
    """A job to repeat, and its targets. ``good``: id -> return of the targets on which it is not repeated."""

    job: Job
    selection: Selection
    good: dict[str, TargetReturn]
    ids: list[str]


def repeated(kept: KeptJob, returns: Mapping[str, TargetReturn], options: JobOptions) -> Repeated:
    """The job to run again. ``options``: those of the command, which override those of the job.

    Raises UsageError for a job whose arguments or pillar had secrets, and for kinds that cannot be repeated.
    """
    kind = str(kept.detail.get("kind", "call"))
    if kind in _NOT_REPEATED:
        what, hint = _NOT_REPEATED[kind]
        raise UsageError(f"the job {kept.jid} cannot be repeated: it is {what}", hint.format(kept.jid))
    if has_mask([kept.arg, kept.kwarg]):
        raise UsageError(
            f"the arguments of the job {kept.jid} contain a secret, which is not stored", "run the command itself again"
        )
    good = {id: ret for id, ret in returns.items() if ret.exit_code == 0}
    ids = [id for id in kept.ids if id not in good]
    job = Job(kind, kept.fun, _arguments(kept, kind), dict(kept.kwarg), same_options(kept, options))  # type: ignore[arg-type]
    return Repeated(job, selected(ids), good, ids)


def _arguments(kept: KeptJob, kind: str) -> list[Any]:
    if kind == "apply":
        return str(kept.arg[0]).split(",") if kept.arg else []
    return kept.arg


def collecting(kept: KeptJob, ids: Sequence[str], options: JobOptions) -> tuple[Selection, Job]:
    """A job that only collects the returns that these targets keep of that job.

    Targets keep returns of states and functions only. Jobs of other kinds get the kind ``grains``, for which nothing is
    collected.
    """
    kind = str(kept.detail.get("kind", "call"))
    plain = JobOptions(timeout=options.timeout, concurrency=options.concurrency, log_level=options.log_level)
    job = Job(
        kind if kind in ("apply", "call") else "grains",  # type: ignore[arg-type]
        kept.fun,
        _arguments(kept, kind),
        dict(kept.kwarg),
        replace(plain, verbose=options.verbose, test=bool(kept.detail.get("options", {}).get("test"))),
        jid=kept.jid,
        resumes=True,
        collects=True,
    )
    return selected(ids), job


def selected(ids: Sequence[str]) -> Selection:
    """The selection of these ids."""
    return Selection(",".join(key_of(id) or id for id in ids), "list")


def secret_pillar(kept: KeptJob) -> list[str]:
    """The keys (``a:b``) of the job's pillar override whose values were secret, so that they were not recorded."""
    paths: list[str] = []

    def look(value: Any, place: str) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                look(item, f"{place}:{key}" if place else str(key))
        elif has_mask(value):
            paths.append(place)

    look(kept.detail.get("options", {}).get("pillar"), "")
    return paths


def with_values(pillar: Any, values: Mapping[str, str]) -> Any:
    """The pillar of a job with these values; ``values``: key of ``secret_pillar`` -> value."""

    def put(value: Any, place: str) -> Any:
        if isinstance(value, dict):
            return {key: put(item, f"{place}:{key}" if place else str(key)) for key, item in value.items()}
        return values.get(place, value)

    return put(pillar, "")


def same_options(kept: KeptJob, given: JobOptions) -> JobOptions:
    """The options of the job, overridden by those of the command. Raises UsageError if pillar values are missing."""
    names = {each.name for each in fields(JobOptions)} - _OF_THE_COMMAND
    plain = type(given)()
    before = {name: value for name, value in (kept.detail.get("options") or {}).items() if name in names}
    now = {
        each.name: getattr(given, each.name)
        for each in fields(given)
        if getattr(given, each.name) != getattr(plain, each.name)
    }
    options = replace(plain, **{name: _as_made(name, value) for name, value in {**before, **now}.items()})
    if options.pillar is not None and has_mask(options.pillar):
        raise UsageError(
            f"secret pillar values of the job {kept.jid} are not stored: {', '.join(secret_pillar(kept))}",
            "give them again: --pillar DATA",
        )
    return options


def _as_made(name: str, value: Any) -> Any:
    """The value of an option that was stored as JSON, which has no tuples."""
    return tuple(value) if isinstance(value, list) and isinstance(getattr(JobOptions(), name), tuple) else value


def pin(project: Project, kept: KeptJob) -> None:
    """Make the project use its git remotes at the revisions of the job, by a temporary lock file. Raises JobError."""
    pins = kept.detail.get("pins")
    if not pins:
        return
    from pushsalt.git.lockfile import LockFile
    from pushsalt.jobs.database import path_of
    from pushsalt.privatefolder import private_dir

    path = path_of(project.config.cache_dir).with_name(f"pins-{kept.jid}.lock")
    try:
        private_dir(path.parent)
        path.unlink(missing_ok=True)
    except OSError as exc:
        raise JobError(f"{path} cannot be written: {exc.strerror or exc}", "check the cache folder") from None
    LockFile(path).change(pins)
    project.config = replace(project.config, lock_file=path)
    if is_made(project, "remotes"):
        forget(project, "files", "remotes")


def unpin(project: Project) -> None:
    """Remove the lock file that ``pin`` has written."""
    path = project.config.lock_file
    if path is not None and path.name.startswith("pins-"):
        path.unlink(missing_ok=True)


def said_differences(project: Project, kept: KeptJob) -> list[str]:
    """The differences between the project at the time of the job and now, as texts. Runs git."""
    return differences(kept.detail, project_state(project))
