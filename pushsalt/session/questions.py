"""What a target asks while it works, and what it is sent: answers, and the bytes of files that it lacks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final

from pushsalt.bundle.runtime import Runtime
from pushsalt.errors import PushsaltError
from pushsalt.model import Blob
from pushsalt.session.blobs import Sender
from pushsalt.session.channel import Channel, Message, framed
from thin import wire

log = logging.getLogger(__name__)

#: Answers a question of the target: the fields of the answer. What is in ``blobs`` is sent after it: a Blob, and what
#: the target says to have of it.
Serve = Callable[[Message], Awaitable[Message]]

#: Questions that may wait for their answer at once; a sound worker asks few at a time.
LIMIT: Final = 64
KINDS: Final = frozenset({"file", "files", "salt", "tree", "template", "pillar", "ask"})


class Questions:
    """Each is answered in a task of its own; ``write`` takes the frames. While one is under way this is true.

    ``blobs`` gives what a run may lack, ``custom`` are the users' own modules.
    """

    def __init__(self, id: str, serve: Serve, write: Callable[[bytes], None]) -> None:
        self.blobs: Callable[[str], Blob] | None = None
        self.custom: Blob | None = None
        self._id, self._serve, self._write = id, serve, write
        self._tasks: set[asyncio.Task[None]] = set()

    def use(self, channel: Channel, runtime: Runtime) -> None:
        """The channel on which they come."""
        self._stream, self._runtime = channel.stream, runtime
        self._sender = Sender(lambda kind, payload: self._write(wire.frame(kind, payload)), channel.stream.drain)

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def asked(self, question: Message) -> None:
        """Answer it. Raises ValueError when it is one too many."""
        if len(self._tasks) >= LIMIT:
            raise ValueError(f"more than {LIMIT} questions at once")
        self._begin(self._answer(question))

    def needed(self, message: Message) -> None:
        """Send what a ``need`` names. Raises ValueError when it is one too many."""
        if len(self._tasks) >= LIMIT:
            raise ValueError(f"more than {LIMIT} needs at once")
        digests, parts = message.get("digests") or (), message.get("parts") or {}
        self._begin(self._send({digest: parts.get(digest) for digest in digests if isinstance(digest, str)}))

    def send_custom(self, custom: Blob) -> None:
        """Send the users' own modules unasked."""
        self._begin(self._sender.send(custom))

    async def stop(self) -> None:
        """Leave nothing running."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, question: Message) -> None:
        try:
            answer = dict(await self._serve(question))
        except PushsaltError as exc:
            answer = {"error": str(exc), "exception": getattr(exc, "exception", "SaltException")}
        except (Exception, SystemExit) as exc:
            log.debug("%s: answering %s", self._id, question.get("k"), exc_info=exc)
            answer = {"error": f"{type(exc).__name__}: {exc}", "exception": type(exc).__name__}
        blobs = answer.pop("blobs", ())
        head = {"k": "answer", "re": question.get("n")}
        try:
            frame = framed({**head, **answer})
        except Exception as exc:  # too much for one message, or nothing that can travel: the target is told
            log.debug("%s: the answer to %s", self._id, question.get("k"), exc_info=exc)
            blobs = ()
            frame = framed({**head, "error": f"the answer cannot be sent: {exc}", "exception": "SaltException"})
        self._write(frame)
        await self._stream.drain()
        for blob, part in blobs:
            await self._sender.send(blob, part)

    async def _send(self, digests: Mapping[str, Any]) -> None:
        for digest, part in digests.items():
            try:
                if self.custom is not None and digest == self.custom.digest:
                    blob: Blob | None = self.custom
                elif digest == self._runtime.more_digest:
                    blob = await asyncio.to_thread(lambda: self._runtime.more)
                else:
                    blob = self.blobs(digest) if self.blobs is not None else None
            except KeyError:
                blob = None
            if blob is None:
                log.debug("%s: asks for %r, which is not in the plan", self._id, digest)
            else:
                log.debug("%s: sending %s, %d bytes", self._id, blob.path or f"what is {digest}", blob.size)
                await self._sender.send(blob, part)
