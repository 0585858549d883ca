"""What a controller knows of the shards of one job, and which returns it accepts. Pure: no connection, no clock.

A return counts if its site, worker, job and id belong to a shard that this worker has taken, and if it is the first one
of the target. The box of a message proves that a worker of the site made it; its head is part of that proof.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pushsalt.errors import PushsaltError, TargetError
from pushsalt.model import TargetReturn
from pushsalt.workers import messages
from pushsalt.workers.messages import Answer, Head, MessageError, NewerError
from pushsalt.workers.parties import Box, Party

#: Most warnings about messages that do not count.
_WARNINGS: Final = 20


@dataclass
class Shard:
    """Targets that were handed out together. ``open``: those without a return."""

    n: int
    site: str
    ids: list[str]
    #: the ids of the workers that have taken it
    workers: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)
    #: all its returns are stored
    done: bool = False
    #: a controller has removed it from its queue
    given_up: bool = False
    #: it was refused so often that it is not delivered any more
    aside: bool = False
    #: the reasons of workers that refused it, by their ids
    refusals: dict[str, str] = field(default_factory=dict)
    #: its number in the stream of the site's work; 0 if it is not known
    seq: int = 0

    @property
    def is_over(self) -> bool:
        """Whether no worker will do anything for it any more."""
        return self.done or self.aside

    def why_over(self) -> tuple[str, str]:
        """Of a shard that is over: why targets of it have no return, and what to do."""
        if self.aside:
            why = next(iter(self.refusals.values()), "no worker can use it")
            hint = "see the log of the workers; upgrade them if they are older"
            return f"the workers of the site {self.site} refused it: {why}", hint
        if self.given_up:
            return f"it was given up, because the site {self.site} had no worker", "start one, then resume the job"
        return "its return was stored, but cannot be used", "see the warnings"


class Ledger:
    """The shards of a job. ``warn`` gets a text about each message that does not count."""

    def __init__(
        self,
        jid: str,
        key: bytes,
        warn: Callable[[str], None],
        site_of: Callable[[str], str | None],
        party: Party,
    ) -> None:
        """``key``: of the job, from which those of its sites are made. ``site_of``: the site of an id, if known.

        ``party`` opens refusals: of workers that could not open the description of the job, which has its key.
        """
        self.jid = jid
        self._party = party
        self._key = key
        self._boxes: dict[str, Box] = {}
        self._site_of = site_of
        self._warn = warn
        self._warned = 0
        self.shards: dict[int, Shard] = {}
        #: id -> number of the shard whose return counts
        self.at: dict[str, int] = {}
        self._parts = messages.Parts()
        self._seen: set[bytes] = set()

    @property
    def last(self) -> int:
        """The number of the last shard."""
        return max(self.shards, default=0)

    def add(self, n: int, site: str, ids: list[str]) -> Shard:
        """A shard that is handed out."""
        shard = self.shards[n] = Shard(n, site, ids, open=set(ids))
        self.at.update(dict.fromkeys(ids, n))
        return shard

    def box(self, site: str) -> Box:
        """The box that the workers of a site share with the controllers for this job."""
        if site not in self._boxes:
            self._boxes[site] = Box(hashlib.blake2b(site.encode(), key=self._key, digest_size=32).digest())
        return self._boxes[site]

    def _opened(self, head: Head) -> bytes:
        return self.box(head.site).open(head.box, head.purpose)

    def take(self, subject: str, data: bytes) -> Answer | None:
        """A message of the stream of returns: the return that counts, if it is one."""
        try:
            return self._take(subject, data)
        except NewerError as exc:
            self._say(f"a message of the worker {exc.head.worker} of the site {exc.head.site} is dropped: {exc}")
        except PushsaltError:  # its box cannot be opened
            self._say(f"a forged message on {subject} is dropped: no worker of the site made it for this job")
        except MessageError as exc:
            self._say(f"a message on {subject} is dropped: {exc}")
        return None

    def _take(self, subject: str, data: bytes) -> Answer | None:
        head = messages.decode(data)
        if subject.split(".")[2:] != [head.site, head.worker, head.jid] or head.jid != self.jid:
            raise MessageError("its content names another site, worker or job")
        if head.kind == "handed":
            self._handed(head)
            return None
        shard = self.shards.get(head.n)
        if shard is None or shard.site != head.site:
            raise MessageError(f"the site {head.site} has no shard {head.n} of the job {self.jid}")
        if head.kind in ("refused", "aside"):
            why = messages.unpack_data(self._party.open(head.site, head.box, head.purpose)).get("why")
            shard.refusals[head.worker] = str(why)[:500]
            shard.aside = shard.aside or head.kind == "aside"
            return None
        if head.kind == "taken":
            self._opened(head)
            shard.workers.add(head.worker)
            return None
        if head.kind == "done":
            self._opened(head)
            shard.done = True
            shard.given_up = shard.given_up or head.worker == CONTROLLER_TOKEN
            return None
        if head.kind != "return":
            raise MessageError(f"a message of the kind {head.kind} is not expected here")
        return self._returned(shard, head, data)

    def _handed(self, head: Head) -> None:
        """A shard of another controller, or of this one."""
        if head.worker != CONTROLLER_TOKEN:
            raise MessageError("only a controller hands out targets")
        ids = messages.unpack_ids(self._opened(head))
        if any(self._site_of(id) not in (None, head.site) for id in ids):
            raise MessageError(f"it has targets of other sites than {head.site}")
        if head.n not in self.shards:
            self.add(head.n, head.site, ids)

    def _returned(self, shard: Shard, head: Head, data: bytes) -> Answer | None:
        if head.worker not in shard.workers:
            raise MessageError(f"the worker {head.worker} has not taken the shard {head.n}")
        digest = hashlib.sha256(data).digest()
        if digest in self._seen:
            raise MessageError("it is a replay of an earlier one")
        self._seen.add(digest)
        whole = self._parts.joined(head, self._opened(head))
        if whole is None:
            return None
        answer = messages.unpack_answer(whole)
        id = answer.result.id
        if id not in shard.ids:
            raise MessageError(f"{id} does not belong to the shard {head.n}")
        if self.at.get(id) != shard.n or id not in shard.open:
            return None  # a second return of a shard that was delivered twice
        shard.open.discard(id)
        return answer

    def close(self, shard: Shard, kind: str, why: str, hint: str) -> list[TargetReturn]:
        """End a shard: the returns of its targets that have none."""
        ids, shard.open = [id for id in shard.ids if id in shard.open and self.at.get(id) == shard.n], set()
        found = []
        for id in ids:
            error = TargetError(kind, f"{id}: {why}", hint)
            found.append(TargetReturn(id, error.as_return(), shape="error", exit_code=error.exit_code))
        return found

    def waiting(self) -> Mapping[str, int]:
        """site -> number of targets without a return."""
        found: dict[str, int] = {}
        for shard in self.shards.values():
            if shard.open:
                found[shard.site] = found.get(shard.site, 0) + len(shard.open)
        return found

    def _say(self, text: str) -> None:
        self._warned += 1
        if self._warned <= _WARNINGS:
            self._warn(text)


#: In place of a worker's id in messages of controllers.
CONTROLLER_TOKEN: Final = "controller"  # noqa: S105
