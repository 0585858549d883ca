"""Containers, images, networks and volumes, with an imitation of docker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.thin import fakedocker
from thin.utils.formats import dockerwords


class Bed:
    def __init__(self, loaders: Any) -> None:
        self.loaders, self.engine = loaders, fakedocker.Engine()
        loaders.modules["cmd.run_all"]
        loaders.modules._functions["cmd.run_all"] = self.engine.run

    def state(self, function: str, test: bool = False, **kwargs: Any) -> dict[str, Any]:
        self.loaders.opts["test"] = test
        ret: dict[str, Any] = self.loaders.states[function](**kwargs)
        return ret

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        return self.loaders.modules["docker." + function](*args, **kwargs)

    def current(self) -> Any:
        return self.engine.state

    def calls(self) -> list[list[str]]:
        return self.engine.calls


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_loaders: Any) -> Bed:
    (tmp_path / "docker").write_text("#!/bin/sh\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    pillar = {"docker-registries": {"reg.example": {"username": "u", "password": "hush"}}}
    return Bed(make_loaders(pillar=pillar))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"command": 'sh -c "sleep 1"', "tty": True}, (["--tty"], ["sh", "-c", "sleep 1"], {})),
        ({"env": [{"A": "x y"}, "B=2"]}, (["--env=A", "--env=B"], [], {"A": "x y", "B": "2"})),
        ({"environment": {"PATH": "/x", "C": 1}}, (["--env=PATH=/x", "--env=C"], [], {"C": "1"})),
        ({"ports": "80,443", "binds": ["/a:/b:ro"]}, (["--volume=/a:/b:ro", "--expose=80", "--expose=443"], [], {})),
        ({"restart_policy": {"Name": "on-failure", "MaximumRetryCount": 3}}, (["--restart=on-failure:3"], [], {})),
        ({"entrypoint": ["a", "b"], "cmd": ["c"]}, (["--entrypoint=a"], ["b", "c"], {})),
        ({"entrypoint": "sh -c", "command": ["sleep 1"]}, (["--entrypoint=sh"], ["-c", "sleep 1"], {})),
        ({"binds": {"/a": {"bind": "/b", "mode": "ro"}}, "volume": "c"}, (["--volume=/a:/b:ro", "--volume=c"], [], {})),
        ({"extra_hosts": {"h": "192.0.2.1"}, "memory": "10m"}, (["--add-host=h:192.0.2.1", "--memory=10m"], [], {})),
        ({"network_disabled": True, "privileged": False}, (["--network=none"], [], {})),
        ({"ulimits": [{"Name": "nofile", "Soft": 1, "Hard": 2}]}, (["--ulimit=nofile=1:2"], [], {})),
        ({"labels": ["a=1", "b"], "detach": True, "init": None}, (["--label=a=1", "--label=b"], [], {})),
    ],
)
def test_settings_become_options(settings: dict[str, Any], expected: Any) -> None:
    """``expected``: options, the command in the container, and environment."""
    assert dockerwords.container(settings) == expected


def test_unknown_settings_are_an_error() -> None:
    with pytest.raises(ValueError, match="Unknown argument\\(s\\): nonsense"):
        dockerwords.container({"nonsense": 1})
    assert dockerwords.networks([{"a": [{"ipv4_address": "x"}]}, "b"]) == {"a": {"ipv4_address": "x"}, "b": {}}
    assert dockerwords.networks("a,b") == {"a": {}, "b": {}}
    assert [dockerwords.full_name(name) for name in ("a", "r:5000/a", "a:1", "a@sha256:1")] == [
        "a:latest",
        "r:5000/a:latest",
        "a:1",
        "a@sha256:1",
    ]


WEB = {
    "name": "web",
    "image": "tiny:1",
    "command": "sleep 9",
    "environment": {"SECRET": "hush"},
    "labels": "a=b",
    "volumes": ["/data"],
}


def test_a_container_is_created_once(bed: Bed) -> None:
    ret = bed.state("docker_container.running", test=True, **WEB)
    assert (ret["result"], ret["comment"]) == (None, "Container 'web' would be created")
    ret = bed.state("docker_container.running", **WEB)
    assert (ret["result"], ret["comment"]) == (True, "Created container 'web'")
    assert ret["changes"]["state"] == {"old": None, "new": "running"}
    assert bed.current()["container"]["web"]["Config"]["Env"][0] == "SECRET=hush"
    assert "hush" not in json.dumps(bed.calls())
    for test in (True, False):
        ret = bed.state("docker_container.running", test=test, **WEB)
        assert (ret["result"], ret["changes"]) == (True, {})
        assert list(bed.current()["container"]) == ["web"], "the container for comparison is removed"


def test_a_container_with_other_settings_is_replaced(bed: Bed) -> None:
    first = bed.state("docker_container.running", **WEB)["changes"]["container_id"]["added"]
    new = {**WEB, "command": "sleep 10", "labels": None}
    ret = bed.state("docker_container.running", test=True, **new)
    differ = {"Cmd": {"old": ["sleep", "9"], "new": ["sleep", "10"]}, "Labels": {"old": {"a": "b"}, "new": None}}
    assert (ret["result"], ret["changes"]) == (None, {"container": {"Config": differ}})
    assert bed.current()["container"]["web"]["Id"] == first
    ret = bed.state("docker_container.running", **new)
    assert ret["changes"]["container_id"]["removed"] == [first]
    assert list(bed.current()["container"]) == ["web"]
    assert bed.state("docker_container.running", **new)["changes"] == {}
    ret = bed.state("docker_container.mod_watch", sfun="running", **new)
    assert ret["comment"] == "Replaced container 'web'"
    ret = bed.state("docker_container.mod_watch", sfun="running", watch_action="SIGHUP", **new)
    assert ret["changes"] == {"signal": "SIGHUP"}
    assert bed.current()["container"]["web"]["Signals"] == ["SIGHUP"]


def test_a_container_is_started_stopped_and_removed(bed: Bed) -> None:
    bed.state("docker_container.running", start=False, **WEB)
    assert bed.call("state", "web") == "running", "a new container is started in any case"
    bed.call("stop", "web")
    assert bed.state("docker_container.running", start=False, **WEB)["changes"] == {}
    ret = bed.state("docker_container.running", test=True, **WEB)
    comment = "Container 'web' is already configured as specified. Container would be started."
    assert (ret["result"], ret["comment"]) == (None, comment)
    ret = bed.state("docker_container.running", **WEB)
    assert ret["changes"] == {"state": {"old": "stopped", "new": "running"}}
    for test in (True, False):
        assert bed.state("docker_container.absent", test=test, name="web")["result"] is False
    assert bed.state("docker_container.stopped", test=True, name="web")["result"] is None
    ret = bed.state("docker_container.stopped", name="web")
    assert ret["changes"] == {"web": {"result": True, "state": {"old": "running", "new": "stopped"}}}
    assert bed.state("docker_container.stopped", name="web")["changes"] == {}
    assert bed.state("docker_container.stopped", containers=["web", "none"])["result"] is False
    assert bed.state("docker_container.stopped", containers=["web", "none"], error_on_absent=False)["result"] is True
    bed.call("start", "web")
    bed.call("pause", "web")
    assert bed.state("docker_container.stopped", name="web")["result"] is False
    assert bed.state("docker_container.stopped", name="web", unpause=True)["result"] is True
    assert bed.state("docker_container.absent", test=True, name="web")["result"] is None
    assert "removed" in bed.state("docker_container.absent", name="web")["changes"]
    assert bed.state("docker_container.absent", name="web")["changes"] == {}


def test_a_container_is_run_to_its_end(bed: Bed) -> None:
    job = {"name": "job", "image": "tiny:1", "command": "true now"}
    ret = bed.state("docker_container.run", test=True, **job)
    assert (ret["result"], ret["comment"], ret["changes"]) == (None, "Container would be run", {})
    assert not bed.current()["container"]
    ret = bed.state("docker_container.run", **job)
    assert (ret["result"], ret["comment"]) == (True, "Container ran and exited with a return code of 0")
    assert (ret["changes"]["ExitCode"], ret["changes"]["Logs"]) == (0, "output of true now")
    first = bed.current()["container"]["job"]["Id"]
    ret = bed.state("docker_container.run", **job)
    assert ret["result"] is False and "Container 'job' exists. Run with replace=True" in ret["comment"]
    ret = bed.state("docker_container.run", replace=True, **{**job, "command": "false"})
    assert (ret["result"], ret["comment"]) == (False, "Container ran and exited with a return code of 1")
    assert ret["changes"]["Replaces"] == [first]
    ret = bed.state(
        "docker_container.run", replace=True, failhard=False, auto_remove=True, **{**job, "command": "false"}
    )
    assert (ret["result"], ret["changes"]["ExitCode"]) == (True, 1)
    assert not bed.current()["container"]
    ret = bed.state("docker_container.run", bg=True, **job)
    assert (ret["result"], ret["comment"]) == (True, "Container was run in the background")
    assert "ExitCode" not in ret["changes"] and list(bed.current()["container"]) == ["job"]
    ret = bed.state("docker_container.run", start=False, **job)
    assert (ret["result"], ret["comment"]) == (False, "The 'start' argument is not supported")


def test_failures_are_reported(bed: Bed) -> None:
    ret = bed.state("docker_container.running", name="x", image="far/away", command="true")
    assert ret["result"] is False
    assert "Failed to pull far/away" in ret["comment"]
    assert "connection refused" in ret["comment"]
    ret = bed.state("docker_container.running", name="x", image="tiny:1", nonsense=1)
    assert (ret["result"], ret["comment"]) == (False, "Unknown argument(s): nonsense")
    ret = bed.state("docker_container.running", name="short", image="tiny:1", command="true")
    assert ret["result"] is False
    assert ret["comment"] == "Created container 'short'. Container is not running."
    assert ret["changes"]["state"] == {"old": None, "new": "stopped"}
    ret = bed.state("docker_container.running", name="x", image="tiny:1", networks=["nowhere"])
    assert (ret["result"], ret["comment"]) == (False, "The following networks are not present: nowhere")
    ret = bed.state("docker_container.running", name="x", image="tiny:1", memory="1g", mem_limit="2g")
    assert ret["comment"] == "'memory' is an alias for 'mem_limit', they cannot both be used"
    assert list(bed.current()["container"]) == ["short"]
    with pytest.raises(Exception, match="Error 404"):
        bed.call("inspect_container", "nobody")
    assert bed.call("resolve_image_id", "nobody") is False


def test_networks_are_created_changed_and_removed(bed: Bed) -> None:
    wanted = {"name": "net", "subnet": "10.9.0.0/24", "labels": ["a=b"]}
    assert bed.state("docker_network.present", test=True, **wanted)["comment"] == "Network will be created"
    assert bed.state("docker_network.present", **wanted)["changes"] == {"created": True}
    assert bed.state("docker_network.present", **wanted)["changes"] == {}
    ret = bed.state("docker_network.present", test=True, name="net")
    pool = {"Subnet": "10.9.0.0/24"}
    assert ret["changes"] == {
        "net": {"IPAM": {"Config": {"old": [pool], "new": []}}, "Labels": {"old": {"a": "b"}, "new": {}}}
    }
    bed.state("docker_container.running", networks=["net"], **WEB)
    assert list(bed.current()["container"]["web"]["NetworkSettings"]["Networks"]) == ["net"]
    assert bed.state("docker_container.running", networks=["net"], **WEB)["changes"] == {}
    assert bed.call("connected", "net") == ["web"]
    new = {**wanted, "subnet": "10.8.0.0/24"}
    ret = bed.state("docker_network.present", test=True, **new)
    assert (ret["result"], ret["comment"]) == (None, "Network would be recreated with new config")
    ret = bed.state("docker_network.present", **new)
    assert ret["changes"] == {
        "net": {"IPAM": {"Config": {"old": [pool], "new": [{"Subnet": "10.8.0.0/24"}]}}},
        "recreated": True,
        "reconnected": ["web"],
    }
    assert bed.state("docker_network.present", containers=[], **new)["changes"] == {}
    assert bed.state("docker_container.running", networks=[], **WEB)["changes"]["container"]["Networks"]["net"]
    ret = bed.state("docker_network.present", test=True, containers=["web"], **new)
    assert (ret["result"], ret["changes"]) == (None, {})
    assert ret["comment"].endswith("configured as specified. web would be connected")
    ret = bed.state("docker_network.present", containers=["web", "none"], **new)
    assert ret["changes"] == {"connected": ["web"]}
    assert ret["warnings"] == ["The following containers do not exist: none."]
    assert bed.state("docker_network.absent", test=True, name="net")["result"] is None
    assert bed.state("docker_network.absent", name="net")["changes"] == {"disconnected": ["web"], "removed": True}
    assert bed.state("docker_network.absent", name="net")["changes"] == {}


def test_volumes_and_images_are_present_and_absent(bed: Bed) -> None:
    assert bed.state("docker_volume.present", test=True, name="v")["result"] is None
    assert "created" in bed.state("docker_volume.present", name="v")["changes"]
    assert bed.state("docker_volume.present", name="v", driver="local")["changes"] == {}
    assert bed.state("docker_volume.present", name="v", driver="other")["result"] is False
    assert set(bed.state("docker_volume.present", name="v", driver="other", force=True)["changes"]) == {
        "removed",
        "created",
    }
    assert bed.state("docker_volume.absent", name="v")["changes"] == {"removed": True}
    assert bed.state("docker_volume.absent", name="v")["changes"] == {}
    assert bed.state("docker_image.present", name="tiny:1")["changes"] == {}
    assert bed.state("docker_image.present", name="other", test=True)["comment"] == "Image other will be pulled"
    assert "connection refused" in bed.state("docker_image.present", name="other")["comment"]
    assert "'tag' argument is required" in bed.state("docker_image.present", name="x", build="/x")["comment"]
    assert bed.state("docker_image.absent", name="tiny:1", test=True)["result"] is None
    assert bed.state("docker_image.absent", name="tiny:1")["changes"] == {
        "Layers": ["a" * 64],
        "Tags": ["tiny:1"],
        "retcode": 0,
    }
    assert bed.state("docker_image.absent", name="tiny:1")["comment"] == "Image tiny:1 is not present"


def test_a_password_goes_to_stdin(bed: Bed) -> None:
    assert bed.call("login") == {"Results": {"reg.example": True}}
    assert bed.current()["login"] == [["--username=u", "--password-stdin", "reg.example"], "hush"]
    assert "hush" not in json.dumps(bed.calls())


def test_containers_are_listed_and_compared(bed: Bed) -> None:
    bed.state("docker_container.running", **WEB)
    bed.state("docker_container.running", **{**WEB, "name": "other", "command": "sleep 10"})
    bed.call("stop", "other")
    (container,) = bed.call("ps").values()
    assert (container["Command"], container["Names"], container["Status"]) == ("sleep 9", ["/web"], "Up 1 second")
    assert container["Time_Created_Epoch"] == 1795295372
    assert sorted(entry["Names"][0] for entry in bed.call("ps", all=True).values()) == ["/other", "/web"]
    assert bed.call("list_containers", all=True) == ["other", "web"]
    assert bed.call("port", "web") == {}
    assert bed.call("port", "*") == {"other": {}, "web": {}}
    assert list(bed.call("compare_containers", "web", "other")["Config"]) == ["Cmd", "Hostname"]
    assert bed.call("compare_containers", "web", "other", ignore="Cmd,Hostname") == {}
    assert bed.call("exists", "web")
    assert bed.call("version")["VersionInfo"] == (4, 3, 1)
    assert bed.call("pid", "web") == 7
