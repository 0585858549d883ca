"""The messages between controllers and workers: msgpack maps with a version, checked as foreign data when decoded.

Each message has a head, which the server sees, and a box, which only the controllers of the project and the workers of
the site can open:

    v        version of the format
    k        kind: shard; among the returns handed, taken, return, done, refused, aside; progress, stop
    jid      the job
    site     the site, n: the number of the shard in the job, worker: the id of the worker
    box      the sealed rest (bytes), a map of its own: see the functions below

A program reads messages of all versions from ``OLDEST`` to ``VERSION``. A message has the oldest version whose programs
can do what it says; a worker answers with the version of its shard. Of a newer one a program reads ``v``, ``k``,
``jid``, ``site``, ``n`` and ``worker`` only, which stay as they are in all versions, to say that it cannot be used.

    2        shards of a plan file, and of one that is made; shards with managed resources
    1        all others. Programs that know only these ignore mine values and resources in returns
"""

from __future__ import annotations

import hashlib
import secrets
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

from pushsalt.job import JobOptions, RolloutOptions
from pushsalt.jobs.jid import is_jid
from pushsalt.model import Explained, TargetReturn
from pushsalt.session.intake import VALUES_LIMIT, WEIGHT_LIMIT, weigh
from pushsalt.workers.names import is_name
from thin import wire

if TYPE_CHECKING:
    from pushsalt.workers.parties import Box

VERSION: Final = 2
OLDEST: Final = 1

#: Most bytes of a message: less than the limit of a server with its defaults (1 MiB).
LIMIT: Final = 1000 * 1000
#: Most targets of one shard.
SHARD: Final = 25
#: Bytes of a part of a box that is larger than one message, and most parts of a box.
PART: Final = 900 * 1000
MOST_PARTS: Final = 128
#: Most bytes of a job's parts that wait for the others.
PARTS_LIMIT: Final = 512 * 1024 * 1024
#: Texts and maps of fewer bytes are not compressed, and no box has more bytes when it is opened.
_SMALL: Final = 1000
_LARGEST: Final = 128 * 1024 * 1024
#: Most memory of a return, and most values in it: those of the sessions, and as many again for the pillar. A return of
#: fewer bytes cannot take much more.
_WEIGHT: Final = 2 * WEIGHT_LIMIT
_VALUES: Final = 2 * VALUES_LIMIT
_UNWEIGHED: Final = 512 * 1024

KINDS: Final = frozenset({"shard", "handed", "taken", "return", "done", "refused", "aside", "progress", "stop"})
_SHAPES: Final = frozenset({"states", "plan", "value", "errors", "error"})
#: Kinds of jobs that workers run.
JOB_KINDS: Final = frozenset({"apply", "call", "grains", "planned", "raw"})


class MessageError(ValueError):
    """The bytes are not a message that this program can use."""


class NewerError(MessageError):
    """The message has a version that this program does not know. ``head`` has what can be read of it."""

    def __init__(self, head: Head) -> None:
        super().__init__(f"messages of the version {head.version} are not known here, only those up to {VERSION}")
        self.head = head


@dataclass(frozen=True)
class Head:
    """What the server sees of a message, and its sealed box."""

    kind: str
    jid: str
    site: str = ""
    n: int = 0
    worker: str = ""
    box: bytes = b""
    version: int = OLDEST
    #: the job's description for the site, sealed: in shards only
    job: bytes = b""
    #: of a refusal: the reason
    text: str = ""
    #: of a message in parts: the number of this part from 0 on, of all parts (0: it is whole), and what all its parts
    #: have in common, and no other message of this worker
    part: int = 0
    parts: int = 0
    attempt: str = ""

    @property
    def purpose(self) -> str:
        """What the box is for: one that was taken from another message cannot be opened under this name."""
        whole = f"{self.kind} {self.jid} {self.site} {self.n} {self.worker}"
        return f"{whole} {self.text} {self.attempt} {self.part} {self.parts}" if self.parts else whole


def encode(head: Head) -> bytes:
    """The message as bytes."""
    message: dict[str, Any] = {"v": head.version, "k": head.kind, "jid": head.jid}
    for name in ("site", "n", "worker", "box", "job", "text", "part", "parts", "attempt"):
        value = getattr(head, name)
        if value:
            message[name] = value
    return bytes(wire.pack(message))


