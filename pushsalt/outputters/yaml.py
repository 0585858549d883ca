"""One YAML document, ``{target id: return}``. Large values are written in pieces, as by the outputter ``json``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import yaml

from pushsalt.display.safe import DEPTH_LIMIT, UNSAFE, has_commands, is_heavy, named, plain
from pushsalt.outputters.json import PIECE
from pushsalt.outputters.json import heavy as json_pieces

_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
#: Limit for the values that are emitted in one call, since the emitter needs much memory for each.
VALUES: Final = 5000
#: An escaped backslash, or the two halves of a character above U+FFFF.
_PAIR: Final = re.compile(r"\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")


class _Dumper(_Base):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _str(dumper: Any, text: str) -> Any:
    # Double quotes where a character needs an escape; a literal block where lines make it readable.
    style = '"' if UNSAFE.search(text) or has_commands(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _str)
_Dumper.add_multi_representer(str, _str)


def output(data: Any, **kw: Any) -> str:
    """The document as text; keys keep their order."""
    return "".join(pieces(data))


def pieces(data: Any, **kw: Any) -> Iterator[str]:
    """The output in pieces."""
    if isinstance(data, Mapping) and data and is_heavy(data, PIECE, VALUES):
        yield from _heavy(data, "", 0)
    else:
        yield _dumped(plain(data))


def _heavy(value: Mapping[Any, Any] | Sequence[Any], indent: str, depth: int) -> Iterator[str]:
    """The items of a large value in block style, in groups of small items."""
    mapped = isinstance(value, Mapping)
    light: list[tuple[str, Any]] = []
    size = 0
    for name, item in named(value) if isinstance(value, Mapping) else (("", item) for item in value):
        if not is_heavy(item, PIECE, VALUES):
            shown = plain(item, depth + 1)
            light.append((name, shown))
            size += _size(shown)
            if size > VALUES:
                yield _group(light, mapped, indent)
                light, size = [], 0
            continue
        if light:
            yield _group(light, mapped, indent)
            light, size = [], 0
        yield _indented(_dumped({name: None}).removesuffix(" null\n") if mapped else "-", indent)
        if not isinstance(item, Mapping | list | tuple) or depth > DEPTH_LIMIT:
            yield " "
            for piece in json_pieces(item if depth <= DEPTH_LIMIT else type(item).__name__):
                yield _PAIR.sub(_joined_surrogates, piece)
            yield "\n"
        else:
            yield "\n"
            yield from _heavy(item, indent + "  ", depth + 1)
    if light:
        yield _group(light, mapped, indent)


def _group(items: list[tuple[str, Any]], mapped: bool, indent: str) -> str:
    return _indented(_dumped(dict(items) if mapped else [item for _, item in items]), indent)


def _indented(text: str, indent: str) -> str:
    return "\n".join(indent + line if line else line for line in text.split("\n"))


def _size(value: Any) -> int:
    """The number of values in it, lists and mappings included."""
    if isinstance(value, Mapping):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list | tuple) else 1


def _dumped(value: Any) -> str:
    text = yaml.dump(value, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, sort_keys=False, width=2**20)
    text = UNSAFE.sub(lambda match: f"\\U{ord(match[0]):08x}", text.removesuffix("...\n"))
    return text.replace("##", "#\\x23") if "##" in text and has_commands(text) else text


def _joined_surrogates(match: re.Match[str]) -> str:
    """A surrogate pair of JSON, which YAML does not join, as YAML's escape of the character."""
    if match[1] is None:
        return match[0]
    return f"\\U{0x10000 + (int(match[1], 16) - 0xD800) * 0x400 + int(match[2], 16) - 0xDC00:08x}"
