"""The order of pacman's versions, ``[epoch:]version[-release]``, as in ``vercmp``.

Runs of digits and of letters are compared one by one, together with the number of separators before each. Digits are
newer than letters, and letters at the end are older than nothing: ``1.0beta`` < ``1.0`` < ``1.0.1``.
"""

import re

_RUN = re.compile(r"([^0-9a-zA-Z]*)([0-9]+|[a-zA-Z]+)?")


def compare(left, right, ignore_epoch=False):
    """-1, 0 or 1: ``left`` is older than, equal to or newer than ``right``. A release that only one of them has is
    ignored."""
    (epoch, version, release), (epoch2, version2, release2) = _split(left), _split(right)
    order = 0 if ignore_epoch else compare_parts(epoch, epoch2)
    order = order or compare_parts(version, version2)
    if order or not release or not release2:
        return order
    return compare_parts(release, release2)


def _split(text):
    text = str(text)
    epoch, colon, rest = text.partition(":")
    if not colon or not epoch.isdigit():
        epoch, rest = "0", rest if colon and not epoch else text
    version, _, release = rest.rpartition("-") if "-" in rest else (rest, "", "")
    return epoch, version, release


def compare_parts(left, right):
    """As ``compare``, for one part: an epoch, a version or a release."""
    if left == right:
        return 0
    at, to = 0, 0
    while at < len(left) and to < len(right):
        one, two = _RUN.match(left, at), _RUN.match(right, to)
        if one.group(2) is None or two.group(2) is None:
            at, to = one.end(1), two.end(1)
            break
        if len(one.group(1)) != len(two.group(1)):
            return -1 if len(one.group(1)) < len(two.group(1)) else 1
        order = _order(one.group(2), two.group(2))
        if order:
            return order
        at, to = one.end(), two.end()
    rest, rest2 = left[at:], right[to:]
    if not rest and not rest2:
        return 0
    return -1 if (not rest and not rest2[0].isalpha()) or rest[:1].isalpha() else 1


def _order(one, two):
    if one.isdigit() != two.isdigit():
        return 1 if one.isdigit() else -1
    if one.isdigit():
        one, two = int(one), int(two)
    return (one > two) - (one < two)
