"""A named pipe or a device in place of a file is an immediate error, or treated as missing. No command waits for it."""

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
def replace_file(request, tmp_path):
    """A function that creates a pipe or a device, in place of a file if there is one."""

    def replace_file(path: Path) -> Path:
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        KINDS[request.param](path)
        return path

    return replace_file


@pytest.fixture
def project(tmp_path):
    project = Project(tmp_path, {"here": {"transport": "local"}})
    project.files({"salt/site.sls": SITE})
    return project


@pytest.mark.parametrize("name", ["inventory.yaml", "pushsalt.yaml", "other.yaml"])
def test_pipes_as_inventory_or_configuration_are_errors(project, replace_file, name):
    path = replace_file(project.folder / name)
    arguments = ["-i", str(path)] if name == "other.yaml" else []
    done = project.run(*arguments, "run", "here", "test.ping", timeout=LIMIT)
    assert done.code == 1 and name in done.err


def test_a_pipe_as_named_configuration_is_an_error(project, replace_file):
    path = replace_file(project.folder / "master")
    done = project.run("-c", str(path), "run", "here", "test.ping", timeout=LIMIT)
    assert done.code == 1 and str(path) in done.err


@pytest.mark.parametrize("name", ["group_vars/all", "group_vars/all/one.yml", "host_vars/here.yml"])
def test_pipes_as_variable_files_are_errors(project, replace_file, name):
    project.write("hosts.ini", "here ansible_connection=local\n")
    path = replace_file(project.folder / name)
    done = project.run("-i", "hosts.ini", "target", "here", timeout=LIMIT)
    assert done.code == 1 and str(path) in done.err and "not a file" in done.err


def test_pipes_in_an_inventory_folder_are_errors(project, replace_file):
    project.write("inv/a.yaml", INVENTORY)
    (project.folder / "inv/gone.yaml").symlink_to("nowhere")
    assert project.run("-i", "inv", "target", "*").out.split() == ["here"]
    path = replace_file(project.folder / "inv/b.yaml")
    done = project.run("-i", "inv", "target", "*", timeout=LIMIT)
    assert done.code == 1 and str(path.relative_to(project.folder)) in done.err and "no regular file" in done.err


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
def test_pipes_as_project_files_do_not_block(project, replace_file, name):
    project.write("salt/top.sls", "base: {'*': [site]}\n")
    project.write(
        "salt/site.sls",
        "#!jinja|yaml\n{% from 'map.jinja' import x ignore missing %}\n" + SITE if name == "salt/map.jinja" else SITE,
    )
    replace_file(project.folder / name)
    assert project.run("apply", "here", timeout=LIMIT).code in (0, 1, 2)


def test_pipes_as_renderers_do_not_block(project, replace_file):
    project.write("salt/site.sls", "#!own\n" + SITE)
    replace_file(project.folder / "salt/_renderers/own.py")
    assert project.run("apply", "here", "site", timeout=LIMIT).code in (1, 2)


def test_pipes_as_cache_files_do_not_block(project, tmp_path):
    """All cached data can be created again."""
    project.write("salt/site.sls", "conf:\n  test.succeed_without_changes:\n    - name: {{ pillar.get('a', 1) }}\n")
    arguments = ["apply", "-G", "os:*", "site"]
    assert [project.run(*command).code for command in (["grains", "here"], arguments)] == [0, 0]
    copies = tmp_path / "kept"
    folders = {name: getattr(project, name) for name in ("home", "cache")}
    for name, folder in folders.items():
        shutil.copytree(folder, copies / name, symlinks=True)
    files = [path for folder in folders.values() for path in sorted(folder.rglob("*")) if path.is_file()]
    assert len(files) > 8
    for path in files:
        path.unlink()
        pipe(path)
        done = project.run(*arguments, timeout=LIMIT)
        assert done.code in (0, 1, 2), (path, done)
        for name, folder in folders.items():
            shutil.rmtree(folder)
            shutil.copytree(copies / name, folder, symlinks=True)


@pytest.mark.parametrize("host", [{"priv": "KEY"}, {}])
def test_pipes_as_ssh_keys_do_not_block(project, replace_file, tmp_path, host):
    key = replace_file(project.home / ".ssh" / ("id_ed25519" if not host else "key"))
    replace_file(project.home / ".ssh/known_hosts")
    settings = {"host": "127.0.0.1", "port": 1, **{name: str(key) for name in host}}
    project.write("inventory.yaml", str({"hosts": {"far": settings}}).replace("'", '"'))
    done = project.json("run", "far", "test.ping", timeout=LIMIT)
    assert done.code == 3
    if host:
        assert done.error("far")["kind"] == "key_unusable" and str(key) in done.error("far")["message"]


def test_a_pipe_as_ssh_configuration_does_not_block(project, replace_file):
    replace_file(project.home / ".ssh/config")
    project.write("inventory.yaml", '{"hosts": {"far": {"host": "127.0.0.1", "port": 1}}}')
    assert project.json("run", "far", "test.ping", timeout=LIMIT).code == 3


@pytest.mark.parametrize("option", ["--report", "--junit", "--summary", "--jid-file"])
def test_a_pipe_as_output_needs_a_reader(project, option):
    path = project.folder / "out"
    pipe(path)
    done = project.run("run", "here", "test.ping", option, "out", timeout=LIMIT)
    assert done.code == 1 and f"{option}: out" in done.err and "nothing reads this pipe" in done.err
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert project.run("run", "here", "test.ping", option, "out", timeout=LIMIT).code == 0
        text = os.read(reader, 65536)
    finally:
        os.close(reader)
    assert text.count(b"<!doctype") == (option == "--report") and text.count(b"<?xml") == (option == "--junit")
    assert text and b"did not end" not in text and path.is_fifo()


def test_a_pipe_or_device_is_not_checked(project, replace_file):
    replace_file(project.folder / "other.sls")
    done = project.run("check", "other.sls", timeout=LIMIT)
    assert done.code == 1 and "other.sls: it is a" in done.err and "defect" not in done.err
