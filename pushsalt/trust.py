"""Two levels of trust in text.

``Trusted`` is text of the operator: a file of the file roots, the pillar roots or a configured git remote, a named
roster file, or arguments of the command line. Only such text may use all renderers.

``Foreign`` is other text: sent by a target, or made by a template from values. It may only use Jinja, YAML and JSON
(``DATA_ENGINES``); text from a target is also rendered in a process that has only that target's data
(docs/adr/0005-rendering-processes.md).

For files of a git remote, the option ``renderers`` limits the trust (``limit``).

The type is set where a text enters the program, and never guessed from its content: a slice, a sum or a rendered result
of a trusted text is a plain ``str``, which renderers refuse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NoReturn

#: Renderers for text that is not a file of the operator: none of them runs Python code of the text.
DATA_ENGINES: Final = frozenset({"jinja", "yaml", "json"})


#: The renderer of plain Python. A source that may use it may also have plug-ins of the controller.
PYTHON: Final = "py"


@dataclass(frozen=True)
class Limit:
    """The only renderers that files of one source may use. ``source``: the source in words for people, such as a git
    remote.
    """

    engines: frozenset[str]
    source: str

    @property
    def runs_python(self) -> bool:
        """Whether Python code of the source may run on the controller: its renderers, external pillars, functions."""
        return PYTHON in self.engines

    def hint(self, name: str) -> str:
        """A hint for people: how to allow one more renderer."""
        engines = ", ".join(sorted(self.engines)) or "none"
        return f"if this machine may run its code, add {name} to `renderers` of {self.source} (allowed now: {engines})"


class Trusted(str):
    """Text of the operator. ``origin``: the file, or another description. ``limit``: the limit of its source."""

    __slots__ = ("limit", "origin")

    limit: Limit | None
    origin: str

    def __new__(cls, text: str, origin: str, limit: Limit | None = None) -> Trusted:
        self = super().__new__(cls, text)
        self.limit = limit
        self.origin = origin
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("trusted text cannot be pickled: the receiving process decides about trust")


class Foreign(str):
    """Text of other origin, described by ``origin``."""

    __slots__ = ("origin",)

    origin: str

    def __new__(cls, text: str, origin: str) -> Foreign:
        self = super().__new__(cls, text)
        self.origin = origin
        return self


#: The types that may be rendered; the type decides which renderers are allowed.
Template = Trusted | Foreign


def engines_for(text: Template) -> frozenset[str] | None:
    """The allowed renderers for a text; None: all that the configuration allows.

    Raises TypeError for a plain ``str``, whose origin is unknown.
    """
    if isinstance(text, Trusted):
        return None if text.limit is None else text.limit.engines
    if isinstance(text, Foreign):
        return DATA_ENGINES
    raise TypeError(f"neither trusted nor foreign text: {type(text).__name__}")


def limit_of(source: object) -> Limit | None:
    """The limit of a text, or of a file that a file server found; None without one, as with users' own backends."""
    limit = getattr(source, "limit", None)
    return limit if isinstance(limit, Limit) else None


def may_run_on_controller(file: object) -> bool:
    """Whether a file that is Python may be run on the controller."""
    limit = limit_of(file)
    return limit is None or limit.runs_python
