"""The connection with the NATS server: streams, buckets, and pulling of messages. Needs ``pushsalt[nats]``."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import CommandError
from pushsalt.workers import names
from pushsalt.workers.parties import is_on_loopback

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)

#: Seconds of the first attempt to connect, and for an answer of the server.
CONNECT: Final = 5.0
#: Seconds after which a shard is delivered again, if its worker does not say that it is at work on it.
ACK_WAIT: Final = 10.0
#: Seconds for which the entry of a worker's presence is valid, and between its renewals.
PRESENCE: Final = 15.0
RENEW: Final = 5.0
#: Seconds for which a lock is valid.
LOCK: Final = 15.0
#: Seconds within which the server drops a message that it has stored before.
DUPLICATES: Final = 600.0
#: Seconds for which returns and states of jobs are kept.
KEEP: Final = 7 * 86400.0
#: Seconds between two warnings about a full store.
_SAY_FULL: Final = 30.0
#: Seconds of one request for messages.
_PULL: Final = 20.0
_NS: Final = 1_000_000_000
#: Bytes of the answer to one request for messages, and of a message's subject and headers. The server ends connections
#: for which more is ready than its ``max_pending``, 64 MB by default.
_REQUEST: Final = 8 * 1024 * 1024
_SUBJECTS: Final = 4096


class ServerError(CommandError):
    """The NATS server cannot be used."""


class FullError(ServerError):
    """The server stores nothing more: its disk, a limit of it, of the account or of the stream is reached."""


class MissingError(ServerError):
    """A stream, a consumer or a message is not there."""


def need_extra() -> None:
    """Raises ServerError if the client of NATS is not installed."""
    try:
        import nats  # noqa: F401
    except ImportError as exc:
        raise ServerError(f"workers need the client of NATS: {exc}", "pip install 'pushsalt[nats]'") from None


class Connection:
    """A connection; ``nc`` is the client of nats-py, ``js`` its JetStream context."""

    def __init__(self, nc: Any, url: str) -> None:
        self.nc = nc
        #: whether all servers are on this machine
        self.loopback = is_on_loopback(url)
        self.js = nc.jetstream(timeout=CONNECT, prefix=names.api_of(nc))
        self._said_full = 0.0
        #: bytes of the answer to one request for messages; the requests of all consumers become smaller
        self.request_size = _REQUEST

    async def setup(self, sites: Iterable[str]) -> None:
        """Create the streams and buckets that are missing. Raises ServerError."""
        from nats.js import api

        files = api.StorageType.FILE
        with explained("the streams cannot be created"):
            await self._stream(
                name=names.RETURNS_STREAM,
                subjects=[names.RETURNS],
                storage=files,
                max_age=KEEP,
                duplicate_window=DUPLICATES,
            )
            for site in sites:
                await self._stream(
                    name=names.work_stream(site),
                    subjects=[names.work_subject(site)],
                    storage=files,
                    retention=api.RetentionPolicy.WORK_QUEUE,
                    max_age=KEEP,
                    duplicate_window=DUPLICATES,
                )
                if await self.has_site(site):
                    continue
                await self.js.add_consumer(
                    names.work_stream(site),
                    api.ConsumerConfig(
                        durable_name=names.CONSUMER,
                        ack_policy=api.AckPolicy.EXPLICIT,
                        ack_wait=ACK_WAIT,
                        max_deliver=-1,
                        max_ack_pending=-1,
                    ),
                )
            await self._bucket(names.JOBS_BUCKET, KEEP)
            await self._bucket(names.STOPPED_BUCKET, KEEP)
            await self._bucket(names.WORKERS_BUCKET, PRESENCE)

    async def setup_events(self, seconds: float | None, size: int | None) -> None:
        """Create the stream of events and its buckets, if they are missing, with these limits. Raises ServerError."""
        from nats.js import api

        with explained("the stream of events cannot be created"):
            await self._stream(
                name=names.EVENTS_STREAM,
                subjects=list(names.EVENTS),
                storage=api.StorageType.FILE,
                max_age=seconds,
                max_bytes=size,
                duplicate_window=min(DUPLICATES, seconds or DUPLICATES),
                allow_direct=True,
            )
            await self._bucket(names.EVENTS_BUCKET, None)
            await self._bucket(names.LOCKS_BUCKET, LOCK)

    async def setup_bucket(self, name: str) -> None:
        """Create a bucket, if it is missing. Raises ServerError."""
        with explained("the bucket cannot be created"):
            await self._bucket(name, None)

    async def _bucket(self, name: str, ttl: float | None) -> None:
        from nats.js import api

        await self._stream(
            name=f"KV_{name}",
            subjects=[f"$KV.{name}.>"],
            storage=api.StorageType.FILE,
            max_age=ttl,
            max_msgs_per_subject=1,
            duplicate_window=min(120.0, ttl or 120.0),
            allow_rollup_hdrs=True,
            allow_direct=True,
            discard=api.DiscardPolicy.NEW,
        )

    async def _stream(self, **config: Any) -> None:
        """Create a stream, unless there is one of this name: its settings are the operator's."""
        from nats.js import errors

        try:
            await self.js.stream_info(config["name"])
        except errors.NotFoundError:
            with contextlib.suppress(errors.BadRequestError):  # another controller has just created it
                await self.js.add_stream(**config)

    async def has_site(self, site: str) -> bool:
        """Whether the streams of a site are there."""
        from nats.js import errors

        try:
            await self.js.consumer_info(names.work_stream(site), names.CONSUMER)
        except (errors.NotFoundError, errors.ServiceUnavailableError):
            return False
        return True

    async def store(
        self,
        subject: str,
        data: bytes,
        id: str = "",
        *,
        patience: float = math.inf,
        refused: Callable[[str], None] | None = None,
    ) -> int:
        """Store a message as ``stored`` does; returns its sequence number."""
        return int((await self.stored(subject, data, id, patience=patience, refused=refused)).seq)

    async def stored(
        self,
        subject: str,
        data: bytes,
        id: str = "",
        *,
        patience: float = math.inf,
        refused: Callable[[str], None] | None = None,
    ) -> Any:
        """Store a message in the stream of its subject, however long the server is away; returns nats-py's ``PubAck``.

        ``id``: the server drops another message with the same one. ``refused`` gets the reason when a full store has
        refused the message for the first time; after ``patience`` seconds of this FullError is raised. Raises
        ServerError if the stream does not take it.
        """
        import nats.errors
        from nats.js import errors

        headers = {names.MESSAGE_ID: id} if id else None
        wait, since = 0.1, 0.0
        while True:
            try:
                return await self.js.publish(subject, data, timeout=CONNECT, headers=headers)
            except (errors.NoStreamResponseError, nats.errors.TimeoutError) as exc:
                if self.nc.is_closed:
                    raise ServerError("the connection with the NATS server was closed", "see the log") from None
                log.debug("%s is not stored yet: %s", subject, exc or type(exc).__name__)
            except (nats.errors.OutboundBufferLimitError, nats.errors.ConnectionReconnectingError):
                pass
            except errors.APIError as exc:
                text = f"the NATS server does not store a message: {exc.description}"
                if _is_full(exc):
                    if not since and refused is not None:
                        refused(text)
                    since = since or time.monotonic()
                    if time.monotonic() - since >= patience:
                        raise FullError(text, _FULL) from None
                    self._say_full(text)
                elif not _passes(exc):
                    raise ServerError(text, _FULL) from None
                else:
                    log.debug("%s is not stored yet: %s", subject, exc.description)
            except nats.errors.Error as exc:
                raise ServerError(f"the NATS server does not take a message: {exc}", "see its log") from None
            await asyncio.sleep(wait)
            wait = min(5.0, wait * 2)

    def _say_full(self, text: str) -> None:
        """Warn from time to time."""
        if not self._said_full or time.monotonic() - self._said_full > _SAY_FULL:
            self._said_full = time.monotonic()
            log.warning("%s; trying again (%s)", text, _FULL)

    async def put(self, bucket: str, key: str, data: bytes, patience: float = math.inf) -> None:
        """Put a value into a bucket. Raises FullError after so many seconds in which the store was full."""
        await self.store(names.put_subject(self.nc, bucket, key), data, patience=patience)

    async def get(self, bucket: str, key: str) -> bytes | None:
        """The value of a key in a bucket; None without one. Raises ServerError."""
        try:
            with explained(f"{key} cannot be read"):
                found = await self.js.get_last_msg(f"KV_{bucket}", f"$KV.{bucket}.{key}", direct=True)
        except MissingError:
            return None
        return None if found.headers and "KV-Operation" in found.headers else found.data

    async def last_sequence(self) -> int:
        """The number of the last message of the returns. Raises ServerError."""
        with explained("the returns cannot be read"):
            return int((await self.js.stream_info(names.RETURNS_STREAM)).state.last_seq)

    async def close(self) -> None:
        """Send what is waiting, and close the connection."""
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.nc.flush(2), 2.5)
        with contextlib.suppress(Exception):
            await self.nc.close()


