"""What the server keeps for all controllers: the state of jobs, and which workers are there."""

from __future__ import annotations

import asyncio
import math
import os
import secrets
import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from pushsalt.cache.store import private_dir, write_aside
from pushsalt.errors import CommandError
from pushsalt.jobs.model import JobStart
from pushsalt.workers import messages, names
from pushsalt.workers.messages import MessageError
from pushsalt.workers.parties import CONTROLLER

if TYPE_CHECKING:
    from pathlib import Path

    from pushsalt.workers.connection import Connection
    from pushsalt.workers.parties import Party

#: The version of the state of a job.
_VERSION: Final = 1
#: Most bytes of a worker's entry, most entries of a site that are read, and the number that are asked for at a time.
_ENTRY: Final = 1000
_ENTRIES: Final = 1000
_WIDTH: Final = 100


@dataclass(frozen=True)
class JobState:
    """A job as its controllers know it. ``key``: of its boxes; ``first``: the number of its first message."""

    start: JobStart
    key: bytes
    first: int
    #: the end in seconds since the epoch, 0 without one; and the exit code
    end: float = 0.0
    exit_code: int = 0
    state: str = "running"
    #: the name of the controller that has begun it
    controller: str = ""


def controller_name(cache_dir: Path) -> str:
    """The name of the controller with these caches, which is made on first use. Raises CommandError."""
    path = cache_dir / "workers" / "controller"
    try:
        name = path.read_text("ascii").strip() if path.is_file() else ""
        if path.is_file() and not names.is_name(name):
            path.unlink()
        if not names.is_name(name):
            name = secrets.token_hex(6)
            private_dir(path.parent)
            aside = write_aside(path, f"{name}\n".encode())
            try:
                os.link(aside, path)
            finally:
                aside.unlink(missing_ok=True)
    except FileExistsError:  # another command was faster
        return controller_name(cache_dir)
    except (OSError, ValueError) as exc:
        raise CommandError(f"{path}: {getattr(exc, 'strerror', None) or exc}", "check the cache folder") from None
    return name


async def save(connection: Connection, party: Party, job: JobState, patience: float = math.inf) -> None:
    """Store the state of a job. Raises FullError after so many seconds in which the store was full."""
    start = {each.name: getattr(job.start, each.name) for each in fields(JobStart)}
    start["ids"] = list(job.start.ids)
    more = {name: getattr(job, name) for name in ("key", "first", "end", "exit_code", "state", "controller")}
    data = messages.pack_data({"v": _VERSION, "start": start, **more})
    sealed = party.seal(CONTROLLER, data, f"state {job.start.jid}")
    await connection.put(names.JOBS_BUCKET, job.start.jid, sealed, patience)


async def load(connection: Connection, party: Party, jid: str) -> JobState | None:
    """The state of a job; None if the server does not know it. Raises CommandError."""
    stored = await connection.get(names.JOBS_BUCKET, jid)
    if stored is None:
        return None
    found = messages.unpack_data(party.open(CONTROLLER, stored, f"state {jid}"))
    if found.get("v") != _VERSION:
        raise MessageError(f"the state of the job {jid} has the unknown version {found.get('v')!r}")
    start = JobStart(**{each.name: found["start"][each.name] for each in fields(JobStart)})
    more = {name: found[name] for name in ("key", "first", "end", "exit_code", "state")}
    return JobState(start, **more, controller=str(found.get("controller") or ""))


async def workers(connection: Connection) -> dict[str, list[dict[str, Any]]]:
    """site -> the workers that are there now: id, version, since, busy. Raises ServerError.

    Entries are not sealed. One that is none, or that cannot be read, is left out: it is the server's or a site's own,
    and jobs of other sites go on.
    """
    from pushsalt.workers.connection import ServerError, explained

    found: dict[str, list[dict[str, Any]]] = {}
    prefix = f"$KV.{names.WORKERS_BUCKET}."
    with explained("the workers are not known"):
        info = await connection.js.stream_info(f"KV_{names.WORKERS_BUCKET}", subjects_filter=f"{prefix}>")
    keys: dict[str, list[tuple[str, str]]] = {}
    for subject in sorted(info.state.subjects or {}):
        site, _, worker = subject.removeprefix(prefix).partition(".")
        if names.is_name(site) and names.is_name(worker) and len(keys.setdefault(site, [])) < _ENTRIES:
            keys[site].append((site, worker))
    wanted = [key for each in keys.values() for key in each]
    for at in range(0, len(wanted), _WIDTH):
        group = wanted[at : at + _WIDTH]
        reads = [connection.get(names.WORKERS_BUCKET, f"{site}.{worker}") for site, worker in group]
        for (site, worker), data in zip(group, await asyncio.gather(*reads, return_exceptions=True), strict=True):
            entry = _entry(data, worker) if isinstance(data, bytes) else None
            if entry is not None:
                found.setdefault(site, []).append(entry)
        if not connection.nc.is_connected:
            raise ServerError("NATS: the workers are not known: the connection is lost", "check the server")
    return {site: sorted(entries, key=lambda each: str(each["id"])) for site, entries in sorted(found.items())}


def _entry(data: bytes, worker: str) -> dict[str, Any] | None:
    """The entry of a worker, from foreign bytes; None if it is not one."""
    if len(data) > _ENTRY or not messages.is_small(data):
        return None
    try:
        found = messages.unpack_data(data)
    except MessageError:
        return None
    since, busy = found.get("since"), found.get("busy")
    if found.get("id") != worker or not isinstance(since, int | float) or not isinstance(busy, int):
        return None
    if not 0 < since < time.time() + 86400:
        return None
    return {"id": worker, "version": str(found.get("version"))[:40], "since": float(since), "busy": busy}


async def sites(connection: Connection) -> dict[str, Any]:
    """site -> its workers, and the number of shards that no worker has taken: ``worker status --out json``."""
    from pushsalt.jobs.times import iso
    from pushsalt.workers.connection import explained

    present = await workers(connection)
    found: dict[str, Any] = {}
    with explained("the sites are not known"):
        streams = await connection.js.streams_info()
        prefix = names.work_stream("")
        known = [stream.config.name.removeprefix(prefix) for stream in streams if stream.config.name.startswith(prefix)]
        for site in sorted({*known, *present}):
            waiting = 0
            if site in known:
                info = await connection.js.consumer_info(names.work_stream(site), names.CONSUMER)
                waiting = int(info.num_pending or 0)
            entries = [{**each, "since": iso(each["since"])} for each in present.get(site, ())]
            found[site] = {"workers": entries, "waiting": waiting}
    return found
