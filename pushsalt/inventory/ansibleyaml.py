"""YAML as Ansible writes it: its tags, and numbers as PyYAML reads them. Limits as for all YAML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from pushsalt.yamlio import HAS_LIBYAML, YamlBuilder


@dataclass(frozen=True)
class Vaulted:
    """A value with the tag ``!vault``: ``text`` is encrypted by ansible-vault."""

    text: str


class Unsafe(str):
    """A text with the tag ``!unsafe``: Jinja in it is not evaluated."""

    __slots__ = ()


def plain(value: Any) -> Any:
    """The value with tagged texts replaced by plain ones."""
    if isinstance(value, Unsafe):
        return str(value)
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def _unsafe(value: Any) -> Any:
    if isinstance(value, str):
        return Unsafe(value)
    if isinstance(value, dict):
        return {key: _unsafe(item) for key, item in value.items()}
    return [_unsafe(item) for item in value] if isinstance(value, list) else value


def _untagged(loader: Any, node: Any) -> Any:
    """The value of a node without its tag; a scalar becomes text. Source: Ansible's ``!unsafe``."""
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


class _Loader(yaml.SafeLoader):
    """YAML as Ansible writes it."""


_Loader.add_constructor("!vault", lambda loader, node: Vaulted(str(node.value)))
_Loader.add_constructor("!vault-encrypted", lambda loader, node: Vaulted(str(node.value)))
_Loader.add_constructor("!unsafe", lambda loader, node: _unsafe(_untagged(loader, node)))


class _Bounds(YamlBuilder):
    """Checks the depth, size and aliases of a text; builds no data."""

    def scalar(self, tag: str, text: str, mark: Any) -> Any:
        return text

    def sequence(self, tag: str, items: list[Any], mark: Any) -> Any:
        return []

    def mapping(self, tag: str, pairs: list[Any], mark: Any) -> Any:
        return {}


def load(text: str) -> Any:
    """Ansible's YAML. Raises yaml.YAMLError, YamlError (too deep, too large) or ValueError."""
    _Bounds(text, "variables", libyaml=HAS_LIBYAML).document()
    return yaml.load(text, Loader=_Loader)
