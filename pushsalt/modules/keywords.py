"""Finds the names that a shipped state function may read from its ``**kwargs``, in the text of its source.

The source is the module's files, their imports of ``thin``, and the execution modules that they call. Nothing is
executed, and files are only read if an argument is used that no function declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from pushsalt.compile.source import Keywords
from pushsalt.modules.declared import marked, named
from thin import runtime

_TEXT: Final = re.compile(r"""["']([A-Za-z_]\w*)["']""")
#: ``"pkg.install"``, and ``"pkg." + action``
_CALLED: Final = re.compile(r"""["']([a-z]\w*)\.\w*["']""")
#: ``"connection_" + name``
_PREFIX: Final = re.compile(r"""["'](\w{5,}_)["'] \+ """)
_HEADER: Final = re.compile(r"^ *def (\w+)\((.*?)\)\s*:", re.MULTILINE | re.DOTALL)
_ARGUMENT: Final = re.compile(r"(?:^|,)\s*\*{0,2}(\w+)")
_KNOWN: Final = "__known_arguments__"
_IMPORT: Final = re.compile(r"^ *from (thin[\w.]*) import (\([^)]*\)|[\w, ]+)", re.MULTILINE)


@cache
def keywords(module: str) -> Keywords:
    """The names that functions of a state module may accept in addition to their declared arguments."""
    files = [f"thin.states.{name}" for name in runtime.virtual_index("states").get(module, ())]
    texts = [runtime.source(name) for name in files]
    index = runtime.virtual_index("modules")
    called = {module, *(name for text in texts for name in _CALLED.findall(text))}
    texts_called = [
        runtime.source(f"thin.modules.{name}") for virtual in sorted(called) for name in index.get(virtual, ())
    ]
    own = frozenset(name for text in texts for name in _declared(text, public=True))
    of_called = frozenset(name for text in texts_called for name in _declared(text))
    helpers = [text for name in _imported([*texts, *texts_called]) for text in _source(name)]
    every = (*texts, *texts_called, *helpers)
    words = frozenset(word for text in every for word in _TEXT.findall(text))
    prefixed = frozenset(
        prefix + word for text in every for prefix in set(_PREFIX.findall(text)) for word in _TEXT.findall(text)
    )
    return Keywords(own, own | of_called, own | of_called | words, prefixed, frozenset(called))


@cache
def data_keywords(module: str) -> Keywords | None:
    """The names in ``__known_arguments__`` of a module whose functions accept any; None without that declaration."""
    files = runtime.virtual_index("states").get(module, ())
    names = frozenset(word for name in files for word in named(runtime.source(f"thin.states.{name}"), _KNOWN))
    return Keywords(names=names, data=True) if names else None


def takes_anything(module: str, function: str) -> bool:
    """Whether a function's arguments are arbitrary data (``__any_arguments__`` in its file)."""
    for name in runtime.virtual_index("states").get(module, ()):
        functions = marked(runtime.source(f"thin.states.{name}"), "__any_arguments__")
        if function in functions:
            return True
    return False


def _declared(text: str, public: bool = False) -> Iterator[str]:
    for name, header in _HEADER.findall(text):
        if not (public and name.startswith("_")):
            yield from _ARGUMENT.findall(header)


def _imported(texts: list[str]) -> list[str]:
    imports = set()
    for text in texts:
        for package, names in _IMPORT.findall(text):
            imports |= {
                package,
                *(f"{package}.{name.strip()}" for name in names.strip("()").split(",") if name.strip()),
            }
    return sorted(imports)


def _source(name: str) -> Iterator[str]:
    try:
        yield runtime.source(name)
    except (OSError, KeyError, ImportError):
        return
