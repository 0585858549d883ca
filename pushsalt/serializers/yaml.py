"""YAML of Salt's serializer, which differs from that of SLS files. Options of ``serialize`` are those of ``yaml.dump``.

Written: lists and mappings of plain values in flow style unless ``default_flow_style`` is set, non-ASCII characters
escaped, no newline at the end. Read: YAML 1.1, so that ``010`` is 8 and ``2024-05-06`` a date; a duplicate key is an
error, and limits are those of ``pushsalt.yamlio``.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import yaml

from pushsalt.serializers import text_of
from pushsalt.yamlio import HAS_LIBYAML, YamlBuilder

_TAG = "tag:yaml.org,2002:"


class _Dumper(yaml.CSafeDumper if HAS_LIBYAML else yaml.SafeDumper):  # type: ignore[misc]
    """Writes subclasses as their base type; other types that YAML lacks are errors."""


for _type, _represent in (
    (str, lambda dumper, value: dumper.represent_str(str(value))),
    (bool, yaml.SafeDumper.represent_bool),
    (int, yaml.SafeDumper.represent_int),
    (float, yaml.SafeDumper.represent_float),
    (list, yaml.SafeDumper.represent_list),
    (tuple, yaml.SafeDumper.represent_list),
    (dict, yaml.SafeDumper.represent_dict),
    (set, yaml.SafeDumper.represent_set),
    (OrderedDict, yaml.SafeDumper.represent_dict),
):
    _Dumper.add_multi_representer(_type, _represent)


class _Builder(YamlBuilder):
    """Reads scalars as YAML 1.1 does, where the loader of SLS files differs."""

    def scalar(self, tag: str, text: str, mark: Any) -> Any:
        if tag not in (_TAG + "int", _TAG + "timestamp"):
            return super().scalar(tag, text, mark)
        try:
            return yaml.SafeLoader("").construct_object(yaml.ScalarNode(tag, text))
        except (ValueError, AttributeError) as exc:
            raise self.problem(f"{text!r} is no {tag.removeprefix(_TAG)}: {exc}", mark) from None


def serialize(obj: Any, **options: Any) -> str:
    text: str = yaml.dump(obj, **{"Dumper": _Dumper, "default_flow_style": None, **options})
    return text.removesuffix("\n...\n").removesuffix("\n")


def deserialize(stream_or_string: Any) -> Any:
    return _Builder(text_of(stream_or_string), "<text>", libyaml=HAS_LIBYAML).document()
