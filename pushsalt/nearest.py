"""What a person who mistyped a word may have meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], n: int = 1, cutoff: float = 0.6) -> list[str]:
    """The known words that are most like this one, at most ``n``, the likeliest first; equally like ones by name."""
    import difflib  # only needed once something is wrong

    # ties go to what stands last
    found = difflib.get_close_matches(word, sorted(known, reverse=True), n=2 * n, cutoff=cutoff)
    found.sort(key=lambda each: (-difflib.SequenceMatcher(None, each, word).ratio(), each))
    return found[:n]
