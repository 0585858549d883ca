from typing import Any

SOUND: bytes

def divide(
    state: dict[str, Any], channel: Any, lock_fd: int | None, stays: bool = False
) -> tuple[int, bool] | None: ...
def wait(read: int, pid: int | None = None) -> tuple[int, bool]: ...
