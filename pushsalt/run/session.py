"""One session with one target: the first stage, then messages both ways until it ends. Shapes: see thin/wire.py."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import string
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pushsalt.bundle import shim
from pushsalt.bundle.runtime import Met, Runtime
from pushsalt.errors import FunctionError, TargetError
from pushsalt.model import Blob, Target
from pushsalt.run import handshake
from pushsalt.run.blobs import Sender
from pushsalt.transport import Connection, Stream
from thin import wire

log = logging.getLogger(__name__)

Message = dict[str, Any]
#: Answers a question of the target: the fields of the answer; ``blob`` (a Blob) among them is sent after it.
Serve = Callable[[Message], Awaitable[Message]]
OnEvent = Callable[[Message], None]

#: Seconds from the command to ``ready``, without the wait for the lock; for the orderly end; and what a job may take
#: longer than its deadline before the target counts as gone.
BOOTSTRAP_TIMEOUT = 60.0
CLOSE_TIMEOUT = 5.0
DEADLINE_MARGIN = 15.0
#: Questions that may wait for their answer at once; a worker asks one at a time.
QUESTIONS = 64
_QUESTION_KINDS = frozenset({"file", "tree", "template", "pillar", "ask"})
_ALPHABET = string.ascii_letters + string.digits


@dataclass(frozen=True)
class LockRequest:
    """``words`` tell the next one who holds the target; ``wait`` is how many seconds to wait for it ourselves."""

    words: str
    wait: float = 0.0


@dataclass(frozen=True)
class Start:
    """What a session is started with. ``deadline`` (seconds) bounds all of it on the target's own clock."""

    opts: Mapping[str, Any] = field(default_factory=dict)
    grains: Mapping[str, Any] = field(default_factory=dict)
    want_grains: bool = False
    lock: LockRequest | None = None
    deadline: float | None = None
    log_level: str = "warning"
    clean: bool = False


async def _nothing(question: Message) -> Message:
    return {"error": f"{question.get('k')}: nobody answers that here", "exception": "SaltException"}


def _ignore(event: Message) -> None:
    """The default for events."""


class Session:
    """Open it with ``open``, then ``call``, ``grains`` and ``run``; ``close`` in any case.

    ``info``: what is known of the target's side: python, exe, uid, dir (private directory, "" for none), and what
    ``ready`` said (user, grains …). ``round_trips``: how often something was written after something was read.
    """

    def __init__(self, target: Target, stream: Stream, serve: Serve, on_event: OnEvent) -> None:
        self.target = target
        self.info: dict[str, Any] = {}
        self.warnings: list[str] = []
        self.removed: list[str] = []
        self.round_trips = 0
        self.bytes_sent = 0
        self.bytes_received = 0
        #: one future for each message of ``first``
        self.first: list[asyncio.Future[Any]] = []
        self._stream = stream
        self._serve, self._on_event = serve, on_event
        self._numbers = 0
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._answers: dict[int, Message] = {}
        self._blobs: dict[int, Callable[[str], Blob]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._trouble: TargetError | None = None
        self._finished = False
        self._said_bye = False
        self._has_read = True
        self._sender = Sender(self._write_frame, stream.drain)

    # --- opening

    @classmethod
    async def open(
        cls,
        target: Target,
        connection: Connection,
        runtime: Runtime,
        *,
        start: Start | None = None,
        first: Sequence[Message] = (),
        serve: Serve = _nothing,
        on_event: OnEvent = _ignore,
    ) -> Session:
        """Start the runtime on the target and wait until it is ready.

        ``first`` are messages (``call``, ``grains``, ``bye``) that go out with the start, without a turn-around of their own;
        their results are the futures in ``session.first``. Raises TargetError.
        """
        start = start or Start()
        opening = handshake.Opening(target, connection, runtime, start)
        stream = await opening.start()
        session = cls(target, stream, serve, on_event)
        session._opening = opening
        session._frames = wire.Frames(opening.nonce.encode())
        try:
            await session._begin(opening, runtime, start, first)
        except BaseException:
            session._abandon()
            raise
        return session
