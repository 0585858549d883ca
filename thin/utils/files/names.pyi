from collections.abc import Mapping
from typing import Any

RESERVED: tuple[str, ...]

def template_names(
    name: Any, source: Any, user: Any, group: Any, mode: Any, attrs: Any, extra: Mapping[str, Any]
) -> dict[str, Any]: ...
