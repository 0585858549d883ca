from collections.abc import Callable
from typing import Any

from thin.worker import Worker

def serve(worker: Worker, message: dict[str, Any]) -> None: ...
def surviving(worker: Worker, work: Callable[[], None]) -> None: ...
