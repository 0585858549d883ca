"""States of networks and firewalls, with functions that store their arguments."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from thin.exceptions import CommandExecutionError
from thin.utils.system import interfaces

LINK = {"inet": [{"address": "192.0.2.5", "netmask": "255.255.255.0", "broadcast": "192.0.2.255", "label": "eth0:1"}]}


class Network:
    """Replaces the module ``ip``: its files are lists of lines, ``calls`` has the calls."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, str], list[str]] = {}
        self.calls: list[tuple[str, ...]] = []
        self.failing = ""

    def functions(self) -> dict[str, Any]:
        functions: dict[str, Any] = {"saltutil.refresh_grains": lambda: self.calls.append(("refresh",))}
        for kind in ("interface", "bond", "routes"):
            functions[f"ip.get_{kind}"] = lambda iface, kind=kind: self.files.get((kind, iface), [])
            functions[f"ip.build_{kind}"] = lambda iface, *args, kind=kind, **more: self.build(
                (kind, iface), args, more
            )
        functions["ip.get_network_settings"] = lambda: self.files.get(("settings", ""), [])
        functions["ip.build_network_settings"] = lambda **kwargs: self.build(("settings", ""), (), kwargs)
        functions["ip.apply_network_settings"] = lambda **kwargs: self.calls.append(("apply",))
        for word in ("up", "down"):
            functions[f"ip.{word}"] = lambda iface, kind, word=word: self.switch(word, iface, kind)
        return functions

    def build(self, target: tuple[str, str], args: Any, kwargs: dict[str, Any]) -> list[str]:
        if "wrong" in kwargs:
            raise AttributeError("Invalid option -- wrong")
        lines = [f"{key}={value}\n" for key, value in sorted(kwargs.items()) if key not in ("test", "noifupdown")]
        if not kwargs["test"]:
            self.files[target] = lines
        return lines

    def switch(self, verb: str, iface: str, kind: str) -> None:
        if self.failing == verb:
            raise CommandExecutionError(f"if{verb} {iface} failed: no luck")
        self.calls.append((verb, iface, kind))


