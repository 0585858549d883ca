"""How old something is, in words."""

from __future__ import annotations


def age_text(seconds: float) -> str:
    """An age for people: ``3 days``, ``5 h``, ``12 min``, ``40 s``."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"
