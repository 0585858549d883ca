"""Durations for people."""

from __future__ import annotations


def seconds(value: float) -> str:
    """A duration for people: ``35 ms``, ``2.4 s``, ``3 m 05 s``."""
    if value < 0.9995:
        return f"{value * 1000:.0f} ms"
    if value < 99.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} m {rest:02d} s"
