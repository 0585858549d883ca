"""Devices, as reported by hwinfo and udev. Salt: modules/devinfo.py"""

import re

from thin.log import getLogger

__func_alias__ = {"filter_": "filter"}
__reads__ = ("filter", "hwinfo")

log = getLogger(__name__)

_ITEMS = ("bios", "cpu", "disk", "memory", "network", "partition")


def filter_(udev_in=None, udev_ex=None):
    """
    Return the sorted disks whose udev properties match

    udev_in
        ``{"e.id_bus": "ata"}``: paths in what ``udev.info`` returns, and the values they must have, one or a list
    udev_ex
        The same for disks to leave out

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' devinfo.filter udev_in='{"e.id_fs_type": "xfs"}'
    """
    properties = {disk: __salt__["udev.info"](disk) for disk in __grains__["disks"]}
    return sorted(
        disk
        for disk in properties
        if _fits(properties[disk], udev_in or {}) and not (udev_ex and _fits(properties[disk], udev_ex))
    )


def hwinfo(items=None, short=True, listmd=False, devices=None):
    """
    Return the output of hwinfo: ``{hwinfo: {...}}``, and related grains

    items
        Kinds of devices, a list: bios, cpu, disk, memory, network, partition …
    short
        The short format
    listmd
        With RAID devices
    devices
        Only these devices

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' devinfo.hwinfo items='[netcard, memory]' short=False
    """
    items = list(_ITEMS) if not items else items if isinstance(items, (list, tuple)) else [items]
    devices = devices if isinstance(devices, (list, tuple)) else [devices] if devices else []
    command = ["hwinfo"] + ["--" + item for item in items] + (["--short"] if short else [])
    command += ["--listmd"] if listmd else []
    command += [word for device in devices for word in ("--only", device)]
    text = __salt__["cmd.run_stdout"](command, python_shell=False)
    result = {"hwinfo": _short(text) if short else _full(text)}
    if "bios" in items:
        result["bios grains"] = {key: __grains__.get(key) for key in ("efi", "efi-secure-boot")}
    if "memory" in items:
        result["memory grains"] = {"mem_total": __grains__.get("mem_total")}
    if "network" in items:
        names = ("fqdn", "ip_interfaces") + (() if short else ("dns",))
        result["network grains"] = {key: __grains__.get(key) for key in names}
    return result


def _fits(properties, wanted):
    for path, values in wanted.items():
        value = properties
        for key in path.split("."):
            value = value.get(key.upper(), "n/a") if isinstance(value, dict) else "n/a"
        if isinstance(value, dict):
            log.warning("udevadm reports %s both as a value and as a group", path)
            continue
        if not _set(value) & _set(values):
            return False
    return True


def _set(value):
    return set(value) if isinstance(value, list) else {value}


def _short(text):
    """Parse hwinfo's short format: kinds of devices start at the margin, devices are indented by two blanks, nameless
    ones by four."""
    result, entry, count = {}, {}, 0
    for line in text.strip().splitlines():
        if line.startswith("    "):
            entry[count] = line.strip()
            count += 1
        elif line.startswith("  "):
            key, _, value = line.strip().partition(" ")
            entry[key] = value.strip()
        elif line.endswith(":"):
            entry, count = result.setdefault(line[:-1], {}), 0
    return result


def _full(text):
    result, stack = {}, []
    for line in text.strip().splitlines():
        stack = stack[: line.count("  ")]
        line = line.strip()
        key, mark, value = line.partition(":")
        key, value = key.strip(), value.strip()
        if not line:
            continue
        if not stack:
            kind, _, words = value.partition(": ")
            stack = [result.setdefault(key, {kind: words})]
        elif line.startswith("[") or not mark:
            stack[-1]["Note"] = line[1:-1] if line.startswith("[") else line
        elif value and not value.startswith("#") and key != "El Torito info":
            _enter(stack[-1], "I/O Ports" if key == "I/O Port" else key, _value(key, value))
        else:
            stack[-1][key] = below = _below(key, value)
            stack.append(below)
    return result


def _value(key, value):
    if key == "Config Status":
        return dict(item.split("=") for item in value.split(", "))
    if key in ("Driver", "Driver Modules"):
        return value.replace('"', "").split(", ")
    if key in ("Tags", "Device Files", "Features"):
        return [each.strip() for each in value.split(",")]
    return re.sub(r'^"(.*).$', r"\1", value)


def _below(key, value):
    if value.startswith("#"):
        return {"Handle": value}
    if key == "El Torito info":
        platform, _, bootable = value.partition(", ")
        return {"platform": platform.split()[-1], "bootable": "no" if "not" in bootable else "yes"}
    return {}


def _enter(entry, key, value):
    if key in entry:
        values = entry[key] if isinstance(entry[key], list) else [entry[key]]
        if value not in values:
            values = values + [value]
        value = values[0] if len(values) == 1 else values
    entry[key] = value
