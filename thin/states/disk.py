"""Checks of the space on disks. Salt: ``salt/states/disk.py``."""

import os

__monitor__ = ["status"]


def status(name, maximum=None, minimum=None, absolute=False, free=False):
    """
    The used space of a file system is between these limits

    name
        The mount point, or any directory
    maximum, minimum
        Percent, or with ``absolute`` kB
    free
        Check the free space instead

    .. code-block:: yaml

        /var:
          disk.status:
            - maximum: 90
    """
    ret = {"name": name, "result": False, "comment": "", "changes": {}, "data": {}}
    maximum = _number("maximum", maximum, absolute, ret)
    minimum = _number("minimum", minimum, absolute, ret)
    if minimum is not None and maximum is not None and not ret["comment"] and minimum >= maximum:
        ret["comment"] += "minimum must be less than maximum "
    if ret["comment"]:
        return ret
    data = __salt__["disk.usage"]()
    if name in data:
        ret["data"] = data[name]
        if absolute:
            used, available = int(data[name]["used"]), int(data[name]["available"])
        else:
            used = int(data[name]["capacity"].strip("%"))
            available = 100 - used
    else:
        if not os.path.isdir(name):
            words = "Disk mount %s not present. Directory %s does not exist or is not a directory"
            return dict(ret, comment=words % (name, name))
        ret["data"] = __salt__["status.diskusage"](name)
        total, available = int(ret["data"][name]["total"]), int(ret["data"][name]["available"])
        used = total - available
        if not absolute:
            used, available = [round(part * 100.0 / total, 1) if total else 0 for part in (used, available)]
    unit, what, value = "KB" if absolute else "%", "available" if free else "used", available if free else used
    for word, limit, bad in (
        ("below minimum", minimum, minimum is not None and value < minimum),
        ("above maximum", maximum, maximum is not None and value > maximum),
    ):
        if bad:
            words = "Disk %s space is %s of %s %s at %s %s" % (what, word, limit, unit, value, unit)
            return dict(ret, comment=words)
    return dict(ret, result=True, comment="Disk used space in acceptable range")


def _number(what, value, absolute, ret):
    if value is None:
        return None
    try:
        value = int(value.strip(" KB" if absolute else " %") if isinstance(value, str) else value)
    except (TypeError, ValueError):
        ret["comment"] += "%s must be an integer " % what
        return value
    if not absolute and not 0 <= value <= 100:
        ret["comment"] += "%s must be in the range [0, 100] " % what
    return value
