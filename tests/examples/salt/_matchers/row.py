"""``W@b``: targets whose rack is in row ``b``; ``W@b*`` takes a glob."""

from fnmatch import fnmatchcase

LETTER = "W"
SOURCE = "grains"


def match(expr, value, delimiter=":"):
    return fnmatchcase(str(value.get("row", "")), expr)
