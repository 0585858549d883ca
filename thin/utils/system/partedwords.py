"""Checks the arguments of parted before it runs: devices, numbers, flags, boundaries.

The functions raise CommandExecutionError for invalid values.
"""

import os
import re
import stat

from thin.exceptions import CommandExecutionError

#: The units of boundaries.
UNITS = frozenset("s B kB MB MiB GB GiB TB TiB % cyl chs compact".split())


def exists(device):
    """Whether the path is a block device."""
    return os.path.exists(device) and stat.S_ISBLK(os.stat(device).st_mode)


def check_device(device):
    """The path must be a block device."""
    if not exists(device):
        raise CommandExecutionError("Invalid device passed to partition module.")


def check_number(value, what):
    """The value must be an integer; ``what`` names the argument and its function."""
    if not re.match(r"-?\d+$", str(value)):
        raise CommandExecutionError("Invalid %s" % what)


def check_choice(valid, value, what):
    """The value must be one of the valid ones."""
    if value not in valid:
        raise CommandExecutionError("Invalid %s" % what)


def check_boundary(place):
    """The value must be a number, which a unit of parted may follow."""
    match = re.match(r"[\d.]+(\D*)$", str(place))
    if not match or (match.group(1) and match.group(1) not in UNITS):
        raise CommandExecutionError('Invalid partition boundary passed: "%s"' % place)
