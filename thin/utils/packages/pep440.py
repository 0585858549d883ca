"""Python versions and requirements (PEP 440, PEP 508), without the library ``packaging``."""

import re

_VERSION = re.compile(
    r"v?(?:(\d+)!)?(\d+(?:\.\d+)*)"
    r"(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d*))?"
    r"(?:-(\d+)|[-_.]?(?:post|rev|r)[-_.]?(\d*))?"
    r"(?:[-_.]?(dev)[-_.]?(\d*))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\Z",
    re.IGNORECASE,
)
_REQUIREMENT = re.compile(
    r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*\(?([^;@]*?)\)?\s*(?:;.*)?\Z"
)
_SPECIFIER = re.compile(r"\s*(===|==|~=|!=|<=|>=|<|>)\s*([^\s<>=!~]\S*)\s*\Z")
_PRE = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}


def normalize(name):
    """The normalized name of a package; all its spellings have the same."""
    return re.sub(r"[-_.]+", "-", name).lower()


def key(version):
    """A sort key of a version; versions that do not follow PEP 440 are first, sorted by their text."""
    match = _VERSION.match(str(version).strip())
    if not match:
        return (-1, (), (), (), (), str(version))
    epoch, release, pre, pre_number, dash, post, dev, dev_number, local = match.groups()
    numbers = [int(part) for part in release.split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    has_post = dash is not None or post is not None
    if pre:
        stage = (_PRE[pre.lower()], int(pre_number or 0))
    else:
        stage = (-1, 0) if dev and not has_post else (3, 0)
    parts = [
        (1, int(part), "") if part.isdigit() else (0, 0, part)
        for part in re.split(r"[-_.]", (local or "").lower())
        if part
    ]
    return (
        int(epoch or 0),
        tuple(numbers),
        stage,
        (int(dash or post or 0),) if has_post else (-1,),
        (0, int(dev_number or 0)) if dev else (1, 0),
        tuple(parts),
    )


def _public(version):
    return str(version).partition("+")[0]


def holds(version, operator, wanted):
    """Whether a version meets one condition. ``==`` and ``!=`` accept ``1.2.*``."""
    if operator == "===":
        return str(version) == wanted
    if operator == "!=":
        return not holds(version, "==", wanted)
    if operator == "~=":
        prefix = wanted.rpartition(".")[0]
        return holds(version, ">=", wanted) and holds(version, "==", prefix + ".*")
    if operator == "==" and wanted.endswith(".*"):
        numbers = key(wanted[:-2])[1]
        have = key(_public(version))[1]
        return (have + (0,) * len(numbers))[: len(numbers)] == numbers
    have, need = key(version if "+" in wanted else _public(version)), key(wanted)
    return {"==": have == need, "<=": have <= need, ">=": have >= need, "<": have < need, ">": have > need}[operator]


def requirement(text):
    """``(normalized name, [(operator, version)])`` of a requirement, or of a wheel's file name; ("", []) for a URL or
    path.

    Raises ValueError for an invalid one.
    """
    wheel = re.match(r"(?:.*/)?([^/-]+)-([^/-]+)-[^/]+\.whl\Z", text)
    if wheel and "://" not in text:
        return normalize(wheel.group(1)), [("==", wheel.group(2))]
    if re.match(r"\s*(\.|/|~|\w+\+?\w*:)", text) or " @ " in text or "://" in text:
        return "", []
    match = _REQUIREMENT.match(text)
    if not match:
        raise ValueError("invalid requirement")
    result = []
    for part in match.group(2).split(","):
        if part.strip():
            condition = _SPECIFIER.match(part)
            if not condition:
                raise ValueError("invalid specifier: %s" % part.strip())
            result.append(condition.groups())
    return normalize(match.group(1)), result
