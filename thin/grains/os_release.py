"""The operating system: ``os``, ``os_family``, ``osfullname``, ``osrelease``, ``oscodename`` and so on.

``describe`` computes them from the texts of /etc/os-release, /etc/lsb-release and the distribution's own release file,
so that it works for any system on any machine. Salt: ``_linux_distribution_data`` of salt.grains.core, as it is without
the distribution's ``lsb_release`` module.
"""

import re

from thin.grains.probe import read

#: The first ten letters of NAME, without "Linux" and spaces, in lower case -> os.
SHORT_NAMES = {
    "alibabaclo": "Alinux",
    "almalinux": "AlmaLinux",
    "almalinuxk": "AlmaLinux",
    "alt": "ALT",
    "amazonami": "Amazon",
    "antergos": "Antergos",
    "arch": "Arch",
    "archarm": "Arch ARM",
    "chapeau": "Chapeau",
    "cloudlinux": "CloudLinux",
    "cloudserve": "CloudLinux",
    "debian": "Debian",
    "enterprise": "OEL",
    "fedoraremi": "Fedora",
    "gentoobase": "Gentoo",
    "korora": "Korora",
    "linuxmint": "Mint",
    "manjaro": "Manjaro",
    "manjarolin": "Manjaro",
    "mendel": "Mendel",
    "neon": "KDE neon",
    "nilrt": "NILinuxRT",
    "oracleserv": "OEL",
    "photon": "VMware Photon OS",
    "pidora": "Fedora",
    "poky": "Poky",
    "pop": "Pop",
    "raspbian": "Raspbian",
    "redhatente": "RedHat",
    "rocky": "Rocky",
    "scientific": "ScientificLinux",
    "sles": "SUSE",
    "slesexpand": "RES",
    "synology": "Synology",
    "univention": "Univention",
    "virtuozzo": "Virtuozzo",
    "void": "Void",
}

#: (ID, NAME) -> os, for systems whose NAME is ambiguous.
SPECIAL_NAMES = {
    ("astra", "Astra Linux (Orel)"): "AstraLinuxCE",
    ("astra", "Astra Linux (Smolensk)"): "AstraLinuxSE",
    ("pop", "Pop!_OS"): "Pop",
}

#: os_family -> os; an os that is not listed is its own family.
FAMILIES = {
    "Arch": ("Antergos", "Arch ARM", "EndeavourOS", "Manjaro", "Manjaro ARM"),
    "Bluewhite": ("Bluewhite64",),
    "Debian": (
        "AstraLinuxCE",
        "AstraLinuxSE",
        "Cumulus",
        "Deepin",
        "Devuan",
        "GCEL",
        "IDMS",
        "KDE neon",
        "Kali",
        "Linaro",
        "Mendel",
        "Mint",
        "OSMC",
        "Parrot OS",
        "Pop",
        "Raspbian",
        "Trisquel",
        "TurnKey",
        "Ubuntu",
        "Univention",
        "antiX",
        "elementary",
        "elementary OS",
        "neon",
    ),
    "Gentoo": ("Funtoo",),
    "Mandriva": ("Mandrake",),
    "RedHat": (
        "ALT",
        "Alinux",
        "AlmaLinux",
        "AlmaLinux Kitten",
        "AlterOS",
        "Amazon",
        "CentOS",
        "CentOS Stream",
        "Chapeau",
        "CloudLinux",
        "FedBerry",
        "Fedora",
        "GoOSe",
        "Korora",
        "OEL",
        "OVS",
        "RED OS",
        "RES",
        "Rocky",
        "Sangoma",
        "Scientific",
        "ScientificLinux",
        "VMware Photon OS",
        "Virtuozzo",
        "XCP",
        "XCP-ng",
        "XenServer",
        "openEuler",
    ),
    "Slackware": ("Slamd64",),
    "Suse": (
        "SLED",
        "SLES",
        "SLES_SAP",
        "SUSE",
        "SUSE  Enterprise Server",
        "SUSE Enterprise Server",
        "alfaLinux",
        "alfaLinux Rise",
        "openSUSE",
        "openSUSE Leap",
        "openSUSE Tumbleweed",
    ),
    "VMware": ("VMwareESX",),
}

