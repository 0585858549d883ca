from collections.abc import Mapping
from typing import Any

from thin.call_state import Caller

STALE: str
SWAPPED: str
AFTER: str

class Looks:
    planned: frozenset[str] | None
    drifted: bool
    def __init__(self) -> None: ...
    def note(self, low: dict[str, Any], ret: dict[str, Any], notes: Mapping[str, Any]) -> None: ...
    def call(self, low: dict[str, Any], caller: Caller) -> dict[str, Any]: ...

def of(message: Mapping[str, Any], looks: Looks | None) -> Looks | None: ...
