"""The system's own grains on macOS, from sw_vers, sysctl and system_profiler.

Salt: ``os_data``, ``_osx_memdata``, ``_osx_gpudata``, ``_osx_platform_data`` and related functions of salt.grains.core.
"""

from thin.grains.os_release import release_numbers
from thin.grains.probe import Command, which

__fits__ = {"kernel": ("Darwin",)}

SYSCTL = (
    "hw.ncpu",
    "hw.machine",
    "hw.model",
    "hw.memsize",
    "vm.swapusage",
    "machdep.cpu.brand_string",
    "machdep.cpu.features",
)
#: Field of system_profiler -> grain.
PROFILE = {
    "Model Name": "model_name",
    "Boot ROM Version": "boot_rom_version",
    "SMC Version (system)": "smc_version",
    "Serial Number (system)": "system_serialnumber",
}
UNITS = {"K": 1, "M": 1 << 10, "G": 1 << 20}


def grains():
    """The grains of this machine."""
    commands = {
        "sw_vers": _start("sw_vers"),
        "sysctl": _start("sysctl", *SYSCTL),
        "hardware": _start("system_profiler", "SPHardwareDataType"),
        "displays": _start("system_profiler", "SPDisplaysDataType"),
    }
    return describe({name: command.output()[1] if command else "" for name, command in commands.items()})


def _start(program, *words):
    path = which(program)
    return Command([path] + list(words)) if path else None


def describe(outputs):
    """The grains of a machine from the outputs of its programs (``sw_vers``, ``sysctl``, ``hardware``,
    ``displays``)."""
    version, values = _pairs(outputs.get("sw_vers", "")), _pairs(outputs.get("sysctl", ""))
    release = version.get("ProductVersion", "")
    ret = {
        "os": "MacOS",
        "os_family": "MacOS",
        "osfullname": "%s %s" % (version.get("ProductName", ""), release),
        "osrelease": release,
        "osbuild": version.get("BuildVersion", ""),
        "init": "launchd",
        "ps": "ps auxwww",
        "num_cpus": int(values.get("hw.ncpu") or 1),
        "cpu_model": values.get("machdep.cpu.brand_string", ""),
        "cpu_flags": values.get("machdep.cpu.features", "").split(),
        "manufacturer": "Apple Inc.",
        "productname": values.get("hw.model", ""),
        "virtual": "physical",
        "mem_total": int(values.get("hw.memsize") or 0) >> 20,
        "swap_total": swap(values.get("vm.swapusage", "")),
    }
    if values.get("hw.machine"):
        ret["cpuarch"] = ret["osarch"] = values["hw.machine"]
    if release:
        ret.update(release_numbers("MacOS", ret["osfullname"], release))
    hardware = _pairs(outputs.get("hardware", ""))
    ret.update((grain, hardware[field]) for field, grain in PROFILE.items() if field in hardware)
    ret["gpus"] = gpus(outputs.get("displays", ""))
    ret["num_gpus"] = len(ret["gpus"])
    if "0x1ab8" in outputs.get("displays", "").lower():
        ret["virtual"] = "Parallels"
    elif "VMware" in ret["productname"]:
        ret["virtual"] = "VMware"
    return ret


def swap(text):
    """MiB from ``total = 2048.00M  used = …``."""
    words = text.split()
    total = words[2].replace(",", ".") if len(words) > 2 else ""
    return int(float(total[:-1]) * UNITS[total[-1]]) >> 10 if total[-1:] in UNITS else 0


def gpus(displays):
    """[{"vendor", "model"}] of the graphics cards."""
    gpus = []
    for line in displays.splitlines():
        name, sign, value = line.strip().partition(": ")
        if sign and name == "Chipset Model":
            vendor, _, model = value.partition(" ")
            gpus.append({"vendor": vendor.lower(), "model": model})
    return gpus


def _pairs(text):
    rows = (line.strip().partition(":") for line in text.splitlines() if ":" in line)
    return {row[0]: row[2].strip() for row in rows}
