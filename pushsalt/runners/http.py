"""Requests by HTTP from the controller. Salt: ``salt/runners/http.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError
from pushsalt.runners.salt import cmd

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def query(run: Run, url: str, output: bool = True, **kwargs: Any) -> Any:
    """What ``http.query`` of an execution module returns for this URL; without ``output`` None."""
    if not isinstance(output, bool):
        raise FunctionError("exception", "Output must be a Boolean", "", "SaltException")
    response = cmd(run, "http.query", url, **kwargs)
    return response if output else None


def update_ca_bundle(run: Run, target: Any = None, source: Any = None, merge_files: Any = None) -> Any:
    """Download a bundle of CA certificates to the controller; without ``target`` in place of the system's."""
    return cmd(run, "http.update_ca_bundle", target=target, source=source, merge_files=merge_files)
