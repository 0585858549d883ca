"""Fingerprints of a minion's keys. Targets have no keys: each function raises an error. Salt: modules/key.py"""

from thin.utils import nomaster

__reads__ = ("finger", "finger_master")

_SSH = "targets are known by their SSH host keys, `pushsalt run TARGET ssh.host_keys`"


def finger(hash_type=None):
    """
    Not supported: a target has no key of Salt's

    hash_type
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' key.finger
    """
    nomaster.refuse("key.finger", _SSH)


def finger_master(hash_type=None):
    """
    Not supported: a target has no master

    hash_type
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' key.finger_master
    """
    nomaster.refuse("key.finger_master", _SSH)
