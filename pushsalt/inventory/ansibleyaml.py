"""YAML as Ansible writes it: its tags, and numbers as PyYAML reads them. Bounded as all YAML here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from pushsalt.yamlio import HAS_LIBYAML, YamlBuilder


@dataclass(frozen=True)
class Vaulted:
    """In place of a value that ansible-vault has encrypted: ``text``, as it is written."""

    text: str


class _Loader(yaml.SafeLoader):
    """YAML as Ansible writes it."""


_Loader.add_constructor("!vault", lambda loader, node: Vaulted(str(node.value)))
_Loader.add_constructor("!vault-encrypted", lambda loader, node: Vaulted(str(node.value)))
_Loader.add_constructor("!unsafe", lambda loader, node: node.value)


class _Bounds(YamlBuilder):
    """Reads a text for its depth, size and aliases alone."""

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


def has_tags(text: str) -> bool:
    """Whether tags are in a text that only Ansible's YAML has."""
    return re.search(r":\s+!(vault|unsafe)\b", text) is not None
