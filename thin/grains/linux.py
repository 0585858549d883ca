"""The system's own grains on Linux: init, systemd, SELinux, package architecture, kernel parameters, EFI, machine id.

Salt: ``os_data`` and related functions of salt.grains.core; salt.grains.extra.
"""

import os

from thin.grains.probe import Command, listing, read, which

#: ELF machine of a program -> the architecture's name in Debian and in RPM, by class (1: 32 bit, 2: 64 bit).
ELF_MACHINES = {
    (2, 0x3E): ("amd64", "x86_64"),
    (2, 0xB7): ("arm64", "aarch64"),
    (2, 0x16): ("s390x", "s390x"),
    (2, 0xF3): ("riscv64", "riscv64"),
    (1, 0x03): ("i386", None),
}
INITS = (b"upstart", b"sysvinit", b"systemd")


def start(command=Command):
    """Start ``systemctl --version`` if Salt would run it; returns the running command, or None."""
    systemctl = which("systemctl")
    return command([systemctl, "--version"]) if systemctl and which("localectl") else None


def grains(systemctl, family):
    """``systemctl``: the result of ``start``; ``family``: the os_family."""
    ret = {"init": init(), "osarch": osarch(family), "fibre_channel_host": os.path.isdir("/sys/class/fc_host")}
    ret["ps"] = "ps -o user,pid,ppid,tty,time,comm" if family == "NILinuxRT" else "ps -efHww"
    ret["transactional"] = which("transactional-update") is not None
    ret.update(efi())
    if which("selinuxenabled"):
        ret["selinux"] = selinux()
    if systemctl:
        ret["systemd"] = systemd(*systemctl.output())
    cmdline = read("/proc/cmdline", None)
    if cmdline is not None:
        ret["kernelparams"] = kernelparams(cmdline)
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        if os.path.exists(path):
            ret["machine_id"] = read(path).strip()
            break
    return ret


def systemd(code, text):
    """``version`` and ``features`` from ``systemctl --version``."""
    lines = text.splitlines()
    if code == 0 and len(lines) > 1 and lines[0].startswith("systemd "):
        return {"version": lines[0].split()[1], "features": lines[1]}
    return {"version": "UNDEFINED", "features": ""}


def selinux():
    ret = {"enabled": os.path.exists("/sys/fs/selinux/enforce")}
    if which("getenforce"):
        enforcing = {"1": "Enforcing", "0": "Permissive"}
        ret["enforced"] = enforcing.get(read("/sys/fs/selinux/enforce").strip(), "Disabled")
    return ret


def init():
    """The init system: systemd, upstart, sysvinit, runit, supervisord, dumb-init, tini or unknown."""
    if os.path.exists("/run/systemd/system"):
        return "systemd"
    command = read("/proc/1/cmdline").replace("\0", " ").split()
    if not command:
        return "unknown"
    program = which(command[0])
    if program and program.endswith("bin/init"):
        return _init_by_content(program)
    for name in ("supervisord", "dumb-init", "tini"):
        path = which(name)
        if path and path in command:
            return name
    if command == ["runit"] or "/sbin/my_init" in command:
        return "runit"
    return "unknown"


def _init_by_content(program):
    try:
        with open(program, "rb") as handle:
            content = handle.read().lower()
    except OSError:
        return "unknown"
    places = [(content.find(name), name) for name in INITS if name in content]
    return min(places)[1].decode() if places else "unknown"


def osarch(family):
    """The architecture of packages. It is read from the ELF header of the package tool; the tool only runs if that is
    not enough.
    """
    tool = {"Debian": "dpkg", "RedHat": "rpm", "Suse": "rpm"}.get(family)
    machine = os.uname()[4]
    path = which(tool) if tool else None
    if not path:
        # Salt runs dpkg; without it the grain is empty
        return "" if tool == "dpkg" else machine
    words = ELF_MACHINES.get(_elf(path), (None, None))
    if tool == "dpkg":
        return words[0] or Command([path, "--print-architecture"]).output()[1].strip()
    return words[1] or Command([path, "--eval", "%{_host_cpu}"]).output()[1].strip() or "unknown"


def _elf(path):
    """(class, machine) of a program, or None."""
    try:
        with open(path, "rb") as handle:
            head = bytearray(handle.read(20))
    except OSError:
        return None
    if len(head) < 20 or bytes(head[:4]) != b"\x7fELF":
        return None
    low, high = (head[18], head[19]) if head[5] == 1 else (head[19], head[18])
    return head[4], high << 8 | low


def kernelparams(cmdline):
    """[[name, value or None]] from the kernel's command line; as in Salt, a value that contains "=" is None."""
    if '"' in cmdline or "'" in cmdline:
        from thin.utils import words as shell

        try:
            words = shell.split(cmdline)
        except ValueError:
            words = cmdline.split()
    else:
        words = cmdline.split()
    pairs = [word.split("=") for word in words]
    return [[pair[0], pair[1].strip('"') if len(pair) == 2 else None] for pair in pairs]


def efi():
    for folder in ("/sys/firmware/efi/efivars", "/sys/firmware/efi/vars"):
        if os.path.exists(folder):
            names = [name for name in listing(folder) if name.startswith("SecureBoot-")]
            secure = False
            if len(names) == 1:
                path = os.path.join(folder, names[0])
                path = path if folder.endswith("efivars") else os.path.join(path, "data")
                secure = read(path)[-1:] == "\x01"
            return {"efi": True, "efi-secure-boot": secure}
    return {"efi": False, "efi-secure-boot": False}
