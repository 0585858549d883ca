"""Suggestions for mistyped words."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, words: Iterable[str], n: int = 1, cutoff: float = 0.6) -> list[str]:
    """Up to ``n`` known words that are most similar to this one, the most similar first, then by name."""
    import difflib  # only needed for error messages

    # of equally similar words difflib prefers the last one
    matches = difflib.get_close_matches(word, sorted(words, reverse=True), n=2 * n, cutoff=cutoff)
    matches.sort(key=lambda each: (-difflib.SequenceMatcher(None, each, word).ratio(), each))
    return matches[:n]


def misspelt(word: str, words: Iterable[str]) -> str:
    """The known word of which this one is probably a misspelling, or an empty text.

    A misspelling has one letter too many, missing, wrong, or two swapped; words of eight letters may have two such
    errors. Words of three letters are too short. The nearest word wins, of equal ones the first by name.
    """
    long = [each for each in words if min(len(word), len(each)) > 3]
    ranked = [(_slips(word, each), each) for each in long]
    near = [(slips, each) for slips, each in ranked if slips <= (2 if max(len(word), len(each)) > 7 else 1)]
    return min(near)[1] if near else ""


def squeezed(word: str) -> str:
    """A word in lower case with letters and digits only, to compare names of different styles."""
    return "".join(letter for letter in word.lower() if letter.isalnum())


def _slips(one: str, other: str) -> int:
    """The number of typing errors between two words, 3 for more than two (optimal string alignment distance)."""
    if abs(len(one) - len(other)) > 2:
        return 3
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                best = min(best, last[j - 2] + 1)
            row.append(best)
    return min(row[-1], 3)
