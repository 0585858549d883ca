"""Machines, a chroot and containers on a booted target: discovered, selected, and states applied in them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.beds.machines import Machine, missing
from tests.beds.nested import CHROOTS, IMAGE, MACHINES, inside, nested
from tests.beds.processes import wait_until
from tests.beds.project import ROOT, Project, values

pytestmark = [
    pytest.mark.slow,
    pytest.mark.machines,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
    pytest.mark.timeout(300),
]

#: all resources of the targets, by key
ALL = ["container:c1", "machine:jail", "machine:m1", "machine:m1.sudoer", "machine:m2"]
PLACES = {**MACHINES, **CHROOTS}
#: Files that a running machine writes by itself.
ALIVE = ("/var/log/", "/var/lib/systemd/", "/run/log/", "/run/systemd/", "/run/sudo/", "/var/lib/sudo/", "/run/udev/")
TEXT = "only where it is meant"


class Site:
    def __init__(self, host: Machine, containers: Path, project: Project) -> None:
        self.host, self.project, self._containers = host, project, containers

    def motd(self, name: str) -> str:
        return (self.host.root / PLACES[name].lstrip("/") / "etc/motd").read_text()

    def files(self) -> set[str]:
        """Created or changed files: in the host, in each root, in containers and in memory file systems."""
        overlays = [self.host.folder / "upper", *(inside(self.host, name) for name in PLACES)]
        overlays += self._containers.glob("storage/overlay/*/diff")
        paths = (path for folder in overlays for path in folder.rglob("*"))
        found = {str(path) for path in paths if path.is_file() and not path.is_symlink()}
        asking = "machinectl show -p Leader --value m1 m2; podman inspect -f {{.State.Pid}} c1"
        leaders = [word for word in self.host.shell(asking).split() if word]
        for number, root in enumerate(["", *(f"/proc/{leader}/root" for leader in leaders)]):
            places = " ".join(f"{root}/{name}" for name in ("tmp", "run", "dev/shm", "var/tmp"))
            names = self.host.shell(f"find {places} -xdev -type f 2>/dev/null || true").splitlines()
            found |= {f"{number}:{name.removeprefix(root)}" for name in names}
        return {name for name in found if not any(part in name for part in ALIVE)}

    def processes(self) -> list[str]:
        """All processes of the host and in it, without ps and its parents, and without zombies."""
        lines = self.host.shell("ps -eo stat=,args=").splitlines()
        rows = [line.split(None, 1) for line in lines if not line.startswith("Z")]
        return sorted(args for _, args in rows if "ps -eo stat=" not in args and "sshd: root@" not in args)

    def mounts(self) -> list[str]:
        return self.host.shell("cut -d' ' -f2,3 /proc/1/mounts").splitlines()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with nested() as (bed, host):
        resources: dict[str, Any] = {"machine": {"chroots": CHROOTS}, "container": {"engine": "podman"}}
        once_more = {"machine": {"include": "m1", "id_format": "{name}.{manager}"}}
        hosts = {
            "host1": host.host(pillar={"resources": resources}),
            "sudoer": host.host(user="deploy", sudo=True, pillar={"resources": once_more}),
        }
        project = Project(tmp_path_factory.mktemp("project"), hosts)
        settings = {"file_roots": {"base": ["salt", str(ROOT / "formulas")]}, "pillar_roots": {"base": ["pillar"]}}
        project.write("pushsalt.yaml", json.dumps(settings))
        project.write("pillar/top.sls", "base:\n  m2:\n    - motd\n")
        project.write("pillar/motd.sls", f"motd:\n  banner: [{TEXT}]\n")
        shutil.copy(bed.known_hosts, project.home / ".ssh" / "known_hosts")
        # a first login creates files
        assert project.run("run", "*", "test.ping").code == 0
        assert project.run("clean", "host*").code == 0
        yield Site(host, bed.folder / "containers", project)


@pytest.fixture(scope="module")
def before(site: Site) -> dict[str, Any]:
    return {"files": site.files(), "processes": site.processes(), "mounts": site.mounts()}


@pytest.fixture(scope="module")
def found(site: Site, before: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Grains of all of them, collected from outside."""
    done = site.project.json("grains", "*")
    assert done.code == 0, done.err
    assert sorted(done.data) == ["host1", "sudoer"]
    kept = {}
    for key in ALL:
        kept[key] = json.loads(site.project.run("resource", "show-grains", key, "--out", "json").out)
    return kept


