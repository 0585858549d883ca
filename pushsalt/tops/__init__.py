"""Top data from elsewhere (Salt's ``master_tops``): one file per source, named like the key in the configuration.

::

    master_tops:
      ext_nodes: /usr/local/bin/classify

A source has ``top(**kwargs)``, as Salt's have, so that users' own work unchanged. It gets ``opts`` (the controller's
with the target's over them) and ``grains``, and returns ``{saltenv: [SLS, …]}``, an empty mapping or None. Users' own,
from ``_tops`` folders, have Salt's ``__opts__``, ``__grains__``, ``__salt__`` and ``__pillar__`` as globals, and may
have a ``__virtual__``. A function with the parameter ``outside`` gets an ``Outside``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pushsalt import plugins
from pushsalt.errors import ConfigError, StateError
from pushsalt.ext_pillar import Outside, SourceFunctions
from thin.utils.dictupdate import merge


class Top(Protocol):
    """The function of a source. Its exceptions become errors of the target."""

    def __call__(self, **kwargs: Any) -> Mapping[str, Sequence[str]] | None: ...


def top_data(names: Mapping[str, Any], folders: Sequence[Path], outside: Outside) -> dict[str, list[str]]:
    """The merged results of all sources of ``master_tops`` for a target; lists of one saltenv are joined.

    Raises StateError with an error for each source that fails; Salt logs the error and continues without its states.
    """
    merged: dict[str, list[str]] = {}
    errors = []
    for name in names:
        try:
            data = _call(name, folders, outside)
            if data:
                merged = merge(merged, _checked(data), "recurse", merge_lists=True)
        except (Exception, SystemExit) as exc:  # a plug-in may raise anything; the other sources are still called
            more = f"; {exc.hint}" if isinstance(exc, ConfigError) and exc.hint else plugins.blamed(exc)
            errors.append(f"Top function {name} failed for minion {outside.context.id}: {exc}{more}")
    if errors:
        raise StateError(errors)
    return merged


def _call(name: str, folders: Sequence[Path], outside: Outside) -> Any:
    globals_ = outside.context.dunders(str(outside.opts.get("saltenv") or "base"), "")
    globals_.update(__opts__=outside.opts, __salt__=SourceFunctions(outside))
    module = plugins.load_virtual("tops", name, folders, globals_)
    if module is None and any(plugins.own_files(name, folders)):  # its ``__virtual__`` returned false
        return None
    function: Top = (module or plugins.load("tops", name, folders)).top
    kwargs: dict[str, Any] = {"opts": outside.opts, "grains": outside.context.grains}
    if "outside" in inspect.signature(function).parameters:
        kwargs["outside"] = outside
    return function(**kwargs)


def _checked(data: Any) -> dict[str, list[str]]:
    if not isinstance(data, Mapping) or not all(isinstance(names, list | tuple) for names in data.values()):
        raise TypeError(f"it returned {data!r:.80}, not a mapping of saltenvs to lists of SLS")
    return {str(env): [str(name) for name in names] for env, names in data.items()}
