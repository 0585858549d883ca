from collections.abc import Mapping, Sequence
from typing import Any

from thin.requisites import Graph

def standing(
    graph: Graph, chunks: Sequence[dict[str, Any]], done: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]: ...
