"""Finds misspelt and unused arguments of state functions that accept any argument (``**kwargs``).

``Keywords`` has the names that a function declares or reads. An argument that neither the function nor the state system
has is misspelt if it resembles a known name; with ``unles``, for example, a command would run without its condition. A
function that takes any data, and the template of a file, which gets all arguments, may use any name: there an argument
is only reported if its name resembles that of a condition or a requisite, and its value is possible for one. Functions
that pushsalt does not ship are not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pushsalt.compile.source import ArgSpec, StateFunctions
from pushsalt.compile.words import REQUISITE_LISTS, RUNTIME_KEYWORDS
from pushsalt.model import Chunk
from pushsalt.nearest import misspelt, squeezed

#: Levels of the check: ``near`` refuses arguments that resemble a known one, ``error`` all unknown ones.
STRICT: Final = ("error", "near", "warn", "off")
#: Arguments of every state, for suggestions.
GLOBAL: Final = frozenset(
    {
        *(word for word in RUNTIME_KEYWORDS if not word.startswith("__") and word not in ("state", "fun")),
        *("name", "names", "provider"),
    }
)
#: Other names that have a meaning, though they are not arguments of a function.
_UNSAID: Final = frozenset({"name_order", "env", "force_reload_modules"})
_REQUISITES: Final = frozenset(
    {*REQUISITE_LISTS, *(word for word in GLOBAL if word.endswith("_in"))} - {"prerequired", "onfail_stop"}
)
_GUARDS: Final = frozenset({"unless", "onlyif", "creates", "check_cmd"})


@dataclass(frozen=True)
class Unknown:
    """An unknown argument. ``near``: the known name that it resembles, or ""; ``level``: error or warning."""

    name: str
    near: str
    level: str

    @property
    def rule(self) -> str:
        if not self.near:
            return "unused-argument"
        return "misspelt-requisite" if self.near in _REQUISITES else "misspelt-argument"


class ArgumentCheck:
    """Checks all chunks of a run, which may refer to each other."""

    def __init__(self, chunks: Sequence[Chunk], functions: StateFunctions, strict: str = "near") -> None:
        self._functions = functions
        self._strict = strict if strict in STRICT else "near"
        self._chunks = chunks
        self._there: tuple[set[str], set[str]] | None = None

    def unknown(self, chunk: Chunk, full: str, spec: ArgSpec) -> Iterator[Unknown]:
        """The unknown arguments of a chunk whose function accepts any argument."""
        if self._strict == "off" or not spec.kwargs or not spec.ours:
            return
        names = [
            key
            for key in chunk
            if not (key in spec.args or key in GLOBAL or key in RUNTIME_KEYWORDS or key in _UNSAID)
            and isinstance(key, str)
            and not key.startswith("__")
        ]
        for name in names:
            answer = self._judged(chunk, name, full, spec)
            if answer:
                near, level = answer
                yield Unknown(name, near, {"error": "error", "warn": "warning"}.get(self._strict, level))

    def _judged(self, chunk: Chunk, name: str, full: str, spec: ArgSpec) -> tuple[str, str] | None:
        keywords = self._functions.keywords(full)
        if keywords is None or name not in keywords.called:
            near = _near_condition(name)
            if near and self._looks_like(near, name, chunk[name]):
                return near, "error"
        if keywords is None or is_context(chunk):
            return None
        if keywords.data:
            near = "" if name in keywords.names else misspelt(name, {*keywords.names, *spec.args})
            return (near, "error") if near else None
        if keywords.has(name):
            near = misspelt(name, spec.args) if name in keywords.siblings else ""
            return (near, "warning") if near else None
        near = misspelt(name, {*spec.args, *keywords.siblings, *GLOBAL, *keywords.prefixed})
        if not near:  # arguments of modules that the state calls
            return misspelt(name, keywords.called - keywords.siblings), "warning"
        # `make_dirs`, `runAs`: formulas contain such names, which have no effect; the states work
        return near, "warning" if squeezed(name) == squeezed(near) else "error"

    def _looks_like(self, near: str, name: str, value: Any) -> bool:
        """Whether a value is possible for the condition or requisite ``near``."""
        if near in _REQUISITES:
            return isinstance(value, list) and bool(value) and all(self._is_reference(item) for item in value)
        texts = value if isinstance(value, list) else [value]
        if near == "creates":
            return name not in ("create", "created") and all(isinstance(text, str) and "/" in text for text in texts)
        return bool(texts) and all(
            isinstance(text, str | bool) or (isinstance(text, Mapping) and "fun" in text) for text in texts
        )

    def _is_reference(self, item: Any) -> bool:
        """Whether an item of a list names a state: ``pkg: nginx``, or an existing ID."""
        if self._there is None:
            ids = {str(chunk.get(key)) for chunk in self._chunks for key in ("__id__", "name")}
            self._there = ids, {"id", "sls", *(str(chunk["state"]) for chunk in self._chunks)}
        ids, modules = self._there
        if isinstance(item, Mapping):
            return len(item) == 1 and str(next(iter(item))).partition(".")[0] in modules
        return isinstance(item, str) and item in ids


def _near_condition(name: str) -> str:
    """The condition or requisite that a name resembles, or an empty text.

    Words with another first letter are others, unless it is missing, doubled or swapped with the next one.
    """
    for word in sorted(_GUARDS | _REQUISITES):
        if name != word and squeezed(name) == squeezed(word):
            return word
    near = misspelt(name.lower(), _GUARDS | _REQUISITES)
    begins = {near[:1] + near[:1], near[1:2] + near[:1], near[1:3]} if near else set()
    return near if near and (near[0] == name[0].lower() or name[:2].lower() in begins) else ""


def is_context(chunk: Chunk) -> bool:
    """Whether the arguments of a chunk are variables of its template. Salt: file.get_managed."""
    return chunk["state"] == "file" and chunk["fun"] in ("managed", "recurse") and bool(chunk.get("template"))
