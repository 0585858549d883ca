from socket import socket
from typing import Any

from thin import relay

MARGIN: int
MOST: int
REPORT: int
COLLECT: int
REST: float
TERM_GRACE: float
PAUSE: float
WITHOUT: int

class Surviving(relay.Relay):
    def __init__(self, channel: Any, sock: socket, err: int, pid: int, state: dict[str, Any]) -> None: ...

def words(exc: BaseException) -> str: ...
