from collections.abc import Callable
from socket import socket
from typing import Any

from thin.store import Store

_Worker = tuple[socket, int, int, int]

PARAMETERS: dict[str, Any]
LIMIT: int
MOMENT: float
PACK: str
CODE: str

class Ahead:
    kept: dict[str, Any]
    def __init__(self, state: dict[str, Any], store: Store) -> None: ...
    def listen(self) -> None: ...
    def spare(self, fork: Callable[[], _Worker]) -> None: ...
    def take_spare(self, usable: bool = True) -> _Worker | None: ...
    def begin(self) -> None: ...
    def tell(self) -> None: ...
    def load(self) -> None: ...

def proceed(
    channel: Any, state: dict[str, Any], store: Store, ahead: Ahead, fork_worker: Callable[..., _Worker]
) -> None: ...
