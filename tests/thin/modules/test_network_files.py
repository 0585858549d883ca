"""Files that the providers of the module ``ip`` write, and how they parse them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from thin.modules import netplan_ip, nm_ip
from thin.utils.formats import debianifaces

TESTS = Path(__file__).resolve().parents[2]
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CASES: list[dict[str, Any]] = yaml.load((TESTS / "cases/thin/network.yaml").read_text(), LOADER)
DEBIAN = {"os": "Debian", "os_family": "Debian", "osrelease": "12", "osrelease_info": (12,), "osfullname": "Debian"}
CENTOS = {
    "os": "CentOS",
    "os_family": "RedHat",
    "osrelease": "7.9",
    "osmajorrelease": 7,
    "num_cpus": 4,
    "osfullname": "CentOS",
}
FUNCTIONS = {
    "network.interfaces": lambda: {"eth0": {"hwaddr": "02:00:00:00:00:09", "up": True}},
    "pkg.version": lambda name: "1",
    "sysctl.persist": lambda *args: None,
}


@pytest.fixture
def load(tmp_path: Path) -> Any:
    """A function that loads a provider with a root folder of the test."""

    def provider(name: str, **functions: Any) -> Any:
        module = importlib.import_module(f"thin.modules.{name}")
        for folder in ("interfaces.d", "if-up.d", "if-down.d"):
            (tmp_path / "etc/network" / folder).mkdir(parents=True, exist_ok=True)
        for folder in ("etc/sysconfig/network-scripts", "etc/modprobe.d", "etc/default", "etc/ppp/peers", "own"):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        attributes = {
            "__grains__": CENTOS if name in ("rh_ip", "nm_ip") else DEBIAN,
            "__salt__": {**FUNCTIONS, **functions},
            "__opts__": {"test": False},
            "ROOT": str(tmp_path),
            "FOLDER": str(tmp_path / "own"),
        }
        for key, value in attributes.items():
            if key.startswith("__") or hasattr(module, key):
                monkey.setattr(module, key, value, raising=False)
        return module

    with pytest.MonkeyPatch.context() as monkey:
        yield provider


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['provider']}-{'-'.join(map(str, case['args'][:2]))}")
def test_settings_become_lines(load: Any, case: dict[str, Any]) -> None:
    function = getattr(load(case["provider"]), case["function"])
    try:
        returned = function(*case["args"], test=True, **case["settings"])
    except Exception as exc:
        returned = f"{type(exc).__name__}: {exc}"
    if isinstance(returned, list):
        returned = [line for line in returned if not line.startswith("uuid=")]
    assert returned == case["want"]


STATIC = {"proto": "static", "ipaddr": "192.0.2.5", "netmask": "255.255.255.0", "dns": ["192.0.2.53"]}
INTERFACES = """# a comment
auto lo
iface lo inet loopback

