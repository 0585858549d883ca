"""Inventories that expand without limit are errors at once; Ansible's arguments of ssh and checks of host keys."""

from __future__ import annotations

import json
import time

import pytest

from pushsalt.errors import InventoryError
from pushsalt.inventory.load import load_inventory
from pushsalt.programs import list_inventory
from tests.inventory.test_trust import read, rendered

DEEP = "[" * 5000 + "]" * 5000
LAUGHS = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9) if n else 'x'}]\n" for n in range(12))


@pytest.mark.parametrize("bomb", [f"x: {DEEP}", LAUGHS], ids=["deep", "laughs"])
def test_bombs_are_errors_at_once(bomb, tmp_path):
    (tmp_path / "hosts.ini").write_text("[web]\na\n")
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "web.yml").write_text(bomb)
    (tmp_path / "native.yaml").write_text("hosts:\n  a: {}\n" + bomb)
    (tmp_path / "tagged.yml").write_text("all:\n  hosts:\n    a: {x: !vault y}\n" + bomb)
    start = time.monotonic()
    for name in ("hosts.ini", "native.yaml", "tagged.yml"):
        with pytest.raises(InventoryError) as caught:
            load_inventory([tmp_path / name], render=rendered)
        assert caught.value.where.path.startswith(str(tmp_path))
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    "text",
    [
        "[web]\nw[1:99999][1:99999]\n",
        "[web]\nw[²:9]\n",
        "[web]\na:²\n",
        "[web]\n" + "w[1:2]" * 400 + "\n",
        "[web]\na x=" + "(" * 100_000 + "\n",
        "[web]\na:" + "9" * 5000 + "\n",
        "[web]\nw[1:" + "9" * 5000 + "]\n",
    ],
    ids=range(7),
)
def test_ini_is_bounded(text, tmp_path):
    start = time.monotonic()
    read(tmp_path, "hosts.ini", False, text)
    assert time.monotonic() - start < 5


def test_groups_that_share_their_children_are_not_walked_again_and_again(tmp_path):
    groups = {f"g{n}": {"children": [f"g{n + 1}", f"h{n + 1}"]} for n in range(60)}
    groups |= {f"h{n}": {"children": [f"g{n + 1}", f"h{n + 1}"]} for n in range(60)}
    start = time.monotonic()
    found = read(tmp_path, "x.json", False, json.dumps({"_meta": {"hostvars": {}}, **groups, "g60": ["a"], "h60": []}))
    assert found.ids == ("a",) and time.monotonic() - start < 5


def test_a_program_that_prints_for_ever_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("pushsalt.programs.MAX_BYTES", 1_000_000)
    monkeypatch.setattr("pushsalt.programs.TIMEOUT", 5.0)
    path = tmp_path / "prog"
    path.write_text("#!/bin/sh\nexec yes\n")
    path.chmod(0o755)
    with pytest.raises(InventoryError, match="prints more than"):
        list_inventory(path)
    monkeypatch.setattr("pushsalt.programs.TIMEOUT", 0.3)
    path.write_text("#!/bin/sh\necho '{}'\nexec sleep 60\n")
    with pytest.raises(InventoryError, match="did not end"):
        list_inventory(path)


# --- Ansible's ways to disable the check of host keys


@pytest.mark.parametrize(
    "variables, options",
    [
        ("ansible_ssh_common_args='-o StrictHostKeyChecking=no'", ("StrictHostKeyChecking=no",)),
        (
            "ansible_ssh_common_args='-oStrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null'",
            ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"),
        ),
        ("ansible_ssh_extra_args='-o \"StrictHostKeyChecking no\"'", ("StrictHostKeyChecking=no",)),
        (
            "ansible_ssh_args='-C -o ControlMaster=auto -o StrictHostKeyChecking=accept-new'",
            ("StrictHostKeyChecking=accept-new",),
        ),
        ("ansible_host_key_checking=false", ("StrictHostKeyChecking=no",)),
        ("ansible_ssh_host_key_checking=False", ("StrictHostKeyChecking=no",)),
        ("ansible_ssh_common_args='-o StrictHostKeyChecking=yes -o ProxyCommand=\"touch canary\"'", ()),
        (
            "ansible_ssh_common_args='-J x@y:22 -o StrictHostKeyChecking=no'",
            ("ProxyJump=x@y:22", "StrictHostKeyChecking=no"),
        ),
        ("ansible_host_key_checking=true", ()),
    ],
)
def test_ansible_and_host_keys(variables, options, tmp_path):
    path = tmp_path / "hosts.ini"
    path.write_text(f"[web]\na {variables}\n")
    assert load_inventory([path], render=rendered).targets["a"].ssh_options == options
