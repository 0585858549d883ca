"""The system's own grains on FreeBSD (and DragonFly), and those that are similar on OpenBSD and NetBSD.

Salt: ``os_data``, ``_bsd_cpudata``, ``_bsd_memdata``, ``_hw_data``, ``_virtual`` of salt.grains.core; its grains.disks.
"""

import re

from thin.grains.os_release import release_numbers
from thin.grains.probe import Command, read, which

__fits__ = {"kernel": ("FreeBSD", "DragonFly", "OpenBSD", "NetBSD")}

SYSCTL = (
    "hw.ncpu",
    "hw.machine",
    "hw.model",
    "hw.physmem",
    "vm.swap_total",
    "hw.hv_vendor",
    "security.jail.jailed",
    "kern.hostuuid",
)
#: Grain -> variable of the kernel's environment.
KENV = (
    ("biosversion", "smbios.bios.version"),
    ("biosvendor", "smbios.bios.vendor"),
    ("manufacturer", "smbios.system.maker"),
    ("serialnumber", "smbios.system.serial"),
    ("productname", "smbios.system.product"),
    ("biosreleasedate", "smbios.bios.reldate"),
    ("uuid", "smbios.system.uuid"),
)
#: The same for OpenBSD.
OPENBSD = (
    ("biosversion", "hw.version"),
    ("manufacturer", "hw.vendor"),
    ("productname", "hw.product"),
    ("serialnumber", "hw.serialno"),
    ("uuid", "hw.uuid"),
)
#: Field of "geom disk list" -> the grain's key; as in Salt, some fields have two keys.
GEOM = {
    "Mediasize": (),
    "Sectorsize": (),
    "Stripesize": (),
    "Stripeoffset": (),
    "descr": ("device_model",),
    "lunid": ("WWN",),
    "lunname": (),
    "ident": ("serial_number",),
    "rotationrate": ("media_RPM",),
}
GEOM_NUMBERS = ("Sectorsize", "Stripesize", "Stripeoffset", "rotationrate")


def grains(kernel, kernelrelease):
    """The grains of this machine."""
    commands = {
        "sysctl": _start("sysctl", "-e", *(SYSCTL + tuple(name for _, name in OPENBSD))),
        "kenv": _start("kenv"),
        "version": _start("freebsd-version", "-u"),
        "geom": _start("geom", "disk", "list"),
        "swap": _start("swapctl", "-sk") if kernel in ("OpenBSD", "NetBSD") else None,
    }
    outputs = {name: command.output()[1] if command else "" for name, command in commands.items()}
    return describe(kernel, kernelrelease, outputs, read("/var/run/dmesg.boot"))


def _start(program, *words):
    path = which(program)
    return Command([path] + list(words)) if path else None


def describe(kernel, kernelrelease, outputs, dmesg=""):
    """The grains of a machine from the outputs of its programs (``sysctl``, ``kenv``, ``version``, ``geom``,
    ``swap``)."""
    values = dict(line.split("=", 1) for line in outputs.get("sysctl", "").splitlines() if "=" in line)
    os = "FreeBSD" if kernel == "DragonFly" else kernel
    release = (outputs.get("version") or kernelrelease).split("-")[0]
    ret = {
        "os": kernel,
        "os_family": os,
        "osrelease": release,
        "osfullname": "%s %s" % (kernel, release),
        "num_gpus": 0,
        "gpus": [],
        "ps": "ps auxwww",
        "cpu_model": values.get("hw.model", ""),
        "num_cpus": _number(values.get("hw.ncpu"), 1),
        "mem_total": _number(values.get("hw.physmem"), 0) >> 20,
        "swap_total": _number(values.get("vm.swap_total"), 0) >> 20,
        "virtual": "physical",
    }
    if values.get("hw.machine"):
        ret["cpuarch"] = values["hw.machine"]
        ret["osarch"] = values["hw.machine"]
    if outputs.get("swap"):
        words = outputs["swap"].split()
        ret["swap_total"] = _number(words[1], 0) // 1024 if len(words) > 1 else 0
    ret.update(release_numbers(kernel, ret["osfullname"], release))
    if kernel in ("FreeBSD", "DragonFly"):
        ret["cpu_flags"] = cpu_flags(dmesg)
        environment = dict(line.split("=", 1) for line in outputs.get("kenv", "").splitlines() if "=" in line)
        ret.update(hardware(KENV, {name: value.strip('"') for name, value in environment.items()}))
        ret.update(virtual(ret, values))
        ret.update(disks(outputs.get("geom", "")))
        if values.get("kern.hostuuid"):
            ret["machine_id"] = values["kern.hostuuid"].replace("-", "")
    elif kernel == "OpenBSD":
        ret.update(hardware(OPENBSD, values))
        if ret.get("manufacturer") in ("QEMU", "Red Hat", "Joyent"):
            ret["virtual"] = "kvm"
    return ret


