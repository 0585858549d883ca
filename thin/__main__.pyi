from typing import Any

from thin.store import Store

PENDING_LIMIT: int
HEARD_TIMEOUT: int
SHORT_WAIT: int

def main(state: dict[str, Any], store: Store) -> None: ...

class Channel:
    def __init__(self, state: dict[str, Any], up: int, down: int) -> None: ...
    def frame(self, kind: bytes, fields: Any) -> bytes: ...
    def say(self, kind: bytes, fields: Any) -> None: ...
