"""``virtual`` and ``virtual_subtype``: the virtualization of the machine. Salt: ``_virtual`` of salt.grains.core.

Salt runs ``virt-what`` if it is installed, else ``systemd-detect-virt``, then ``dmidecode`` and ``lspci``, and then
reads files. This module does the same, but reads the data of dmidecode and lspci from /sys, and only if Salt would have
found the program, so that the result is the same.
"""

import os

from thin.grains.probe import Command, listing, read, which

#: Outputs of systemd-detect-virt that are used unchanged.
DETECT_AS_IS = ("qemu", "kvm", "oracle", "xen", "bochs", "chroot", "uml", "systemd-nspawn")
#: Part of the output -> virtual, virtual_subtype.
DETECT_PARTS = (
    ("vmware", "VMware", None),
    ("microsoft", "VirtualPC", None),
    ("lxc", "container", "LXC"),
    ("podman", "container", "Podman"),
    ("docker", "container", "Docker"),
    ("amazon", "Nitro", "Amazon EC2"),
)
#: Line of virt-what (or part of it) -> virtual, virtual_subtype.
VIRT_WHAT_LINES = {
    "kvm": ("kvm", None),
    "qemu": ("qemu", None),
    "uml": ("uml", None),
    "xen": ("xen", None),
    "ibm_power-kvm": ("kvm", None),
    "ibm_power-lpar_shared": ("LPAR", "shared"),
    "ibm_power-lpar_dedicated": ("LPAR", "dedicated"),
}
VIRT_WHAT_PARTS = (
    ("lxc", "container", "LXC"),
    ("docker", "container", "Docker"),
    ("vmware", "VMware", None),
    ("parallels", "Parallels", None),
    ("nutanix", "kvm", "Nutanix AHV"),
    ("hyperv", "HyperV", None),
)
PCI_VENDORS = (("0x15ad", "VMware"), ("0x80ee", "VirtualBox"), ("0x1234", "kvm"), ("0x1b36", "kvm"), ("0x1af4", "kvm"))


def start(command=Command):
    """Start the program to run: (name, Command), or None. ``grains`` reads its output later."""
    for name in ("virt-what", "systemd-detect-virt"):
        path = which(name)
        if path:  # virt-what is a script, whose output depends on other programs, too
            return name, (command if name == "systemd-detect-virt" else Command)([path])
    return None


def grains(asked, dmi):
    """``asked``: the result of ``start``; ``dmi``: the grains of the firmware."""
    if "BrandZ virtual linux" in os.uname():
        return {"virtual": "zone"}
    ret = {"virtual": "physical"}
    _put(ret, _from_commands(asked, dmi))
    _from_files(ret, dmi)
    if ret.get("virtual_subtype") and ret["virtual"] == "physical":
        ret["virtual"] = "virtual"
    if ret["virtual"] in ("qemu", "kvm", "xen", "amazon") and which("dmidecode") and os.geteuid() == 0:
        _cloud(ret, dmi, read("/sys/class/dmi/id/product_version").strip())
    return ret


def _put(ret, values):
    virtual, subtype = values
    if virtual:
        ret["virtual"] = virtual
    if subtype:
        ret["virtual_subtype"] = subtype


def _from_commands(asked, dmi):
    if asked:
        name, command = asked
        code, text = command.output()
        if name == "virt-what" and code == 0:
            return virt_what(text)
        if name == "systemd-detect-virt" and code == 0:
            hypervisor = systemd_detect_virt(text)
            if hypervisor[0]:
                return hypervisor
        if name == "virt-what":
            return _from_pci()
    if which("dmidecode") and os.geteuid() == 0 and dmi:
        return from_firmware(dmi, read("/sys/class/dmi/id/board_vendor"))
    return _from_pci()


def systemd_detect_virt(word):
    """(virtual, virtual_subtype), each None if the output does not determine it."""
    if word in DETECT_AS_IS:
        return word, None
    for part, virtual, subtype in DETECT_PARTS:
        if part in word:
            return virtual, subtype
    return None, None


def virt_what(text):
    for line in text.splitlines():
        if line in VIRT_WHAT_LINES:
            return VIRT_WHAT_LINES[line]
        for part, virtual, subtype in VIRT_WHAT_PARTS:
            if part in line:
                return virtual, subtype
    return None, None


