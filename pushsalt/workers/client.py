"""The client of nats-py, which only connects with servers that the configuration names."""

from __future__ import annotations

from typing import Any

from nats.aio import client


class Client(client.Client):  # type: ignore[misc,unused-ignore]
    """Does not use the addresses that a server announces: what names them was not checked, see ``trust``.

    ``api``: the beginning of the subjects of JetStream's API.
    """

    def __init__(self, api: str) -> None:
        super().__init__()
        self.api = api

    def _process_info(self, info: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        # older versions of nats-py have a function here, newer ones a coroutine
        info.pop("connect_urls", None)
        return super()._process_info(info, *args, **kwargs)
