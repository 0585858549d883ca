"""Filters on mappings and nested data. Salt: salt.utils.data, salt.utils.dictupdate."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

import jinja2
from jinja2.exceptions import TemplateRuntimeError

from pushsalt.errors import FunctionError, RenderError
from pushsalt.render.filters.text import to_bytes, to_num
from pushsalt.render.sandbox import Sandbox
from pushsalt.yamlio import load_yaml


def traverse(data: Any, key: Any, default: Any = None, delimiter: str = ":") -> Any:
    """The value at the path ``a:b:0`` in nested mappings and lists, or ``default``.

    In a list, a key is looked up in the mappings of the list first, then as index.
    """
    value = data
    steps = key.split(delimiter) if isinstance(key, str) else [key] if isinstance(key, int) else key
    for step in steps:
        try:
            value = _list_step(value, step) if isinstance(value, list) else _mapping_step(value, step)
        except (KeyError, TypeError):
            return default
    return value


def _list_step(values: list[Any], step: Any) -> Any:
    try:
        key: Any = int(step)
    except ValueError:
        key = step
    for embedded in values:
        if isinstance(embedded, dict) and key in embedded:
            return embedded[key]
    try:
        return values[key]  # TypeError for a text, caught by the caller
    except IndexError:
        raise KeyError(key) from None


def _mapping_step(value: Any, step: Any) -> Any:
    try:
        return value[step]
    except KeyError:
        other = as_yaml_value(step)
        if other == step:
            raise
        return value[other]


def as_yaml_value(text: Any) -> Any:
    """``text`` as a number or bool if YAML reads it so, since keys of mappings may have these types."""
    if not isinstance(text, str) or "_" in text:
        return text
    try:
        value = load_yaml(text)
    except RenderError:
        return text
    return text if isinstance(value, dict | list) or value is None else value


def compare_dicts(old: Any = None, new: Any = None) -> dict[Any, dict[str, Any]]:
    """key -> ``{"old": …, "new": …}`` for differing values; a missing value is ''."""
    changes: dict[Any, dict[str, Any]] = {}
    for key in dict.fromkeys([*(old or ()), *(new or ())]):
        if key not in old:
            changes[key] = {"old": "", "new": new[key]}
        elif key not in new:
            changes[key] = {"new": "", "old": old[key]}
        elif old[key] != new[key]:
            changes[key] = {"old": old[key], "new": new[key]}
    return changes


def encoded_dict(data: Any, encoding: Any = None, errors: Any = "strict", *_: Any, **__: Any) -> Any:
    """A mapping with all text in it as bytes, tuples as lists."""
    return {_encoded(key, encoding, errors): _encoded(value, encoding, errors) for key, value in data.items()}


def encoded_list(data: Any, encoding: Any = None, errors: Any = "strict", *_: Any, **__: Any) -> Any:
    return [_encoded(value, encoding, errors) for value in data]


def _encoded(value: Any, encoding: Any, errors: Any) -> Any:
    if isinstance(value, str):
        try:
            return to_bytes(value, encoding, errors)
        except TypeError:  # the encoding is not text
            return value
    if isinstance(value, Mapping):
        return encoded_dict(value, encoding, errors)
    return encoded_list(value, encoding, errors) if isinstance(value, list | tuple) else value


def to_entries(data: Any) -> list[dict[str, Any]]:
    """``[{"key": …, "value": …}, …]`` of a mapping, or of a list with its indices."""
    if isinstance(data, dict):
        pairs: Any = data.items()
    elif isinstance(data, list):
        pairs = enumerate(data)
    else:
        raise TypeError("Input data must be a dict or list")
    return [{"key": key, "value": value} for key, value in pairs]


def from_entries(entries: Any) -> dict[Any, Any]:
    """The mapping of a list made by ``to_entries``; the keys ``Key``, ``name`` and ``Value`` are accepted too."""
    result = {}
    for entry in entries:
        lowered = {str(key).lower(): value for key, value in dict(entry or ()).items()}
        key = lowered.get("key") or lowered.get("name")
        if key:
            result[key] = lowered.get("value")
    return result


def mysql_to_dict(lines: Any, key: str) -> dict[Any, dict[str, Any]]:
    """Rows of the table that the mysql client draws, by their column ``key``."""
    rows: dict[Any, dict[str, Any]] = {}
    headers: list[str] = []
    for line in lines:
        if not line or line.startswith("+"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(headers) <= 1:
            headers = cells
            continue
        row = {headers[at]: to_num(cells[at]) for at in range(1, len(headers) - 1)}
        rows[row[key]] = row
    return rows


# --- setting nested keys -----------------------------------------------------------------------------------------


def _parent(data: Any, keys: str, delimiter: str, ordered: bool) -> tuple[MutableMapping[Any, Any], str]:
    """(the mapping that contains the last key of ``keys``, that key); missing mappings are created."""
    *way, last = keys.split(delimiter) if delimiter in keys else [keys]
    for key in way:
        if not isinstance(data.get(key), dict):
            data[key] = OrderedDict() if ordered else {}
        data = data[key]
    return data, last


def _changing(method: str, new: Callable[[], Any]) -> Callable[..., Any]:
    """A filter that calls a method of the value at the path ``keys``, and returns the whole data."""

    def changed(data: Any, keys: str, value: Any, delimiter: str = ":", ordered_dict: bool = False) -> Any:
        parent, last = _parent(data, keys, delimiter, ordered_dict)
        if parent.get(last) is None:
            parent[last] = new()
        kind = type(parent[last])
        try:
            getattr(parent[last], method)(value)
        except AttributeError:
            raise _refused(f"The last key contains a {kind}, which cannot {method}.") from None
        except (TypeError, ValueError):
            raise _refused(f"Cannot {method} {kind} with a {type(value)}.") from None
        return data

    return changed


def _refused(text: str) -> FunctionError:
    return FunctionError("exception", text, "", "SaltInvocationError")


def set_dict_key_value(data: Any, keys: str, value: Any, delimiter: str = ":", ordered_dict: bool = False) -> Any:
    parent, last = _parent(data, keys, delimiter, ordered_dict)
    parent[last] = value
    return data


# --- inspecting --------------------------------------------------------------------------------------------------


@jinja2.pass_context
def show_full_context(context: jinja2.runtime.Context) -> dict[Any, Any]:
    """All names of the template, simple values unchanged, others as their repr."""
    return _simple_mapping(context.get_all())


def _simple_mapping(data: Mapping[Any, Any]) -> dict[Any, Any]:
    simple = (str, int, float)
    return {key if key is None or isinstance(key, simple) else repr(key): _simple(item) for key, item in data.items()}


def _simple(value: Any) -> Any:
    if isinstance(value, dict):
        return _simple_mapping(value)
    if isinstance(value, list | tuple):
        return [_simple(item) for item in value]
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def json_query(data: Any, expr: str) -> Any:
    """The result of a JMESPath expression."""
    try:
        import jmespath  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise TemplateRuntimeError("json_query requires jmespath: pip install 'pushsalt[jmespath]'") from None
    return jmespath.search(expr, data)


@jinja2.pass_context
def method_call(context: jinja2.runtime.Context, obj: Any, f_name: str, *args: Any, **kwargs: Any) -> Any:
    """``obj.f_name(…)``, checked by the sandbox; None without such a method."""
    environment = context.environment
    assert isinstance(environment, Sandbox)
    return environment.method(context, obj, f_name, *args, **kwargs)


FILTERS: dict[str, Callable[..., Any]] = {
    "append_dict_key_value": _changing("append", list),
    "compare_dicts": compare_dicts,
    "extend_dict_key_value": _changing("extend", list),
    "from_entries": from_entries,
    "json_decode_dict": encoded_dict,
    "json_decode_list": encoded_list,
    "json_encode_dict": encoded_dict,
    "json_encode_list": encoded_list,
    "json_query": json_query,
    "method_call": method_call,
    "mysql_to_dict": mysql_to_dict,
    "set_dict_key_value": set_dict_key_value,
    "to_entries": to_entries,
    "traverse": traverse,
    "update_dict_key_value": _changing("update", dict),
}
