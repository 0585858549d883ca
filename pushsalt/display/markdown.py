"""Writes foreign text into Markdown so that it is never interpreted as markup."""

from __future__ import annotations

import re


def fenced(text: str, kind: str) -> str:
    """A block of code, whose fence is longer than any fence in the text."""
    longest = max((len(ticks) for ticks in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def cell(text: str) -> str:
    """The text escaped, so that it cannot be markup or end a cell of a table."""
    return re.sub(r"([\\`*_{}\[\]<>|#!@])", r"\\\1", " ".join(text.split()))
