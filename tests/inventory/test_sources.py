"""Inventories of other tools, folders, programs, and the stored form of a large inventory."""

import os
import signal
from pathlib import Path
from unittest.mock import ANY

import pytest
import yaml

from pushsalt.errors import InventoryError
from pushsalt.events import Reporter
from pushsalt.inventory.load import load_inventory
from pushsalt.job import Settings
from pushsalt.programs import list_inventory
from pushsalt.run.project import Project

pytestmark = pytest.mark.slow

CASES = yaml.safe_load((Path(__file__).parent / "cases_sources.yaml").read_text())


def no_render(text, path):
    raise AssertionError("this is no template")


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize("name", CASES)
def test_inventories_of_others(name, tmp_path):
    case = CASES[name]
    write(tmp_path, case["files"])
    found = load_inventory([tmp_path / case.get("read", next(iter(case["files"])))], render=no_render)
    assert list(found.targets) == list(case["want"])
    for id, wanted in case["want"].items():
        for field, value in wanted.items():
            got = getattr(found.targets[id], field)
            assert (list(got) if isinstance(got, tuple) else got) == value, (id, field)
    said = "\n".join(found.warnings)
    for word in case.get("warns", []):
        assert word in said
    assert bool(said) == bool(case.get("warns"))


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("[web]\na b=1\n[web:varz]\n", 3, "varz"),
        ("[web]\na b\n", 2, "no variable"),
        ("[web]\na x='1\n", 2, "quote"),
        ("[web]\nw[9:1]\n", 2, "range"),
        ("[a:children]\nb\n[b:children]\na\n", 1, "its own child"),
        ("[web]\na ansible_port=many\n", 2, "port"),
    ],
)
def test_mistakes_have_their_place(text, line, words, tmp_path):
    path = tmp_path / "hosts"
    path.write_text(text)
    with pytest.raises(InventoryError, match=words) as caught:
        load_inventory([path], render=no_render)
    assert (caught.value.where.path, caught.value.where.line) == (str(path), line)


def program(path, text, mode=0o755):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    "printed",
    ['{"hosts": {"a": {"user": "u"}}}', "a: {user: u}", '{"_meta": {"hostvars": {"a": {"ansible_user": "u"}}}}'],
)
def test_a_program_prints_the_inventory(printed, tmp_path):
    path = program(tmp_path / "inv.sh", f"test \"$1\" = --list || exit 1\ncat <<'E'\n{printed}\nE")
    found = load_inventory([path], render=no_render, execute=list_inventory)
    assert {id: target.user for id, target in found.targets.items()} == {"a": "u"}


def test_what_a_program_leaves_running_is_not_waited_for(tmp_path, monkeypatch):
    """ssh with ControlPersist, for example, keeps the output open."""
    monkeypatch.setattr("pushsalt.programs.TIMEOUT", 20)
    path = program(tmp_path / "hosts", f"sleep 100 & echo $! > {tmp_path}/pid; echo '{{}}'")
    try:
        assert list_inventory(path) == "{}\n"
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_a_program_that_fails_or_is_not_safe(tmp_path, monkeypatch):
    failing = program(tmp_path / "fails", "echo broken >&2; exit 3")
    with pytest.raises(InventoryError, match="ended with exit code 3: broken"):
        load_inventory([failing], render=no_render, execute=list_inventory)
    open_to_all = program(tmp_path / "open", "echo '{}'", 0o777)
    with pytest.raises(InventoryError, match="others can change"):
        load_inventory([open_to_all], render=no_render, execute=list_inventory)
    monkeypatch.setenv("PUSHSALT_TRUST", str(tmp_path))
    assert list_inventory(open_to_all) == "{}\n"
    monkeypatch.setenv("PUSHSALT_TRUST", str(tmp_path / "fails"))
    with pytest.raises(InventoryError, match="others can change"):
        list_inventory(open_to_all)
    with pytest.raises(InventoryError, match="not run here"):
        load_inventory([failing], render=no_render)


