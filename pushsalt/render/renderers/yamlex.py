"""The renderer ``yamlex``: YAML whose values can be joined instead of replaced. Salt: salt.serializers.yamlex.

- A key may occur several times in a mapping: the last one wins, unless both values are marked ``!aggregate``: marked
  mappings are merged, marked lists joined without duplicates; a marked scalar is a list of one.
- ``!reset key:`` removes earlier values of the key.
- ``!aggregate key: value`` marks the value.

Marks are kept (``thin.utils.dictupdate.Aggregate``): merging of pillar SLS uses them, across files.
Integers with leading zeros are decimal; timestamps are dates. Empty input gives an empty mapping.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

from pushsalt.render.source import as_text
from pushsalt.yamlio import HAS_LIBYAML, YamlBuilder
from thin.utils.dictupdate import AggregatedMap, AggregatedSequence, aggregate

_AGGREGATE: Final = "!aggregate"
_RESET: Final = "!reset"
_TAG: Final = "tag:yaml.org,2002:"


def load_yamlex(text: str, path: str = "<text>", *, libyaml: bool = HAS_LIBYAML) -> Any:
    """The document in ``text``; None if it is empty. ``path`` is the source's name in errors. Raises YamlError."""
    return _Builder(text, path, libyaml=libyaml).document()


def _marked(value: Any) -> Any:
    if isinstance(value, dict):
        return AggregatedMap(value)
    if isinstance(value, list):
        return AggregatedSequence(value)
    return AggregatedSequence([] if value is None else [value])


class _Builder(YamlBuilder):
    keeps_merged = True

    def scalar(self, tag: str, text: str, mark: Any) -> Any:
        if tag in (_AGGREGATE, _RESET):
            value = self._plain(text, mark)
            return _marked(value) if tag == _AGGREGATE else value
        if tag == _TAG + "int":
            try:
                return int(text)  # accepts leading zeros, too
            except ValueError:
                raise self.problem(f"{text!r} is no decimal integer", mark) from None
        if tag == _TAG + "timestamp":
            return yaml.SafeLoader("").construct_yaml_timestamp(yaml.ScalarNode(tag, text))
        return super().scalar(tag, text, mark)

    def sequence(self, tag: str, items: list[Any], mark: Any) -> Any:
        if tag in (_AGGREGATE, _RESET):
            return _marked(items) if tag == _AGGREGATE else items
        return super().sequence(tag, items, mark)

    def mapping(self, tag: str, pairs: list[Any], mark: Any) -> Any:
        if tag not in (_AGGREGATE, _RESET, _TAG + "map", _TAG + "omap"):
            return super().mapping(tag, pairs, mark)
        data: dict[Any, Any] = {}
        lines: dict[Any, int] = {}
        for pair in pairs:
            key, value = pair.key, pair.value
            if pair.tag in (_AGGREGATE, _RESET):
                key = self._plain(str(pair.raw), pair.key_mark)
                value = _marked(value) if pair.tag == _AGGREGATE else value
            joined = key in data and pair.tag != _RESET
            data[key] = aggregate(data[key], value) if joined else value
            lines[key] = pair.key_mark.line + 1
        result = AggregatedMap(data) if tag == _AGGREGATE else data
        self.lines[id(result)] = lines
        return result

    def _plain(self, text: str, mark: Any) -> Any:
        """The value of a marked scalar by its text, ignoring quotes, as in Salt."""
        return self.scalar(self.implicit_tag(text), text, mark)


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    return load_yamlex(as_text(data), str(kwargs.get("tmplpath") or sls or "<text>")) or {}