#: Codes of JetStream's errors that pass: the store, the account or the stream is full until space is made; a cluster
#: elects a leader.
_FULL_CODES: Final = frozenset({10023, 10028, 10047, 10077, 10002})
_NO_LEADER: Final = 10008
_OFF: Final = "start it with -js, or see its log; for one at a leaf node write nats://HOST?domain=NAME"
_FULL: Final = "look at the limits of the account and at the space on the disk of the server"


def _is_full(exc: Any) -> bool:
    return bool(exc.err_code in _FULL_CODES or "maximum" in str(exc.description))


def _passes(exc: Any) -> bool:
    return bool(exc.err_code == _NO_LEADER or exc.code == 503)


@contextlib.contextmanager
def explained(what: str) -> Iterator[None]:
    """Turns errors of the client into ServerError; Missing if the stream, consumer or message is not there."""
    import nats.errors
    from nats.js import errors

    try:
        yield
    except errors.NotFoundError:
        raise MissingError(f"NATS: {what}: it is not there", "a controller creates it when it uses the site") from None
    except errors.APIError as exc:
        if isinstance(exc, errors.ServiceUnavailableError) and not _is_full(exc):
            raise ServerError(f"NATS: {what}: the server has no JetStream", _OFF) from None
        raise ServerError(f"NATS: {what}: {exc.description or exc}", _FULL) from None
    except errors.NoStreamResponseError:
        raise ServerError(f"NATS: {what}: the server has no JetStream", _OFF) from None
    except (nats.errors.Error, asyncio.TimeoutError) as exc:
        hint = "check the server, and the permissions of these credentials"
        raise ServerError(f"NATS: {what}: {str(exc) or 'no answer'}", hint) from None


