"""The order of Debian package versions, as in ``dpkg --compare-versions`` (deb-version(7)).

A version is ``[epoch:]upstream[-revision]``. Upstream and revision are compared as alternating runs of non-digits and
digits. Among non-digits ``~`` sorts before the end of the text, letters sort before everything else; digits compare as
numbers, and a missing number is 0.
"""

import re

_RUNS = re.compile(r"([^0-9]*)([0-9]*)")
_END = ((0,), 0)


def compare(left, right):
    """-1, 0 or 1: ``left`` is older than, equal to or newer than ``right``. Raises ValueError for an invalid epoch."""
    one, two = sort_key(left), sort_key(right)
    return (one > two) - (one < two)


def sort_key(version):
    """A key that sorts versions from old to new. Raises ValueError if the epoch is not a number."""
    version = version.strip()
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    if not epoch.isdigit():
        raise ValueError("the epoch of version %r is not a number" % version)
    upstream, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "")
    return int(epoch), _part_key(upstream), _part_key(revision)


def without_epoch(version):
    """``1.0-1`` of ``2:1.0-1``."""
    return version.split(":", 1)[-1]


def _part_key(text):
    runs = [(_weights(letters), int(digits or 0)) for letters, digits in _RUNS.findall(text) if letters or digits]
    return (runs or [_END]) + [_END]


def _weights(letters):
    return tuple(-1 if char == "~" else ord(char) if char.isalpha() else ord(char) + 256 for char in letters) + (0,)
