"""Recorded output of a real engine (tests/cases/thin/docker-20.10.24.json), parsed and compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.formats import dockernets, dockerwords

TOLD = json.loads((Path(__file__).parents[2] / "cases/thin/docker-20.10.24.json").read_text())
CONTAINERS = {about["Name"].lstrip("/"): about for about in TOLD["containers"]}
NETWORKS = {about["Name"]: about for about in TOLD["networks"]}


def engine(argv: list[str], **kwargs: Any) -> dict[str, Any]:
    """``cmd.run_all`` of a docker that answers only recorded commands."""
    words = argv[1:]
    if words[:2] == ["container", "inspect"]:
        containers = {key: about for name, about in CONTAINERS.items() for key in (name, about["Id"])}
        if not all(word in containers for word in words[2:]):
            return {"retcode": 1, "stdout": "[]", "stderr": f"Error: No such container: {words[2]}", "pid": 1}
        out = json.dumps([containers[word] for word in words[2:]])
    elif words[1:2] == ["prune"]:
        out = TOLD["prune"][words[0]]
    elif words[0] == "ps" and "{{.Names}}" in words:
        out = "\n".join(CONTAINERS)
    elif words[0] == "ps":
        ids = {about["Id"] for about in CONTAINERS.values()}
        out = "\n".join(line for line in TOLD["ps"].splitlines() if line.split()[0] in ids)
    else:
        out = TOLD[words[0]]
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


def test_containers_that_run_and_others(docker: Any) -> None:
    found = {entry["Names"][0]: entry for entry in docker("ps", all=True, verbose=True).values()}
    assert sorted(found) == ["/run", "/t_full", "/t_other", "/t_plain", "/t_same"]
    run = found["/run"]
    assert (run["State"], run["Status"], found["/t_full"]["State"]) == ("running", "Up 1 second", "created")
    assert (run["Image"], run["Command"]) == ("base:1", "/bin/sleep 999")
    assert run["Info"]["Id"] == CONTAINERS["run"]["Id"]
    assert run["Ports"] == [
        {"PrivatePort": 53, "Type": "udp", "IP": "127.0.0.1", "PublicPort": 99},
        {"PrivatePort": 70, "Type": "tcp"},
        {"PrivatePort": 80, "Type": "tcp", "IP": "0.0.0.0", "PublicPort": 8088},
        {"PrivatePort": 80, "Type": "tcp", "IP": "::", "PublicPort": 8088},
    ]


@pytest.mark.parametrize(
    ("asked", "want"),
    [(80, ["80/tcp"]), (53, ["53/udp"]), ("53", []), ("53/udp", ["53/udp"]), (None, ["53/udp", "70/tcp", "80/tcp"])],
)
def test_ports(asked: Any, want: list[str], docker: Any) -> None:
    assert sorted(docker("port", "run", asked)) == want
    assert sorted(docker("port", "r*", asked)["run"]) == want


def test_invalid_requests(docker: Any) -> None:
    with pytest.raises(SaltInvocationError, match="Invalid private_port 'http'"):
        docker("port", "run", "http")
    with pytest.raises(CommandExecutionError, match=r"^Error 404: Error: No such container"):
        docker("inspect_container", "gone")
    assert docker("wait", "gone") == {"result": False, "comment": "Container 'gone' absent"}


def test_versions_and_history(docker: Any) -> None:
    version = docker("version")
    assert (version["VersionInfo"], version["ApiVersion"], version["Os"]) == ((20, 10, 24), "1.41", "linux")
    (step,) = docker("history", "base:3")
    assert (step["Command"], step["Comment"], step["Size_Human"]) == ("FROM scratch", "made for it", "1.9 MiB")
    assert docker("history", "base:3", quiet=True) == ["FROM scratch"]


def test_prune(docker: Any) -> None:
    found = docker("prune", containers=True, networks=True, volumes=True)
    assert found["containers"] == {"ContainersDeleted": None, "SpaceReclaimed": 0}
    assert found["networks"]["NetworksDeleted"] == ["a1", "plain"]
    assert len(found["volumes"]["VolumesDeleted"]) == 2
    assert [dockerwords.size(text) for text in ("0B", " 1.5kB", "2MB", "x")] == [0, 1500, 2000000, 0]


def test_containers_made_alike_and_otherwise(docker: Any) -> None:
    """The order of variables, capabilities and limits has no effect, nor has the own name in a link."""
    own = "Hostname"
    assert docker("compare_containers", "t_plain", "t_other", ignore=own) == {}
    assert docker("compare_containers", "t_full", "t_same") == {}
    found = docker("compare_containers", "t_plain", "t_full", ignore=own)
    assert sorted(found["Config"]) == ["Env", "ExposedPorts", "Labels", "User", "Volumes", "WorkingDir"]
    assert sorted(found["HostConfig"]) == [
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
    assert found["HostConfig"]["Links"]["new"] == ["/web2:/w2"]
    assert found["HostConfig"]["LogConfig"]["new"] == {"Type": "json-file", "Config": {"max-size": "1m"}}
    assert "A=1" in found["Config"]["Env"]["new"]


def test_networks_of_containers(docker: Any) -> None:
    assert sorted(dockernets.of_container(CONTAINERS["run"])) == ["a1", "bridge"]
    left = json.loads(json.dumps(CONTAINERS["run"]))
    left["NetworkSettings"]["Networks"]["plain"] = {"IPAMConfig": {}, "EndpointID": "", "IPAddress": ""}
    assert sorted(dockernets.of_container(left)) == ["a1", "bridge"], "docker keeps a record of what failed"
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
    ("name", "settings", "want"),
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
def test_what_a_network_is_like(name: str, settings: dict[str, Any], want: list[str]) -> None:
    found = dockernets.differences(NETWORKS[name], settings)
    assert sorted(found) == want
    if "Options" in want:
        assert found["Options"][OPTION]["old"] == "false"