def decode(data: bytes) -> Head:
    """The message of these bytes. Raises MessageError, and NewerError for an unknown version."""
    if len(data) > 64 * LIMIT:
        raise MessageError("the message is too large")
    try:
        found = wire.unpack(data)
    except ValueError as exc:
        raise MessageError(str(exc)) from None
    version = found.get("v")
    if not isinstance(version, int) or not _is_count(version) or version < 1:
        raise MessageError("the message has no version")
    head = Head(
        kind=_text(found, "k"),
        jid=_text(found, "jid"),
        site=_text(found, "site"),
        n=_count(found, "n"),
        worker=_text(found, "worker"),
        version=version,
    )
    if not is_jid(head.jid):
        raise MessageError("the message names no job")
    if any(name and not is_name(name) for name in (head.site, head.worker)):
        raise MessageError("the message names no site or worker")
    if version > VERSION:
        raise NewerError(head)
    if version < OLDEST:
        raise MessageError(f"messages of the version {version} are no longer read, only those from {OLDEST} on")
    if head.kind not in KINDS:
        raise MessageError(f"there is no kind of message {head.kind[:40]!r}")
    values = {name: found.get(name, b"") for name in ("box", "job")}
    if not all(isinstance(value, bytes) for value in values.values()):
        raise MessageError("the message has no box")
    part, parts = _count(found, "part"), _count(found, "parts")
    if parts > MOST_PARTS or part > max(0, parts - 1):
        raise MessageError("the message has too many parts")
    return replace(head, **values, text=_text(found, "text"), part=part, parts=parts, attempt=_text(found, "attempt"))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _count(found: Mapping[str, Any], name: str) -> int:
    value = found.get(name, 0)
    if not _is_count(value):
        raise MessageError(f"`{name}` is not a number")
    return int(value)


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name, "")
    if not isinstance(value, str):
        raise MessageError(f"`{name}` is not a text")
    return value


def _pack(data: Mapping[str, Any]) -> bytes:
    """A map as bytes, compressed if it is large; the first byte says which."""
    packed = bytes(wire.pack(dict(data)))
    return b"z" + zlib.compress(packed, 1) if len(packed) > _SMALL else b"p" + packed


def _open(data: bytes, weighs: bool = False) -> dict[str, Any]:
    """The map of these bytes. Raises MessageError; with ``weighs`` also for one that would take much memory."""
    how, packed = data[:1], data[1:]
    try:
        if how == b"z":
            stream = zlib.decompressobj()
            packed = stream.decompress(packed, _LARGEST)
            if stream.unconsumed_tail:
                raise MessageError("the content of a message is too large")
        elif how != b"p":
            raise MessageError("the content of a message is not as expected")
        if weighs and len(packed) > _UNWEIGHED:
            weigh(packed, _WEIGHT, _VALUES)
        return dict(wire.unpack(packed))
    except (ValueError, zlib.error) as exc:
        raise MessageError(str(exc)) from None


# the description of a job ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Description:
    """The job of a shard, as the workers of a site need it. ``project``: what names it there."""

    jid: str
    kind: str
    fun: str
    args: list[Any]
    kwargs: dict[str, Any]
    options: dict[str, Any]
    project: dict[str, Any]
    #: the key of the job's boxes
    key: bytes = field(repr=False)
    resumes: bool = False
    #: the secret of the keys of targets, which the workers of a site share: each finds the runs that another one began
    runtime: bytes = field(default=b"", repr=False)
    #: what names the plan that is run (``plans.store``), and whether the content of a plan file is recorded
    plan: dict[str, Any] = field(default_factory=dict)
    records: bool = False

    def job_options(self) -> JobOptions:
        """The options of the job."""
        plain = JobOptions()
        known = {name: value for name, value in self.options.items() if name in plain.as_fields}
        return JobOptions(**{name: _as_made(value, getattr(plain, name)) for name, value in known.items()})


def _as_made(value: Any, plain: Any) -> Any:
    return tuple(value) if isinstance(plain, tuple) and isinstance(value, list) else value


def options_of(options: JobOptions) -> dict[str, Any]:
    """The options of a job that differ from the defaults, without those of its rollout and of returners."""
    plain = JobOptions()
    skipped = {each.name for each in fields(RolloutOptions)} | {"returners", "return_config", "detach", "verbose"}
    return {
        name: getattr(options, name)
        for name in options.as_fields
        if name not in skipped and getattr(options, name) != getattr(plain, name)
    }


def pack_description(job: Description) -> bytes:
    """The description as bytes, to be sealed."""
    return _pack({each.name: getattr(job, each.name) for each in fields(job)})


