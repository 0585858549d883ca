"""A digest of the code of thin that a case examines: a case whose digest differs from the record is compared again.

The code consists of the modules whose functions the case covers, the execution modules that they call, and their
imports. Comments, docstrings and blank lines do not count. Neither does the engine, on which all cases would depend.
"""

from __future__ import annotations

import functools
import hashlib
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from pushsalt.bundle import contents, pack
from tests.differential.casefiles import Case
from thin import runtime

#: a call of another module, as modules write it
_CALLED = re.compile(r"""__salt__\[["']([\w]+)\.""")
#: grains of the machines of the comparison; a provider for other systems names them in ``__fits__``
_MACHINE = {"os_family": "Debian", "kernel": "Linux", "init": "systemd"}
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}


def files(case: Case) -> list[str]:
    """The files of thin that the case depends on, by their names in the archive (``thin/states/host.py``)."""
    return sorted(_closure(*_modules(case)))


def digest(case: Case) -> str:
    """The digest for the record."""
    return _digest(*_modules(case))


def _modules(case: Case) -> tuple[str, frozenset[str]]:
    """The kind and the names of the modules that a case examines."""
    names = {function.split(".")[0] for function in [*case.covers, *(call.fun for call in case.call)]}
    return "modules" if case.call else "states", frozenset(names)


@functools.cache
def _digest(kind: str, names: frozenset[str]) -> str:
    result = hashlib.sha256()
    for name in sorted(_closure(kind, names)):
        result.update(f"{name}\0{_meaning(name)}\n".encode())
    return result.hexdigest()[:12]


@functools.cache
def _closure(kind: str, names: frozenset[str]) -> frozenset[str]:
    files = {file for name in names for file in _providers(kind, name)}
    called = {name for file in files for name in _CALLED.findall(_text(file))}
    closure = files | {file for name in called for file in _providers("modules", name)}
    queue = list(closure)
    while queue:
        new = _imports(queue.pop()) - closure
        closure |= new
        queue += new
    return frozenset(closure)


@functools.cache
def _providers(kind: str, name: str) -> frozenset[str]:
    """The files that provide a module of that name on the machines of the comparison."""
    stems = runtime.virtual_index(kind).get(name, [name])
    return frozenset(f"thin/{kind}/{stem}.py" for stem in stems if _fits(kind, stem) and _exists(kind, stem))


def _fits(kind: str, stem: str) -> bool:
    fits = runtime.fits(kind).get(stem)
    compared = {grain: values for grain, values in (fits or {}).items() if grain in _MACHINE}
    return not compared or any(_MACHINE[grain] in values for grain, values in compared.items())


def _exists(kind: str, stem: str) -> bool:
    return (pack.THIN / kind / f"{stem}.py").is_file()


@functools.cache
def _imports(file: str) -> set[str]:
    return {name for name in contents.imports(_text(file)) if (pack.THIN.parent / name).is_file()}


@functools.cache
def _text(file: str) -> str:
    return Path(pack.THIN.parent, file).read_text(encoding="utf-8")


@functools.cache
def _meaning(file: str) -> str:
    return meaning(_text(file))


def meaning(text: str) -> str:
    """The Python text without comments, docstrings and empty lines, identical for every Python version."""
    return "".join("".join(_tokens(text)).split())  # Python 3.12 has other tokens for f-strings


def _tokens(text: str) -> Iterator[str]:
    statement: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.INDENT, tokenize.DEDENT):
            yield tokenize.tok_name[token.type]
        elif token.type == tokenize.NEWLINE:
            if [part.type for part in statement] != [tokenize.STRING]:  # a docstring
                yield from (part.string for part in statement)
                yield "NEWLINE"
            statement = []
        elif token.type not in _LAYOUT:
            statement.append(token)