def test_a_large_inventory_is_read_once_and_its_image_says_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    hosts = "".join(
        f"  w{n}: {{host: 192.0.2.{n % 250}, passwd: hunter2-{n}, pillar: {{api_token: tok-{n}-x}}}}\n"
        for n in range(2500)
    )
    path = tmp_path / "inventory.yaml"
    path.write_text(f"defaults: {{user: deploy}}\nhosts:\n{hosts}groups:\n  web: {{hosts: ['w*'], priv: key}}\n")

    def opened():
        return Project.open(Settings(inventories=[path], cache_dir=tmp_path / "cache"), Reporter())

    first = opened().inventory
    image = opened()
    import pushsalt.inventory.load as module

    monkeypatch.setattr(module, "load_inventory", lambda *a, **k: pytest.fail("it was read again"))
    second = image.inventory
    assert second.ids == first.ids
    assert image.redactor.text("hunter2-7 and tok-7-x") == "hunter2-7 and tok-7-x"
    assert [second.targets[id] for id in ("w0", "w7", "w2499")] == [first.targets[id] for id in ("w0", "w7", "w2499")]
    assert repr(second.targets["w7"].passwd) == "'**********'"
    assert image.redactor.text("hunter2-7 and tok-7-x") == "********** and **********"
    for file in (tmp_path / "cache").rglob("*"):
        assert not file.is_file() or b"hunter2" not in file.read_bytes()
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path.write_text(path.read_text().replace("deploy", "admin"))
    assert opened().inventory.targets["w7"].user == "admin"


def test_a_pipe_is_not_waited_for_to_know_whether_an_image_holds(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    project = Project.open(Settings(inventories=[tmp_path / "pipe"], cache_dir=tmp_path / "cache"), Reporter())
    with pytest.raises(InventoryError, match="no regular file"):
        _ = project.inventory


ROSTER = """{{% set user = 'deploy' %}}
{{% for n in range(2500) %}}
w{{{{ n }}}}: {{host: 192.0.2.1, user: {user}, passwd: hunter2-{{{{ n }}}}}}
{{% endfor %}}
"""


@pytest.mark.parametrize(
    "user, times",
    [
        ("'{{ user }}'", 1),
        ("u{{ range(100000) | random }}", 2),  # another roster each time
        ("'{{ opts.ssh_user or user }}'", 1),
    ],
)
def test_a_roster_that_renders_to_the_same_text_is_read_once(tmp_path, monkeypatch, user, times):
    import pushsalt.inventory.load as module

    read, load = [], module.load_inventory
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(module, "load_inventory", lambda *a, **k: read.append(1) or load(*a, **k))
    path, config = tmp_path / "roster", tmp_path / "master"
    path.write_text(ROSTER.format(user=user))
    config.write_text("{}\n")

    def opened():
        settings = Settings(inventories=[path], config=config, cache_dir=tmp_path / "cache")
        return Project.open(settings, Reporter())

    first, second = opened(), opened()
    assert second.select("w7", "glob", ":") == first.select("w7", "glob", ":") == ["w7"]
    ours, theirs = first.inventory.targets["w7"], second.inventory.targets["w7"]
    assert theirs.passwd == ours.passwd == "hunter2-7"
    assert (theirs == ours, len(read)) == (times == 1, times)
    assert second.redactor.text("hunter2-7") == "**********"
    for file in (tmp_path / "cache").rglob("*"):
        assert not file.is_file() or b"hunter2" not in file.read_bytes()
    config.write_text("ssh_user: root\n")
    assert opened().inventory.targets["w7"].user == ("root" if "opts" in user else theirs.user if times == 1 else ANY)
    path.write_text("#!jinja|json\n" + '{"w7": {"host": "{{ opts.ssh_user }}.example"}}')
    assert opened().inventory.targets["w7"].host == "root.example"
    path.write_text("{% for n in range(2500) %}\nw{{ n }}: {host: [}\n{% endfor %}\n")
    with pytest.raises(InventoryError, match="expected") as wrong:
        _ = opened().inventory
    assert wrong.value.where.line == 2