@pytest.fixture
def bed(make_loaders: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    network, loaders = Network(), make_loaders()
    for name, function in network.functions().items():
        loaders.modules._functions[name] = function
    monkeypatch.setattr(interfaces, "table", lambda: {"eth0": {"up": True, **LINK}, "eth1": {"up": False}})

    def state(function: str, test: bool = False, **kwargs: Any) -> tuple[Any, Any, str]:
        loaders.opts["test"] = test
        ret = loaders.states[f"network.{function}"](**kwargs)
        return ret["result"], ret["changes"], ret["comment"]

    state.network = network  # type: ignore[attr-defined]
    return state


def test_an_interface_is_managed(bed: Any) -> None:
    assert bed("managed", True, name="eth1", mtu=1400) == (None, {}, "Interface eth1 is set to be added.")
    assert not bed.network.files
    result, changes, comment = bed("managed", name="eth1", mtu=1400)
    assert changes == {"interface": "Added network interface.", "status": "Interface eth1 is up"}
    assert (result, comment) == (True, "Interface eth1 added.")
    assert bed.network.calls == [("up", "eth1", "eth"), ("refresh",)]
    bed("managed", name="eth0", mtu=1400)
    bed.network.calls.clear()
    assert bed("managed", name="eth0", mtu=1400) == (True, {}, "Interface eth0 is up to date.")
    assert bed.network.calls == []
    result, changes, comment = bed("managed", True, name="eth0", mtu=1500)
    assert (result, changes) == (None, {})
    assert comment.endswith("@@ -1 +1 @@\n-mtu=1400\n\n+mtu=1500\n")
    result, changes, comment = bed("managed", name="eth0", mtu=1500)
    assert changes["status"] == "Interface eth0 restart to validate"
    assert bed.network.calls == [("down", "eth0", "eth"), ("up", "eth0", "eth")]
    assert bed("managed", name="eth0", mtu=1500, enabled=False)[1] == {"status": "Interface eth0 down"}
    assert bed("managed", name="eth0", mtu=1600, noifupdown=True)[1].keys() == {"interface"}
    assert bed("managed", name="eth0:1", mtu=1)[1].keys() == {"interface", "status"}


def test_a_bond_is_managed_and_errors_are_comments(bed: Any) -> None:
    result, changes, comment = bed("managed", name="bond0", type="bond", mode="1", noifupdown=True)
    assert (result, comment) == (True, "Bond interface bond0 added.")
    assert changes == {"interface": "Added network interface.", "bond": "Added bond bond0."}
    assert bed("managed", name="eth1", wrong=1) == (False, {}, "Invalid option -- wrong")
    bed.network.failing = "up"
    result, changes, comment = bed("managed", name="eth1", mtu=9)
    assert (result, comment) == (False, "ifup eth1 failed: no luck")
    assert changes == {"interface": "Added network interface."}


def test_routes_and_settings_are_managed(bed: Any) -> None:
    assert bed("routes", True, name="eth0", routes=[1])[0] is None
    assert bed("routes", name="eth0", routes=[1])[1] == {"network_routes": "Added interface eth0 routes."}
    assert bed.network.calls == [("apply",)]
    assert bed("routes", name="eth0", routes=[1]) == (True, {}, "Interface eth0 routes are up to date.")
    comment = "Global network settings are set to be added."
    assert bed("system", True, name="s", hostname="a") == (None, {}, comment)
    assert bed("system", name="s", hostname="a")[1] == {"network_settings": "Added global network settings."}
    assert bed("system", name="s", hostname="a") == (True, {}, "Global network settings are up to date.")
    assert bed("system", name="s", wrong="a")[0] is False


class Firewall:
    """Replaces the module ``firewalld``: the lists of one zone."""

    LISTS: ClassVar = {
        "list_ports": ("add_port", "remove_port"),
        "list_services": ("add_service", "remove_service"),
        "get_sources": ("add_source", "remove_source"),
        "get_rich_rules": ("add_rich_rule", "remove_rich_rule"),
    }

    def __init__(self) -> None:
        self.lists: dict[str, list[str]] = {key: [] for key in self.LISTS}
        self.zones, self.reloads, self.masquerade = ["public"], 0, False
        self.forwards: list[tuple[str, ...]] = []

    def functions(self) -> dict[str, Any]:
        functions: dict[str, Any] = {
            "get_zones": lambda permanent: list(self.zones),
            "new_zone": self.zones.append,
            "reload_rules": self.reload,
            "get_masquerade": lambda zone, permanent: self.masquerade,
            "add_masquerade": lambda zone, permanent: setattr(self, "masquerade", True),
            "list_port_fwd": lambda zone, permanent: [
                {"Source port": src, "Destination port": to, "Protocol": proto, "Destination address": address}
                for src, to, proto, address in self.forwards
            ],
            "add_port_fwd": lambda zone, *forward, permanent: self.forwards.append(forward),
            "remove_port_fwd": lambda zone, *forward, permanent: self.forwards.remove(forward),
        }
        for lister, (adder, remover) in self.LISTS.items():
            functions[lister] = lambda zone, permanent, key=lister: self.checked(zone, list(self.lists[key]))
            swapped = "service" in lister
            functions[adder] = lambda *args, permanent, key=lister, at=swapped: self.lists[key].append(
                args[0 if at else 1]
            )
            functions[remover] = lambda *args, permanent, key=lister, at=swapped: self.lists[key].remove(
                args[0 if at else 1]
            )
        return functions

    def reload(self) -> None:
        self.reloads += 1

    def checked(self, zone: str, value: Any) -> Any:
        if zone not in self.zones:
            raise CommandExecutionError(f"firewall-cmd failed: INVALID_ZONE: {zone}")
        return value


@pytest.fixture
def firewall(make_loaders: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "firewall-cmd").write_text("#!/bin/sh\n")
    (tmp_path / "firewall-cmd").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    daemon, loaders = Firewall(), make_loaders()
    for name, function in daemon.functions().items():
        loaders.modules._functions[f"firewalld.{name}"] = function

    def state(test: bool = False, **kwargs: Any) -> tuple[Any, Any, str]:
        loaders.opts["test"] = test
        ret = loaders.states["firewalld.present"](**kwargs)
        return ret["result"], ret["changes"], ret["comment"]

    state.daemon = daemon  # type: ignore[attr-defined]
    return state


def test_a_zone_is_managed(firewall: Any) -> None:
    wanted = {
        "name": "mine",
        "ports": ["22/tcp"],
        "services": ["http"],
        "masquerade": True,
        "port_fwd": ["80:8080:tcp"],
        "rich_rules": ["rule family='ipv4' source address=192.0.2.0/24 accept"],
    }
    result, changes, comment = firewall(True, **wanted)
    assert (result, changes) == (None, {})
    assert comment.startswith("Configuration for 'mine' will change:\nmasquerade:")
    assert firewall.daemon.zones == ["public"]
    result, changes, comment = firewall(**wanted)
    assert (result, comment) == (True, "'mine' was configured.")
    assert changes["ports"] == {"old": [], "new": ["22/tcp"]}
    assert changes["port_fwd"]["new"][0]["Destination port"] == "8080"
    assert changes["rich_rules"]["new"] == ['rule family="ipv4" source address="192.0.2.0/24" accept']
    assert firewall.daemon.reloads == 1
    assert firewall(**wanted) == (True, {}, "'mine' is already in the desired state.")
    assert firewall.daemon.reloads == 1
    changes = firewall(name="mine", ports=["81/tcp"], prune_ports=True, services=["ssh"], prune_port_fwd=True)[1]
    assert changes["ports"] == {"old": ["22/tcp"], "new": ["81/tcp"]}
    assert changes["services"] == {"old": ["http"], "new": ["http", "ssh"]}
    assert changes["port_fwd"]["new"] == []
    assert firewall.daemon.lists["list_ports"] == ["81/tcp"]
    result, changes, comment = firewall(name="mine", port_fwd=["80"])
    assert (result, changes) == (False, {})
    assert "from_port:to_port:protocol" in comment
