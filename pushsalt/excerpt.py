"""The lines around a place in a source text, as errors show them."""

from __future__ import annotations

CONTEXT_LINES = 3
MAX_WIDTH = 160


def excerpt(text: str, line: int | None, *, context: int = CONTEXT_LINES) -> str:
    """Lines ``line - context`` to ``line + context`` of ``text``, numbered, the line itself marked with ``>``.

    Empty for a missing line. ``line`` counts from 1. Long lines are cut.
    """
    if line is None:
        return ""
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        return ""
    first = max(1, line - context)
    last = min(len(lines), line + context)
    width = len(str(last))
    shown = []
    for number in range(first, last + 1):
        content = lines[number - 1]
        if len(content) > MAX_WIDTH:
            content = content[:MAX_WIDTH] + "…"
        shown.append(f"{'>' if number == line else ' '} {number:>{width}} | {content}".rstrip())
    return "\n".join(shown)
