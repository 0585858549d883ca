"""Processor, memory, disks, graphics cards and firmware of a Linux machine, all from /proc and /sys.

Salt: ``_linux_cpudata``, ``_linux_memdata``, ``_hw_data``, ``_linux_devicetree_platform_data``, ``_linux_gpu_data`` of
salt.grains.core; salt.grains.disks and mdadm.
"""

import os

from thin.grains.probe import Command, listing, read, which

DMI = "/sys/class/dmi/id"

#: Grain -> file in DMI; only root can read the last two.
FIRMWARE = (
    ("biosversion", "bios_version"),
    ("biosvendor", "bios_vendor"),
    ("boardname", "board_name"),
    ("productname", "product_name"),
    ("manufacturer", "sys_vendor"),
    ("biosreleasedate", "bios_date"),
    ("uuid", "product_uuid"),
    ("serialnumber", "product_serial"),
)

GPU_CLASSES = ("3d controller", "display controller", "processing accelerators", "vga compatible controller")
GPU_VENDORS = ("nvidia", "amd", "ati", "intel", "cirrus logic", "vmware", "matrox", "aspeed")


def grains(opts):
    ret = cpu(read("/proc/cpuinfo", limit=16 * 1024 * 1024))
    ret.update(memory(read("/proc/meminfo")))
    ret.update(disks())
    ret.update(gpus(opts))
    if os.path.isdir("/proc/device-tree"):
        ret.update(device_tree())
    ret.update(firmware())
    mdstat = read("/proc/mdstat", None)
    if mdstat is not None:
        ret["mdadm"] = raids(mdstat)
    return ret


def cpu(cpuinfo):
    """``num_cpus``, ``cpu_model``, ``cpu_flags`` from /proc/cpuinfo of any architecture; of several values the last."""
    ret = {"num_cpus": 0, "cpu_model": "Unknown", "cpu_flags": []}
    for line in cpuinfo.splitlines():
        key, colon, value = line.partition(":")
        key, value = key.strip(), value.split(":")[0].strip()
        if not colon:
            continue
        if key == "processor":
            ret["num_cpus"] += 1
        elif key == "# processors":  # s390x
            ret["num_cpus"] = int(value)
        elif key in ("vendor_id", "model name", "cpu"):
            ret["cpu_model"] = value
        elif key in ("flags", "Features"):
            ret["cpu_flags"] = value
        elif key == "Processor":  # old ARM kernels
            ret["cpu_model"] = value.split("-")[0]
            ret["num_cpus"] = 1
    if ret["cpu_flags"]:
        ret["cpu_flags"] = ret["cpu_flags"].split()
    return ret


def memory(meminfo):
    """``mem_total`` and ``swap_total`` in MiB, rounded down."""
    ret = {"mem_total": 0, "swap_total": 0}
    names = {"MemTotal": "mem_total", "SwapTotal": "swap_total"}
    for line in meminfo.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() in names:
            ret[names[key.strip()]] = int(value.split()[0]) // 1024
    return ret


def disks():
    """``disks`` (rotating) and ``ssds`` by name, without virtual devices."""
    ret = {"disks": [], "ssds": []}
    for name in listing("/sys/block"):
        try:
            virtual = os.readlink("/sys/block/" + name).startswith("../devices/virtual/")
        except OSError:
            continue
        kind = {"0": "ssds", "1": "disks"}.get(read("/sys/block/%s/queue/rotational" % name)[:1])
        if kind and not virtual:
            ret[kind].append(name)
    return ret


def gpus(opts):
    """``gpus`` and ``num_gpus``. Their names are from lspci, which only runs if the bus has a card of such a class."""
    ret = {"num_gpus": 0, "gpus": []}
    if opts.get("enable_lspci", True) is False or opts.get("enable_gpu_grains", True) is False:
        return ret
    bus = "/sys/bus/pci/devices"
    if not any(read("%s/%s/class" % (bus, name)).startswith(("0x03", "0x12")) for name in listing(bus)):
        return ret
    lspci = which("lspci")
    if lspci:
        ret["gpus"] = parse_lspci(Command([lspci, "-vmm"]).output()[1])
        ret["num_gpus"] = len(ret["gpus"])
    return ret


def parse_lspci(text):
    """[{"vendor", "model"}] from ``lspci -vmm``."""
    result = []
    for record in text.split("\n\n"):
        device = {}
        for line in record.splitlines():
            key, colon, value = line.partition(":")
            if colon:
                device[key.strip()] = value.strip()
        if device.get("Class", "").lower() in GPU_CLASSES:
            letters = "".join(char if char.isalnum() else " " for char in device.get("Vendor", "").lower())
            vendor = [name for name in GPU_VENDORS if name in letters.split()]
            result.append({"vendor": vendor[0] if vendor else "unknown", "model": device.get("Device", "")})
    return result


def firmware(folder=DMI):
    """Grains of the firmware. Users other than root get those that they can read."""
    ret = {}
    for grain, name in FIRMWARE:
        text = read(os.path.join(folder, name), None)
        if text is not None:
            ret[grain] = text.strip().lower() if grain == "uuid" else text.strip()
    return ret


def device_tree(folder="/proc/device-tree"):
    """Manufacturer, product and serial number of boards without DMI."""
    ret = {}
    model = read(os.path.join(folder, "model")).rstrip("\0")
    if model:
        maker, comma, product = model.partition(",")
        ret["productname"] = product if comma else model
        if comma:
            ret["manufacturer"] = maker
    for name in ("system-id", "serial-number"):
        text = read(os.path.join(folder, name)).rstrip("\0")
        if text:
            ret["serialnumber"] = text
    return ret


def raids(mdstat):
    """Names of software RAID devices."""
    lines = [line for line in mdstat.splitlines() if not line.startswith(("Personalities : ", "unused devices:"))]
    return sorted({line.split(" : ")[0] for line in lines if " : " in line})
