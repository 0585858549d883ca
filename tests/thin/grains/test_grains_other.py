"""Grains of FreeBSD, OpenBSD and macOS from the output of their programs; interfaces and routes from ifconfig."""

from pathlib import Path

import pytest
import yaml

from thin.grains import bsd, macos, storage
from thin.utils.outputs import ifconfig

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/thin/grains_other.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.get("kernel", case["room"]))
def test_grains_equal_recorded_ones(case):
    if case["room"] == "bsd":
        grains = bsd.describe(case["kernel"], case["kernelrelease"], case["said"], case.get("dmesg", ""))
    else:
        grains = macos.describe(case["said"])
    if "part" in case:
        assert {name: grains[name] for name in case["part"]} == case["part"]
    else:
        assert grains == case["want"]


@pytest.mark.parametrize(
    "grain, value, expected",
    [
        ("serialnumber", "0000000", None),
        ("serialnumber", "To be filled by O.E.M.", None),
        ("serialnumber", "AB12", "AB12"),
        ("manufacturer", "System manufacturer", None),
        ("manufacturer", "QEMU", "QEMU"),
        ("productname", "Not Specified", None),
        ("uuid", "not-a-uuid", None),
        ("biosvendor", "", None),
    ],
)
def test_placeholders_of_manufacturers_are_left_out(grain, value, expected):
    assert bsd.clean(grain, value) == expected


# The format is that of ifconfig(8) and netstat(1) of FreeBSD 14 and macOS 14; the addresses are synthetic.
FREEBSD = """\
vtnet0: flags=1008843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST,LOWER_UP> metric 0 mtu 1500
\toptions=4c07bb<RXCSUM,TXCSUM>
\tether 58:9c:fc:00:00:01
\tinet 192.0.2.10 netmask 0xffffff00 broadcast 192.0.2.255
\tinet6 fe80::5a9c:fcff:fe00:1%vtnet0 prefixlen 64 scopeid 0x1
\tmedia: Ethernet autoselect (10Gbase-T <full-duplex>)
lo0: flags=1008049<UP,LOOPBACK,RUNNING,MULTICAST,LOWER_UP> metric 0 mtu 16384
\tinet6 ::1 prefixlen 128
\tinet 127.0.0.1 netmask 0xff000000
gif0: flags=8010<POINTOPOINT,MULTICAST> metric 0 mtu 1280
"""
ROUTES = """\
Routing tables

Internet:
Destination        Gateway            Flags     Netif Expire
default            192.0.2.1          UGS      vtnet0
127.0.0.1          link#2             UH          lo0

Internet6:
Destination                       Gateway                       Flags     Netif Expire
default                           fe80::1%vtnet0                UGS      vtnet0
"""


def test_interfaces_of_ifconfig_are_parsed():
    table = ifconfig.table(FREEBSD)
    assert list(table) == ["vtnet0", "lo0", "gif0"]
    assert table["vtnet0"] == {
        "up": True,
        "hwaddr": "58:9c:fc:00:00:01",
        "inet": [{"address": "192.0.2.10", "netmask": "255.255.255.0", "broadcast": "192.0.2.255"}],
        "inet6": [{"address": "fe80::5a9c:fcff:fe00:1", "prefixlen": "64", "scope": "0x1"}],
    }
    assert table["lo0"]["inet"] == [{"address": "127.0.0.1", "netmask": "255.0.0.0"}]
    assert table["gif0"] == {"up": False}


def test_gateways_of_netstat_are_parsed():
    assert ifconfig.gateways(ROUTES) == {"ip_gw": True, "ip4_gw": "192.0.2.1", "ip6_gw": "fe80::1"}
    assert ifconfig.gateways("") == {"ip_gw": False, "ip4_gw": False, "ip6_gw": False}
    assert ifconfig.gateways("Internet:\ndefault link#3 UCS en0\n")["ip4_gw"] is True


def test_grains_of_another_kernel_are_collected(monkeypatch, tmp_path):
    import os

    from thin.grains import collect
    from thin.utils.system import netlink

    monkeypatch.setattr(os, "uname", lambda: ("FreeBSD", "box", "14.1-RELEASE", "FreeBSD 14.1", "amd64"))
    monkeypatch.setattr("thin.grains.bsd.which", lambda name: None)
    grains = collect({"id": "box", "conf_file": str(tmp_path / "minion")})
    assert not netlink.available()
    assert (grains["os"], grains["osfinger"], grains["kernel"]) == ("FreeBSD", "FreeBSD-14", "FreeBSD")
    assert {"ip_interfaces", "ip4_gw", "fqdn", "id", "disks"} <= set(grains)


def test_names_of_iscsi_initiators_are_parsed():
    text = "## comment\nInitiatorName=iqn.1993-08.org.debian:01:abc\nInitiatorName=\n"
    assert storage.iscsi(text) == ["iqn.1993-08.org.debian:01:abc"]


def test_volume_groups_and_pools_are_grains(monkeypatch, tmp_path):
    """Scripts print the output of lvm(8) and zpool(8)."""
    for name, text in (
        ("lvm", 'case "$1" in vgs) echo "  vg0";; lvs) echo "  root"; echo "  swap";; esac'),
        ("zpool", "printf 'tank\\t9.50G\\n'"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert storage.grains({}, storage.start())["lvm"] == {"vg0": ["root", "swap"]}
    assert storage.pools() == {"zfs_support": True, "zfs_feature_flags": True, "zpool": {"tank": 10200547328}}
    assert "lvm" not in storage.grains({})