#: Systems whose osfinger has the short name, and those whose osfinger has the complete release.
FINGER_BY_OS = ("Debian", "FreeBSD", "OpenBSD", "NetBSD", "Mac", "Raspbian", "AlmaLinux")
FINGER_WHOLE_RELEASE = ("Ubuntu", "Pop", "NixOS")

_ASSIGNMENT = re.compile(r"^\s*([A-Za-z_][A-Za-z0-9_]*)=(.*?)\s*$")
_LSB = re.compile(r"""^DISTRIB_(ID|RELEASE|CODENAME|DESCRIPTION)=['"]?([\w\s.\-]+)""")
_ESCAPED = re.compile(r"\\([\"'$`\\])")
_IN_PARENTHESES = re.compile(r"\(([^()]+)\)")


def grains(read=read):
    """The grains of this machine, or of another root; ``read(path)`` returns the text of a file in it."""
    os_release = read("/etc/os-release") or read("/usr/lib/os-release")
    release_file = read("/etc/centos-release") or read("/etc/redhat-release") or read("/etc/system-release")
    return describe(os_release, read("/etc/lsb-release"), release_file)


def describe(os_release_text, lsb_release_text="", release_file_text=""):
    """The ``os*`` and ``lsb_*`` grains of a system from the texts of its files."""
    release = parse_os_release(os_release_text)
    ret = parse_lsb_release(lsb_release_text)
    if release:
        ret["os"] = os_name(release["NAME"], release["ID"])
        ret["osfullname"] = release["NAME"].strip()
    if ret.get("lsb_distrib_description", "").lower().startswith("antergos"):
        ret["osfullname"] = "Antergos Linux"
    elif "lsb_distrib_id" not in ret:
        ret.update(_lsb_from_os_release(release) if release else _lsb_from_release_file(release_file_text))
    name, version, codename = _plain_names(release, release_file_text)
    ret.setdefault("osfullname", ret.get("lsb_distrib_id", name).strip())
    if any(system in ret.get("lsb_distrib_codename", "") for system in ("CentOS Linux 7", "CentOS Linux 8")):
        ret.pop("lsb_distrib_release", None)  # the os-release of these systems has no minor number
    ret["osrelease"] = ret.get("lsb_distrib_release", version).strip()
    if ret.get("os") in ("Rocky", "AlmaLinux", "AstraLinuxSE"):
        inner = re.search(r"\(([^)]*)", ret.get("lsb_distrib_codename", ""))
        if inner:
            words = inner.group(1)
            ret["lsb_distrib_codename"] = words.split()[0].lower() if ret["os"] == "AstraLinuxSE" else words
    ret["oscodename"] = ret.get("lsb_distrib_codename", "").strip() or codename
    if "Red Hat" in ret["oscodename"]:
        ret["oscodename"] = codename
    ret.setdefault("os", os_name(ret["osfullname"]))
    if "SUSE_SUPPORT_PRODUCT" in release:
        product, number = release["SUSE_SUPPORT_PRODUCT"], release.get("SUSE_SUPPORT_PRODUCT_VERSION", "")
        ret["oscodename"] = release.get("SUSE_PRETTY_NAME", "%s %s" % (product, number))
        ret["osrelease"] = number
        if product == "SUSE Linux Micro":
            ret["osfullname"] = "SL-Micro"
    ret["os_family"] = os_family(ret["os"])
    if ret["osrelease"]:
        ret.update(release_numbers(ret["os"], ret["osfullname"], ret["osrelease"]))
    return ret


def parse_os_release(text):
    """{KEY: value} of an os-release file; empty without any assignment. NAME, ID and PRETTY_NAME are always there."""
    result = {}
    for line in text.splitlines():
        match = _ASSIGNMENT.match(line)
        if match:
            key, value = match.groups()
            if value[:1] in "\"'" and len(value) > 1 and value[:1] == value[-1:]:
                value = value[1:-1]
            result[key] = _ESCAPED.sub(r"\1", value)
    if not result:
        return {}
    return dict({"NAME": "Linux", "ID": "linux", "PRETTY_NAME": "Linux"}, **result)


