"""Salt: ``salt/utils/pkg/__init__.py``: the file that requests a refresh of package lists, and version conditions."""

import os
import re

from salt.utils import data, versions

from thin.utils.files import safepath


def rtag(opts):
    """The path of the file."""
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
    """Whether to refresh: the argument, else whether the file exists."""
    return bool(data.is_true(refresh) or (os.path.isfile(rtag(opts)) and refresh is not False))


def split_comparison(version):
    """(operator or "", version) of a condition."""
    match = re.match(r"^(<=>|!=|>=|<=|>>|<<|<>|>|<|=)?\s?([^<>=]+)$", version)
    return (match.group(1) or "", match.group(2)) if match else ("", version)


def match_version(desired, available, cmp_func=None, ignore_epoch=False):
    """The first of the available versions that meets the condition, or None."""
    oper, version = split_comparison(desired)
    return next(
        (
            number
            for number in available
            if versions.compare(number, oper or "==", version, cmp_func, ignore_epoch=ignore_epoch)
        ),
        None,
    )
