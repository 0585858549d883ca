"""The order of rpm's versions, ``[epoch:]version[-release]``, as in ``rpm --eval '%{lua:rpm.vercmp(…)}'``.

Version and release are compared as runs of digits and runs of letters, separated by all other characters. Digits are
newer than letters, ``~`` sorts before the end of the text, ``^`` directly after it. Salt: utils/pkg/rpm.py
"""

import re

_RUNS = re.compile(r"[0-9]+|[a-zA-Z]+|[~^]")


def split(text):
    """``(2, "1.0", "3")`` of ``"2:1.0-3"``; an epoch that is no number is 0, a missing release is ""."""
    epoch, colon, rest = str(text or "").partition(":")
    if not colon:
        epoch, rest = "0", epoch
    version, _, release = rest.partition("-")
    return int(epoch) if epoch.strip().isdigit() else 0, version, release


def without_epoch(text):
    """``1.0-1`` of ``2:1.0-1``."""
    return str(text).split(":", 1)[-1]


def compare(left, right, ignore_epoch=False):
    """-1, 0 or 1: ``left`` is older than, equal to or newer than ``right``. A release that only one of them has is
    ignored."""
    (epoch, version, release), (epoch2, version2, release2) = split(left), split(right)
    if epoch != epoch2 and not ignore_epoch:
        return 1 if epoch > epoch2 else -1
    order = compare_parts(version, version2)
    if order or not release or not release2:
        return order
    return compare_parts(release, release2)


def compare_parts(left, right):
    """As ``compare``, for one part: a version or a release."""
    one, two = [_key(text) for text in (left, right)]
    return (one > two) - (one < two)


def sort_key(text):
    """A key that sorts complete versions from old to new."""
    epoch, version, release = split(text)
    return epoch, _key(version), _key(release)


#: The ranks of runs, from old to new: a tilde, the end, a caret, letters, digits.
_TILDE, _END, _CARET, _LETTERS, _DIGITS = range(5)


def _key(text):
    runs = []
    for run in _RUNS.findall(text):
        if run == "~":
            runs.append((_TILDE,))
        elif run == "^":
            runs.append((_CARET,))
        elif run.isdigit():
            runs.append((_DIGITS, int(run)))
        else:
            runs.append((_LETTERS, run))
    return tuple(runs) + ((_END,),)
