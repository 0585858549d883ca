"""What functions do. Salt: ``salt/runners/doc.py``."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from pushsalt import plugins
from pushsalt.runners.salt import cmd

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def runner(run: Run) -> dict[str, str]:
    """Runner functions, users' own too, with their descriptions."""
    opts = run.client.project.config.opts
    folders = plugins.folders("runners", opts)
    docs: dict[str, str] = {}
    for module in sorted(plugins.names("runners", folders)):
        loaded = plugins.load("runners", module, folders, {"__opts__": dict(opts), "__salt__": {}, "__context__": {}})
        public = getattr(loaded, "__func_alias__", {})
        for name, function in inspect.getmembers(loaded, inspect.isfunction):
            if not name.startswith("_") and function.__module__ == loaded.__name__:
                docs[f"{module}.{public.get(name, name)}"] = inspect.getdoc(function) or ""
    return docs


def execution(run: Run) -> Any:
    """Execution functions that the controller has, with their descriptions."""
    return cmd(run, "sys.doc")


def wheel(run: Run) -> dict[str, str]:
    """Wheel functions that have a meaning here."""
    ids = "the ids of the inventory, as accepted keys"
    return {"key.list_all": f"Lists {ids}.", "key.list": f"Lists {ids} of one kind."}
