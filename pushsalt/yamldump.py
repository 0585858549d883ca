"""YAML as Salt writes it. Salt: salt.utils.yamldumper."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import yaml

from pushsalt.yamlio import HAS_LIBYAML
from pushsalt.yamlscalars import TAG
from thin.utils.dictupdate import InOrder


class _Dumper(yaml.CSafeDumper if HAS_LIBYAML else yaml.SafeDumper):  # type: ignore[misc]
    """Salt's dumper: subclasses are written as their base types, and values that YAML cannot represent as NULL."""


def _null(dumper: Any, value: Any) -> Any:
    return dumper.represent_scalar(TAG + "null", "NULL")


def _ordered(dumper: Any, value: Any) -> Any:
    return dumper.represent_dict(list(value.items()))  # pairs are not sorted


for _type, _represent in (
    (OrderedDict, _ordered),
    (dict, yaml.SafeDumper.represent_dict),
    (list, yaml.SafeDumper.represent_list),
    (tuple, yaml.SafeDumper.represent_list),
    (str, lambda dumper, value: dumper.represent_str(str(value))),
    (object, _null),
):
    _Dumper.add_multi_representer(_type, _represent)
_Dumper.add_representer(InOrder, _ordered)


def dump_yaml(data: Any, *, default_flow_style: bool | None = None, sort_keys: bool = True, **options: Any) -> str:
    """``data`` as YAML text in Salt's form: keys sorted, innermost collections in flow style.

    An OrderedDict keeps its order, and so does InOrder, which mappings of pillar SLS are. Options are those of
    ``yaml.dump``. Values that YAML cannot represent become NULL, as in Salt.
    """
    options.setdefault("allow_unicode", True)
    text: str = yaml.dump(data, Dumper=_Dumper, default_flow_style=default_flow_style, sort_keys=sort_keys, **options)
    return text
