"""Variables of Ansible's own files: ``group_vars`` and ``host_vars``, vaults, and references to other variables.

``{{ name }}`` is replaced by the host's variable: alone by its value, within a text by its text. Other Jinja is not
supported, and no template engine is used: a value with other Jinja is unchanged, and the caller leaves it out. This is
only done for the operator's own files; the output of programs is plain data.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from pushsalt import regular
from pushsalt.errors import InventoryError, Position
from pushsalt.inventory.ansibleyaml import Unsafe, Vaulted, load
from pushsalt.inventory.schema import Source
from pushsalt.inventory.vault import HEADER, Vault
from pushsalt.yamlio import YamlError

_REFERENCE: Final = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_JINJA: Final = re.compile(r"\{\{|\{%|\{#")
#: Limits: characters and values of one variable, and the length of a chain of references.
_LARGEST: Final = 65_536
_DEEPEST: Final = 50


# --- vaults ----------------------------------------------------------------------------------------------------------


def opened(variables: Mapping[Any, Any], vault: Vault, path: Path) -> dict[Any, Any]:
    """The variables with encrypted texts decrypted; names of those that cannot be are added to ``vault.left_out``."""
    contents = {}
    for name, value in variables.items():
        try:
            contents[name] = _opened(value, vault)
        except _Closed:
            vault.left_out.setdefault(path, []).append(str(name))
    return contents


class _Closed(Exception):
    """No password decrypts the text."""


def _opened(value: Any, vault: Vault) -> Any:
    if isinstance(value, Vaulted) or (isinstance(value, str) and value.startswith(HEADER)):
        text = vault.open(value.text if isinstance(value, Vaulted) else value)
        if text is None:
            raise _Closed
        vault.add_secrets(text)
        return text
    if isinstance(value, dict):
        return {key: _opened(item, vault) for key, item in value.items()}
    return [_opened(item, vault) for item in value] if isinstance(value, list) else value


# --- references ------------------------------------------------------------------------------------------------------


def refers(variables: Mapping[Any, Any]) -> bool:
    """Whether one of the variables contains braces, which may be a reference."""
    return any(_has_braces(value) for value in variables.values())


def _has_braces(value: Any) -> bool:
    if isinstance(value, str):
        return "{{" in value and not isinstance(value, Unsafe)
    if isinstance(value, dict):
        return any(map(_has_braces, value.values()))
    return isinstance(value, list) and any(map(_has_braces, value))


class _NotPlain(Exception):
    """A value cannot be computed here. The message is the reason; it is empty for Jinja other than a name."""


class References:
    """Resolves references between the variables of one host. ``encrypted``: names of those that were not decrypted."""

    def __init__(self, variables: Mapping[Any, Any], encrypted: Collection[str]) -> None:
        self._variables = variables
        self._encrypted = encrypted
        self._filled: dict[str, tuple[Any, int] | str] = {}
        self._on_the_way: list[str] = []

    def filled(self, variables: Mapping[Any, Any]) -> tuple[dict[Any, Any], dict[Any, str]]:
        """Replace references in the variables. Returns them, and name -> reason for each that could not be computed.

        Such a variable is returned unchanged. The reason is empty for Jinja other than a name.
        """
        values = {}
        reasons = {}
        for name, value in variables.items():
            try:
                values[name] = self._value(value)[0]
            except _NotPlain as exc:
                values[name] = value
                reasons[name] = str(exc)
        return values, reasons

    def _value(self, value: Any) -> tuple[Any, int]:
        """A value and its size. Raises _NotPlain."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            pairs = {key: self._value(item) for key, item in value.items()}
            return {key: item for key, (item, _) in pairs.items()}, _sum(size for _, size in pairs.values())
        if isinstance(value, list):
            items = [self._value(item) for item in value]
            return [item for item, _ in items], _sum(size for _, size in items)
        return value, 1

    def _text(self, text: str) -> tuple[Any, int]:
        if isinstance(text, Unsafe) or not _JINJA.search(text):
            return text, len(text) + 1
        single = _REFERENCE.fullmatch(text.strip())
        if single is not None:
            return self._named(single[1])
        pieces: list[str] = []
        kind: type[str] = str
        size, end = 1, 0
        for match in _REFERENCE.finditer(text):
            value, _ = self._named(match[1])
            if isinstance(value, dict) or value is None:
                raise _NotPlain(f"{match[1]} is no text")
            kind = Unsafe if isinstance(value, Unsafe) else kind
            pieces += [text[end : match.start()], str(value)]
            size = _sum((size, len(pieces[-2]), len(pieces[-1])))
            end = match.end()
            if _JINJA.search(pieces[-2]):
                raise _NotPlain
        if _JINJA.search(text, end):
            raise _NotPlain
        return kind("".join((*pieces, text[end:]))), _sum((size, len(text) - end))

    def _named(self, name: str) -> tuple[Any, int]:
        if name not in self._filled:
            if name not in self._variables:
                raise _NotPlain(f"{name} is {'encrypted' if name in self._encrypted else 'not defined'}")
            if name in self._on_the_way:
                raise _NotPlain(f"{name} refers to itself")
            if len(self._on_the_way) == _DEEPEST:
                raise _NotPlain("there are too many references")
            self._on_the_way.append(name)
            try:
                self._filled[name] = self._value(self._variables[name])
            except _NotPlain as exc:
                self._filled[name] = str(exc)
            finally:
                self._on_the_way.pop()
        value = self._filled[name]
        if isinstance(value, str):
            raise _NotPlain(value)
        return value


