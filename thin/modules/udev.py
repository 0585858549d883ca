"""Devices in udev's database, with udevadm. Salt: modules/udev.py"""

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError

__reads__ = ("info", "env", "name", "path", "links", "exportdb")


def __virtual__():
    return True if process.which("udevadm") else (False, "udevadm is not in the path")


def info(dev):
    """
    Return udev's data about a device: ``{P: path, N: name, S: links, E: {property: value}}``

    dev
        The device, or its path in /sys

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' udev.info /dev/vdb
        pushsalt run '*' udev.info /sys/class/net/ens3
    """
    kind = "path" if "sys" in dev else "name"
    return _devices(["--export", "--query=all", "--%s=%s" % (kind, dev)])[0]


def env(dev):
    """
    Return a device's properties, None if it has none

    dev
        The device, or its path in /sys

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' udev.env /dev/vdb
    """
    return info(dev).get("E")


def name(dev):
    """
    Return a device's name below /dev, None if it has none

    dev
        The device, or its path in /sys

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' udev.name /dev/vda
    """
    return info(dev).get("N")


def path(dev):
    """
    Return a device's path below /sys

    dev
        The device, or its path in /sys

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' udev.path /dev/vdb
    """
    return info(dev).get("P")


def links(dev):
    """
    Return the links below /dev to a device: a list; one link as text; None

    dev
        The device, or its path in /sys

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' udev.links /dev/vdb
    """
    return info(dev).get("S")


def exportdb(subsystems=None):
    """
    Return udev's data about all devices: a list of results of ``udev.info``

    subsystems
        Only of these subsystems, a list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' udev.exportdb
        pushsalt run '*' udev.exportdb '[net, input]'
    """
    if subsystems is not None and not isinstance(subsystems, list):
        raise SaltInvocationError("subsystems must be a list")
    devices = _devices(["--export-db"])
    return [dev for dev in devices if subsystems is None or _subsystem(dev) in subsystems]


def _devices(words):
    command = ["udevadm", "info"] + words
    done = __salt__["cmd.run_all"](command, python_shell=False, output_loglevel="quiet")
    if done["retcode"] != 0:
        raise CommandExecutionError(done["stderr"])
    devices, dev = [], {}
    for line in done["stdout"].splitlines() + [""]:
        key, mark, value = line.strip().partition(":")
        if not line.strip() and dev:
            # a value that exists once is not a list
            devices.append({key: _only(dev[key]) for key in dev})
            dev = {}
        elif mark and key == "E":
            name, _, text = value.strip().partition("=")
            dev.setdefault("E", {})[name] = _number(text)
        elif mark:
            dev.setdefault(key, []).append(value.strip())
    if not devices:
        raise CommandExecutionError("%s tells nothing" % " ".join(command))
    return devices


def _only(value):
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _subsystem(dev):
    return dev.get("E", {}).get("SUBSYSTEM")
