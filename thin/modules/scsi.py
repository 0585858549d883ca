"""SCSI devices, by lsscsi. Salt: modules/scsi.py"""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath

__func_alias__ = {"ls_": "ls"}
__reads__ = ("ls",)
__changes__ = ("rescan_all",)


def ls_(get_size=True):
    """
    Return ``{"[0:0:0:0]": {lun, size, major, minor, device, model, dir, ...}}`` of all devices; the error as text if it
    fails

    get_size
        Include sizes; old versions of lsscsi cannot list them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' scsi.ls get_size=False
    """
    if not process.which("lsscsi"):
        __context__["retcode"] = 1
        return "scsi.ls not available - lsscsi command not found"
    done = __salt__["cmd.run_all"](["lsscsi", "-dLsv" if get_size else "-dLv"], python_shell=False)
    if done["retcode"] != 0:
        __context__["retcode"] = done["retcode"]
        error = done["stderr"].split("\n")[0]
        return error + (" - try get_size=False" if error == "lsscsi: invalid option -- 's'" else "")
    ls, entry = {}, {}
    for line in done["stdout"].splitlines():
        words = line.split()
        if line.startswith("["):
            size = words.pop() if get_size else None
            numbers = words.pop()
            major, _, minor = numbers.strip("[]").partition(":") if numbers.startswith("[") else (None, "", None)
            device = words.pop()
            entry = ls[words[0]] = {
                "lun": words[0].strip("[]"),
                "size": size,
                "major": major,
                "minor": minor,
                "device": device,
                "model": " ".join(words[3:]),
            }
        elif words[:1] == ["dir:"] or words[:1] == ["dir"]:
            entry["dir"] = [words[1], words[2].strip("[]")]
        elif "=" in line:
            key, _, value = line.strip().partition("=")
            entry[key] = value
    return ls


def rescan_all(host):
    """
    Let an adapter scan for new devices; returns lines with errors

    host
        Its number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' scsi.rescan_all host2
    """
    folder = "/sys/class/scsi_host/host%s" % host
    if not os.path.isdir(folder):
        return "Host %s does not exist" % host
    try:
        with open(os.path.join(folder, "scan"), "w", opener=safepath.opener, encoding="utf-8") as target:
            target.write("- - -\n")
    except OSError as exc:
        raise CommandExecutionError("%s/scan: %s" % (folder, exc.strerror))
    return []
