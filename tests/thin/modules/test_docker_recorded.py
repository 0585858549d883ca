"""Recorded output of a real engine (tests/cases/thin/docker-20.10.24.json), parsed and compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.formats import dockernets, dockerwords

RECORDED = json.loads((Path(__file__).parents[2] / "cases/thin/docker-20.10.24.json").read_text())
CONTAINERS = {record["Name"].lstrip("/"): record for record in RECORDED["containers"]}
NETWORKS = {record["Name"]: record for record in RECORDED["networks"]}


def engine(argv: list[str], **kwargs: Any) -> dict[str, Any]:
    """``cmd.run_all`` of a docker that answers only recorded commands."""
    arguments = argv[1:]
    if arguments[:2] == ["container", "inspect"]:
        containers = {key: record for name, record in CONTAINERS.items() for key in (name, record["Id"])}
        if not all(word in containers for word in arguments[2:]):
            return {"retcode": 1, "stdout": "[]", "stderr": f"Error: No such container: {arguments[2]}", "pid": 1}
        out = json.dumps([containers[word] for word in arguments[2:]])
    elif arguments[1:2] == ["prune"]:
        out = RECORDED["prune"][arguments[0]]
    elif arguments[0] == "ps" and "{{.Names}}" in arguments:
        out = "\n".join(CONTAINERS)
    elif arguments[0] == "ps":
        ids = {record["Id"] for record in CONTAINERS.values()}
        out = "\n".join(line for line in RECORDED["ps"].splitlines() if line.split()[0] in ids)
    else:
        out = RECORDED[arguments[0]]
    return {"retcode": 0, "stdout": out, "stderr": "", "pid": 1}


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_loaders: Any) -> Any:
    (tmp_path / "docker").write_text("#!/bin/sh\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    loaders = make_loaders()
    loaders.modules["cmd.run_all"]
    loaders.modules._functions["cmd.run_all"] = engine
    return lambda function, *args, **kwargs: loaders.modules["docker." + function](*args, **kwargs)


def test_running_and_created_containers_are_listed(docker: Any) -> None:
    containers = {entry["Names"][0]: entry for entry in docker("ps", all=True, verbose=True).values()}
    assert sorted(containers) == ["/run", "/t_full", "/t_other", "/t_plain", "/t_same"]
    run = containers["/run"]
    assert (run["State"], run["Status"], containers["/t_full"]["State"]) == ("running", "Up 1 second", "created")
    assert (run["Image"], run["Command"]) == ("base:1", "/bin/sleep 999")
    assert run["Info"]["Id"] == CONTAINERS["run"]["Id"]
    assert run["Ports"] == [
        {"PrivatePort": 53, "Type": "udp", "IP": "127.0.0.1", "PublicPort": 99},
        {"PrivatePort": 70, "Type": "tcp"},
        {"PrivatePort": 80, "Type": "tcp", "IP": "0.0.0.0", "PublicPort": 8088},
        {"PrivatePort": 80, "Type": "tcp", "IP": "::", "PublicPort": 8088},
    ]


@pytest.mark.parametrize(
    ("port", "expected"),
    [(80, ["80/tcp"]), (53, ["53/udp"]), ("53", []), ("53/udp", ["53/udp"]), (None, ["53/udp", "70/tcp", "80/tcp"])],
)
def test_ports_of_a_container_are_listed(port: Any, expected: list[str], docker: Any) -> None:
    assert sorted(docker("port", "run", port)) == expected
    assert sorted(docker("port", "r*", port)["run"]) == expected


def test_invalid_arguments_are_errors(docker: Any) -> None:
    with pytest.raises(SaltInvocationError, match="Invalid private_port 'http'"):
        docker("port", "run", "http")
    with pytest.raises(CommandExecutionError, match=r"^Error 404: Error: No such container"):
        docker("inspect_container", "gone")
    assert docker("wait", "gone") == {"result": False, "comment": "Container 'gone' absent"}


def test_versions_and_history_are_returned(docker: Any) -> None:
    version = docker("version")
    assert (version["VersionInfo"], version["ApiVersion"], version["Os"]) == ((20, 10, 24), "1.41", "linux")
    (step,) = docker("history", "base:3")
    assert (step["Command"], step["Comment"], step["Size_Human"]) == ("FROM scratch", "made for it", "1.9 MiB")
    assert docker("history", "base:3", quiet=True) == ["FROM scratch"]


def test_prune_returns_what_docker_deleted(docker: Any) -> None:
    pruned = docker("prune", containers=True, networks=True, volumes=True)
    assert pruned["containers"] == {"ContainersDeleted": None, "SpaceReclaimed": 0}
    assert pruned["networks"]["NetworksDeleted"] == ["a1", "plain"]
    assert len(pruned["volumes"]["VolumesDeleted"]) == 2
    assert [dockerwords.size(text) for text in ("0B", " 1.5kB", "2MB", "x")] == [0, 1500, 2000000, 0]


def test_containers_are_compared(docker: Any) -> None:
    """The order of variables, capabilities and limits has no effect, nor has the own name in a link."""
    own = "Hostname"
    assert docker("compare_containers", "t_plain", "t_other", ignore=own) == {}
    assert docker("compare_containers", "t_full", "t_same") == {}
    differences = docker("compare_containers", "t_plain", "t_full", ignore=own)
    assert sorted(differences["Config"]) == ["Env", "ExposedPorts", "Labels", "User", "Volumes", "WorkingDir"]
    assert sorted(differences["HostConfig"]) == [
        "Binds",
        "CapAdd",
        "Init",
        "Links",
        "LogConfig",
        "Memory",
        "MemorySwap",
        "PortBindings",
        "RestartPolicy",
        "Ulimits",
    ]
    assert differences["HostConfig"]["Links"]["new"] == ["/web2:/w2"]
    assert differences["HostConfig"]["LogConfig"]["new"] == {"Type": "json-file", "Config": {"max-size": "1m"}}
    assert "A=1" in differences["Config"]["Env"]["new"]


def test_networks_of_containers_are_compared(docker: Any) -> None:
    assert sorted(dockernets.of_container(CONTAINERS["run"])) == ["a1", "bridge"]
    container = json.loads(json.dumps(CONTAINERS["run"]))
    container["NetworkSettings"]["Networks"]["plain"] = {"IPAMConfig": {}, "EndpointID": "", "IPAddress": ""}
    assert sorted(dockernets.of_container(container)) == ["a1", "bridge"], (
        "docker keeps networks that failed to connect"
    )
    address = {"IPv4Address": "10.77.11.20"}
    assert docker("compare_container_networks", "run", "t_plain") == {
        "a1": {"IPAMConfig": {"old": address, "new": None}, "Aliases": {"old": ["x"], "new": None}}
    }
    assert docker("compare_container_networks", CONTAINERS["t_plain"], "run")["a1"] == {
        "IPAMConfig": {"old": None, "new": address},
        "Aliases": {"old": None, "new": ["x"]},
    }
    endpoint = CONTAINERS["run"]["NetworkSettings"]["Networks"]["a1"]
    assert dockernets.again(endpoint, CONTAINERS["run"]) == {"ipv4_address": "10.77.11.20", "aliases": ["x"]}
    assert dockernets.chosen(endpoint)["Gateway"] == {"old": None, "new": "10.77.11.1"}


OPTION = "com.docker.network.bridge.enable_icc"
A1: dict[str, Any] = {
    "subnet": "10.77.11.0/24",
    "labels": "a=b",
    "driver_opts": {OPTION: "false"},
    "aux_addresses": {"q": "10.77.11.9"},
}


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("plain", {}, []),
        ("plain", {"driver": "bridge", "internal": False}, []),
        ("plain", {"subnet": "10.1.0.0/16"}, ["IPAM"]),
        ("plain", {"driver": "macvlan", "attachable": True}, ["Attachable", "Driver"]),
        ("plain", {"enable_ipv6": True, "internal": "true"}, ["EnableIPv6", "Internal"]),
        ("a1", A1, []),
        ("a1", {**A1, "gateway": "10.77.11.1"}, []),
        ("a1", {**A1, "gateway": "10.77.11.2"}, ["IPAM"]),
        ("a1", {**A1, "iprange": "10.77.11.128/25"}, ["IPAM"]),
        ("a1", {**A1, "aux_addresses": None}, ["IPAM"]),
        ("a1", {**A1, "labels": None, "driver_opts": [{OPTION: "true"}]}, ["Labels", "Options"]),
        ("a1", {}, ["IPAM", "Labels", "Options"]),
    ],
)
def test_a_network_is_compared_with_settings(name: str, settings: dict[str, Any], expected: list[str]) -> None:
    differences = dockernets.differences(NETWORKS[name], settings)
    assert sorted(differences) == expected
    if "Options" in expected:
        assert differences["Options"][OPTION]["old"] == "false"
