"""Salt: ``salt/utils/pkg/__init__.py``: the mark that the package lists are to be refreshed, and version conditions."""

import os
import re

from salt.utils import data, versions

from thin.utils.files import safepath


def rtag(opts):
    """The path of the mark."""
    return os.path.join(opts["cachedir"], "pkg_refresh")


def clear_rtag(opts):
    try:
        safepath.unlink(rtag(opts))
    except OSError:
        pass


def write_rtag(opts):
    try:
        with open(rtag(opts), "w", opener=safepath.opener, encoding="utf-8"):
            pass
    except OSError:
        pass


def check_refresh(opts, refresh=None):
    """Whether to refresh: as told, else whether the mark is there."""
    return bool(data.is_true(refresh) or (os.path.isfile(rtag(opts)) and refresh is not False))


def split_comparison(version):
    """Operator (or an empty text) and version of a condition."""
    match = re.match(r"^(<=>|!=|>=|<=|>>|<<|<>|>|<|=)?\s?([^<>=]+)$", version)
    return (match.group(1) or "", match.group(2)) if match else ("", version)


def match_version(desired, available, cmp_func=None, ignore_epoch=False):
    """The first of the available versions that fits a condition, or None."""
    oper, version = split_comparison(desired)
    return next(
        (
            found
            for found in available
            if versions.compare(found, oper or "==", version, cmp_func, ignore_epoch=ignore_epoch)
        ),
        None,
    )
