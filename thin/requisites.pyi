from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

WAITING: tuple[str, ...]
REQUISITES: frozenset[str]
REQUISITES_IN: frozenset[str]

def tag_of(low: Mapping[str, Any]) -> str: ...
def listeners(chunks: Sequence[dict[str, Any]]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]: ...

class Graph:
    chunks: dict[str, dict[str, Any]]
    def __init__(
        self,
        chunks: dict[str, dict[str, Any]],
        declared: Sequence[str] | None = None,
        groups: Sequence[Sequence[str]] = (),
        disabled: Collection[str] = (),
    ) -> None: ...
    def dependencies(self, low: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]: ...
    def reactions(self, tag: str) -> list[str]: ...
    def group(self, low: Mapping[str, Any]) -> list[dict[str, Any]]: ...

def status(
    wanted: Sequence[tuple[str, dict[str, Any]]],
    returns: Mapping[str, dict[str, Any]],
    checks: Mapping[str, dict[str, Any]],
    still_running: Collection[str] = (),
) -> tuple[str, dict[str, list[dict[str, Any]]]]: ...
