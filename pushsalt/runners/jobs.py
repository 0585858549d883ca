"""Jobs of the record, by Salt's names. Salt: ``salt/runners/jobs.py``."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError
from pushsalt.jobs.jid import began
from pushsalt.jobs.jobs import JobError
from pushsalt.jobs.times import since

if TYPE_CHECKING:
    from pushsalt.jobs.jobs import KeptJob
    from pushsalt.orchestrate.runnercalls import Run


def master(run: Run) -> list[Any]:
    """Jobs of the controller itself: there is no daemon that has any."""
    return []


def active(run: Run, display_progress: bool = False) -> dict[str, Any]:
    """The jobs that run now: their targets without a return (``Running``), and those with one (``Returned``)."""
    jobs = {}
    for each in run.client.jobs.list():
        if each.state != "running":
            continue
        job = run.client.jobs.get(each.jid)
        returned = dict.fromkeys(run.client.jobs.returned_ids(job))
        running = [{id: None} for id in job.ids if id not in returned]
        jobs[job.jid] = {**_instance(job), "Running": running, "Returned": list(returned)}
    return jobs


def lookup_jid(
    run: Run,
    jid: Any,
    ext_source: Any = None,
    returned: bool = True,
    missing: bool = False,
    display_progress: bool = False,
) -> dict[str, Any]:
    """id -> return of a job; with ``missing`` also the ids without one."""
    job = _job(run, jid)
    if job is None:
        return {}
    returns = run.client.jobs.returns(job)
    for id in returns if display_progress else ():
        run.progress(id)
    values: dict[str, Any] = {id: ret.ret for id, ret in returns.items()} if returned else {}
    if missing:
        values.update((id, "Minion did not return") for id in job.ids if id not in returns)
    is_states = any(ret.shape == "states" for ret in returns.values())
    return {"outputter": "highstate", "data": values} if is_states else values


def list_job(run: Run, jid: Any, ext_source: Any = None, display_progress: bool = False) -> dict[str, Any]:
    """A job with its returns (``Result``)."""
    if display_progress:
        run.progress("Querying returner: local_cache")
    return {"jid": str(jid), **_with_returns(run, jid)}


def print_job(run: Run, jid: Any, ext_source: Any = None) -> dict[str, Any]:
    """jid -> the job with its returns (``Result``)."""
    return {str(jid): _with_returns(run, jid)}


def _with_returns(run: Run, jid: Any) -> dict[str, Any]:
    job = _job(run, jid)
    if job is None:
        error = "Cannot contact returner or no job with this jid"
        return {"Error": error, "StartTime": _time(str(jid)), "Result": {}}
    returns = run.client.jobs.returns(job)
    result = {
        id: {"return": ret.ret, "retcode": ret.retcode, "success": ret.exit_code == 0} for id, ret in returns.items()
    }
    return {**_instance(job), "Minions": job.ids, "Result": result}


def exit_success(run: Run, jid: Any, ext_source: Any = None) -> dict[str, bool]:
    """id -> whether its return is a good one."""
    job = _job(run, jid)
    if job is None:
        return {}
    returns = run.client.jobs.returns(job)
    return {id: id in returns and returns[id].exit_code == 0 for id in job.ids}


def list_jobs(
    run: Run,
    ext_source: Any = None,
    outputter: Any = None,
    search_metadata: Any = None,
    search_function: Any = None,
    search_target: Any = None,
    start_time: Any = None,
    end_time: Any = None,
    display_progress: bool = False,
) -> dict[str, Any]:
    """jid -> job, without returns. The searches are globs, or several with commas."""
    if display_progress:
        run.progress("Querying returner local_cache for jobs.")
    first, last = _moment("start_time", start_time), _moment("end_time", end_time)
    jobs = {}
    for job in run.client.jobs.list(since=first):
        if search_function and not _matches(job.fun, search_function):
            continue
        if search_target and not _matches(job.tgt, search_target):
            continue
        if search_metadata and not _has(job, search_metadata):
            continue
        if last is None or job.start <= last:
            jobs[job.jid] = _instance(job)
    jobs = dict(sorted(jobs.items()))
    return {"outputter": outputter, "data": jobs} if outputter else jobs


def list_jobs_filter(
    run: Run,
    count: int,
    filter_find_job: bool = True,
    ext_source: Any = None,
    outputter: Any = None,
    display_progress: bool = False,
) -> Any:
    """The newest ``count`` jobs, oldest first, each with its jid as ``JID``."""
    every = list_jobs(run, display_progress=display_progress)
    newest = sorted(every)[-int(count) :] if int(count) > 0 else []
    jobs = [{"JID": jid, **every[jid]} for jid in newest]
    return {"outputter": outputter, "data": jobs} if outputter else jobs


def last_run(
    run: Run,
    ext_source: Any = None,
    outputter: Any = None,
    metadata: Any = None,
    function: Any = None,
    target: Any = None,
    display_progress: bool = False,
) -> Any:
    """The newest job, of a function or target; False if there is none."""
    jobs = list_jobs(
        run, search_metadata=metadata, search_function=function, search_target=target, display_progress=display_progress
    )
    return print_job(run, max(jobs)) if jobs else False


def _job(run: Run, jid: Any) -> KeptJob | None:
    try:
        return run.client.jobs.get(str(jid))
    except JobError:
        return None


def _instance(job: KeptJob) -> dict[str, Any]:
    target: Any = job.tgt.split(",") if job.tgt_type == "list" else job.tgt
    arguments = [*job.arg, *([{**job.kwarg, "__kwarg__": True}] if job.kwarg else [])]
    about = {"Function": job.fun, "Arguments": arguments, "Target": target, "Target-type": job.tgt_type}
    more = {"Metadata": job.kwarg["metadata"]} if "metadata" in job.kwarg else {}
    return {**about, "User": job.user, **more, "StartTime": _time(job.jid)}


def _time(jid: str) -> str:
    """When a job began, as Salt writes it: ``2026, Nov 26 16:05:22.558733``."""
    when = began(jid)
    return "" if when is None else when.strftime("%Y, %b %d %H:%M:%S.%f")


def _moment(name: str, given: Any) -> float | None:
    try:
        return None if given is None else since(str(given))
    except ValueError:
        hint = "for example 2026-11-26, or 2h for two hours ago"
        raise FunctionError("exception", f"{name}: {given!r} is no time", hint, "SaltInvocationError") from None


def _matches(text: str, wanted: Any) -> bool:
    globs = wanted if isinstance(wanted, list) else str(wanted).split(",")
    return any(fnmatchcase(text, str(glob).strip()) for glob in globs)


def _has(job: KeptJob, wanted: Any) -> bool:
    metadata = job.kwarg.get("metadata")
    if not isinstance(wanted, dict) or not isinstance(metadata, dict):
        return False
    return any(key in metadata and metadata[key] == value for key, value in wanted.items())
