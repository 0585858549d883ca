"""The execution modules network and dig, and their helpers. The tables have real Salt's results."""

import json
import os
import shutil
import socket
import subprocess

import pytest

from thin.utils.outputs import routes
from thin.utils.system import interfaces

FOUR = """default via 10.9.0.254 dev va
10.8.0.9 dev va proto kernel scope link src 10.8.0.1
172.20.0.0/16 via 10.9.0.3 dev va
blackhole 172.21.0.0/16
unreachable 172.22.0.0/16
"""
SIX = """fe80::/64 dev va proto kernel metric 256 pref medium
default via 2001:db8::1 dev va metric 1024 pref medium
local ::1 dev lo table local proto kernel metric 0 pref medium
multicast ff00::/8 dev va table local proto kernel metric 256 pref medium
"""
NETSTAT = """Kernel IP routing table
Destination     Gateway         Genmask         Flags   MSS Window  irtt Iface
0.0.0.0         10.9.0.254      0.0.0.0         UG        0 0          0 va
"""
NETSTAT6 = """Kernel IPv6 routing table
Destination                    Next Hop                   Flag Met Ref Use If
fe80::/64                      [::]                       U    256 1     0 va
"""


def _rows(table):
    names = ("addr_family", "destination", "gateway", "netmask", "flags", "interface")
    return [tuple(route[name] for name in names) for route in table]


def test_routes_of_ip_are_parsed():
    assert _rows(routes.iproute(FOUR, SIX)) == [
        ("inet", "0.0.0.0", "10.9.0.254", "0.0.0.0", "UG", "va"),
        ("inet", "10.8.0.9", "0.0.0.0", "255.255.255.255", "U", "va"),
        ("inet", "172.20.0.0", "0.0.0.0", "255.255.0.0", "U", "va"),
        ("inet6", "fe80::/64", "::", "", "U", "va"),
        ("inet6", "::/0", "2001:db8::1", "", "UG", "va"),
        ("inet6", "::1/128", "::", "", "U", "lo"),
    ]


def test_routes_of_netstat_are_parsed():
    assert _rows(routes.netstat(NETSTAT, NETSTAT6)) == [
        ("inet", "0.0.0.0", "10.9.0.254", "0.0.0.0", "UG", "va"),
        ("inet6", "fe80::/64", "[::]", "", "U", "va"),
    ]


@pytest.mark.skipif(not shutil.which("ip"), reason="ip is not installed")
def test_interfaces_equal_those_of_ip():
    links = json.loads(subprocess.run(["ip", "-json", "address"], stdout=subprocess.PIPE, check=True).stdout)
    table = interfaces.table()
    assert list(table) == [link["ifname"] for link in links]
    for link in links:
        entry = table[link["ifname"]]
        assert entry["up"] == ("UP" in link["flags"])
        primary = [
            address for address in link["addr_info"] if not address.get("secondary") and "address" not in address
        ]
        assert [
            (address["local"], interfaces.netmask(address["prefixlen"]), address.get("broadcast"), address["label"])
            for address in primary
            if address["family"] == "inet"
        ] == [
            (address["address"], address["netmask"], address["broadcast"], address["label"])
            for address in entry.get("inet", [])
        ]
        assert [
            (address["local"], str(address["prefixlen"]), address["scope"])
            for address in primary
            if address["family"] == "inet6"
        ] == [(address["address"], address["prefixlen"], address["scope"]) for address in entry.get("inet6", [])]


@pytest.mark.parametrize(
    "function, args, value",
    [
        ("calc_net", ["10.1.2.3/20"], "10.1.0.0/20"),
        ("calc_net", ["10.1.2.3", "255.255.255.0"], "10.1.2.0/24"),
        (
            "convert_cidr",
            ["10.1.2.3/20"],
            {"network": "10.1.0.0", "netmask": "255.255.240.0", "broadcast": "10.1.15.255"},
        ),
        ("ip_in_subnet", ["1.2.3.4", "1.2.0.0/16"], True),
        ("ip_in_subnet", [["9.9.9.9", "1.2.3.4"], "1.2.0.0/16"], True),
        ("ip_in_subnet", ["1.2.3.4", "junk"], False),
        ("is_private", ["10.0.0.1"], True),
        ("is_loopback", ["::1"], True),
        ("reverse_ip", ["1.2.3.4"], "4.3.2.1.in-addr.arpa"),
        ("iphexval", ["1.2.3.40"], "01020328"),
        ("in_subnet", ["junk"], False),
        ("interface_ip", ["lo"], "127.0.0.1"),
        ("connect", ["", 1], {"result": False, "comment": "Required argument, host, is missing."}),
        ("connect", ["x"], {"result": False, "comment": "Required argument, port, is missing."}),
    ],
)
def test_functions_return_the_values_of_salt(make_loaders, function, args, value):
    assert make_loaders().modules["network." + function](*args) == value


