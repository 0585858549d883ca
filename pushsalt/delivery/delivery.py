"""The observer of a job that passes its returns and events to the selected returners."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import math
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from pushsalt import plugins
from pushsalt.delivery.destination import Destination, Secrets, checked
from pushsalt.delivery.sender import Sender
from pushsalt.delivery.spool import Item, Spool, waiting
from pushsalt.errors import UsageError
from pushsalt.jobs.model import JobEnd, JobStart, as_result
from pushsalt.journal.jobevents import OURS, load_of, new_event, return_event
from pushsalt.model import TargetReturn
from pushsalt.redact import Redactor

#: the option of the command line
FLAG: Final = "--return"


@dataclass(frozen=True)
class Wanted:
    """The names of the returners of the command line, of those of the configuration, and of those that get events."""

    asked: tuple[str, ...] = ()
    configured: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    profile: str = ""

    def __bool__(self) -> bool:
        return bool(self.asked or self.configured or self.events)


def wanted(opts: Mapping[str, Any], names: Sequence[str] = (), profile: str = "") -> Wanted:
    """The returners that a configuration and a command line name."""
    configured = [*names_of(opts.get("return")), *names_of(opts.get("ext_job_cache"))]
    events = names_of(opts.get("event_return"))
    chosen = profile or str(opts.get("return_config") or "")
    return Wanted(tuple(dict.fromkeys(names)), tuple(dict.fromkeys(configured)), tuple(events), chosen)


def names_of(value: Any) -> list[str]:
    """Names of returners: a list, or a text with commas, as in Salt."""
    texts = value if isinstance(value, list | tuple) else [value or ""]
    return [name for text in texts for name in (word.strip() for word in str(text).split(",")) if name]


class Delivery:
    """Begins with the job; ``wait`` is called after it. Warnings are complete then."""

    def __init__(
        self,
        opts: Mapping[str, Any],
        names: Wanted,
        *,
        cache_dir: Path,
        redactor: Redactor,
        sdb: Callable[[], Secrets],
    ) -> None:
        """``sdb``: returns the profiles of sdb. Raises UsageError if a returner of the command line does not exist."""
        self._opts = opts
        self._names = names
        self._cache_dir = cache_dir
        self._redactor = redactor
        self._sdb = sdb
        self._senders: list[tuple[Sender, bool, bool]] = []
        self._job: JobStart | None = None
        self._limit = float(opts["return_timeout"])
        self.warnings: list[str] = []
        self._destinations = list(self._usable())

    def _usable(self) -> Iterator[tuple[Destination, bool, bool]]:
        """Each returner that can be used, whether it gets returns, and whether it gets events."""
        names, profile = self._names, self._names.profile
        folders = plugins.folders("returners", self._opts)
        keys = dict.fromkeys([(name, profile) for name in (*names.asked, *names.configured, *names.events)])
        for key in dict.fromkeys([*keys, *waiting(self._cache_dir)]):
            name = key[0]
            destination = Destination(
                name,
                self._opts,
                redactor=self._redactor,
                sdb=self._sdb,
                profile=key[1],
                folders=folders,
                limit=self._limit,
                master_id=f"{socket.gethostname()}_master",
            )
            trouble = checked(destination)
            if trouble:
                if name in names.asked:
                    raise UsageError(f"{FLAG} {name}: {trouble}", hint="docs/returners.md has those that are shipped")
                self.warnings.append(f"{destination.title} is not used: {trouble}")
                continue
            destination.hide_secrets()
            returns = key in keys and name in (*names.asked, *names.configured)
            events = key in keys and name in names.events
            for kind, is_wanted, option in (("returner", returns, FLAG), ("event_return", events, "event_return")):
                if is_wanted and not destination.has(kind):
                    text = f"{destination.title} has no `{kind}`"
                    if kind == "returner" and name in names.asked:
                        raise UsageError(f"{FLAG} {name}: {text}", hint="name it under event_return")
                    self.warnings.append(f"{text}: `{option}` is without effect")
            yield destination, returns and destination.has("returner"), events and destination.has("event_return")

    def __bool__(self) -> bool:
        return bool(self._destinations)

    # the observer ------------------------------------------------------------------------------------------------

    def job_begins(self, job: JobStart) -> None:
        self._job = job
        most = int(self._opts["return_spool_size"])
        for destination, returns, events in self._destinations:
            spool = Spool(self._cache_dir, destination.name, destination.profile, most)
            self._senders.append((Sender(destination, spool), returns, events))
        item = _item("save_load", job.jid, "", [job.jid, load_of(job), list(job.ids)])
        for sender, returns, _ in self._senders:
            if returns and sender.destination.has("save_load"):
                sender.put(item)
        tag, data = new_event(job)
        self._events([{"tag": tag, "data": data}])

    def target_returned(self, ret: TargetReturn) -> None:
        job = self._job
        if job is None:
            return
        result = as_result(job, ret)
        if any(returns for _, returns, _ in self._senders):
            item = _item("returner", job.jid, ret.id, [result])
            for sender, returns, _ in self._senders:
                if returns:
                    sender.put(item)
        tagged = [(str(event.get("tag")), event.get("data")) for event in ret.events]
        # a target cannot send events with the tags of another target or of the controller
        own = [{"tag": tag, "data": data} for tag, data in tagged if not tag.startswith(OURS)]
        tag, data = return_event(job, ret)
        self._events([*own, {"tag": tag, "data": data}])

    def job_ends(self, end: JobEnd) -> None:
        for sender, _, _ in self._senders:
            sender.end()

    # after the job -----------------------------------------------------------------------------------------------

    def wait(self, seconds: float | None = None) -> None:
        """Wait until all is sent; the rest after so many seconds (``return_timeout``) is stored in the spool."""
        end = time.monotonic() + (self._limit if seconds is None else seconds)
        for sender, _, _ in self._senders:
            sender.wait(max(0.0, end - time.monotonic()))
            self.warnings += sender.warnings
        self._senders.clear()

    def hurry(self) -> None:
        """Send nothing more: store the rest in the spool."""
        for sender, _, _ in self._senders:
            sender.hurry()

    def _events(self, events: list[dict[str, Any]]) -> None:
        if self._job is None or not any(wants for _, _, wants in self._senders):
            return
        stamp = datetime.now(timezone.utc).isoformat(timespec="microseconds")
        stamped = []
        for event in events:
            data = event["data"]
            if self._passes(event["tag"]):
                stamped.append({**event, "data": {"_stamp": stamp, **data} if isinstance(data, Mapping) else data})
        if stamped:
            item = _item("event_return", self._job.jid, " ".join(event["tag"] for event in stamped), [stamped])
            for sender, _, wants in self._senders:
                if wants:
                    sender.put(item)

    def _passes(self, tag: str) -> bool:
        """Whether to send an event. Salt: ``event_return_whitelist``, ``…_blacklist``: globs or regular expressions."""
        allowed, denied = (self._opts.get(f"event_return_{word}list") or [] for word in ("white", "black"))
        return (not allowed or any(_fits(each, tag) for each in allowed)) and not any(
            _fits(each, tag) for each in denied
        )


def plain(value: Any) -> Any:
    """A value converted to types of strict JSON."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes():
            return value.decode("utf-8", "replace")
        case Mapping():
            return {key if isinstance(key, str) else str(plain(key)): plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item) for item in value]
    return str(value)


def _item(kind: str, jid: str, of: str, arguments: list[Any]) -> Item:
    digest = hashlib.sha256(f"{kind} {of}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return Item(kind, f"{jid}-{digest}", json.dumps(plain(arguments)))


def _fits(pattern: Any, tag: str) -> bool:
    try:
        return fnmatch.fnmatchcase(tag, str(pattern)) or re.fullmatch(str(pattern), tag) is not None
    except re.error:
        return False
