"""Answers the questions of a target while it works, and sends the blobs that it lacks."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final

from pushsalt.bundle.runtime import Runtime
from pushsalt.errors import PushsaltError
from pushsalt.model import Blob
from pushsalt.session.blobs import Sender
from pushsalt.session.channel import Message, framed
from thin import wire

log = logging.getLogger(__name__)

#: Returns the fields of the answer to a question. ``blobs`` among them is sent after the answer: pairs of a Blob and
#: the part of it that the target has.
Serve = Callable[[Message], Awaitable[Message]]

#: Questions that may be unanswered at a time; a worker without defects asks only a few.
LIMIT: Final = 64
KINDS: Final = frozenset({"file", "files", "salt", "tree", "template", "pillar", "ask"})


async def answer_with_error(question: Message) -> Message:
    """The default: answers each question with an error."""
    return {"error": f"nothing here answers {question.get('k')!r}", "exception": "SaltException"}


class Questions:
    """Answers each question in a task of its own; ``write`` takes the frames, ``drain`` waits until few are queued.
    True while a task is running.

    ``blobs`` returns the blob of a digest of the current run; ``custom`` is the archive of users' own modules.
    """

    def __init__(
        self, id: str, serve: Serve, write: Callable[[bytes], None], drain: Callable[[], Awaitable[None]]
    ) -> None:
        self.blobs: Callable[[str], Blob] | None = None
        self.custom: Blob | None = None
        self._id, self._serve, self._write, self._drain = id, serve, write, drain
        self._tasks: set[asyncio.Task[None]] = set()

    def use(self, runtime: Runtime) -> None:
        """Answer what is asked of this runtime."""
        self._runtime = runtime
        self._sender = Sender(lambda kind, payload: self._write(wire.frame(kind, payload)), self._drain)

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def asked(self, question: Message) -> None:
        """Start to answer a question. Raises ValueError for too many at a time."""
        if len(self._tasks) >= LIMIT:
            raise ValueError(f"more than {LIMIT} questions at once")
        self._begin(self._answer(question))

    def needed(self, message: Message) -> None:
        """Start to send the blobs that a message ``need`` names. Raises ValueError for too many at a time."""
        if len(self._tasks) >= LIMIT:
            raise ValueError(f"more than {LIMIT} needs at once")
        digests, parts = message.get("digests") or (), message.get("parts") or {}
        self._begin(self._send({digest: parts.get(digest) for digest in digests if isinstance(digest, str)}))

    def send_custom(self, custom: Blob) -> None:
        """Send the users' own modules without waiting for a question."""
        self._begin(self._sender.send(custom))

    async def stop(self) -> None:
        """Cancel all tasks and wait for them."""
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
        except Exception as exc:  # too long, or not serializable: the target gets an error
            log.debug("%s: the answer to %s", self._id, question.get("k"), exc_info=exc)
            blobs = ()
            frame = framed({**head, "error": f"the answer cannot be sent: {exc}", "exception": "SaltException"})
        self._write(frame)
        await self._drain()
        for blob, part in blobs:
            await self._sender.send(blob, part)

    async def _send(self, digests: Mapping[str, Any]) -> None:
        for digest, part in digests.items():
            try:
                if self.custom is not None and digest == self.custom.digest:
                    blob: Blob | None = self.custom
                else:
                    blob = await self._blob(digest)
            except KeyError:
                blob = None
            if blob is None:
                log.debug("%s: asks for %r, which is not in the plan", self._id, digest)
            else:
                log.debug("%s: sending %s, %d bytes", self._id, blob.path or f"what is {digest}", blob.size)
                await self._sender.send(blob, part)

    async def _blob(self, digest: str) -> Blob:
        """A blob of the current run, or a pack of the runtime. Raises KeyError."""
        if self.blobs is not None:
            with contextlib.suppress(KeyError):
                return self.blobs(digest)
        return await asyncio.to_thread(self._runtime.pack, digest)
