"""A session that collects the frames of a run which another process has begun: it answers no questions."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from pushsalt.session import questions
from pushsalt.session.channel import Channel, Message
from pushsalt.session.session import OnEvent, Session
from pushsalt.session.survival import Ours, Reconnect, Survival

if TYPE_CHECKING:
    from pushsalt.bundle.runtime import Runtime
    from pushsalt.model import Target
    from pushsalt.session.start import Start
    from pushsalt.transport import Connection


class Collector(Session):
    """Begin with ``begin``; ``finished`` waits for the run's own answer; always end with ``close``.

    States and events are passed to ``on_event``, as in the session that began the run. After the end of the run,
    ``close`` removes its data from the target; before, the run continues without this session.
    """

    _finished: asyncio.Future[Any]
    #: whether the target has sent the error that ended the run, so that nothing more follows
    has_last_word = False

    @classmethod
    async def begin(
        cls,
        target: Target,
        connection: Connection,
        runtime: Runtime,
        *,
        start: Start,
        reconnect: Reconnect,
        on_event: OnEvent,
        warnings: list[str],
    ) -> Collector:
        """Ask for the run of the job ``start.job``. Raises TargetError when the target cannot be asked."""
        session = cls(target, _answer_with_error, on_event, warnings)
        ours = Ours(lambda: session._channel, session._use, session._warn, session._fail, on_event)
        session._survival = Survival(target, runtime, start, reconnect, ours)
        session._survival.attach()
        loop = asyncio.get_running_loop()
        session._ready, session._finished = loop.create_future(), loop.create_future()
        session._pending.put(0, session._finished)
        session._bound_by = []
        session._channel = channel = Channel(target, connection.user, runtime, session._warn, session._fail)
        session._work_sent = True
        await channel.start(connection, start.resuming(-1))
        session._reader = loop.create_task(session._read(), name=f"collecting {target.id}")
        try:
            channel.write(await channel.greeted())
        except BaseException:
            await session._let_go()
            raise
        return session

    async def finished(self) -> Any:
        """The answer of the run. Raises UnknownRunError if the target has no data of it, and TargetError or
        FunctionError if it ended with one.
        """
        return await asyncio.shield(self._finished)

    async def close(self) -> None:
        self._leaving = not (self._finished.done() and not self._finished.cancelled()) and not self.has_last_word
        with contextlib.suppress(Exception):
            self._finished.cancel() if not self._finished.done() else self._finished.exception()
        await super().close()

    def _take(self, kind: bytes, payload: bytes | bytearray) -> None:
        self.has_last_word = self.has_last_word or kind == b"E"
        super()._take(kind, payload)

    def _message(self, message: Message) -> None:
        kind = message.get("k")
        if kind in ("ret", "exc"):
            super()._message({**message, "re": 0})  # ignored for calls that were sent with the run
        elif kind not in questions.KINDS and kind not in ("need", "ready"):
            super()._message(message)


async def _answer_with_error(question: Message) -> Message:
    return {"error": "the process that began the run is gone", "exception": "SaltException"}
