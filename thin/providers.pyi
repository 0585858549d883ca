from collections.abc import Callable
from typing import Any

from thin.loader import Loader

def provide(
    loader: Loader, virtual: str, name: str, public: Callable[[dict[str, Any]], dict[str, Callable[..., Any]]]
) -> Callable[[], None]: ...
