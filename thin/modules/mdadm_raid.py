"""Software RAID of Linux, by mdadm. Salt: modules/mdadm_raid.py"""

import os
import re

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import textfile

__virtualname__ = "raid"
__func_alias__ = {"list_": "list"}
__reads__ = ("list", "detail", "examine")
__changes__ = ("destroy", "stop", "create", "save_config", "assemble", "add")


def __virtual__():
    if __grains__.get("kernel") != "Linux":
        return False, "The mdadm execution module cannot be loaded: only available on Linux."
    if not process.which("mdadm"):
        return False, "The mdadm execution module cannot be loaded: the mdadm binary is not in the path."
    return __virtualname__


def list_():
    """
    Return the arrays: ``{device: {device, metadata, name, uuid, ...}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' raid.list
    """
    entries = {}
    for row in map(str.split, _scan()):
        if len(row) > 1:
            pairs = [word.partition("=") for word in row[2:] if "=" in word]
            entries[row[1]] = dict({key.lower(): value for key, _, value in pairs}, device=row[1])
    return entries


def detail(device="/dev/md0"):
    """
    Return data about an array: ``{raid_level, state, ..., members: {number: {...}}}``

    device
        The array

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' raid.detail /dev/md127
    """
    if not os.path.exists(device):
        raise CommandExecutionError("Device %s doesn't exist!" % device)
    result = {"members": {}}
    for line in _stdout(["mdadm", "--detail", device]).splitlines():
        key, mark, value = line.partition(" : ")
        words = line.split()
        if mark:
            result[key.strip().lower().replace(" ", "_")] = value.strip()
        elif len(words) > 4 and words[-1].startswith("/dev/"):
            result["members"][words[0]] = {
                "number": words[0],
                "major": words[1],
                "minor": words[2],
                "raiddevice": words[3],
                "state": " ".join(words[4:-1]),
                "device": words[-1],
            }
    return result


def destroy(device):
    """
    Stop an array, and erase the metadata of its devices; returns whether it was removed

    Its lines in mdadm.conf are removed, too.

    device
        The array

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' raid.destroy /dev/md127
    """
    try:
        members = detail(device)["members"]
    except CommandExecutionError:
        return False
    if __salt__["cmd.retcode"](["mdadm", "--stop", device], python_shell=False) == 0:
        devices = [members[number]["device"] for number in members]
        if devices:
            __salt__["cmd.retcode"](["mdadm", "--zero-superblock"] + devices, python_shell=False)
    lines = textfile.lines(_config())
    kept = [line for line in lines if line.split()[:2] != ["ARRAY", device]]
    if kept != lines:
        textfile.write(_config(), "".join(kept))
    return device not in list_()


def stop():
    """
    Stop all unused arrays; returns whether it worked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' raid.stop
    """
    return __salt__["cmd.retcode"](["mdadm", "--stop", "--scan"], python_shell=False) == 0


def create(name, level, devices, metadata="default", test_mode=False, **kwargs):
    """
    Make an array; returns the output of mdadm

    name
        Its device
    level
        Its level
    devices
        Its devices; ``missing`` for one that is added later
    metadata
        The version of the metadata on the devices
    test_mode
        Return the command instead
    kwargs
        Further options of mdadm, such as ``chunk=256`` or ``run=True``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' raid.create /dev/md127 level=1 devices="['/dev/vdb1', '/dev/vdc1']" test_mode=True
    """
    spare = int(kwargs.get("spare-devices") or 0)
    command = ["mdadm", "-C", name, "-R", "-v", "-l", str(level)] + _options(kwargs)
    command += ["-e", str(metadata), "-n", str(len(devices) - spare)] + list(devices)
    return " ".join(command) if test_mode else __salt__["cmd.run"](command, python_shell=False)


def save_config():
    """
    Write all arrays to mdadm.conf, and rebuild the initial ramdisk if it contains a copy

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' raid.save_config
    """
    scan = [line for line in _scan() if len(line.split()) > 1]
    if __grains__.get("os") == "Ubuntu":  # its boot does not find arrays that are given by name
        scan = [re.sub(r"(?i)\s(?:name|metadata)=\S+", "", line) for line in scan]
    lines = textfile.lines(_config())
    for line in scan:
        same = [at for at, old in enumerate(lines) if old.split()[:2] == line.split()[:2]]
        for at in same:
            lines[at] = line + "\n"
        if not same:
            if lines and not lines[-1].endswith("\n"):
                lines[-1] += "\n"
            lines.append(line + "\n")
    if lines != textfile.lines(_config()):
        textfile.write(_config(), "".join(lines))
    words = {"Debian": ["update-initramfs", "-u"], "RedHat": ["dracut", "--force"]}.get(__grains__.get("os_family"))
    if words and process.which(words[0]):
        return __salt__["cmd.run"](words, python_shell=False)
    return None


def assemble(name, devices, test_mode=False, **kwargs):
    """
    Start an array from its member devices; returns the output of mdadm

    name
        Its device
    devices
        Its devices, a list or a text with commas
    test_mode
        Return the command instead, as a list
    kwargs
        Further options of mdadm, such as ``run=True``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' raid.assemble /dev/md127 '[/dev/vdb1, /dev/vdc1]'
    """
    devices = devices.split(",") if isinstance(devices, str) else list(devices)
    command = ["mdadm", "-A", name, "-v"] + _options(kwargs) + devices
    return command if test_mode else __salt__["cmd.run"](command, python_shell=False)


def examine(device, quiet=False):
    """
    Return the RAID metadata of a device: ``{MD_LEVEL, MD_UUID, ...}``, {} if it is not in an array

    device
        The device
    quiet
        Do not log that it has none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' raid.examine /dev/vdb1
    """
    out = __salt__["cmd.run_stdout"](["mdadm", "-Y", "-E", device], python_shell=False, ignore_retcode=quiet)
    return {key: value for key, _, value in (line.partition("=") for line in out.splitlines())}


def add(name, device):
    """
    Add a device to an array; returns whether it worked

    name
        The array
    device
        The device

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' raid.add /dev/md127 /dev/vdd1
    """
    return __salt__["cmd.retcode"](["mdadm", "--manage", name, "--add", device], python_shell=False) == 0


def _config():
    return "/etc/mdadm/mdadm.conf" if __grains__.get("os_family") == "Debian" else "/etc/mdadm.conf"


def _stdout(command):
    return __salt__["cmd.run_stdout"](command, python_shell=False)


def _scan():
    return _stdout(["mdadm", "--detail", "--scan"]).splitlines()


def _options(given):
    options = []
    for key, value in given.items():
        if not key.startswith("__"):
            options += ["--" + key] + ([] if value is True else [str(value)])
    return options
