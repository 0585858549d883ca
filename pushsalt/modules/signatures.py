"""The signatures of state functions of all platforms, read from their source without executing it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from pushsalt.compile.source import ArgSpec, Keywords
from pushsalt.modules import effects
from pushsalt.modules.definitions import ANYTHING, defined
from pushsalt.modules.effects import Effect
from thin import folder, runtime

if TYPE_CHECKING:
    from pushsalt.modules.custom import CustomModules
    from pushsalt.modules.saltpython import SaltPython


class StateFunctions:
    """The state functions: users' own first, then those of ``thin/states/``, then those of real Salt.

    If several files have one virtual name, all their arguments are accepted. For a ``resource`` of a type, the type's
    states come first, and are the only ones unless states run ``inside`` of it.
    """

    def __init__(
        self,
        custom: CustomModules | None = None,
        salt: SaltPython | None = None,
        resource: str = "",
        inside: bool = False,
    ) -> None:
        self._custom = custom
        self._salt = salt
        self._type = of_type("states", resource, custom) if resource else {}
        self._alone = bool(resource) and not inside
        #: the reason for a restricted set of functions, for messages; else ""
        self.limits = f"a resource of type {resource} has only the states of its type" * self._alone

    def spec(self, name: str) -> ArgSpec | None:
        """The arguments of ``module.function``; None if no file defines it."""
        module, _, function = name.partition(".")
        for text in self._type.get(module, ()):
            spec = _lookup(defined(text), function)
            if spec or _mentions(text, function):
                return spec or ANYTHING
        if self._alone:
            return None
        for one in self._custom.called("states", module) if self._custom else ():
            spec = _lookup(defined(one.text), function)
            if spec or one.mentions(function):
                return spec or ANYTHING
        spec = _lookup(_functions(module), function)
        return spec if spec or self._salt is None else self._salt.spec("states", name)

    def keywords(self, name: str) -> Keywords | None:
        """The names that a shipped function with ``**kwargs`` may use; None if any name must be accepted.

        None also for functions that may pass their arguments to a user's module.
        """
        from pushsalt.modules.keywords import data_keywords, keywords, takes_anything

        module, _, function = name.partition(".")
        if takes_anything(module, function):
            return data_keywords(module)
        names = keywords(module)
        theirs = self._custom is not None and any(self._custom.called("modules", one) for one in names.modules)
        return None if theirs else names

    def names(self) -> Iterable[str]:
        """Every ``module.function``."""
        for module, function in self._all():
            if not function.startswith("_") and not function.startswith("mod_"):
                yield f"{module}.{function.rstrip('_')}"

    def _all(self) -> Iterator[tuple[str, str]]:
        for module, texts in self._type.items():
            yield from ((module, function) for text in texts for function in defined(text))
        if self._alone:
            return
        if self._custom:
            for module in self._custom.virtual_names("states"):
                for one in self._custom.called("states", module):
                    yield from ((module, function) for function in defined(one.text))
        for module in sorted(runtime.virtual_index("states")):
            yield from ((module, function) for function in sorted(_functions(module)))


def of_type(kind: str, resource: str, custom: CustomModules | None = None) -> dict[str, list[str]]:
    """Virtual name -> texts of the files of a kind (``modules``, ``states``) of a resource type."""
    package = f"thin.resources.{resource}.{kind}"
    files = {name.rpartition(".")[2]: runtime.source(name) for name in runtime.names(package)}
    own = custom.by_kind["resources"].get(resource) if custom else None
    files.update(own.of_type(kind) if own else {})
    index = folder.index(files.items())
    return {virtual: [files[name] for name in names] for virtual, names in index.items()}


class TypeFunctions:
    """The execution functions of a type of resources; empty if the type does not exist."""

    def __init__(self, resource: str, custom: CustomModules | None = None) -> None:
        self._files = of_type("modules", resource, custom) if resource else {}

    def has(self, name: str) -> bool:
        """Whether ``module.function`` may be a function of the type."""
        module, _, function = name.partition(".")
        return any(_mentions(text, function) for text in self._files.get(module, ()))

    def effect(self, name: str) -> Effect | None:
        """The effect of ``module.function`` in the type's file, which may be unknown; None if the type does not have
        it."""
        module, _, function = name.partition(".")
        where = f"modules/{module}.py of the resource type"
        return effects.theirs(((where, text) for text in self._files.get(module, ())), function)


def _mentions(text: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text) is not None


def _lookup(functions: dict[str, ArgSpec], name: str) -> ArgSpec | None:
    return functions.get(name) or functions.get(name + "_")


@cache
def _functions(module: str) -> dict[str, ArgSpec]:
    specs: dict[str, ArgSpec] = {}
    for name in runtime.virtual_index("states").get(module, ()):
        specs.update(defined(runtime.source(f"thin.states.{name}"), ours=True))
    return specs
