"""A kept job again: the same function, arguments, pillar and git revisions, for the ids without a good return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from pushsalt.errors import UsageError
from pushsalt.job import Job, JobOptions, Selection
from pushsalt.jobs.jobs import JobError, KeptJob
from pushsalt.lazy import forget, is_made
from pushsalt.redact import has_mask
from pushsalt.run.facts import differences, project_facts
from pushsalt.targeting.names import key_of

if TYPE_CHECKING:
    from pushsalt.model import TargetReturn
    from pushsalt.run.project import Project

#: Options that say how a job is done, not what: those of the new command are taken.
_OF_THE_COMMAND = frozenset(("log_level", "verbose", "accept_new_host_keys"))


@dataclass(frozen=True)
class Repeated:
    """A job to be done again, and on which targets. ``good``: the returns that stay as they are."""

    job: Job
    selection: Selection
    good: dict[str, TargetReturn]
    ids: list[str]


def repeated(kept: KeptJob, returns: Mapping[str, TargetReturn], options: JobOptions) -> Repeated:
    """The job again. ``options``: those of the command; what they set goes over that of the job.

    Raises UsageError for a job that cannot be repeated, since its arguments were secret, or it is one of ``cp``.
    """
    kind = str(kept.detail.get("kind", "call"))
    if kind in ("copy", "planned"):
        what = "cp" if kind == "copy" else "a plan file"
        raise UsageError(f"the job {kept.jid} is one of {what}, which is not repeated", "run the command itself again")
    if has_mask([kept.arg, kept.kwarg]):
        raise UsageError(
            f"the arguments of the job {kept.jid} have a secret, which is not kept", "run the command itself again"
        )
    args: list[Any] = kept.arg
    if kind == "apply":
        args = str(kept.arg[0]).split(",") if kept.arg else []
    good = {id: ret for id, ret in returns.items() if ret.exit_code == 0}
    ids = [id for id in kept.ids if id not in good]
    job = Job(kind, kept.fun, args, dict(kept.kwarg), _options(kept, options))  # type: ignore[arg-type]
    return Repeated(job, Selection(",".join(key_of(id) or id for id in ids), "list"), good, ids)


def secret_pillar(kept: KeptJob) -> list[str]:
    """The keys of the job's pillar override that were secret, and are not kept: ``a:b``."""
    found: list[str] = []

    def look(value: Any, place: str) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                look(item, f"{place}:{key}" if place else str(key))
        elif has_mask(value):
            found.append(place)

    look(kept.detail.get("options", {}).get("pillar"), "")
    return found


def with_values(pillar: Any, values: Mapping[str, str]) -> Any:
    """The pillar of a job with the values of ``secret_pillar`` in it."""

    def put(value: Any, place: str) -> Any:
        if isinstance(value, dict):
            return {key: put(item, f"{place}:{key}" if place else str(key)) for key, item in value.items()}
        return values.get(place, value)

    return put(pillar, "")


def _options(kept: KeptJob, given: JobOptions) -> JobOptions:
    known = {each.name for each in fields(JobOptions)} - _OF_THE_COMMAND
    plain = type(given)()
    before = {name: value for name, value in (kept.detail.get("options") or {}).items() if name in known}
    now = {
        each.name: getattr(given, each.name)
        for each in fields(given)
        if getattr(given, each.name) != getattr(plain, each.name)
    }
    options = replace(plain, **{name: _as_made(name, value) for name, value in {**before, **now}.items()})
    if options.pillar is not None and has_mask(options.pillar):
        raise UsageError(
            f"the pillar of the job {kept.jid} was secret, and is not kept: {', '.join(secret_pillar(kept))}",
            "give it again: --pillar DATA",
        )
    return options


def _as_made(name: str, value: Any) -> Any:
    """JSON has no tuples; options that are tuples are made so again."""
    return tuple(value) if isinstance(value, list) and isinstance(getattr(JobOptions(), name), tuple) else value


def pin(project: Project, kept: KeptJob) -> None:
    """Have the project take its git remotes at the revisions of the job. Raises JobError."""
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
    """Remove what ``pin`` has written."""
    path = project.config.lock_file
    if path is not None:
        path.unlink(missing_ok=True)


def said_differences(project: Project, kept: KeptJob) -> list[str]:
    """What differs in the project since the job."""
    return differences(kept.detail, project_facts(project))