def unpack_description(data: bytes) -> Description:
    """The description of these bytes. Raises MessageError."""
    found = _open(data)
    kinds: dict[str, type] = {"args": list, "kwargs": dict, "options": dict, "project": dict, "key": bytes}
    kinds |= {"jid": str, "kind": str, "fun": str, "resumes": bool}
    for name, kind in kinds.items():
        if not isinstance(found.get(name), kind):
            raise MessageError(f"`{name}` of the job is no {kind.__name__}")
    if found["kind"] not in JOB_KINDS:
        raise MessageError(f"workers do not run jobs of the kind {found['kind'][:40]!r}")
    later: dict[str, type] = {"runtime": bytes, "plan": dict, "records": bool}
    more: dict[str, Any] = {name: found[name] for name, kind in later.items() if isinstance(found.get(name), kind)}
    return Description(**{name: found[name] for name in kinds}, **more)


# what the boxes contain -----------------------------------------------------------------------------------------------


def pack_ids(ids: list[str], resources: Mapping[str, Any] | None = None) -> bytes:
    """The box of a shard, and of its copy among the returns (``handed``): the targets.

    ``resources``: manager -> what it manages, of the managed resources among them (``Resources.declared``).
    """
    return _pack({"ids": ids, **({"resources": dict(resources)} if resources else {})})


def unpack_resources(data: bytes) -> dict[str, dict[str, Any]]:
    """manager -> what it manages, of the managed resources in a shard. Raises MessageError."""
    found = _open(data).get("resources", {})
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise MessageError("the resources of the shard are not as expected")
    return found


def unpack_ids(data: bytes) -> list[str]:
    """The targets of a shard. Raises MessageError."""
    ids = _open(data).get("ids")
    if not isinstance(ids, list) or not all(isinstance(id, str) and id for id in ids) or len(set(ids)) != len(ids):
        raise MessageError("the shard has no targets")
    return ids


@dataclass(frozen=True)
class Answer:
    """A return, with what the worker has learnt about the target: for the caches of controllers.

    ``mine``: the changes of its mine values in their order: values, names of removed ones, and whether all others are
    removed. ``resources``: what a discovery has found (``found``, ``failed``, ``declared``, as ``Resources.register``).
    ``plan``: what was recorded for a plan file (``plans.recorded``).
    """

    result: TargetReturn
    grains: dict[str, Any] | None = None
    pillar: dict[str, Any] | None = None
    #: secrets that the return contains
    secrets: list[str] = field(default_factory=list, repr=False)
    mine: list[Any] | None = None
    resources: dict[str, Any] | None = None
    plan: dict[str, Any] | None = None


def pack_answer(answer: Answer) -> bytes:
    """The box of a return."""
    result = answer.result
    message: dict[str, Any] = {
        name: getattr(result, name)
        for name in ("id", "ret", "shape", "exit_code", "phases", "round_trips", "warnings", "events", "salt")
    }
    message |= {"retcode": result.retcode, "changes": result.changes}
    if result.shape == "errors":
        message["explained"] = [text.explanation if isinstance(text, Explained) else "" for text in result.ret]
    for name in ("grains", "pillar", "secrets", "mine", "resources", "plan"):
        value = getattr(answer, name)
        if value:
            message[name] = value
    return _pack(message)


def unpack_answer(data: bytes) -> Answer:
    """The return in these bytes. Raises MessageError."""
    found = _open(data, weighs=True)
    shapes: dict[str, type | tuple[type, ...]] = {
        "id": str,
        "shape": str,
        "exit_code": int,
        "phases": dict,
        "round_trips": int,
        "warnings": list,
        "events": list,
        "salt": str,
        "retcode": int,
        "changes": bool,
    }
    for name, kind in shapes.items():
        if not isinstance(found.get(name), kind):
            raise MessageError(f"`{name}` of the return is not as expected")
    if "ret" not in found or found["shape"] not in _SHAPES or found["exit_code"] not in (0, 2, 3):
        raise MessageError("the return is not as expected")
    if found["shape"] == "error" and not _is_error(found["ret"]):
        raise MessageError("the return has no error")
    if found["shape"] == "states" and not _is_states(found["ret"]):
        raise MessageError("the return has no returns of states")
    if found["shape"] == "errors":
        found["ret"] = _explained(found["ret"], found.get("explained"))
    result = TargetReturn(ret=found["ret"], **{name: found[name] for name in shapes})
    result.warnings = [str(text) for text in result.warnings]
    result.events = [each for each in result.events if isinstance(each, dict) and isinstance(each.get("tag"), str)]
    result.phases = {str(name): float(took) for name, took in result.phases.items() if isinstance(took, int | float)}
    parts = ("grains", "pillar", "resources", "plan")
    more = {name: found[name] for name in parts if isinstance(found.get(name), dict)}
    mine = found.get("mine")
    if isinstance(mine, list):
        more["mine"] = [each for each in mine if _is_change(each)]
    secrets = found.get("secrets")
    return Answer(result, **more, secrets=[str(each) for each in secrets] if isinstance(secrets, list) else [])


