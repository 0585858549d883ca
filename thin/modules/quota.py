"""Quotas of file systems, by the commands of the package quota. Salt: modules/quota.py"""

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError

__func_alias__ = {"set_": "set"}
__reads__ = ("report", "stats", "get_mode")
__changes__ = ("set", "warn", "on", "off")

_LIMITS = ("block-soft-limit", "block-hard-limit", "file-soft-limit", "file-hard-limit")
_FIELDS = (
    "block-used",
    "block-soft-limit",
    "block-hard-limit",
    "block-grace",
    "file-used",
    "file-soft-limit",
    "file-hard-limit",
    "file-grace",
)


def __virtual__():
    if process.which("setquota"):
        return "quota"
    return False, (
        "The quota execution module cannot be loaded: the module is only available on POSIX-like systems "
        "with the setquota binary available."
    )


def report(mount):
    """
    Return the quotas of a file system: ``{mount point: {"User Quotas": {...}, "Group Quotas": {...}}}``

    Each has ``Block Grace Time``, ``Inode Grace Time`` and ``Users`` or ``Groups``: ``{name: {block-used, ...}}``.

    mount
        The mount point

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' quota.report /srv
    """
    return {mount: {"User Quotas": _quotas(mount, "-u"), "Group Quotas": _quotas(mount, "-g")}}


def set_(device, **kwargs):
    """
    Set the limits of a user or group; returns the new limits: ``{"User: name": {...}}``

    device
        The mount point
    user
        A user
    group
        Or a group
    block-soft-limit, block-hard-limit, file-soft-limit, file-hard-limit
        The limits; 0 for none. Those that are not given stay as they are

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' quota.set /srv user=app block-soft-limit=20971520
        pushsalt run '*' quota.set /srv group=www-data file-hard-limit=50000
    """
    if "user" in kwargs and "group" in kwargs:
        raise SaltInvocationError("Please specify a user or group, not both.")
    if "user" not in kwargs and "group" not in kwargs:
        raise CommandExecutionError("A valid user or group was not found")
    kind, flag, name = ("User", "-u", kwargs["user"]) if "user" in kwargs else ("Group", "-g", kwargs["group"])
    present = _quotas(device, flag)[kind + "s"].get(str(name), {})
    limits = {limit: kwargs.get(limit, present.get(limit, 0)) for limit in _LIMITS}
    command = ["setquota", flag, str(name)] + [str(limits[limit]) for limit in _LIMITS] + [device]
    done = __salt__["cmd.run_all"](command, python_shell=False)
    if done["retcode"] != 0:
        raise CommandExecutionError("Unable to set desired quota. Error follows: \n%s" % done["stderr"])
    return {"%s: %s" % (kind, name): dict(present, **limits)}


def warn():
    """
    Send mail to all users who are over their quota

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' quota.warn
    """
    __salt__["cmd.run"](["quotawarn"], python_shell=False)


def stats():
    """
    Return the kernel's statistics of quotas: ``{name: number as text}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' quota.stats
    """
    lines = __salt__["cmd.run"](["quotastats"], python_shell=False).splitlines()
    pairs = [line.partition(": ") for line in lines if ": " in line]
    return {key: value for key, _, value in pairs}


def on(device):
    """
    Turn quotas on; True

    device
        The mount point

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' quota.on /srv
    """
    __salt__["cmd.run"](["quotaon", device], python_shell=False)
    return True


def off(device):
    """
    Turn quotas off; True

    device
        The mount point

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' quota.off /srv
    """
    __salt__["cmd.run"](["quotaoff", device], python_shell=False)
    return True


def get_mode(device):
    """
    Return whether quotas are on: ``{mount point: {device, user: on|off, group: on|off}}``

    The value is ``disabled`` or ``Not found`` if quotaon(8) reports this.

    device
        The mount point

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' quota.get_mode /srv
    """
    result = {}
    for row in map(str.split, __salt__["cmd.run"](["quotaon", "-p", device], python_shell=False).splitlines()):
        if row[:1] == ["quotaon:"]:
            if row[1] == "Mountpoint":
                result[row[4] if len(row) > 4 else device] = "disabled"
            elif row[1] == "Cannot":
                return {device: "Not found"}
        elif len(row) > 6:  # group quota on /mnt (/dev/sdb1) is off
            entry = result.setdefault(row[3], {"device": row[4].strip("()")})
            entry[row[0]] = row[6]
    return result


def _quotas(mount, flag):
    kind = "Users" if flag == "-u" else "Groups"
    quotas, rows = {kind: {}}, False
    for line in __salt__["cmd.run"](["repquota", "-vp", flag, mount], python_shell=False).splitlines():
        words = line.split()
        if "Block grace time" in line:
            block, _, inode = line.partition(";")
            quotas["Block Grace Time"] = [block.partition(": ")[2]]
            quotas["Inode Grace Time"] = [inode.partition(": ")[2]]
        elif line.startswith("-"):
            rows = True
        elif rows and len(words) >= 10:
            quotas[kind][words[0]] = dict(zip(_FIELDS, words[2:]))
    return quotas