source interfaces.d/*
mapping eth7
    script /bin/map
allow-hotplug eth1
iface eth1 inet static
    address 192.0.2.9/24
    address 192.0.2.10/24
    openvpn vpn1
    dns-search a.example b.example
"""


def test_stanzas_of_others_are_kept(load: Any, tmp_path: Path) -> None:
    module = load("debian_ip")
    path = tmp_path / "etc/network/interfaces"
    path.write_text(INTERFACES)
    assert module.get_interface("eth0") == []
    new = module.build_interface("eth0", "eth", True, **STATIC)
    text = path.read_text()
    assert module.get_interface("eth0") == new
    for line in filter(None, INTERFACES.splitlines()[1:]):
        assert line in text.splitlines()
    assert text.index("auto lo") < text.index("source") < text.index("allow-hotplug eth1") < text.index("auto eth0")
    before = path.stat()
    assert module.build_interface("eth0", "eth", True, **STATIC) == new
    assert path.stat().st_ino == before.st_ino, "it was written without a change"
    assert debianifaces.parse(text, "x")["eth1"]["data"]["inet"]["addresses"] == ["192.0.2.10/24"]


def test_an_interface_is_changed_where_it_is_defined(load: Any, tmp_path: Path) -> None:
    module = load("debian_ip")
    (tmp_path / "etc/network/interfaces").write_text("auto lo\niface lo inet loopback\n")
    mine = tmp_path / "etc/network/interfaces.d/eth0"
    mine.write_text("auto eth0\niface eth0 inet dhcp\n")
    module.build_interface("eth0", "eth", True, **STATIC)
    assert "address 192.0.2.5" in mine.read_text()
    assert "eth0" not in (tmp_path / "etc/network/interfaces").read_text()
    module.build_interface("eth3", "eth", True, proto="dhcp", filename="three")
    assert (tmp_path / "etc/network/interfaces.d/three").read_text() == "auto eth3\niface eth3 inet dhcp\n"
    with pytest.raises(AttributeError, match="cannot be written"):
        module.build_interface("eth3", "eth", True, proto="dhcp", filename="/nowhere/three")


def test_a_malformed_stanza_is_reported(load: Any, tmp_path: Path) -> None:
    (tmp_path / "etc/network").mkdir(parents=True, exist_ok=True)
    module = load("debian_ip")
    (tmp_path / "etc/network/interfaces").write_text("iface eth0 inet\n")
    with pytest.raises(AttributeError, match="Interface file malformed"):
        module.get_interface("eth0")


def test_only_root_reads_the_password_of_pppoe(load: Any, tmp_path: Path) -> None:
    module = load("debian_ip")
    settings = {"proto": "ppp", "provider": "isp", "user": "me", "password": "hush", "noipdefault": True}
    module.build_interface("dsl", "pppoe", True, **settings)
    peer = tmp_path / "etc/ppp/peers/isp"
    assert peer.stat().st_mode & 0o777 == 0o600
    assert peer.read_text().startswith("user me\npassword hush\nplugin rp-pppoe.so eth0\nnoipdefault\n")
    assert "hush" not in (tmp_path / "etc/network/interfaces").read_text()


def test_the_script_of_a_vlan_has_a_name_that_run_parts_executes(load: Any, tmp_path: Path) -> None:
    module = load("debian_ip")
    routes = [{"name": "n", "ipaddr": "10.2.0.0", "netmask": "255.255.0.0", "gateway": "10.1.0.3"}]
    lines = module.build_routes("eth0.5", routes=routes)
    assert lines == module.get_routes("eth0.5")
    script = tmp_path / "etc/network/if-up.d/route-eth0_5"
    assert script.stat().st_mode & 0o777 == 0o755
    assert script.read_text().splitlines()[-1] == "ip route add 10.2.0.0/255.255.0.0 via 10.1.0.3 dev eth0.5"


def test_settings_of_the_network_are_written_and_read(load: Any, tmp_path: Path) -> None:
    module = load("debian_ip")
    (tmp_path / "etc/hostname").write_text("old\n")
    resolver = tmp_path / "etc/resolv.conf"
    resolver.write_text("nameserver 192.0.2.53\nsearch a.example\n")
    assert module.get_network_settings() == ["HOSTNAME=old\n", "SEARCH=a.example\n"]
    with pytest.raises(AttributeError, match="Setting: networking"):
        module.build_network_settings()
    settings = {"enabled": True, "hostname": "new.b.example", "search": "b.example"}
    lines = ["NETWORKING=yes\n", "HOSTNAME=new\n", "DOMAIN=b.example\n", "SEARCH=b.example\n"]
    assert module.build_network_settings(test=True, **settings) == lines
    assert resolver.read_text() == "nameserver 192.0.2.53\nsearch a.example\n"
    assert module.build_network_settings(**settings) == lines
    assert resolver.read_text() == "domain b.example\nnameserver 192.0.2.53\nsearch b.example\n"
    assert "CONFIGURE_INTERFACES=yes\n" in (tmp_path / "etc/default/networking").read_text()
    (tmp_path / "etc/hostname").write_text("new.b.example\n")
    assert module.build_network_settings(**settings) == module.get_network_settings()


def test_files_of_red_hat_are_written_and_read(load: Any, tmp_path: Path) -> None:
    module = load("rh_ip")
    with pytest.raises(AttributeError, match="master is a required setting"):
        module.build_interface("eth1", "slave", True)
    lines = module.build_interface("eth0", "eth", True, proto="dhcp", hwaddr="none")
    assert lines == module.get_interface("eth0")
    assert (tmp_path / "etc/sysconfig/network-scripts/ifcfg-eth0").read_text() == "".join(f"{line}\n" for line in lines)
    routes = [{"ipaddr": "10.2.0.0/16", "gateway": "10.1.0.3"}, {"ipaddr": "2001:db8::/32", "gateway": "fe80::1"}]
    assert (
        module.build_routes("eth0", routes=routes)
        == module.get_routes("eth0")
        == ["10.2.0.0/16 via 10.1.0.3", "2001:db8::/32 via fe80::1"]
    )
    module.build_network_settings(enabled=True, hostname="a.example", nozeroconf=False)
    assert module.get_network_settings() == ["NETWORKING=yes", "HOSTNAME=a.example", "NOZEROCONF=no"]
    retained = module.build_network_settings(hostname="b.example", retain_settings=True)
    assert retained == ["NETWORKING=yes", "HOSTNAME=b.example", "NOZEROCONF=no"]


def test_files_of_networkmanager_are_written_and_read(load: Any) -> None:
    module = load("nm_ip")
    module.build_interface("bond0", "bond", True, mode="active-backup", slaves="eth1,eth2", **STATIC)
    member = Path(nm_ip.FOLDER, "eth2.nmconnection")
    assert member.stat().st_mode & 0o777 == 0o600
    assert "master=bond0\nslave-type=bond\n" in member.read_text()
    assert "[bond]\nmode=active-backup\n" in "".join(module.get_interface("bond0"))
    routes = [{"ipaddr": "10.2.0.0", "netmask": "255.255.0.0", "gateway": "192.0.2.1"}, {"gateway": "2001:db8::1"}]
    lines = module.build_routes("bond0", routes=routes)
    assert lines == module.get_routes("bond0")
    whole = "".join(module.get_interface("bond0"))
    assert "dns=192.0.2.53;\nroute1=10.2.0.0/16,192.0.2.1\n\n[ipv6]\nmethod=auto\nroute1=::/0,2001:db8::1\n" in whole
    assert module.build_routes("bond0", routes=routes) == lines
    assert "".join(module.get_interface("bond0")) == whole
    assert module.build_routes("bond0", routes=[]) == module.get_routes("bond0") == []


def test_files_of_netplan_are_written_and_read(load: Any) -> None:
    module = load("netplan_ip")
    Path(netplan_ip.FOLDER, "01-all.yaml").write_text("network:\n  version: 2\n  renderer: NetworkManager\n")
    lines = module.build_interface("br0", "bridge", True, ports="eth1", **STATIC)
    assert lines == module.get_interface("br0")
    assert "  renderer: NetworkManager\n" in lines
    assert Path(netplan_ip.FOLDER, "90-salt-br0.yaml").stat().st_mode & 0o777 == 0o600
    settings = [{"ipaddr": "10.2.0.0", "netmask": "255.255.0.0", "gateway": "192.0.2.1"}]
    routes = module.build_routes("br0", routes=settings)
    assert routes == module.get_routes("br0") == ["routes:\n", "- to: 10.2.0.0/16\n", "  via: 192.0.2.1\n"]
    text = Path(netplan_ip.FOLDER, "91-salt-br0-routes.yaml").read_text()
    assert yaml.safe_load(text)["network"]["bridges"]["br0"] == {"routes": [{"to": "10.2.0.0/16", "via": "192.0.2.1"}]}
    assert module.build_routes("br0", routes=[]) == module.get_routes("br0") == []


@pytest.mark.parametrize(("program", "settings"), [("debian_ip", {}), ("rh_ip", {})])
def test_a_failing_ifup_is_reported(load: Any, program: str, settings: Any) -> None:
    result = {"retcode": 1, "stdout": "", "stderr": "no such device"}
    module = load(program, **{"cmd.run_all": lambda *args, **kwargs: result})
    with pytest.raises(module.CommandExecutionError, match="ifup eth9 failed: no such device"):
        module.up("eth9", "eth")
    assert module.up("eth9", "slave") is None