def selected(site: Site, *arguments: str) -> list[str]:
    return site.project.run("target", *arguments).out.split()


@pytest.mark.parametrize(
    "expr, want",
    [
        ("T@machine", "jail m1 m2 m1.sudoer"),
        ("T@machine and M@host1", "jail m1 m2"),
        ("T@machine:m2 and M@host1", "m2"),
        ("M@sudoer", "m1.sudoer"),
        ("T@container and G@os:Debian", "c1"),
        ("T@machine and G@machine:kind:chroot", "jail"),
        ("G@container:image:localhost/*", "c1"),
        ("M@host1 and not T@machine", "c1"),
    ],
)
def test_they_are_found_and_selected(site: Site, found: dict[str, Any], expr: str, want: str) -> None:
    assert selected(site, "-C", expr) == want.split()


def test_properties_seen_from_outside(site: Site, found: dict[str, dict[str, Any]]) -> None:
    assert {key: grains["id"] for key, grains in found.items()} == {key: key.split(":")[1] for key in ALL}
    machine, chroot, container = found["machine:m1"], found["machine:jail"], found["container:c1"]
    assert (machine["nodename"], machine["virtual"], machine["osfinger"]) == ("m1", "systemd-nspawn", "Debian-12")
    assert machine["machine"] == {"name": "m1", "kind": "nspawn", "root": "/var/lib/machines/m1"}
    assert (chroot["nodename"], chroot["virtual_subtype"]) == ("host1", "chroot")
    assert chroot["machine"] == {"name": "jail", "kind": "chroot", "root": "/srv/jail"}
    assert (container["nodename"], container["virtual"], container["virtual_subtype"]) == ("c1", "container", "Podman")
    assert (container["container"]["engine"], container["container"]["image"]) == ("podman", IMAGE)
    done = site.project.json("run", "-C", "T@machine or T@container", "grains.items")
    assert done.code == 0, done.err
    kept = sorted(selected(site, "-C", "G@machine:name:* or G@container:engine:podman"))
    assert kept == sorted(key.split(":")[1] for key in ALL), "what is collected inside leaves that alone"
    for key, grains in found.items():
        real = done.data[key.split(":")[1]]
        assert {name: real.get(name) for name in grains} == grains
        assert len(real) > len(grains) and real["username"] == "root"
    assert done.data["m1"]["init"] == "systemd"


def test_a_formula_in_one_of_them_and_nowhere_else(site: Site, found: dict[str, Any]) -> None:
    others = {name: site.motd(name) for name in ("m1", "jail")}
    words = ("apply", "-C", "T@machine:m2 and M@host1", "motd")
    first = site.project.json(*words)
    assert (first.code, list(first.data)) == (0, ["m2"]), first.out + first.err
    assert values(first.data["m2"])[0]["changes"]["diff"]
    assert TEXT in site.motd("m2")
    assert "m2" in site.motd("m2") and "Debian" in site.motd("m2")
    second = site.project.json(*words)
    assert (second.code, [ret["changes"] for ret in values(second.data["m2"])]) == (0, [{}])
    assert {name: site.motd(name) for name in others} == others
    assert TEXT not in site.host.shell("cat /etc/motd; podman exec c1 cat /etc/motd")


def test_a_glob_takes_them_along(site: Site, found: dict[str, Any]) -> None:
    everything = ["c1", "host1", "jail", "m1", "m2"]
    done = site.project.json("apply", "host*", "motd", "--test")
    assert (done.code, sorted(done.data)) == (0, everything), done.out + done.err
    would_change = {id for id, ret in done.data.items() if values(ret)[0]["result"] is None}
    assert would_change >= {"c1", "host1", "jail", "m1"}
    settings = json.loads((site.project.folder / "pushsalt.yaml").read_text())
    alone = site.project.write("alone.yaml", json.dumps({**settings, "glob_includes_resources": False}))
    words = ("-c", str(alone), "-i", "inventory.yaml", "apply", "--out", "json", "host*", "motd", "--test")
    done = site.project.run(*words)
    assert (done.code, list(done.data)) == (0, ["host1"])


