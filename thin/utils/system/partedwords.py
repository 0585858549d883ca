"""What parted is given is checked before it runs: devices, numbers, flags, boundaries.

What is wrong raises CommandExecutionError.
"""

import os
import re
import stat

from thin.exceptions import CommandExecutionError

#: units that boundaries may have
UNITS = frozenset("s B kB MB MiB GB GiB TB TiB % cyl chs compact".split())


def exists(device):
    """Whether there is such a block device."""
    return os.path.exists(device) and stat.S_ISBLK(os.stat(device).st_mode)


def check_device(device):
    """It is a block device."""
    if not exists(device):
        raise CommandExecutionError("Invalid device passed to partition module.")


def check_number(value, what):
    """It is a whole number; ``what`` names the argument, with its function."""
    if not re.match(r"-?\d+$", str(value)):
        raise CommandExecutionError("Invalid %s" % what)


def check_choice(known, value, what):
    """Raise an error unless the value is one of the valid ones."""
    if value not in known:
        raise CommandExecutionError("Invalid %s" % what)


def check_boundary(place):
    """It is a number, and a unit of parted may follow."""
    found = re.match(r"[\d.]+(\D*)$", str(place))
    if not found or (found.group(1) and found.group(1) not in UNITS):
        raise CommandExecutionError('Invalid partition boundary passed: "%s"' % place)
