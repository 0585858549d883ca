"""Devices with several paths, by multipath. Salt: modules/devmap.py"""

import os

__reads__ = ("multipath_list",)
__changes__ = ("multipath_flush",)


def multipath_list():
    """
    Return the output of multipath for all devices, as lines

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' devmap.multipath_list
    """
    return __salt__["cmd.run"](["multipath", "-l"], python_shell=False).splitlines()


def multipath_flush(device):
    """
    Remove a multipath device; returns the output of multipath as lines

    device
        The device

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' devmap.multipath_flush data0
    """
    if not os.path.exists(device):
        return "%s does not exist" % device
    return __salt__["cmd.run"](["multipath", "-f", device], python_shell=False).splitlines()