UNIT = "/etc/systemd/system/sleeper.service"
SERVICE = f"""
{UNIT}:
  file.managed:
    - contents: "[Service]\\nExecStart=/bin/sleep infinity"
sleeper:
  service.running:
    - require:
      - file: {UNIT}
"""
UNDO = f"sleeper:\n  service.dead\n{UNIT}:\n  file.absent\n"


def test_services_of_a_machine_are_its_own(site: Site, found: dict[str, Any]) -> None:
    site.project.files({"salt/service.sls": SERVICE, "salt/undo.sls": UNDO})
    done = site.project.json("apply", "m1", "service")
    assert [ret["result"] for ret in values(done.data["m1"])] == [True, True], done.out
    shown = site.project.json("run", "-L", "m1,m2,host1", "service.status", "sleeper").data
    assert shown == {"m1": True, "m2": False, "host1": False}
    assert site.project.run("apply", "m1", "undo").code == 0


@pytest.mark.parametrize(
    "id, stop, start, said",
    [
        ("m2", "systemctl stop machine@m2", "systemctl start machine@m2", "machine m2 does not run"),
        ("c1", "podman stop -t 0 c1", "podman start c1", "container c1 does not run"),
        ("jail", "mv /srv/jail/bin /srv/jail/nib", "mv /srv/jail/nib /srv/jail/bin", "/bin/sh"),
    ],
)
def test_one_that_does_not_run(site: Site, found: dict[str, Any], id: str, stop: str, start: str, said: str) -> None:
    """The error says that it does not run, the others continue, and it is reachable when it runs again."""
    site.host.shell(stop)
    done = site.project.json("run", "-L", f"{id},m1", "test.ping")
    assert (done.code, done.data["m1"]) == (3, True)
    error = done.error(id)
    assert error["kind"] == "resource_unreachable", error
    assert said in error["message"] and "host1" in error["message"], error
    site.host.shell(start)
    done = site.project.json("run", id, "test.ping")
    assert (done.code, done.data) == (0, {id: True}), done.out


def test_a_container_without_python(site: Site, found: dict[str, Any]) -> None:
    """It is discovered, with grains; a function that would run in it reports the missing Python."""
    hide = "-v /dev/null:/usr/bin/python3 -v /dev/null:/usr/bin/python3.11"
    site.host.shell(f"podman run --quiet --detach --name bare {hide} {IMAGE} sleep infinity")
    try:
        assert site.project.run("resource", "refresh", "host1").code == 0
        assert selected(site, "-C", "T@container and G@os:Debian") == ["bare", "c1"]
        assert site.project.json("apply", "bare", "motd").error("bare")["kind"] == "no_python"
    finally:
        site.host.shell("podman rm -f -t 0 bare")
    assert site.project.run("resource", "refresh", "host1").code == 0
    assert selected(site, "-C", "T@container") == ["c1"]


def test_nothing_stays_when_the_controller_dies(site: Site, found: dict[str, Any], before: dict[str, Any]) -> None:
    running = site.project.start("run", "-C", "T@machine or T@container", "cmd.run", "exec sleep 98765")
    wait_until(lambda: sum(args == "sleep 98765" for args in site.processes()) == len(ALL))
    # mounts for a chroot without /proc and /dev are not visible to others
    assert site.mounts() == before["mounts"]
    assert site.host.shell("ls -A /srv/jail/proc") == ""
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    wait_until(lambda: not any("sleep 98765" in args or "nsenter" in args for args in site.processes()))


def test_nothing_stays_after_clean(site: Site, found: dict[str, Any], before: dict[str, Any]) -> None:
    kept = site.files() - before["files"]
    assert sum(path.endswith(".img") and "/.cache/pushsalt/" in path for path in kept) >= len(PLACES) + 2, kept
    done = site.project.run("clean", "host*")
    assert done.code == 0, done.out + done.err
    with contextlib.suppress(AssertionError):
        wait_until(lambda: not Counter(site.processes()) - Counter(before["processes"]), 5)
    # a service of the machine's start may have ended since
    assert not Counter(site.processes()) - Counter(before["processes"])
    assert site.mounts() == before["mounts"]
    # changes by a state remain
    assert site.files() - before["files"] == {str(inside(site.host, "m2") / "etc" / "motd")}