def from_firmware(dmi, board_vendor=""):
    """The virtualization according to vendors and products of the firmware."""
    vendors = " ".join([dmi.get("manufacturer", ""), dmi.get("biosvendor", ""), board_vendor])
    everything = vendors + " " + dmi.get("productname", "")
    virtual, subtype = None, None
    if "QEMU" in vendors or "Bochs" in vendors:
        virtual = "kvm"
    if "BHYVE" in everything:
        virtual = "bhyve"
    elif dmi.get("manufacturer", "").startswith("oVirt"):
        virtual, subtype = "kvm", "ovirt"
    elif dmi.get("productname", "").startswith("RHEV Hypervisor"):
        virtual, subtype = "kvm", "rhev"
    elif "VirtualBox" in everything:
        virtual = "VirtualBox"
    elif "VMware" in everything:
        virtual = "VMware"
    elif "Microsoft" in vendors and "Virtual Machine" in everything:
        virtual = "VirtualPC"
    elif "Parallels Software" in everything:
        virtual = "Parallels"
    elif dmi.get("manufacturer", "").startswith("Google"):
        virtual = "kvm"
    elif dmi.get("manufacturer", "").startswith("Nutanix") and dmi.get("productname", "").startswith("AHV"):
        virtual, subtype = "kvm", "Nutanix AHV"
    elif dmi.get("biosvendor", "").startswith("SeaBIOS"):
        virtual = "kvm"
    return virtual, subtype


def _from_pci():
    bus = "/sys/bus/pci/devices"
    if not which("lspci") or not os.path.exists("/proc/bus/pci"):
        return None, None
    present = {read("%s/%s/vendor" % (bus, name)).strip() for name in listing(bus)}
    for vendor, virtual in PCI_VENDORS:
        if vendor in present:
            return virtual, None
    return None, None


def _from_files(ret, dmi):
    try:
        own, first = os.stat("/"), os.stat("/proc/1/root/.")
        if (own.st_dev, own.st_ino) != (first.st_dev, first.st_ino):
            ret["virtual_subtype"] = "chroot"
    except OSError:
        pass  # only root may read it
    if os.path.isdir("/proc/vz"):
        if os.path.isfile("/proc/vz/version"):
            ret["virtual"] = "openvzhn"
        elif os.path.isfile("/proc/vz/veinfo"):
            ret["virtual"] = "openvzve"
    for line in read("/proc/self/status").splitlines():
        if line.startswith("envID:"):
            ret["virtual"] = "openvzhn" if line.split()[1:] == ["0"] else "openvzve"
    _xen(ret, dmi)
    if "QEMU Virtual CPU" in read("/proc/cpuinfo"):
        ret["virtual"] = "kvm"
    product = read("/sys/devices/virtual/dmi/id/product_name")
    for part, value in (
        ("VirtualBox", ("VirtualBox", None)),
        ("RHEV Hypervisor", ("kvm", "rhev")),
        ("oVirt Node", ("kvm", "ovirt")),
        ("Google", ("gce", None)),
        ("BHYVE", ("bhyve", None)),
    ):
        if part in product:
            _put(ret, value)
            break
    _containers(ret, read("/proc/1/cgroup"), read("/proc/1/environ"))


def _containers(ret, cgroup, environ):
    """Containers are checked last: they may run on any of the above."""
    if ":/lxc/" in cgroup or "container=lxc" in environ:
        _put(ret, ("container", "LXC"))
    elif ":/kubepods/" in cgroup:
        ret["virtual_subtype"] = "kubernetes"
    elif ":/libpod_parent/" in cgroup:
        ret["virtual_subtype"] = "libpod"
    elif any(part in cgroup for part in (":/system.slice/docker", ":/docker/", ":/docker-ce/")):
        _put(ret, ("container", "Docker"))


def _xen(ret, dmi):
    if not any(os.path.isdir(path) for path in ("/proc/sys/xen", "/sys/bus/xen", "/proc/xen")):
        return
    capabilities = read("/proc/xen/capabilities", None)
    if os.path.isfile("/proc/xen/xsd_kva"):
        ret["virtual_subtype"] = "Xen Dom0"
    elif dmi.get("productname") == "HVM domU":
        ret["virtual_subtype"] = "Xen HVM DomU"
    elif capabilities is not None:
        ret["virtual_subtype"] = "Xen Dom0" if "control_d" in capabilities else "Xen PV DomU"
    elif os.path.isdir("/sys/bus/xen/drivers/xenconsole"):
        ret["virtual_subtype"] = "Xen PV DomU"
    if "dom" in ret.get("virtual_subtype", "").lower():
        ret["virtual"] = "xen"


def _cloud(ret, dmi, version):
    maker, product = dmi.get("manufacturer", ""), dmi.get("productname", "")
    if maker.startswith("Amazon EC2"):
        if ret["virtual"] != "xen":
            ret["virtual"] = "Nitro"
        ret["virtual_subtype"] = "Amazon EC2 (%s)" % product if product else "Amazon EC2"
    elif version.endswith(".amazon"):
        ret["virtual_subtype"] = "Amazon EC2"
    elif maker.startswith("Nutanix") and product.startswith("AHV"):
        ret["virtual_subtype"] = "Nutanix AHV"