def _is_change(entry: Any) -> bool:
    """Whether an entry of ``Answer.mine`` is one."""
    kinds = (dict, list, bool)
    return isinstance(entry, list) and len(entry) == 3 and all(map(isinstance, entry, kinds))


def _is_error(ret: Any) -> bool:
    error = ret.get("error") if isinstance(ret, dict) else None
    return isinstance(error, dict) and all(isinstance(error.get(name), str) for name in ("kind", "message", "hint"))


def _is_states(ret: Any) -> bool:
    """Whether a value is a mapping of tags. Not all values are returns: see ``state.highstate`` if it is disabled."""
    return isinstance(ret, dict) and all(isinstance(tag, str) for tag in ret)


def _explained(ret: Any, reasons: Any) -> list[str]:
    if not isinstance(ret, list):
        raise MessageError("the return has no errors")
    reasons = reasons if isinstance(reasons, list) and len(reasons) == len(ret) else [""] * len(ret)
    return [Explained(str(text), str(why)) if why else str(text) for text, why in zip(ret, reasons, strict=True)]


def pack_data(data: Mapping[str, Any]) -> bytes:
    """The box of another message: a map."""
    return _pack(data)


def is_small(data: bytes) -> bool:
    """Whether ``pack_data`` has not compressed the map, so that it takes little memory."""
    return data[:1] == b"p"


def unpack_data(data: bytes) -> dict[str, Any]:
    """The map in the box of another message. Raises MessageError."""
    return _open(data)


def short(id: str) -> str:
    """A short name for the id of a target, in the heads of its returns."""
    return hashlib.sha256(id.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def sealed(head: Head, data: bytes, box: Box) -> Head:
    """The message with a box of this data."""
    return replace(head, box=box.seal(data, head.purpose))


def message_id(head: Head, id: str = "") -> str:
    """The name by which the server drops a message that it has stored before."""
    which = short(id) if id else head.worker
    if head.parts:  # another worker, or this one later, sends parts of its own: only all of one attempt fit together
        which = f"{which}.{head.worker}.{head.attempt}"
    return f"{head.jid}.{head.site}.{head.n}.{head.kind}.{which}.{head.part}"


def claim_id(head: Head) -> str:
    """The same for the first ``taken`` of a shard, whichever worker sends it."""
    return f"{head.jid}.{head.site}.{head.n}.claim"


def split(head: Head, data: bytes, box: Box) -> list[Head]:
    """The message with a box of this data, or its parts, with a box each, if it is too large for one message."""
    if len(data) <= PART:
        return [sealed(head, data, box)]
    starts, attempt = range(0, len(data), PART), secrets.token_hex(4)
    heads = [replace(head, part=at, parts=len(starts), attempt=attempt) for at in range(len(starts))]
    return [sealed(each, data[at : at + PART], box) for each, at in zip(heads, starts, strict=True)]


class Parts:
    """Joins the contents of messages in parts, which were proved before; of one job."""

    def __init__(self, room: int = PARTS_LIMIT) -> None:
        """``room``: the most bytes that wait for other parts."""
        self._room = room
        self._waiting: dict[tuple[object, ...], dict[int, bytes]] = {}

    def joined(self, head: Head, data: bytes) -> bytes | None:
        """The whole content, once all its parts are there. Raises MessageError."""
        if not head.parts:
            return data
        key = (head.n, head.worker, head.text, head.attempt, head.parts)
        parts = self._waiting.setdefault(key, {})
        if head.part not in parts:
            if len(data) > self._room:
                raise MessageError("too many returns wait for their other parts")
            self._room -= len(data)
            parts[head.part] = data
        if len(parts) < head.parts:
            return None
        del self._waiting[key]
        self._room += sum(map(len, parts.values()))
        return b"".join(parts[at] for at in range(head.parts))
