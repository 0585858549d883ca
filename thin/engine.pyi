from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from thin.due import Reactions
from thin.loader import Loaders
from thin.log import Logger
from thin.parallel import Jobs
from thin.requisites import Graph

log: Logger
NOT_RUN: dict[str, Any]
DEPTH_LIMIT: int

STOPPED: str

def dunders_in(message: dict[str, Any]) -> dict[str, Any]: ...
def named(chunks: Sequence[dict[str, Any]], message: dict[str, Any]) -> tuple[Any, Any, Any]: ...

class Failhard(Exception): ...
class Stopped(BaseException): ...

class Engine:
    loaders: Loaders
    opts: dict[str, Any]
    running: dict[str, dict[str, Any]]
    checks: dict[str, dict[str, Any]]
    graph: Graph
    details: dict[str, Any]
    keeper: Any
    dunders: dict[str, Any]
    chunks: list[dict[str, Any]]
    def __init__(
        self,
        loaders: Loaders,
        on_start: Callable[..., None] | None = None,
        on_done: Callable[..., None] | None = None,
        collect_grains: Callable[[], dict[str, Any]] | None = None,
        jobs: Jobs | None = None,
        mock: bool = False,
        on_event: Callable[..., None] | None = None,
        reactions: Reactions | None = None,
        stopping: Callable[[], bool] | None = None,
        detail: bool = False,
        keeper: Any = None,
        looks: Any = None,
        dunders: dict[str, Any] | None = None,
    ) -> None: ...
    @property
    def test(self) -> bool: ...
    def run(
        self,
        chunks: Iterable[dict[str, Any]],
        declared: Sequence[str] | None = None,
        groups: Sequence[Sequence[str]] = (),
        only: Collection[str] | None = None,
        done: dict[str, dict[str, Any]] | None = None,
    ) -> dict[str, dict[str, Any]]: ...
    def listeners(self) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]: ...
    def start_parallel(self, low: dict[str, Any], function: Callable[[], Any]) -> dict[str, Any] | None: ...