async def connect(url: str, folder: Path | None = None, name: str = "pushsalt", patient: bool = False) -> Connection:
    """A connection with a server, or with one of several, separated by commas. Raises ServerError, UsageError.

    ``folder``: keys and credentials (``pushsalt.workers.trust``). ``patient``: wait until the server is there.
    """
    need_extra()
    import nats.errors

    from pushsalt.workers import trust
    from pushsalt.workers.client import Client

    troubles: list[Exception] = []

    async def failed(exc: Exception) -> None:
        troubles[:] = [exc]
        if trust.is_final(exc) and "," not in url:
            final.set()
        log.debug("NATS: %s", exc or type(exc).__name__)

    async def gone() -> None:
        if not nc.is_closed:
            log.warning("the connection with the NATS server is lost; connecting again")

    async def there() -> None:
        log.warning("the connection with the NATS server is restored")

    options = trust.connect_options(url, folder)
    while True:
        nc, final = Client(names.api(trust.domain_of(url))), asyncio.Event()
        try:
            connecting = nc.connect(
                **options,
                name=name,
                connect_timeout=int(CONNECT),
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.5,  # type: ignore[arg-type,unused-ignore]
                ping_interval=10,
                pending_size=64 * 1024 * 1024,
                error_cb=failed,
                disconnected_cb=gone,
                reconnected_cb=there,
            )
            await _connected(connecting, final)
            return Connection(nc, url)
        except (OSError, nats.errors.Error, asyncio.TimeoutError) as exc:
            with contextlib.suppress(Exception):
                await nc.close()
            why, hint = trust.trouble(next(iter(troubles), exc))
            text = f"the NATS server at {shown(url)} cannot be used: {why}"
            if not patient:
                raise ServerError(text, hint) from None
            log.warning("%s; %s; trying again", text, hint)
        await asyncio.sleep(2.0)