def parse_lsb_release(text):
    """{lsb_distrib_*: value} of /etc/lsb-release."""
    matches = [_LSB.match(line) for line in text.splitlines()]
    return {"lsb_distrib_" + match.group(1).lower(): match.group(2).rstrip() for match in matches if match}


def os_name(full_name, id=None):
    """The ``os`` grain for the name of a distribution."""
    if (id, full_name) in SPECIAL_NAMES:
        return SPECIAL_NAMES[(id, full_name)]
    name = re.sub(r"\W(?:gnu/)?linux", "", full_name, flags=re.IGNORECASE).strip()
    return SHORT_NAMES.get(name.replace(" ", "").lower()[:10], name)


def os_family(os):
    for family, members in FAMILIES.items():
        if os in members:
            return family
    return os


def release_numbers(os, full_name, release):
    """``osrelease_info``, ``osmajorrelease`` and ``osfinger`` for a release such as "24.04"."""
    info = [int(part) if part.isdigit() else part for part in release.split(".")]
    ret = {"osrelease_info": info}
    try:
        ret["osmajorrelease"] = int(info[0])
    except ValueError:
        pass  # such as "rolling"
    name = os if os in FINGER_BY_OS else full_name
    ret["osfinger"] = "%s-%s" % (name, release if os in FINGER_WHOLE_RELEASE else info[0])
    return ret


def _lsb_from_os_release(release):
    ret = {"lsb_distrib_id": release["NAME"].strip()}
    if "VERSION_ID" in release:
        ret["lsb_distrib_release"] = release["VERSION_ID"]
    ret["lsb_distrib_codename"] = release.get("VERSION_CODENAME", release["PRETTY_NAME"])
    vendor, version = _cpe(release.get("CPE_NAME", ""))
    if vendor.lower() in ("suse", "opensuse"):
        ret["os"] = "SUSE"
        if release["NAME"] == "openSUSE Leap":
            ret["osfullname"] = "Leap"
        elif release.get("VERSION") == "Tumbleweed":
            ret["osfullname"] = "Tumbleweed"
        if version and vendor == "opensuse":
            ret["lsb_distrib_release"] = version
    if release["ID"] == "mendel" and len(release["PRETTY_NAME"].split()) >= 3:
        ret["lsb_distrib_release"] = release["PRETTY_NAME"].split()[2]
    return ret


def _cpe(name):
    """(vendor, version) of a CPE name, as URI (cpe:/o:vendor:product:version) or formatted string (cpe:2.3:o:...)."""
    parts = name.split(":")
    at = 2 if parts[0] == "cpe" and parts[1:2] and parts[1].startswith("/") else 3
    if parts[0] != "cpe" or len(parts) < at + 3:
        return "", ""
    return parts[at], parts[at + 2].replace("*", "")


def _lsb_from_release_file(text):
    """The names of systems older than os-release: "CentOS release 6.10 (Final)"."""
    match = re.match(r"(\S+).*?(\d+\.\d+)", text)
    if not match:
        return {}
    codename = _IN_PARENTHESES.search(text)
    ret = {"lsb_distrib_id": match.group(1), "lsb_distrib_release": match.group(2)}
    if codename:
        ret["lsb_distrib_codename"] = codename.group(1)
    return ret


def _plain_names(release, release_file_text):
    """(name, version, codename) if the other functions find none: the longest version, and the name in parentheses."""
    versions = [release.get("VERSION_ID", "")]
    match = re.search(r"release\s+([\d.]+)", release_file_text)
    if match:
        versions.append(match.group(1))
    version = max(versions, key=lambda text: (text.count("."), len(text)))
    codename = release.get("VERSION_CODENAME", "")
    if "VERSION_CODENAME" not in release:  # an empty one is used
        for text in (release.get("VERSION", ""), release_file_text):
            match = _IN_PARENTHESES.search(text)
            if match:
                codename = match.group(1)
                break
    return release.get("NAME", ""), version, codename
