"""The execution functions of the controller, and ``Lowstate``, the return of those that run states.

They are the public functions of the modules in ``pushsalt/functions``, one file per Salt module, which are imported on
first use.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from pushsalt.model import Chunk

_PACKAGE: Final = "pushsalt.functions"
_FOLDER: Final = Path(__file__).parent.parent / "functions"
#: Names that are Python keywords, as in Salt's ``__func_alias__``: the function's name ends with "_".
_KEYWORDS = frozenset({"apply", "id", "list", "set", "type"})


Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass
class Lowstate:
    """Chunks to run, in order, and the mode.

    ``declared``  tags of all chunks in the order in which they were written; None: the order of ``chunks``
    ``groups``    tags of chunks that can be aggregated (``mod_aggregate``), group by group
    ``only``      tags of the wanted chunks; others run only if these require them; None: all are wanted
    ``disabled``  tag -> return, for functions that ``state.disable`` forbids
    ``bare``      the function returns the return of the only chunk, not a dict of returns by tag
    ``mock``      no state function is called: the engine only evaluates requisites
    ``done``      a function on the controller that processes the returns of the run
    """

    chunks: list[Chunk]
    test: bool = False
    declared: list[str] | None = None
    groups: list[list[str]] = field(default_factory=list)
    only: list[str] | None = None
    disabled: dict[str, dict[str, Any]] = field(default_factory=dict)
    bare: bool = False
    mock: bool = False
    done: Callable[[dict[str, Any]], object] | None = None


#: It needs data that render processes lack (inventory, other targets, credentials) and runs in the command's process.
FOR_COMMAND: Final = "for_command"
#: It runs states: two such functions must not run concurrently on a target.
RUNS_STATES: Final = "runs_states"
#: It returns state returns by tag.
RETURNS_STATES: Final = "returns_states"
#: A target may call it during its run: it only renders and compiles, and does not call the target.
FOR_TARGETS: Final = "for_targets"
#: It also returns a pillar with errors, with the key ``_errors``.
COMPILES_PILLAR: Final = "compiles_pillar"


def trait(*names: str) -> Callable[[Function], Function]:
    """Marks a function of the controller with traits, at its definition."""

    def mark(function: Function) -> Function:
        for name in names:
            setattr(function, name, True)
        return function

    return mark


for_command = trait(FOR_COMMAND)
for_targets = trait(FOR_TARGETS)
runs_states = trait(RUNS_STATES)
returns_states = trait(RUNS_STATES, RETURNS_STATES)
compiles_pillar = trait(COMPILES_PILLAR)


def is_for_command(function: Callable[..., Any]) -> bool:
    """Whether only the command can answer this function."""
    return bool(getattr(function, FOR_COMMAND, False))


def is_recorded(name: str, function: Callable[..., Any]) -> bool:
    """Whether a shipped module has this function in ``__recorded__`` (pushsalt.modules.declared)."""
    module = sys.modules.get(function.__module__)
    return name.partition(".")[2] in getattr(module, "__recorded__", ())


def has_trait(name: str, trait: str) -> bool:
    """Whether the shipped function of this name has this trait."""
    return bool(getattr(function_named(name), trait, False))


@cache
def modules() -> frozenset[str]:
    """Names of the modules in this folder."""
    return frozenset(path.stem for path in _FOLDER.glob("*.py") if not path.name.startswith("_"))


def source_of(module: str) -> str:
    """The text of one of these modules."""
    return (_FOLDER / f"{module}.py").read_text("utf-8")


def function_named(name: str) -> Callable[..., Any] | None:
    """The function of this name, or None; its first argument is the Minion."""
    module, _, function = name.partition(".")
    if module not in modules() or function.startswith("_"):
        return None
    named = getattr(
        importlib.import_module(f"{_PACKAGE}.{module}"), function + "_" if function in _KEYWORDS else function, None
    )
    own = inspect.isfunction(named) and named.__module__ == f"{_PACKAGE}.{module}"
    return named if own else None


def names() -> list[str]:
    """The names of all functions, as ``module.function``, sorted."""
    functions = []
    for module in modules():
        loaded = importlib.import_module(f"{_PACKAGE}.{module}")
        for name, value in vars(loaded).items():
            if inspect.isfunction(value) and value.__module__ == loaded.__name__ and not name.startswith("_"):
                functions.append(f"{module}.{name.rstrip('_')}")
    return sorted(functions)
