"""Versions. Salt: ``salt/utils/versions.py``."""

import re
import warnings

from salt.version import SaltStackVersion, __saltstack_version__


class LooseVersion(object):
    """A version whose numbers and words are compared one by one; a word is less than a number."""

    def __init__(self, vstring=None):
        self.parse(vstring or "")

    def parse(self, vstring):
        self.vstring = str(vstring)
        parts = [part for part in re.split(r"(\d+|[a-z]+|\.)", self.vstring) if part and part != "."]
        self.version = [int(part) if part.isdigit() else part for part in parts]

    def _key(self):
        return [(1, part, "") if isinstance(part, int) else (0, 0, part) for part in self.version]

    def _cmp(self, other):
        other = other if isinstance(other, LooseVersion) else type(self)(other)
        mine, theirs = self._key(), other._key()
        return (mine > theirs) - (mine < theirs)

    def __eq__(self, other):
        return self._cmp(other) == 0

    def __ne__(self, other):
        return self._cmp(other) != 0

    def __lt__(self, other):
        return self._cmp(other) < 0

    def __le__(self, other):
        return self._cmp(other) <= 0

    def __gt__(self, other):
        return self._cmp(other) > 0

    def __ge__(self, other):
        return self._cmp(other) >= 0

    def __hash__(self):
        return hash(tuple(self.version))

    def __str__(self):
        return self.vstring

    def __repr__(self):
        return "LooseVersion('%s')" % self.vstring


class StrictVersion(LooseVersion):
    """Two or three numbers, and optionally ``a1`` or ``b2``, which is older. Raises ValueError for other texts."""

    def parse(self, vstring):
        match = re.match(r"^(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?$", str(vstring))
        if not match:
            raise ValueError("invalid version number '%s'" % vstring)
        self.vstring = str(vstring)
        self.version = [int(part or 0) for part in match.group(1, 2, 3)]
        self.prerelease = (match.group(4), int(match.group(5))) if match.group(4) else None

    def _key(self):
        return [self.version, (0,) + self.prerelease if self.prerelease else (1,)]


class Version(LooseVersion):
    @property
    def release(self):
        return tuple(part for part in self.version if isinstance(part, int))


parse = Version


def version_cmp(pkg1, pkg2, ignore_epoch=False):
    """-1, 0 or 1; None if they cannot be compared."""
    texts = [str(one).split(":", 1)[-1] if ignore_epoch else str(one) for one in (pkg1, pkg2)]
    return LooseVersion(texts[0])._cmp(texts[1])


def compare(ver1="", oper="==", ver2="", cmp_func=None, ignore_epoch=False):
    """Whether ``ver1 oper ver2``; the operators are Python's."""
    wanted = {"==": (0,), "<": (-1,), ">": (1,), "<=": (-1, 0), ">=": (0, 1), "!=": (-1, 1)}.get(oper)
    if wanted is None:
        return False
    result = (cmp_func or version_cmp)(ver1, ver2, ignore_epoch=ignore_epoch)
    if result is None:
        return None
    return ((result > 0) - (result < 0)) in wanted


def warn_until(version, message, category=DeprecationWarning, stacklevel=None, **kwargs):
    """Warn that a feature ends with a version of Salt; pushsalt keeps it."""
    warnings.warn(message.format(version=version), category, stacklevel=(stacklevel or 2) + 1)


def warn_until_date(date, message, category=DeprecationWarning, stacklevel=None, **kwargs):
    warnings.warn(message.format(date=date, today=""), category, stacklevel=(stacklevel or 2) + 1)


def kwargs_warn_until(kwargs, version, category=DeprecationWarning, stacklevel=None, **more):
    """Warn of arguments that a function does not have."""
    extra = sorted(key for key in kwargs if not key.startswith("__"))
    if extra:
        text = "The following parameter(s) have been deprecated and will be removed in '%s': %s." % (
            version,
            ", ".join(extra),
        )
        warnings.warn(text, category, stacklevel=(stacklevel or 2) + 1)


__all__ = [
    "LooseVersion",
    "SaltStackVersion",
    "StrictVersion",
    "Version",
    "__saltstack_version__",
    "compare",
    "kwargs_warn_until",
    "parse",
    "version_cmp",
    "warn_until",
    "warn_until_date",
]
