"""Errors of calls that do not come to anything: of functions that there are not, and of those that raise here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pushsalt.errors import FunctionError
from pushsalt.minion.salt import shared
from thin import runtime


def unknown_function(name: str, nearest: Sequence[str] = (), more: Iterable[str] = ()) -> FunctionError:
    """The error of a function that does not exist; ``more`` are names besides those of pushsalt's own."""
    import difflib

    from pushsalt.modules.controller import names

    near = list(nearest) or difflib.get_close_matches(name, {*names(), *shared(), *all_remote(), *more}, n=3)
    hint = f"nearest: {', '.join(near)}" if near else "`pushsalt run TARGET sys.list_functions` lists what there is"
    return FunctionError("unknown_function", f"'{name}' is not available.", hint, "CommandExecutionError")


def all_remote() -> set[str]:
    """The names of all functions that targets have, read from their code without loading it."""
    found = set()
    for module, files in runtime.virtual_index("modules").items():
        for file in files:
            found |= {
                f"{module}.{name}" for name in runtime.code(f"thin.modules.{file}").co_names if not name.startswith("_")
            }
    return found


def raised(name: str, exc: BaseException) -> FunctionError:
    """The error of a function that raised on the controller."""
    own = type(exc).__name__
    text = str(exc) or own
    if isinstance(exc, (LookupError, AttributeError, TypeError)):  # Python's own words: a key, a name
        text = f"{own}: {text}"
    return FunctionError("exception", f"{name}: {text}", "run again with -l debug to see where", own)
