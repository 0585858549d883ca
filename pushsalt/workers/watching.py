"""Watches the shards of a job that no worker runs: their site has none, or the shards are lost."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pushsalt.model import TargetReturn
from pushsalt.workers import connection as nats
from pushsalt.workers import messages, names, state
from pushsalt.workers.ledger import CONTROLLER_TOKEN, Ledger, Shard
from pushsalt.workers.messages import Head

if TYPE_CHECKING:
    from pushsalt.events import Reporter

log = logging.getLogger(__name__)

#: Seconds without any worker of a site after which its targets are given up, and after which a warning says so.
NO_WORKER: Final = 60.0
_WARN: Final = 5.0
#: Seconds between looks at sites and their queues.
_LOOK: Final = 2.0


class Watch:
    """Looks after the shards of a job until it is cancelled."""

    def __init__(
        self,
        connection: nats.Connection,
        ledger: Ledger,
        reporter: Reporter,
        answer: Callable[[TargetReturn], None],
        begin_again: Callable[[list[str]], None] | None,
    ) -> None:
        """``ledger`` has what earlier commands have handed out. ``answer`` gets the return of a target that is given
        up. ``begin_again`` gets targets whose shard of an earlier command is gone; without it they are given up.
        """
        self._connection = connection
        self._ledger = ledger
        self._reporter = reporter
        self._answer = answer
        self._begin_again = begin_again
        self._old = set(ledger.shards)
        #: site -> number of its workers
        self.workers: dict[str, int] = {}
        self._alone_since: dict[str, float] = {}
        self._told: set[str] = set()
        self._told_full = False
        #: site -> shards that were not in its queue at the last look
        self._absent: dict[str, set[int]] = {}

    async def run(self) -> None:
        """Look every few seconds."""
        while True:
            with contextlib.suppress(nats.ServerError):
                await self.look()
            await asyncio.sleep(_LOOK)

    async def count_workers(self) -> None:
        """Count the workers of each site. Raises ServerError."""
        present = await state.workers(self._connection)
        self.workers = {site: len(entries) for site, entries in present.items()}
        self._reporter.sites_manned(self.workers)

    async def look(self) -> None:
        """Look once. Raises ServerError."""
        await self.count_workers()
        for shard in list(self._ledger.shards.values()):
            if shard.is_over and shard.open:
                self._close(shard, "worker_lost", *shard.why_over())
        now = time.monotonic()
        for site, count in self._ledger.waiting().items():
            if self.workers.get(site):
                self._alone_since.pop(site, None)
                self._told.discard(site)
                continue
            since = now - self._alone_since.setdefault(site, now)
            if since >= _WARN and await self._is_full(site):
                self._alone_since[site] = now  # workers cannot say that they are there
                continue
            if since >= _WARN and site not in self._told:
                self._told.add(site)
                self._reporter.warning(None, f"the site {site} has no worker: {count} targets wait for one")
            if since >= NO_WORKER:
                await self._give_up(site)
        await self._look_for_lost()

    async def _is_full(self, site: str) -> bool:
        """Whether the storage of the server is full; this is logged once."""
        try:
            await self._connection.put(names.WORKERS_BUCKET, names.presence_key(site, CONTROLLER_TOKEN), b"", 0)
        except nats.FullError as exc:
            if not self._told_full:
                self._told_full = True
                self._reporter.warning(None, f"{exc}: what workers return waits until there is room ({exc.hint})")
            return True
        self._told_full = False
        return False

    async def _give_up(self, site: str) -> None:
        """The targets of a site without workers get their return, once their shards are out of its queue."""
        for shard in list(self._ledger.shards.values()):
            if shard.site != site or not shard.open or shard.is_over:
                continue
            removed = await self._removed(shard)
            if removed is None:
                continue
            await self._tell_given_up(shard)
            if shard.workers:
                why = f"the worker of the site {site} was lost while it had the target, and there is no other one"
                hint = f"start a worker; `pushsalt jobs resume {self._ledger.jid}` then asks the target first"
                self._close(shard, "worker_lost", why, hint)
            elif removed:
                why = f"the site {site} has had no worker for {NO_WORKER:.0f} s: nothing was done"
                self._close(shard, "no_worker", why, f"start one there: pushsalt worker --site {site}")
            else:
                hint = f"`pushsalt jobs resume {self._ledger.jid}` runs the job there"
                self._close(shard, "worker_lost", "its shard is gone: what was done is not known", hint)

    async def _removed(self, shard: Shard) -> bool | None:
        """Remove a shard from its queue: True if it was there, False if not, None if this is not known yet."""
        stream, js = names.work_stream(shard.site), self._connection.js
        try:
            with nats.explained("the queue of the site cannot be read"):
                if not shard.seq and shard.n not in self._old:
                    return None  # it is being stored
                shard.seq = shard.seq or await self._found(shard)
                if not shard.seq:
                    return False
                await js.get_msg(stream, shard.seq)
                await js.delete_msg(stream, shard.seq)
            return True
        except nats.MissingError:
            return False
        except nats.ServerError as exc:
            log.debug("shard %d is not removed yet: %s", shard.n, exc)
            return None

    async def _found(self, shard: Shard) -> int:
        """The number of an earlier command's shard in its queue; 0 if it is not there."""
        stream, js = names.work_stream(shard.site), self._connection.js
        info = await js.stream_info(stream)
        seq = int(info.state.first_seq)
        while seq <= int(info.state.last_seq):
            try:
                found = await js.get_msg(stream, seq, subject=names.work_subject(shard.site), next=True)
                seq = int(found.seq or seq) + 1
                head = messages.decode(found.data or b"")
            except messages.NewerError as exc:
                head = exc.head
            except messages.MessageError:
                continue
            except Exception as exc:
                if _is_missing(exc):
                    return 0
                raise
            if (head.jid, head.n) == (self._ledger.jid, shard.n):
                return seq - 1
        return 0

    async def _tell_given_up(self, shard: Shard) -> None:
        """Let other controllers, and a later command, know that the shard is over."""
        head = Head("done", self._ledger.jid, shard.site, shard.n, CONTROLLER_TOKEN)
        head = messages.sealed(head, messages.pack_data({}), self._ledger.box(shard.site))
        subject = names.returns_subject(shard.site, CONTROLLER_TOKEN, self._ledger.jid)
        await self._connection.store(subject, messages.encode(head), messages.message_id(head))

    async def _look_for_lost(self) -> None:
        """Nothing will come of shards of earlier commands if their site's queue is empty, in two looks running."""
        absent, self._absent = self._absent, {}
        watched: dict[str, list[Shard]] = {}
        for shard in self._ledger.shards.values():
            if shard.open and not shard.is_over and (shard.n in self._old or self._begin_again is None):
                watched.setdefault(shard.site, []).append(shard)
        for site, shards in watched.items():
            with nats.explained("the queue of the site cannot be read"):
                info = await self._connection.js.stream_info(names.work_stream(site))
            if info.state.messages:
                continue
            self._absent[site] = {shard.n for shard in shards}
            for shard in shards:
                if shard.n in absent.get(site, ()):
                    self._lost(shard)

    def _lost(self, shard: Shard) -> None:
        if self._begin_again is None:
            self._close(shard, "worker_lost", "its shard is gone", "run the job again there")
            return
        shard.done = shard.given_up = True
        self._begin_again([id for id in shard.ids if id in shard.open and self._ledger.at.get(id) == shard.n])

    def _close(self, shard: Shard, kind: str, why: str, hint: str) -> None:
        for result in self._ledger.close(shard, kind, why, hint):
            self._answer(result)


def _is_missing(exc: Exception) -> bool:
    from nats.js import errors

    return isinstance(exc, errors.NotFoundError)
