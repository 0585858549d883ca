"""The options of a returner in the configuration. Salt: salt.returners.get_returner_options.

An option of the returner ``http`` is looked for, with a profile ``alternative``, in this order::

    alternative.returner.http: {url: …}      alternative.returner.http.url: …
    alternative.http: {url: …}               alternative.http.url: …
    returner.http: {url: …}                  returner.http.url: …
    http: {url: …}                           http.url: …

Empty values count as missing, as in Salt. A mapping with ``driver`` is a profile of sdb, and no returner's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pushsalt.nearest import nearest
from pushsalt.returners import Trouble

_TRUE: Final = ("true", "yes", "on", "1")
_FALSE: Final = ("false", "no", "off", "0")


def prefixes(name: str, profile: str = "") -> list[str]:
    """The prefixes of a returner's options in the configuration, in the order of precedence."""
    names = [f"{profile}.returner.{name}", f"{profile}.{name}"] if profile else []
    return [*names, f"returner.{name}", name]


def given(name: str, opts: Mapping[str, Any], profile: str = "") -> dict[str, Any]:
    """The options of a returner in a configuration, with unresolved sdb:// URIs."""
    places = prefixes(name, profile)
    dotted = tuple(f"{place}." for place in places)
    return {key: value for key, value in opts.items() if key in places or str(key).startswith(dotted)}


def options_of(
    name: str, opts: Mapping[str, Any], defaults: Mapping[str, Any], profile: str = ""
) -> tuple[dict[str, Any], list[str]]:
    """All options of a shipped returner, and warnings about unknown ones. Raises Trouble for one of another type.

    An option has the type of its default; for a required option, the default is the type itself.
    """
    options = {}
    for attr, default in defaults.items():
        place, value = next(_values(name, opts, attr, profile), ("", None))
        if place:
            kind = default if isinstance(default, type) else type(default)
            options[attr] = _converted(place, value, kind)
        elif isinstance(default, type):
            raise Trouble(
                f"the option `returner.{name}.{attr}` is missing",
                f"write it into the configuration, for example  returner.{name}: {{{attr}: …}}",
            )
        else:
            options[attr] = default
    return options, list(_unknown(name, opts, defaults, profile))


def _values(name: str, opts: Mapping[str, Any], attr: str, profile: str) -> Iterator[tuple[str, Any]]:
    for prefix in prefixes(name, profile):
        nested = opts.get(prefix)
        if isinstance(nested, Mapping) and "driver" not in nested and nested.get(attr) not in (None, ""):
            yield f"{prefix}:{attr}", nested[attr]
        if opts.get(f"{prefix}.{attr}") not in (None, ""):
            yield f"{prefix}.{attr}", opts[f"{prefix}.{attr}"]


def _unknown(name: str, opts: Mapping[str, Any], defaults: Mapping[str, Any], profile: str) -> Iterator[str]:
    """Warnings about unknown options, only in the places that no other part of the configuration uses."""
    for prefix in prefixes(name, profile):
        if ".returner." not in f".{prefix}":
            continue
        nested = opts.get(prefix)
        keys = [str(key) for key in nested] if isinstance(nested, Mapping) else []
        if nested is not None and not isinstance(nested, Mapping):
            yield f"the option `{prefix}` is no mapping: write  {prefix}: {{{next(iter(defaults))}: …}}"
        keys += [key[len(prefix) + 1 :] for key in opts if key.startswith(f"{prefix}.")]
        for key in keys:
            if key not in defaults:
                near = nearest(key, defaults)
                hint = f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(defaults)}"
                yield f"the returner {name} has no option `{key}` ({prefix}); {hint}"


def _converted(place: str, value: Any, kind: type) -> Any:
    """The value converted to this type, since YAML may have read another one. Raises Trouble."""
    text = str(value).strip()
    try:
        if kind is list:
            return [str(each) for each in value] if isinstance(value, list | tuple) else _split(text)
        if isinstance(value, list | tuple | Mapping):
            raise ValueError(text)
        if kind is bool:
            if text.lower() in (*_TRUE, *_FALSE):
                return text.lower() in _TRUE
            raise ValueError(text)
        if kind in (int, float):
            number: float = kind(text)
            if number < 0 or number != number or number > 1e9:
                raise ValueError(text)
            return number
    except ValueError:
        words = {bool: "true or false", int: "a whole number", float: "a number", list: "a list", str: "a text"}
        raise Trouble(f"the option `{place}` is not {words.get(kind, 'right')}", "correct it") from None
    return text if kind is str else value


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
