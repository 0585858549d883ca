"""Functions that run on the controller: ours (``pushsalt.functions``), and users' own (Salt's ``_wrapper``).

A user's function gets the caller's arguments only, and the dunders of the target as globals; ``__salt__`` has the
functions that templates have, so a wrapper may call any function on the target. A file may define ``__virtualname__``,
``__virtual__`` and ``__func_alias__``. A function that it lacks is looked up in our module of that name. Salt:
``salt.loader.ssh_wrapper``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from pushsalt import plugins
from pushsalt.errors import ConfigError, FunctionError, PushsaltError
from pushsalt.modules import controller

if TYPE_CHECKING:
    from pushsalt.modules.effects import Effect
    from pushsalt.render import RenderContext

#: A function of the controller; its first argument is the Minion.
ControllerFunction = Callable[..., Any]
_KIND = "functions"


class ControllerFunctions:
    """The functions of one configuration. ``folders`` returns the users' folders; their code runs only when called.

    Without ``folders`` there are only pushsalt's own functions, without those of installed distributions.
    """

    def __init__(self, folders: Callable[[], Sequence[Path]] | None = None) -> None:
        self._folders = folders

    def named(self, name: str) -> ControllerFunction | None:
        """The function of this name, or None."""
        module, _, function = name.partition(".")
        if not function or function.startswith("_"):
            return None
        for file in self._files.get(module, ()):
            if _has(file, function):
                return _Wrapper(file, module, function)
        ours = controller.function_named(name)
        if ours is None and module in self._installed:
            file = self._installed[module]
            return _Wrapper(file, module, function) if _has(file, function) else None
        return ours

    def own(self, name: str) -> Path | None:
        """The user's file that defines a function; None for ours."""
        function = self.named(name)
        return function.file if isinstance(function, _Wrapper) else None

    def effect(self, name: str) -> Effect | None:
        """The declared effect of a user's function on the machine; None for ours."""
        from pushsalt.modules.effects import theirs

        file = self.own(name)
        return None if file is None else theirs([(str(file), _text(file))], name.partition(".")[2])

    def modules(self) -> set[str]:
        """The names of all modules."""
        return {*controller.modules(), *self._files, *self._installed}

    def own_names(self) -> set[str]:
        """Every ``module.function`` of the users' files that is defined with ``def``."""
        from pushsalt.modules.definitions import defined

        files = [(module, file) for module, paths in self._files.items() for file in paths]
        files += self._installed.items()
        return {
            f"{module}.{name}" for module, file in files for name in defined(_text(file)) if not name.startswith("_")
        }

    def names(self) -> list[str]:
        """Every ``module.function``, sorted."""
        return sorted({*controller.names(), *self.own_names()})

    @cached_property
    def _files(self) -> dict[str, list[Path]]:
        """Virtual name of a module -> the users' files, in the order of precedence."""
        paths: dict[str, list[Path]] = {}
        for folder in self._folders() if self._folders is not None else ():
            for name, file in _listed(folder):
                paths.setdefault(name, []).append(file)
        return paths

    @cached_property
    def _installed(self) -> dict[str, Path]:
        if self._folders is None:
            return {}
        files = {name: plugins.installed_file(_KIND, name) for name in plugins.installed(_KIND)}
        return {name: file for name, file in files.items() if file is not None}


#: Only pushsalt's own functions: for use without a configuration, and for foreign texts.
OURS = ControllerFunctions()


class WrappedTarget(Protocol):
    """The target for which a user's function is called: ``pushsalt.minion.minion.Minion``."""

    #: file -> the module, loaded with the dunders of this target
    wrappers: dict[Path, ModuleType]

    @property
    def saltenv(self) -> str: ...
    @property
    def context(self) -> RenderContext: ...


class _Wrapper:
    """A user's function, for any target."""

    def __init__(self, file: Path, module: str, function: str) -> None:
        self.file, self._module, self._function = file, module, function

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        for node in _tree(self.file).body:
            if isinstance(node, ast.FunctionDef) and node.name.rstrip("_") == self._function.rstrip("_"):
                return ast.get_docstring(node)
        return None

    def __call__(self, minion: WrappedTarget, /, *args: Any, **kwargs: Any) -> Any:
        name = f"{self._module}.{self._function}"
        module = self._loaded(minion)
        alias = {public: own for own, public in getattr(module, "__func_alias__", {}).items()}
        function = getattr(module, alias.get(self._function, self._function), None)
        if not callable(function):
            raise FunctionError("unknown_function", f"'{name}' is not available.", str(self.file), "SaltException")
        try:
            return function(*args, **kwargs)
        except PushsaltError:
            raise
        except (Exception, SystemExit) as exc:  # a user's function may raise anything
            text = f"{name}: {plugins.place_of(module, exc) or self.file}: {type(exc).__name__}: {exc}"
            raise FunctionError("exception", text, "correct the file, or the arguments", type(exc).__name__) from exc

    def _loaded(self, minion: WrappedTarget) -> ModuleType:
        """The module, loaded with this target's dunders. Raises FunctionError."""
        loaded = minion.wrappers
        if self.file not in loaded:
            name = f"{self._module}.{self._function}"
            try:
                module = plugins.load_file(_KIND, self.file, minion.context.dunders(minion.saltenv, ""))
                verdict = plugins.is_virtual(module, self._module)
            except ConfigError as exc:
                raise FunctionError("exception", str(exc), exc.hint, "CommandExecutionError") from exc
            if not verdict:
                hint = f"__virtual__ of {self.file} returned false"
                raise FunctionError("unknown_function", f"'{name}' is not available.", hint, "CommandExecutionError")
            loaded[self.file] = module
        return loaded[self.file]


def _listed(folder: Path) -> Iterator[tuple[str, Path]]:
    for file in plugins.files(folder):
        if not file.name.startswith("_"):
            yield plugins.virtual_name(file), file


def _has(file: Path, function: str) -> bool:
    """Whether a file has a function; True for a file with a syntax error, so that the call reports it."""
    from pushsalt.modules.definitions import defined

    text = _text(file)
    return function in defined(text) or not _is_python(text)


def _text(file: Path) -> str:
    return plugins.text_of(file)


def _tree(file: Path) -> ast.Module:
    try:
        return ast.parse(_text(file))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


@cache
def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
