"""Parses arguments of the command line as Salt does: ``ARG`` and ``KEY=VALUE`` are YAML, with Salt's exceptions.

Pure. Salt: ``salt.utils.args.parse_input`` and ``yamlify_arg``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_KEY_VALUE = re.compile(r"([^\W\d][\w.-]*)=(?!=)(.*)$")
_DIGITS_AND_UNDERSCORES = frozenset("0123456789_")
#: Characters of texts that YAML reads as empty, or rejects.
_BARE_MARKS = frozenset(("", "---", "..."))
#: Most words are plain text to YAML too; these need no parser (none of YAML's own words is longer than five letters).
_PLAIN_WORD = re.compile(r"[A-Za-z/][A-Za-z_./-]{5,}\Z")
#: A single quoted scalar, in which ``#`` begins no comment. Salt keeps the quotes in this case.
_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"\Z|'(?:[^']|'')*'\Z""")
_JID_DIGITS = 20


def parse_args(words: Iterable[str]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments of a function call; ``KEY=VALUE`` is a keyword, ``a==b`` is not.

    A later keyword wins. Integers with the digits of a job id stay text, as with the ``salt`` command.
    """
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for word in words:
        match = _KEY_VALUE.match(word)
        if match:
            kwargs[match[1]] = parse_value(match[2])
            continue
        value = parse_value(word)
        is_jid = isinstance(value, int) and len(str(value)) == _JID_DIGITS
        args.append(str(value) if is_jid else value)
    return args, kwargs


def parse_value(text: str) -> Any:
    """The value of ``text``: YAML's number, boolean, null, ``{map}`` or ``[list]``, else the text itself.

    Text is unchanged where YAML would lose or change something: comments, tabs and newlines, digits with underscores,
    block collections without braces, dates, and invalid YAML. Does not raise.
    """
    word = text.strip()
    if word in _BARE_MARKS or _PLAIN_WORD.match(text) or any(char in text for char in "\t\r\n"):
        return text
    if "_" in word and _DIGITS_AND_UNDERSCORES.issuperset(word):
        return text
    if text == "None":
        return None
    try:
        value = _load(text)
    except Exception:  # invalid YAML is text
        return text
    match value:
        case str():
            lossy = "#" in text and not _QUOTED.match(word)
            return text if lossy or (value == "" and text in "|!") else value
        case None:
            return text if "#" in text or text == "!" else None
        case dict():
            return value if text.startswith("{") or "#" in text else text
        case list():
            return value if text.startswith("[") or "#" in text else text
        case bool() | int() | float():
            return value
        case _:  # a type that arguments do not have, such as bytes of !!binary
            return value if "#" in text else text


def _load(text: str) -> Any:
    from pushsalt.yamlio import load_yaml

    return load_yaml(text, "<argument>")
