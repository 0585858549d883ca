import json
import shutil
import subprocess

import pytest

from thin.grains import network
from thin.utils.system import netlink


@pytest.mark.skipif(not shutil.which("ip"), reason="ip is not installed")
def test_interfaces_equal_those_of_ip():
    links = json.loads(subprocess.run(["ip", "-json", "address"], stdout=subprocess.PIPE, check=True).stdout)
    grains = network.interface_grains(network.interfaces())
    assert list(grains["ip_interfaces"]) == [link["ifname"] for link in links]
    for link in links:
        addresses = [info["local"] for info in link["addr_info"]]
        assert sorted(grains["ip_interfaces"][link["ifname"]]) == sorted(addresses)
        if "address" in link:
            assert grains["hwaddr_interfaces"][link["ifname"]] == link["address"]


def test_grains_of_interfaces():
    data = {
        "lo": {"hwaddr": "00:00:00:00:00:00", "inet": ["127.0.0.1"], "inet6": ["::1"], "secondary": []},
        "eth0": {"inet": ["192.0.2.20"], "inet6": ["fe80::1", "2001:db8::1"], "secondary": ["192.0.2.3"]},
        "tun0": {"inet": [], "inet6": [], "secondary": []},
    }
    assert network.interface_grains(data) == {
        "ip_interfaces": {
            "lo": ["127.0.0.1", "::1"],
            "eth0": ["192.0.2.20", "fe80::1", "2001:db8::1", "192.0.2.3"],
            "tun0": [],
        },
        "ip4_interfaces": {"lo": ["127.0.0.1"], "eth0": ["192.0.2.20", "192.0.2.3"], "tun0": []},
        "ip6_interfaces": {"lo": ["::1"], "eth0": ["fe80::1", "2001:db8::1"], "tun0": []},
        "hwaddr_interfaces": {"lo": "00:00:00:00:00:00"},
        "ipv4": ["127.0.0.1", "192.0.2.3", "192.0.2.20"],
        "ipv6": ["::1", "2001:db8::1", "fe80::1"],
    }


HEAD = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
ZERO = "0" * 32


@pytest.mark.parametrize(
    "four, six, expected",
    [
        ("", "", (False, False, False)),
        ("eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\n", "", ("192.0.2.1", False, True)),
        ("tun0 00000000 00000000 0001 0 0 0 00000000 0 0 0\n", "", (True, False, True)),
        ("eth0 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n", "", (False, False, False)),
        # the kernel's own "unreachable" default is ignored
        ("", f"{ZERO} 00 {ZERO} 00 {ZERO} ffffffff 1 0 00200200 lo\n", (False, False, False)),
        ("", f"{ZERO} 00 {ZERO} 00 fe80{'0' * 27}1 400 1 0 00000003 eth0\n", (False, "fe80::1", True)),
        ("", f"{ZERO} 00 {ZERO} 00 {ZERO} 400 1 0 00000001 tun0\n", (False, True, True)),
    ],
)
def test_routes_of_the_kernel_give_gateways(four, six, expected):
    grains = network.gateways(HEAD + four if four else "", six)
    assert (grains["ip4_gw"], grains["ip6_gw"], grains["ip_gw"]) == expected


def test_resolv_conf_is_parsed():
    text = (
        "# comment\nnameserver 192.0.2.53\nnameserver 2001:DB8::53 ; x\nnameserver 192.0.2.53\nnameserver bad\n"
        "domain example.org\nsearch a.example b.example # c\noptions ndots:2\n"
        "sortlist 192.0.2.0 198.51.100.0/255.255.255.128\n"
    )
    assert network.parse_resolv(text) == {
        "nameservers": ["192.0.2.53", "2001:db8::53"],
        "ip4_nameservers": ["192.0.2.53"],
        "ip6_nameservers": ["2001:db8::53"],
        "sortlist": ["192.0.2.0/255.255.255.0", "198.51.100.0/255.255.255.128"],
        "domain": "example.org",
        "search": ["a.example", "b.example"],
        "options": ["ndots:2"],
    }


@pytest.mark.parametrize(
    "link_type, packed, text",
    [
        (1, b"\x02\0\0\0\0\x0a", "02:00:00:00:00:0a"),
        (776, b"\xc0\0\x02\x01", "192.0.2.1"),
        (1, b"\1\2\3\4", "01:02:03:04"),
    ],
)
def test_link_addresses_are_formatted(link_type, packed, text):
    assert netlink.link_address(link_type, packed) == text
