"""Data as YAML, JSON, XML or Python text, and back. Salt: salt.utils.jinja.SerializerExtension."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from jinja2.environment import TemplateModule
from jinja2.exceptions import TemplateRuntimeError
from markupsafe import Markup

from pushsalt.memo.reads import without_recorders
from pushsalt.render.filters.undefined import passes_undefined
from pushsalt.yamldump import dump_yaml
from pushsalt.yamlio import YamlError, load_yaml

# --- what {{ value }} prints -------------------------------------------------------------------------------------


class _PrintableDict(OrderedDict[Any, Any]):
    """A mapping whose text is flow YAML, since the YAML renderer reads what {{ mapping }} prints in an SLS."""

    def __str__(self) -> str:
        return "{" + ", ".join(f"{key!r}: {_shown(value, str)}" for key, value in self.items()) + "}"

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key!r}: {_shown(value, repr)}" for key, value in self.items()) + "}"


def _shown(value: Any, convert: Any) -> str:
    if not isinstance(value, str):
        return str(convert(value))
    if any(character in value for character in "\n\r\t"):
        # Python's escapes are not YAML's within single quotes
        return dump_yaml(value, default_style='"', default_flow_style=True, width=2**31 - 1).rstrip("\n")
    return repr(value)


def printable(value: Any) -> Any:
    """``value`` with every mapping in it made printable as YAML."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _PrintableDict((key, printable(item)) for key, item in value.items())
    if isinstance(value, list | tuple | set) and not hasattr(value, "_fields"):
        return value.__class__([printable(item) for item in value])
    return value


# --- writing -----------------------------------------------------------------------------------------------------


@passes_undefined
def to_yaml(value: Any, flow_style: bool = True) -> Markup:
    return Markup(_yaml(value, flow_style))


def _yaml(value: Any, flow_style: bool) -> str:
    return dump_yaml(value, default_flow_style=flow_style).strip().removesuffix("\n...")


@passes_undefined
def to_json(value: Any, sort_keys: bool = True, indent: int | None = None) -> Markup:
    return Markup(json.dumps(value, sort_keys=sort_keys, indent=indent, ensure_ascii=False).strip())


@passes_undefined
def tojson(value: Any, indent: int | None = None, **options: Any) -> Markup:
    """Unlike Jinja's own, takes every option of ``json.dumps``."""
    options.setdefault("ensure_ascii", True)
    text = json.dumps(value, indent=indent, **options)
    for character in "<>&'":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


@passes_undefined
def to_python(value: Any) -> Markup:
    import pprint

    return Markup(pprint.pformat(without_recorders(value)).strip())


@passes_undefined
def dict_to_sls_yaml_params(value: Mapping[Any, Any], flow_style: bool = False) -> Markup:
    return Markup(_yaml([{key: item} for key, item in value.items()], flow_style))


@passes_undefined
def to_xml(value: Any) -> Markup:
    """A mapping, or list of (tag, content) pairs, as indented XML; scalars within a mapping are attributes."""
    from pushsalt.render.filters.toxml import indented  # rarely used; imports ten other modules

    return Markup(indented(value))


# --- reading -----------------------------------------------------------------------------------------------------


@passes_undefined
def from_yaml(value: Any) -> Any:
    # errors name an imported template, which is the YAML file to correct
    path = (value.__name__ if isinstance(value, TemplateModule) else None) or "<text>"
    text = str(value) if isinstance(value, TemplateModule) else value
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as exc:
            raise TemplateRuntimeError(f"Encountered error loading yaml: {exc}") from None
    if not isinstance(text, str):
        raise TypeError(f"Unable to load yaml from {value}")
    return load_yaml(text, path)


@passes_undefined
def from_json(value: Any) -> Any:
    text = str(value) if isinstance(value, TemplateModule) else value
    try:
        return json.loads(text)
    except (ValueError, TypeError, AttributeError) as exc:
        raise TemplateRuntimeError(f"Unable to load json from {text!s:.200}: {exc}") from None


@passes_undefined
def from_text(value: Any) -> Any:
    return str(value) if isinstance(value, TemplateModule) else value


FILTERS = {
    "yaml": to_yaml,
    "json": to_json,
    "tojson": tojson,
    "xml": to_xml,
    "python": to_python,
    "dict_to_sls_yaml_params": dict_to_sls_yaml_params,
    "load_yaml": from_yaml,
    "load_json": from_json,
    "load_text": from_text,
}

__all__ = ["FILTERS", "YamlError", "printable"]
