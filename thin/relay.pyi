from socket import socket
from typing import Any

FRAME_LIMIT: int
BUFFER: int
WHOLE: int
STDERR_LIMIT: int
GRACE: float
LINGER: float
STUCK: float
DONE: int
LIMITED: int
CUT: int

class Relay:
    to_worker: bytearray
    to_peer: bytearray
    deadline: float | None
    def __init__(self, channel: Any, sock: socket, err: int, pid: int, state: dict[str, Any]) -> None: ...
    def run(self) -> int: ...
    def is_sound(self) -> bool: ...
    def may_stay(self) -> bool: ...
    def release(self) -> bool: ...
