from typing import Any

DONE: str
LIFE: int
SIZE: int
HEARD: float

def heard(down: int) -> tuple[bool, bytes | None]: ...
def note(state: dict[str, Any], text: bytes) -> None: ...
def is_done(state: dict[str, Any]) -> bool: ...
