from collections.abc import Callable, Sequence
from typing import Any

def call(
    function: Callable[..., Any],
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    opts: dict[str, Any],
    cli: bool = False,
    jid: str = "",
) -> Any: ...
