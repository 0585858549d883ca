"""A named pipe or a device in place of a file: an immediate error, or treated as missing. No command waits."""

import os
import shutil
from pathlib import Path

import pytest

from tests.beds.project import Project

pytestmark = pytest.mark.slow

LIMIT = 30  # seconds: a command that waits for a pipe would not end

INVENTORY = '{"hosts": {"here": {"transport": "local"}}}'
SITE = "conf:\n  test.succeed_without_changes\n"


def pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


KINDS = {"pipe": pipe, "device": device}


@pytest.fixture(params=list(KINDS))
def put(request, tmp_path):
    """Replaces a file by a pipe or a device, or creates one."""

    def put(path: Path) -> Path:
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        KINDS[request.param](path)
        return path

    return put


@pytest.fixture
def site(tmp_path):
    made = Project(tmp_path, {"here": {"transport": "local"}})
    made.files({"salt/site.sls": SITE})
    return made


@pytest.mark.parametrize("name", ["inventory.yaml", "pushsalt.yaml", "other.yaml"])
def test_what_a_project_begins_with(site, put, name):
    path = put(site.folder / name)
    words = ["-i", str(path)] if name == "other.yaml" else []
    done = site.run(*words, "run", "here", "test.ping", timeout=LIMIT)
    assert done.code == 1 and name in done.err


def test_a_configuration_by_name(site, put):
    path = put(site.folder / "master")
    done = site.run("-c", str(path), "run", "here", "test.ping", timeout=LIMIT)
    assert done.code == 1 and str(path) in done.err


@pytest.mark.parametrize("name", ["group_vars/all", "host_vars/here.yml"])
def test_variables_next_to_an_inventory(site, put, name):
    site.write("hosts.ini", "here ansible_connection=local\n")
    put(site.folder / name)
    done = site.run("-i", "hosts.ini", "run", "here", "test.ping", timeout=LIMIT)
    assert done.code in (0, 1)


@pytest.mark.parametrize(
    "name",
    [
        "pushsalt.lock",
        "salt/site.sls",
        "salt/top.sls",
        "salt/_modules/own.py",
        "salt/_renderers/own.py",
        "salt/map.jinja",
        "pillar/top.sls",
        "salt/FORMULA",
    ],
)
def test_files_of_a_project(site, put, name):
    site.write("salt/top.sls", "base: {'*': [site]}\n")
    site.write(
        "salt/site.sls",
        "#!jinja|yaml\n{% from 'map.jinja' import x ignore missing %}\n" + SITE if name == "salt/map.jinja" else SITE,
    )
    put(site.folder / name)
    assert site.run("apply", "here", timeout=LIMIT).code in (0, 1, 2)


def test_own_renderers(site, put):
    site.write("salt/site.sls", "#!own\n" + SITE)
    put(site.folder / "salt/_renderers/own.py")
    assert site.run("apply", "here", "site", timeout=LIMIT).code in (1, 2)


def test_each_file_of_the_caches(site, tmp_path):
    """All cached data can be made again."""
    site.write("salt/site.sls", "conf:\n  test.succeed_without_changes:\n    - name: {{ pillar.get('a', 1) }}\n")
    words = ["apply", "-G", "os:*", "site"]
    assert [site.run(*command).code for command in (["grains", "here"], words)] == [0, 0]
    kept = tmp_path / "kept"
    places = {name: getattr(site, name) for name in ("home", "cache")}
    for name, place in places.items():
        shutil.copytree(place, kept / name, symlinks=True)
    files = [path for place in places.values() for path in sorted(place.rglob("*")) if path.is_file()]
    assert len(files) > 8
    for path in files:
        path.unlink()
        pipe(path)
        done = site.run(*words, timeout=LIMIT)
        assert done.code in (0, 1, 2), (path, done)
        for name, place in places.items():
            shutil.rmtree(place)
            shutil.copytree(kept / name, place, symlinks=True)


@pytest.mark.parametrize("host", [{"priv": "KEY"}, {}])
def test_keys_of_ssh(site, put, tmp_path, host):
    key = put(site.home / ".ssh" / ("id_ed25519" if not host else "key"))
    put(site.home / ".ssh/known_hosts")
    told = {"host": "127.0.0.1", "port": 1, **{name: str(key) for name in host}}
    site.write("inventory.yaml", str({"hosts": {"far": told}}).replace("'", '"'))
    done = site.json("run", "far", "test.ping", timeout=LIMIT)
    assert done.code == 3
    if host:
        assert done.error("far")["kind"] == "key_unusable" and str(key) in done.error("far")["message"]


def test_a_configuration_of_ssh(site, put):
    put(site.home / ".ssh/config")
    site.write("inventory.yaml", '{"hosts": {"far": {"host": "127.0.0.1", "port": 1}}}')
    assert site.json("run", "far", "test.ping", timeout=LIMIT).code == 3
