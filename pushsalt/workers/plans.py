"""Plan files at workers: a plan that is run travels to them, and what they record for a new one comes back.

The part of a plan for a site (its targets, and the blobs that they need) is sealed to the site, in pieces in the bucket
of the project for the site, under the JID. The description of the job has their number and the digest of the whole.
"""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import CommandError
from pushsalt.planning.planfile import LIMIT, PlanFile
from pushsalt.run.fromplan import Kept
from pushsalt.run.recording import Recorder, needed
from pushsalt.salturl import split_url
from pushsalt.workers import connection as nats
from pushsalt.workers import names
from pushsalt.workers.parties import CONTROLLER
from thin import wire

if TYPE_CHECKING:
    from pushsalt.run.project import Project
    from pushsalt.workers.connection import Connection
    from pushsalt.workers.parties import Party

_PIECE: Final = 480 * 1024
_AGAIN: Final = "run the command again"


class PlanError(CommandError):
    """A plan cannot be used at a worker."""


def _key(generation: int, jid: str, n: int) -> str:
    return f"{generation}.plan.{jid}.{n}"


async def store(
    connection: Connection, party: Party, jid: str, site: str, kept: Kept, ids: Sequence[str]
) -> dict[str, Any]:
    """Store the part of a plan for these targets of a site; what names it there. Raises CommandError."""
    plan = kept.plan
    targets = {id: plan.targets[id] for id in ids}
    digests = set[str]().union(*map(needed, targets.values()))
    content = {
        "made": plan.made,
        "targets": targets,
        "blobs": {digest: data for digest, data in plan.blobs.items() if digest in digests},
        "secrets": plan.secrets,
        "accept_drift": kept.accept_drift,
    }
    data = zlib.compress(wire.pack(content), 1)
    generation = int(time.time() // names.GENERATION)
    await connection.setup_bucket(names.objects_bucket(site))
    number = 0
    for at in range(0, len(data), _PIECE):
        piece = party.seal(site, data[at : at + _PIECE], f"plan {jid} {number}")
        await connection.put(names.objects_bucket(site), _key(generation, jid, number), piece)
        number += 1
    return {"generation": generation, "pieces": number, "digest": hashlib.sha256(data).hexdigest()}


async def remove(connection: Connection, jid: str, site: str, named: Mapping[str, Any]) -> None:
    """Remove what ``store`` has stored. Raises ServerError."""
    bucket = names.objects_bucket(site)
    with nats.explained("the plan cannot be removed"):
        await connection.js.purge_stream(f"KV_{bucket}", subject=f"$KV.{bucket}.{named['generation']}.plan.{jid}.>")


async def fetch(
    connection: Connection, party: Party, jid: str, site: str, named: Mapping[str, Any], project: Project
) -> Kept:
    """The plan that ``store`` has stored. Raises CommandError, and UsageError for one that no controller has made."""
    parts = []
    for n in range(int(named["pieces"])):
        piece = await connection.get(names.objects_bucket(site), _key(int(named["generation"]), jid, n))
        if piece is None:
            raise PlanError("a part of the plan is not on the server any more", _AGAIN)
        parts.append(party.open(CONTROLLER, piece, f"plan {jid} {n}"))
    data = b"".join(parts)
    if hashlib.sha256(data).hexdigest() != named["digest"]:
        raise PlanError("the plan on the server was altered", _AGAIN)
    machine = zlib.decompressobj()
    found = wire.unpack(machine.decompress(data, LIMIT))
    if found["made"]["runtime"] != project.runtime.sha:
        by = found["made"]["by"]
        raise PlanError(f"the plan was made by another pushsalt ({by}) than that of the worker", "upgrade the worker")
    project.redactor.add_secrets(*found["secrets"])
    plan = PlanFile(found["made"], found["targets"], {}, found["blobs"], found["secrets"])
    return Kept(plan, bool(found["accept_drift"]))


def recorded(recorder: Recorder, id: str) -> dict[str, Any] | None:
    """What a worker has recorded about a target, without the files that the controller has, too."""
    entry = recorder.plan.targets.pop(id, None)
    if entry is None:
        return None
    there = {digest for key, digest in entry["files"].items() if _is_of_project(key)}
    digests = needed(entry) - there
    return {
        "entry": entry,
        "blobs": {digest: recorder.plan.blobs[digest] for digest in digests & recorder.plan.blobs.keys()},
    }


def take(project: Project, recorder: Recorder, id: str, found: Mapping[str, Any]) -> None:
    """Add what a worker has recorded to a plan that is being made. Raises KeyError, TypeError, ValueError, OSError."""
    entry, blobs = found["entry"], found["blobs"]
    for digest, data in blobs.items():
        if hashlib.sha256(data).hexdigest() != digest:
            raise ValueError("a file of the plan does not have its digest")
    recorder.plan.blobs.update(blobs)
    recorder.of(id).add_files(project, entry["files"])
    recorder.plan.targets[id] = entry


def _is_of_project(key: str) -> bool:
    url, _, saltenv = key.partition("?saltenv=")
    return split_url(url, saltenv) is not None