def _sum(sizes: Iterable[int]) -> int:
    total = 1
    for size in sizes:
        total += size
        if total > _LARGEST:
            raise _NotPlain("it is too large")
    return total


# --- files -----------------------------------------------------------------------------------------------------------


class VarsFolders:
    """``group_vars`` and ``host_vars`` next to an inventory."""

    def __init__(self, source: Source, warnings: list[str]) -> None:
        self._folder = source.path.parent
        self._detailed = source.detailed
        self._vault = source.vault
        self._warnings = warnings
        #: whether the inventory is the operator's own: only then are files decrypted
        self._own = source.own
        self._may = source.may_use
        self._allowed: dict[Path, bool] = {}
        folders = {kind: self._folder / kind for kind in ("group_vars", "host_vars")}
        self._there = {kind: path.is_dir() and self._allows(path) for kind, path in folders.items()}

    def of(self, kind: str, name: str) -> tuple[dict[str, Any], dict[str, Position]]:
        """The variables of a group or host, and their places; of several files the last by name wins."""
        variables: dict[str, Any] = {}
        places: dict[str, Position] = {}
        for path in self._files(kind, name) if self._there[kind] else ():
            try:
                written = regular.read_text(path)
                if written.startswith(HEADER) and not self._own:
                    self._closed(path)
                    continue
                text = self._vault.open(written) if written.startswith(HEADER) else written
                if text is None:
                    self._vault.left_out.setdefault(path, [])
                    continue
                data = load(text)
                if text is not written:
                    self._vault.add_secrets(data)
            except YamlError as exc:
                where = Position(str(path), exc.line, exc.column)
                raise InventoryError(f"the variables cannot be read: {exc.problem}", "correct them", where) from None
            except OSError as exc:
                text, hint = f"the variables cannot be read: {exc.strerror}", "check the path and its permissions"
                raise InventoryError(text, hint, Position(str(path))) from None
            except (ValueError, yaml.YAMLError) as exc:
                place = getattr(getattr(exc, "problem_mark", None), "line", None)
                where = Position(str(path), None if place is None else place + 1)
                raise InventoryError("the variables cannot be read", "they must be YAML, in UTF-8", where) from None
            if isinstance(data, dict):
                named = {str(key): value for key, value in data.items()}
                named = opened(named, self._vault, path) if self._own else named
                variables.update(named)
                places.update(Source(path, data, {}, text, self._detailed).places((), named))
        return variables, places

    def _closed(self, path: Path) -> None:
        warning = f"{path}: left out: it is encrypted by ansible-vault, and the inventory is the output of a program"
        if warning not in self._warnings:
            self._warnings.append(warning)

    def _allows(self, path: Path) -> bool:
        """Whether a file and its folders may be used; tested, and reported, once."""
        if path == self._folder:
            return True
        if path not in self._allowed:
            self._allowed[path] = self._allows(path.parent) and self._may(path, self._warnings)
        return self._allowed[path]

    def _files(self, kind: str, name: str) -> Iterator[Path]:
        return filter(self._allows, self._all_files(kind, name))

    def _all_files(self, kind: str, name: str) -> Iterator[Path]:
        base = self._folder / kind
        if "/" in name or name in (".", ".."):
            return
        for suffix in ("", ".yml", ".yaml", ".json"):
            path = base / f"{name}{suffix}"
            if regular.is_meant(path):
                yield path
            elif path.is_dir() and not suffix:
                yield from sorted(
                    each
                    for each in path.rglob("*")
                    if each.suffix in ("", ".yml", ".yaml", ".json")
                    and regular.is_meant(each)
                    and not each.name.startswith(".")
                )
