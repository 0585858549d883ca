"""Channels of kept sessions: one runtime per kept connection waits on the target for the next command."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, Protocol, cast

from pushsalt.bundle.runtime import Runtime
from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.session.channel import Channel
from pushsalt.transport import Stream

log = logging.getLogger(__name__)

#: Seconds that a runtime waits after the keeper has closed its channel.
MARGIN: Final = 30.0


class KeepingConnection(Protocol):
    """The part of ``pushsalt.transport.brokered.BrokeredConnection`` that is used here."""

    user: str | None
    about: dict[str, Any] | None

    def resume(self, on_stderr: Callable[[bytes], None]) -> Stream: ...

    def park(self, stream: Any, about: Mapping[str, Any]) -> None: ...

    def leave(self, stream: Any, last: bytes, stop: bytes, about: Mapping[str, Any]) -> None: ...

    def drop(self) -> None: ...


class KeptChannels:
    """Takes the channel that an earlier command has left on this connection, and keeps this command's channel."""

    def __init__(self, connection: KeepingConnection, target: Target, runtime: Runtime, seconds: float) -> None:
        self.several: Mapping[str, object] = {"several": "kept", "idle": seconds + MARGIN}
        self._connection, self._target, self._runtime = connection, target, runtime

    async def take(self) -> Channel | None:
        """The kept channel; None if there is none, or this command would start another runtime."""
        about = self._connection.about
        if about is None:
            return None
        if about.get("for") != self._mark:
            self._connection.drop()
            return None
        channel = Channel(self._target, self._connection.user, self._runtime, _warned, _failed)
        channel.resume(str(about["nonce"]), about["info"], self._connection.resume)
        return channel

    def keep(self, channel: Channel) -> None:
        """Leave the channel to the next command."""
        self._connection.park(cast("Any", channel.stream), self._about(channel))

    def leave(self, channel: Channel, last: bytes, stop: bytes) -> bool:
        self._connection.leave(cast("Any", channel.stream), last, stop, self._about(channel))
        return True

    def _about(self, channel: Channel) -> dict[str, Any]:
        return {"for": self._mark, "nonce": channel.opening.nonce, "info": channel.info}

    @cached_property
    def _mark(self) -> str:
        """A digest of everything that a runtime depends on."""
        target = self._target
        parts = (self._runtime.sha, self._runtime.key(target.place), target.thin_dir, target.python, target.enter)
        become = (target.sudo, target.become, target.sudo_user, str(target.sudo_password), target.tty)
        return hashlib.sha256(repr((*parts, *become, self._connection.user)).encode()).hexdigest()


def _warned(text: str) -> None:
    log.debug("%s", text)


def _failed(trouble: TargetError) -> None:
    log.debug("%s", trouble.message)
