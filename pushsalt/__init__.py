"""pushsalt: an agentless, Salt-compatible SSH push orchestrator.

The runtime for targets is the package ``thin``, of which the controller imports some parts. In a checkout it is the
folder beside this one. A wheel has it in ``_runtime``, so that it does not conflict with other packages of that name.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

# typing, and names in annotations, are not imported, since small processes import this package too
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__version__ = "0.1.0"


class _RuntimeFinder:
    """Finds the ``thin`` of this pushsalt, before others on the path."""

    def __init__(self) -> None:
        package = os.path.dirname(os.path.realpath(__file__))  # noqa: PTH120
        inside = os.path.join(package, "_runtime")  # noqa: PTH118
        self._folder = inside if os.path.isdir(inside) else os.path.dirname(package)  # noqa: PTH112, PTH120

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [self._folder]) if name == "thin" else None


sys.meta_path.insert(0, _RuntimeFinder())
