"""Rosters made by users' code (Salt's ``roster`` modules): one file each, selected by the option ``roster``.

A roster has ``targets(tgt, tgt_type="glob", **kwargs)`` as in Salt, and returns ``{id: {host: …, user: …}}``, with the
settings of a salt-ssh roster. It is called once per command, with ``*``: expressions are evaluated here. Its globals
are Salt's ``__opts__`` (the configuration), ``__salt__`` with ``cmd.*`` of the controller, and ``__utils__`` with
``roster_matcher.targets``. Its result is treated like the output of a program: data about machines. None is shipped:
rosters that are files are recognized by their content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from pushsalt import plugins
from pushsalt.errors import ConfigError, InventoryError, Position
from pushsalt.plugincommands import commands
from pushsalt.render.context import RunProgram

#: Salt's rosters that are files, which are recognized by their content.
OF_FILES: Final = ("flat", "ansible", "dir", "sshconfig", "terraform")


class Roster(Protocol):
    """The module contract."""

    def targets(self, tgt: str, tgt_type: str = "glob", **kwargs: Any) -> Mapping[str, Any]: ...


def hosts_of(name: str, opts: Mapping[str, Any], run: RunProgram) -> tuple[Path, dict[str, Any]]:
    """The file of a roster, and its hosts. Raises ConfigError or InventoryError."""
    dunders: dict[str, Any] = {
        "__opts__": opts,
        "__salt__": commands(run),
        "__utils__": {"roster_matcher.targets": _matched},
        "__grains__": {},
        "__pillar__": {},
        "__context__": {},
        "__runner__": {},
    }
    folders = plugins.folders("roster", opts)
    module: Any = plugins.load_virtual("roster", name, folders, dunders)
    if module is None:
        if any(plugins.own_files(name, folders)):
            raise ConfigError(f"the roster {name} cannot be used: __virtual__ returned false", "see the option roster")
        module = plugins.load("roster", name, folders, dunders)
    try:
        hosts = module.targets("*", "glob")
    except (Exception, SystemExit) as exc:  # a user's roster may raise anything
        where = plugins.place_of(module, exc) or Position(str(module.__file__))
        text = f"the roster {name} fails: {type(exc).__name__}: {exc}"
        raise InventoryError(text, hint="correct the roster, or what it asks", where=where) from exc
    if not isinstance(hosts, Mapping):
        text = f"the roster {name} returns {hosts!r:.80}, not a mapping of ids to settings"
        raise InventoryError(text, "docs/extending.md has an example", Position(str(module.__file__)))
    return Path(module.__file__), dict(hosts)


def names_of(option: Any) -> tuple[str, ...]:
    """The roster plug-ins that the option ``roster`` names (text with commas, or a list); files are left out."""
    words: Sequence[Any] = option.split(",") if isinstance(option, str) else option or ()
    return tuple(name for word in words if (name := str(word).strip()) and name not in OF_FILES)


def _matched(conditioned_raw: Mapping[str, Any], tgt: str, tgt_type: str, ipv: str = "ipv4") -> dict[str, Any]:
    """``salt.utils.roster_matcher.targets``, which returns all hosts here."""
    return dict(conditioned_raw)
