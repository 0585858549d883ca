"""The types machine and container on their manager: selection, properties seen from outside, and entering."""

from __future__ import annotations

import importlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pushsalt.bundle.shim import shell_line
from thin.exceptions import CommandExecutionError
from thin.grains import outside

ALPINE = 'NAME="Alpine Linux"\nID=alpine\nVERSION_ID=3.20.1\nPRETTY_NAME="Alpine Linux v3.20"\n'

MACHINECTL = """#!/bin/sh
show() { printf 'Name=%s\\nLeader=%s\\nClass=container\\nRootDirectory=%s\\nService=%s\\n\\n' $1 $LEADER $2 $3; }
case "$*" in
    *"list --no-legend --full")
        echo "web1   container systemd-nspawn debian 12 10.0.0.2"
        echo "web2   container systemd-nspawn debian 12 -"
        echo "disk   vm        libvirt-qemu   -      -  -"
        echo "gone   container systemd-nspawn -      -  -"
        echo "build  container libvirt-lxc    -      -  -";;
    *show*) for name; do case $name in
        web1|web2) show $name $ROOT systemd-nspawn;;
        build) show build /nowhere libvirt-lxc;;
        gone) echo "Could not get path to machine: No machine 'gone' known" >&2; exit 1;;
    esac; done;;
esac
"""
#: Containers: the files of web are accessible to the test, those of build are not; both are files of this machine.
#: The answers are podman's; docker's are similar, with a slash before a name, and without podman's fields.
ENGINE = """#!/bin/sh
slash=
case "$0 $*" in *docker*IsInfra*) echo "no such field" >&2; exit 1;; *docker*) slash=/;; esac
say() {
    case $4 in "{{.State.Running}}") echo $3;; *) echo "$slash$1|$2|$5|$3|registry.example.org/$1:1|$1-host";; esac
}
case "$1 $2" in
    "ps -q") echo 11aa; echo 22bb; [ -n "$slash" ] || echo 33cc;;
    "container inspect") format=$4; shift 4; for id; do case $id in
        11aa|web) say web 11aa true "$format" $LEADER;;
        22bb|build) say build 22bb true "$format" 0;;
        33cc) echo;;
        db) say db 44dd false "$format" 0;;
        *) echo "Error: no such container $id" >&2; code=125;;
        esac; done; exit $code;;
    "exec build") shift 2; exec "$@";;
esac
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A function that installs scripts into a PATH with the programs of a minimal system."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cat", "id", "env"):
        (folder / name).symlink_to(f"/usr/bin/{name}")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("LEADER", str(os.getpid()))
    monkeypatch.setenv("ROOT", str(tmp_path / "web1"))

    def install(**programs: str) -> Path:
        for name, text in programs.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        return folder

    return install


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """A function that loads the package of a type and initializes it with a declaration."""

    def initialize(type: str, declared: dict[str, Any]) -> ModuleType:
        module = importlib.import_module(f"thin.resources.{type}")
        opts = {"id": "host1", "pillar": {"resources": {type: declared}}, "resource_pillar_key": "resources"}
        grains = {"nodename": "host1", "kernel": "Linux", "kernelrelease": "6.1", "virtual": "kvm"}
        dunders = {"__context__": {}, "__opts__": opts, "__grains__": grains, "__resource__": {}}
        for name, value in dunders.items():
            monkeypatch.setattr(module, name, value, raising=False)
        module.init(opts)
        assert module.initialized()
        return module

    return initialize


def for_resource(module: ModuleType, id: str) -> Any:
    module.__resource__["id"] = id
    return module


def run_in(enter: list[str], *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*enter, *command], capture_output=True, text=True, check=False)


# selection ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "declared, expected",
    [
        ({}, "build web1 web2"),
        ({"include": "web*"}, "web1 web2"),
        ({"exclude": ["web?"]}, "build"),
        ({"include": ["web*"], "exclude": ["*2"], "id_format": "{name}.{manager}"}, "web1.host1"),
        ({"resource_ids": ["gone"]}, "gone"),
        ({"resource_ids": ["gone"], "include": ["build"]}, "build gone"),
        ({"include": [], "chroots": {"jail": "/srv/jail"}}, "jail"),
        ({"include": [], "stopped": True}, ""),
        ({"stopped": True, "exclude": ["web*"]}, "asleep build disk2"),
        ({"chroots": {101: "/srv/101"}, "include": "web1", "id_format": "x-{name}"}, "x-101 x-web1"),
    ],
)
def test_selected_machines_are_discovered(
    declared: dict[str, Any], expected: str, tools: Any, load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools(machinectl=MACHINECTL)
    for name in ("images/web1", "images/asleep", "images/.hidden"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "images/disk2.raw").touch()
    machine = load("machine", declared)
    monkeypatch.setattr(machine, "IMAGES", str(tmp_path / "images"))
    assert machine.discover(machine.__opts__) == expected.split()
    machine.shutdown(machine.__opts__)
    assert not machine.initialized()


@pytest.mark.parametrize("engine", ["podman", "docker"])
@pytest.mark.parametrize(
    "declared, expected",
    [
        ({}, "build web"),
        ({"exclude": "b*"}, "web"),
        ({"resource_ids": ["db", "never-made"]}, "db never-made"),
        ({"include": ["web"], "resource_ids": ["db"], "id_format": "{manager}/{name}"}, "host1/db host1/web"),
    ],
)
def test_selected_containers_are_discovered(
    declared: dict[str, Any], expected: str, engine: str, tools: Any, load: Any
) -> None:
    tools(**{engine: ENGINE})
    container = load("container", declared)
    assert container.discover(container.__opts__) == expected.split()


def test_podman_is_preferred_to_docker_by_default(tools: Any, load: Any) -> None:
    tools(podman=ENGINE, docker=ENGINE)
    for declared, engine in (({}, "podman"), ({"engine": "docker"}, "docker")):
        container = for_resource(load("container", declared), "web")
        assert container.grains()["container"]["engine"] == engine
        assert container.enter()[4].endswith(f"/bin/{engine}")


@pytest.mark.parametrize("type", ["machine", "container"])
def test_nothing_is_discovered_without_the_tools(type: str, tools: Any, load: Any) -> None:
    assert load(type, {}).discover({}) == []


@pytest.mark.parametrize(
    "type, declared, message",
    [
        ("machine", {"chroots": ["/srv/jail"]}, "chroots are a mapping"),
        ("machine", {"chroots": {"jail": "srv/jail"}}, "chroots are a mapping"),
        ("machine", {"resource_ids": ["-x"]}, "'-x' cannot be the name of a machine"),
        ("machine", {"include": {"a": 1}}, "include is a list of names"),
        ("machine", {"id_format": "same"}, "has no {name}"),
        ("container", {"resource_ids": ["a b"]}, "'a b' cannot be the name of a container"),
        ("container", {"engine": "rkt"}, "the engine rkt is not installed"),
        ("container", {"user": "it's"}, "no command can be made of"),
        ("container", {"user": ["app"]}, "user is text"),
    ],
)
def test_an_invalid_declaration_is_an_error(
    type: str, declared: dict[str, Any], message: str, tools: Any, load: Any
) -> None:
    with pytest.raises(CommandExecutionError, match=message):
        load(type, declared)


def test_errors_of_the_tools_are_reported(tools: Any, load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = "#!/bin/sh\necho 'Failed to connect to bus' >&2; exit 1\n"
    folder = tools(machinectl=refuse, podman=refuse)
    machine = importlib.import_module("thin.resources.machine")
    monkeypatch.setattr(machine, "BOOTED", f"{folder}/nowhere")
    assert load("machine", {"chroots": {"jail": "/srv/jail"}}).discover({}) == ["jail"], "there is no systemd to ask"
    monkeypatch.setattr(machine, "BOOTED", str(folder))
    with pytest.raises(CommandExecutionError, match="machinectl list failed: Failed to connect to bus"):
        load("machine", {}).discover({})
    with pytest.raises(CommandExecutionError, match="podman ps failed: Failed to connect to bus"):
        load("container", {}).discover({})
    chroots = load("machine", {"include": [], "chroots": {"jail": "/srv/jail"}, "resource_ids": ["db"]})
    assert chroots.discover({}) == ["db", "jail"], "declared ids need no listing"


# properties -----------------------------------------------------------------------------------------------------------


def test_grains_of_a_chroot(tools: Any, load: Any, tmp_path: Path) -> None:
    root = tmp_path / "jail"
    (root / "etc").mkdir(parents=True)
    (root / "etc/os-release").write_text(ALPINE)
    (root / "etc/machine-id").write_text("0123\n")
    machine = for_resource(load("machine", {"chroots": {"jail": str(root), "none": "/nowhere"}}), "jail")
    assert machine.discover({}) == ["jail", "none"]
    grains = machine.grains_refresh()
    names = ("id", "os", "osmajorrelease", "osfinger", "machine_id", "kernelrelease")
    assert [grains[name] for name in names] == ["jail", "Alpine", 3, "Alpine Linux-3", "0123", "6.1"]
    assert (grains["nodename"], grains["virtual"], grains["virtual_subtype"]) == ("host1", "kvm", "chroot")
    assert grains["machine"] == {"name": "jail", "kind": "chroot", "root": str(root)}
    assert machine.ping() is True
    for_resource(machine, "none")
    assert machine.ping() is False
    assert "os" not in machine.grains()
    with pytest.raises(CommandExecutionError, match="there is no machine other"):
        for_resource(machine, "other").grains()


def test_grains_of_a_machine(tools: Any, load: Any, tmp_path: Path) -> None:
    tools(machinectl=MACHINECTL)
    machine = for_resource(load("machine", {"resource_ids": ["gone", "web1"]}), "web1")
    grains = machine.grains()
    assert grains["machine"] == {"name": "web1", "kind": "nspawn", "root": str(tmp_path / "web1")}
    assert (grains["virtual"], grains["kernel"], machine.ping()) == ("systemd-nspawn", "Linux", True)
    assert grains["nodename"] == "web1", "its leader is not an init process: the nodename is the machine's name"
    lxc = for_resource(load("machine", {}), "build").grains()
    assert (lxc["machine"]["kind"], lxc["virtual"], lxc["virtual_subtype"]) == ("libvirt-lxc", "container", "LXC")
    machine = for_resource(load("machine", {"resource_ids": ["gone", "web1"]}), "gone")
    assert (machine.grains()["nodename"], machine.ping(), "os" in machine.grains()) == ("gone", False, False)


def test_grains_of_a_container(tools: Any, load: Any) -> None:
    """Read from its root if that is accessible, else by a command in it; a stopped one has those of the engine."""
    tools(podman=ENGINE)
    container = load("container", {"include": "*", "resource_ids": ["db"]})
    web = for_resource(container, "web").grains()
    image = "registry.example.org/web:1"
    assert web["container"] == {"name": "web", "id": "11aa", "image": image, "engine": "podman"}
    assert (web["nodename"], web["virtual_subtype"], web["kernel"]) == ("web-host", "Podman", "Linux")
    assert "os" in web
    build = for_resource(container, "build").grains()
    own = {"id", "nodename", "host", "localhost", "container"}
    assert {name: build[name] for name in build.keys() - own} == {name: web[name] for name in web.keys() - own}
    db = for_resource(container, "db").grains()
    assert ("os" in db, db["container"]["id"]) == (False, "44dd")
    assert [for_resource(container, id).ping() for id in ("web", "db")] == [True, False]


@pytest.mark.parametrize(
    "path, expected",
    [
        ("/etc/plain", "text"),
        ("etc/../etc/./plain", "text"),
        ("/../../../etc/plain", "text"),
        ("/etc/relative", "text"),
        ("/etc/absolute", "text"),
        ("/away/plain", "text"),
        ("/etc/outside", "nothing"),
        ("/etc/above", "nothing"),
        ("/etc/loop", "nothing"),
        ("/etc/pipe", "nothing"),
        ("/etc", "nothing"),
        ("/etc/missing", "nothing"),
        ("/etc/plain/below", "nothing"),
        ("/etc/nul\0", "nothing"),
    ],
)
def test_reads_do_not_leave_the_root(path: str, expected: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    etc = root / "etc"
    etc.mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (etc / "plain").write_text("text")
    for name, target in {
        "etc/relative": "plain",
        "etc/absolute": "/etc/plain",
        "away": "/etc",
        "etc/outside": str(tmp_path / "secret"),
        "etc/above": "../../secret",
        "etc/loop": "loop",
    }.items():
        (root / name).symlink_to(target)
    os.mkfifo(etc / "pipe")
    assert outside.read(str(root), path, "nothing") == expected
    assert outside.read(str(tmp_path / "no-root"), path, "nothing") == "nothing"


# entering -------------------------------------------------------------------------------------------------------------


def test_the_command_that_enters_a_machine(tools: Any, load: Any) -> None:
    tools(machinectl=MACHINECTL)
    enter = for_resource(load("machine", {}), "web1").enter()
    shell_line(enter)
    tools(machinectl="#!/bin/sh\necho 'No machine known' >&2; exit 1\n")
    process = run_in(enter, "true")
    assert (process.returncode, process.stdout, process.stderr) == (97, "", "machine web1 does not run\n")
    tools(machinectl="#!/bin/sh\necho $LEADER\n")
    process = run_in(enter, "true")
    assert (process.returncode, process.stderr) == (97, "nsenter (util-linux) is not installed\n")
    tools(nsenter='#!/bin/sh\nfor word; do echo "[$word]"; done; env\n')
    output = run_in(enter, "/bin/sh", "-c", 'echo "$1"', "a  b").stdout.splitlines()
    assert output[:5] == ["[-t]", f"[{os.getpid()}]", "[-a]", "[-r]", "[-w]"]
    assert output[5:10] == ["[--]", "[/bin/sh]", "[-c]", '[echo "$1"]', "[a  b]"]
    names = {line.split("=")[0] for line in output[10:]} - {"PWD", "_", "SHLVL"}
    assert names == {"HOME", "USER", "LOGNAME", "PATH"}, "the manager's environment is not passed on"


def test_the_command_that_enters_a_chroot(tools: Any, load: Any) -> None:
    machine = load("machine", {"chroots": {"none": "/no where", "odd": "/it's", "long": "/a  b"}})
    enter = for_resource(machine, "none").enter()
    shell_line(enter)
    process = run_in(enter, "true")
    assert (process.returncode, process.stderr) == (97, "there is no directory /no where\n")
    for id in ("odd", "long"):
        with pytest.raises(CommandExecutionError, match="no command can be made of the path"):
            for_resource(machine, id).enter()


@pytest.mark.parametrize("status, runs, expected", [(0, "false", 0), (7, "true", 7), (125, "false", 97), (255, "", 97)])
def test_the_command_that_enters_a_container(
    status: int, runs: str, expected: int, tools: Any, load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools(podman=ENGINE)
    enter = for_resource(load("container", {"user": "app"}), "web").enter()
    shell_line(enter)
    tools(podman=f'#!/bin/sh\ncase $1 in exec) shift; echo "$*"; exit {status};; *) echo {runs};; esac\n')
    process = run_in(enter, "/bin/sh", "-c", "x")
    assert (process.returncode, process.stdout) == (expected, "-i -u app web /bin/sh -c x\n")
    assert process.stderr == ("container web does not run\n" if expected == 97 else "")