async def _connected(connecting: Coroutine[Any, Any, None], final: asyncio.Event) -> None:
    """Wait for a connection, at most CONNECT seconds, and not for one that cannot be (``final``).

    Raises asyncio.TimeoutError, and what the client raises.
    """
    tasks = asyncio.ensure_future(connecting), asyncio.ensure_future(final.wait())
    try:
        await asyncio.wait(tasks, timeout=CONNECT, return_when=asyncio.FIRST_COMPLETED)
        if not tasks[0].done():
            raise asyncio.TimeoutError
        tasks[0].result()
    finally:
        await end(tasks)


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and wait for their ends. ``wait_for`` of older Pythons loses a cancellation that comes with a
    result, so they are cancelled again and again.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        done, left = await asyncio.wait(left, timeout=0.5)
        for task in done:
            if not task.cancelled():
                task.exception()


def shown(url: str) -> str:
    """The URL without what may be a password."""
    return ",".join(each.rpartition("@")[2] if "@" in each else each for each in url.split(","))


class Pull:
    """Messages of a consumer, as they are stored. The consumer is asked again and again."""

    def __init__(self, connection: Connection, stream: str, consumer: str) -> None:
        self._connection, self._nc = connection, connection.nc
        self._subject = f"{names.api_of(connection.nc)}.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._sub: Any = None
        self._inbox = ""
        self._reconnects = connection.nc.stats["reconnects"]
        #: whether the connection was lost since the start: messages may have been sent that have not arrived
        self.was_cut = False

    async def messages(self, number: int, seconds: float = _PULL) -> AsyncIterator[Any]:
        """Yield at most ``number`` messages that come within this time; 0: those that are there. There may be fewer:
        the size of one answer is limited.

        Raises LookupError if there is no consumer.
        """
        import nats.errors

        if self._sub is None:
            self._inbox = self._nc.new_inbox()
            self._sub = await self._nc.subscribe(
                self._inbox, pending_msgs_limit=-1, pending_bytes_limit=512 * 1024 * 1024
            )
        self._is_cut()
        size = max(self._connection.request_size, self._nc.max_payload + _SUBJECTS)
        request = {
            "batch": number,
            **({"max_bytes": size} if number > 1 else {}),
            **({"expires": int(seconds * _NS)} if seconds else {"no_wait": True}),
        }
        try:
            await self._nc.publish(self._subject, json.dumps(request).encode(), reply=self._inbox)
        except nats.errors.Error:
            await asyncio.sleep(0.5)
            return
        end = asyncio.get_running_loop().time() + (seconds or CONNECT) + 1.0
        while number > 0:
            left = end - asyncio.get_running_loop().time()
            if self._is_cut():  # the server has forgotten the request
                # it may have ended the connection because more was ready than its limit allows
                self._connection.request_size //= 2
                return
            if left <= 0:
                return
            try:
                message = await self._sub.next_msg(timeout=min(left, 1.0))
            except (nats.errors.TimeoutError, asyncio.TimeoutError):
                continue
            except nats.errors.Error:
                await asyncio.sleep(0.5)
                return
            status = (message.headers or {}).get("Status") if not message.data else None
            if status is None:
                number -= 1
                yield message
            elif status == "503" or "Deleted" in str(message.headers):
                raise LookupError(self._subject)
            elif status != "100" and "Batch Completed" not in str(message.headers):  # which ends an earlier request
                return

    def _is_cut(self) -> bool:
        """Whether the connection was lost since the last call of this method; sets ``was_cut`` if so."""
        before, self._reconnects = self._reconnects, self._nc.stats["reconnects"]
        self.was_cut = self.was_cut or before != self._reconnects
        return bool(before != self._reconnects)

    async def close(self) -> None:
        if self._sub is not None:
            with contextlib.suppress(Exception):
                await self._sub.unsubscribe()
