"""Volume groups, pools, and the machine's names in storage networks.

Salt: salt.grains.lvm, and zfs, iscsi, fibre_channel and nvme of Salt 3007. Grains that Salt only collects with an
option (``iscsi_grains``, ``fibre_channel_grains``, ``nvme_grains``) need it here, too.
"""

import os

from thin.grains.probe import Command, listing, read, which

UNITS = "BKMGTPEZ"


def start():
    """Start ``lvm vgs`` if lvm is installed; returns the running command, or None."""
    lvm = which("lvm")
    return (lvm, Command([lvm, "vgs", "-o", "vg_name", "--noheadings"])) if lvm else None


def grains(opts, started=None):
    """``started``: the result of ``start``."""
    ret = {}
    if started:
        ret["lvm"] = volume_groups(*started)
    if os.path.isdir("/sys/module/zfs") or os.path.exists("/dev/zfs"):
        ret.update(pools())
    if opts.get("iscsi_grains"):
        ret["iscsi_iqn"] = iscsi(read("/etc/iscsi/initiatorname.iscsi"))
    if opts.get("fibre_channel_grains"):
        hosts = sorted(listing("/sys/class/fc_host"))
        ports = (read("/sys/class/fc_host/%s/port_name" % host).strip() for host in hosts)
        ret["fc_wwn"] = [port[2:] if port.startswith("0x") else port for port in ports if port]
    if opts.get("nvme_grains"):
        lines = (line.strip() for line in read("/etc/nvme/hostnqn").splitlines())
        ret["nvme_nqn"] = [line for line in lines if line.startswith("nqn.")]
    return ret


def volume_groups(lvm, groups):
    """``{volume group: [logical volumes]}``"""
    volume_groups = {}
    for name in _lines(groups):
        volume_groups[name] = _lines(Command([lvm, "lvs", "-o", "lv_name", "--noheadings", name]))
    return volume_groups


def _lines(command):
    return [line.strip() for line in command.output()[1].splitlines() if line.strip()]


def pools():
    """``zfs_support``, ``zfs_feature_flags``, and ``zpool``: ``{pool: bytes}``, rounded as in the output of zpool."""
    zpool = which("zpool")
    ret = {"zfs_support": bool(zpool), "zfs_feature_flags": bool(zpool)}
    if zpool:
        rows = [line.split() for line in Command([zpool, "list", "-H", "-o", "name,size"]).output()[1].splitlines()]
        pools = {row[0]: _bytes(row[1]) for row in rows if len(row) > 1}
        ret.update({"zpool": pools} if pools else {})
    return ret


def _bytes(size):
    """The number of bytes of ``9.50G``; other texts are returned unchanged."""
    try:
        return int(float(size.rstrip(UNITS)) * 1024 ** (UNITS.index(size[-1]) if size[-1] in UNITS else 0))
    except ValueError:
        return size


def iscsi(text):
    """The names of initiators in initiatorname.iscsi."""
    names = [line.partition("=")[2].strip() for line in text.splitlines() if line.startswith("InitiatorName=")]
    return [name for name in names if name]