def hardware(table, values):
    """Grains of the firmware; None for values that the manufacturer did not set."""
    return {grain: clean(grain, values[name]) for grain, name in table if name in values}


def clean(grain, value):
    """The value, or None for a placeholder of the manufacturer."""
    low = value.lower()
    if not value or low.startswith("none"):
        return None
    if grain == "uuid":
        return value if re.match(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z", value) else None
    if grain in ("serialnumber", "biosversion"):
        words = "sernum|part[_-]?number|specified|filled|applicable"
        placeholder = re.match(r"0+\Z|0?1234567", value) or re.search(words, low)
    elif grain == "manufacturer":
        placeholder = re.search("manufacturer|to be filled|available|asset|^no(ne|t)", low)
    else:
        words = "to be filled|un(known|specified)|no(t|ne)? (asset|provided|defined|available|present|specified)"
        placeholder = re.search(words, low)
    return None if placeholder else value


def virtual(hardware, values):
    """``virtual`` and ``virtual_subtype`` of a FreeBSD system."""
    maker, product = hardware.get("manufacturer") or "", hardware.get("productname") or ""
    ret = {}
    for text, start, hypervisor in (
        (product, "VMware", "VMware"),
        (product, "VirtualBox", "VirtualBox"),
        (maker, "OpenStack", "OpenStack"),
        (maker, "Bochs", "kvm"),
        (maker, "Amazon EC2", "Nitro"),
    ):
        if text.startswith(start):
            ret["virtual"] = hypervisor
    if maker.startswith("Xen"):
        ret.update(virtual="xen", virtual_subtype="%s %s" % (maker, product))
    if maker.startswith("Microsoft") and product.startswith("Virtual"):
        ret["virtual"] = "VirtualPC"
    if "bhyve" in values.get("hw.hv_vendor", ""):
        ret["virtual"] = "bhyve"
    elif "QEMU Virtual CPU" in values.get("hw.model", ""):
        ret["virtual"] = "kvm"
    if values.get("security.jail.jailed") == "1":
        ret["virtual_subtype"] = "jail"
    return ret


def cpu_flags(dmesg):
    """The flags of the first processor, from the kernel's boot messages."""
    flags, in_cpu = [], False
    for line in dmesg.splitlines():
        if line.startswith("CPU: "):
            in_cpu = True
        elif in_cpu and not line.startswith(" "):
            break
        elif in_cpu and "Features" in line and "<" in line:
            flags += line[line.index("<") + 1 :].split(">")[0].split(",")
    return flags


def disks(geom):
    """``disks``, ``{name: {field: value}}``, and the names of ``ssds``, from ``geom disk list``."""
    ret = {"disks": {}, "ssds": []}
    for block in geom.split("\n\n"):
        fields = {}
        for line in block.splitlines():
            key, sign, value = line.strip().lstrip("0123456789. ").partition(": ")
            if sign:
                fields[key] = value
        name = fields.get("Geom name")
        if not name or name.startswith("cd"):
            continue
        disk = ret["disks"][name] = {}
        for key in GEOM:
            if key in fields:
                value = _number(fields[key], None) if key in GEOM_NUMBERS else fields[key]
                disk.update(dict.fromkeys((key,) + GEOM[key], value))
        if disk.get("rotationrate") == 0:
            ret["ssds"].append(name)
    return ret


def _number(text, default):
    try:
        return int(text)
    except (TypeError, ValueError):
        return default