def test_a_missing_interface_is_reported(make_loaders):
    message = make_loaders().modules["network.hw_addr"]("nosuch0")
    assert message.startswith('Interface "nosuch0" not in available interfaces: "lo"')


def test_tcp_connections_are_opened_and_listed(make_loaders):
    call = make_loaders().modules
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        assert call["network.connect"]("127.0.0.1", port) == {
            "result": True,
            "comment": f"Successfully connected to 127.0.0.1 (127.0.0.1) on tcp port {port}",
        }
        with socket.create_connection(("127.0.0.1", port)):
            connections = call["network.active_tcp"]().values()
            assert ("127.0.0.1", port) in [(entry["remote_addr"], entry["remote_port"]) for entry in connections]
    refused = call["network.connect"]("127.0.0.1", port)
    assert refused == {"result": False, "comment": f"Unable to connect to 127.0.0.1 (127.0.0.1) on tcp port {port}"}


ANSWERS = {
    "a.example A": "192.0.2.1\n192.0.2.2\na.name.",
    "ns.example A": "192.0.2.53",
    "example NS": "ns.example",
    "example MX": "10 a.example\n20 ns.example",
    "c.example CNAME": "a.example",
    "t.example TXT": '"hello"\n"two"',
    "example TXT": '"v=spf1 ip4:192.0.2.0/24 +ip6:2001:db8::/32 include:inc.example include:example -all"',
    "inc.example TXT": '"v=spf1 ip4:198.51.100.1 ip4:bad -all"',
    "red.example TXT": '"v=spf1 redirect=inc.example"',
}


@pytest.fixture
def dig(make_loaders, tmp_path, monkeypatch):
    """The modules, with a script in place of ``dig`` whose output has the format of +short."""
    lines = [f"'{question}') printf '%s' '{answer}';;" for question, answer in ANSWERS.items()]
    text = '#!/bin/sh\n[ "$6" = @192.0.2.9 ] && exit 9\ncase "$3 $5" in\n' + "\n".join(lines) + "\nesac\n"
    program = tmp_path / "dig"
    program.write_text(text)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return make_loaders().modules


@pytest.mark.parametrize(
    "function, args, value",
    [
        ("A", ["a.example"], ["192.0.2.1", "192.0.2.2"]),
        ("a", ["none.example"], []),
        ("A", ["a.example", "192.0.2.9"], []),
        ("CNAME", ["c.example"], "a.example"),
        ("NS", ["example"], ["192.0.2.53"]),
        ("NS", ["example", False], ["ns.example"]),
        ("MX", ["example"], [["10", "a.example"], ["20", "ns.example"]]),
        ("MX", ["example", True], [["10", "192.0.2.1"], ["20", "192.0.2.53"]]),
        ("TXT", ["t.example"], ['"hello"', '"two"']),
        ("SPF", ["example"], ["192.0.2.0/24", "2001:db8::/32", "198.51.100.1"]),
        ("SPF", ["red.example"], ["198.51.100.1"]),
        ("SPF", ["none.example"], []),
        ("check_ip", ["1.2.3.4/32"], True),
        ("check_ip", ["1.2.3.4/33"], False),
        ("check_ip", ["::1/7"], False),
        ("check_ip", ["::1"], True),
        ("check_ip", [5], False),
    ],
)
def test_functions_of_dig_return_records(dig, function, args, value):
    assert dig["dig." + function](*args) == value


def test_dig_does_not_load_without_its_program(make_loaders, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    modules = make_loaders().modules
    assert "dig.A" not in modules
    assert "the dig binary is not in the path" in modules.missing("dig.A")


@pytest.mark.parametrize(
    "addr, ipv6, expected", [("127.0.0.1", None, "127.0.0.1"), ("127.0.0.1", True, "127.0.0.1"), ("::1", None, "[::1]")]
)
def test_dns_check_returns_the_address(make_loaders, addr, ipv6, expected):
    modules = make_loaders().modules
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert modules["network.dns_check"](addr, server.getsockname()[1], ipv6=ipv6) == expected


def test_dns_check_of_an_invalid_address(make_loaders):
    with pytest.raises(Exception, match=r"DNS lookup or connection check of '300\.1\.1\.1' failed\."):
        make_loaders().modules["network.dns_check"]("300.1.1.1", 80)
