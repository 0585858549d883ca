"""The client of nats-py, which only connects with servers that the configuration names, and with TLS if it says so."""

from __future__ import annotations

import logging
from typing import Any

from nats import errors
from nats.aio import client


def _is_useful(record: logging.LogRecord) -> bool:
    """Not what asyncio says at the end of each connection of nats-py with TLS, which means nothing."""
    return not str(record.msg).startswith("returning true from eof_received()")


logging.getLogger("asyncio").addFilter(_is_useful)


class NoTLSError(errors.Error):  # type: ignore[misc,unused-ignore]
    """The server offers no TLS."""

    def __str__(self) -> str:
        return "the server has no TLS"


class Client(client.Client):  # type: ignore[misc,unused-ignore]
    """Does not use the addresses that a server announces: what names them was not checked, see ``trust``.

    With a URL that begins with ``tls`` nothing is sent without TLS: nats-py leaves that to the first message of the
    server, which anybody on the way to it can change.

    ``api``: the beginning of the subjects of JetStream's API.
    """

    def __init__(self, api: str) -> None:
        super().__init__()
        self.api = api

    def _process_info(self, info: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        # older versions of nats-py have a function here, newer ones a coroutine
        info.pop("connect_urls", None)
        is_first = kwargs.get("initial_connection") or any(args)
        server = self._current_server
        if is_first and server is not None and server.uri.scheme == "tls" and not info.get("tls_required"):
            raise NoTLSError
        return super()._process_info(info, *args, **kwargs)
