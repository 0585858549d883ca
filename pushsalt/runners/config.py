"""The controller's configuration. Salt: ``salt/runners/config.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pushsalt.runners.salt import cmd
from thin.utils.data import traverse_dict_and_list

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run

_MISSING: Final = object()


def get(run: Run, key: str, default: Any = "", delimiter: str = ":") -> Any:
    """Return an option, or a value inside of it (``file_roots:base``). Secrets are hidden.

    If the value is an ``sdb://`` URI, what it refers to is returned.
    """
    value = traverse_dict_and_list(dict(run.client.project.config.opts), key, _MISSING, delimiter=delimiter)
    if isinstance(value, str) and value.startswith("sdb://"):
        return cmd(run, "sdb.get", value)
    return default if value is _MISSING else value
