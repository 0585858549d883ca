"""Whole commands without stand-ins: this machine is the target."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = str(Path(__file__).parent.parent.parent)


@pytest.fixture
def pushsalt(tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PUSHSALT", "XDG"))}
    env |= {"PYTHONPATH": ROOT, "HOME": str(tmp_path / "home"), "PUSHSALT_CACHE": str(tmp_path / "cache")}
    (tmp_path / "home").mkdir(mode=0o700)

    def run(*arguments, cwd=tmp_path, **kwargs):
        command = [sys.executable, "-m", "pushsalt", *arguments]
        return subprocess.run(command, env=env | kwargs, cwd=cwd, capture_output=True, text=True, timeout=60)

    return run


def test_ping(pushsalt):
    done = pushsalt("run", "--out", "json", "localhost", "test.ping")
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, {"localhost": True}, "")
    assert pushsalt("run", "localhost", "test.ping").stdout == "localhost: True\n"


def test_a_function_that_is_not_there(pushsalt):
    done = pushsalt("run", "--out", "json", "localhost", "test.pong")
    assert done.returncode == 2
    assert json.loads(done.stdout)["localhost"]["error"]["kind"] == "unknown_function"


def test_a_pattern_that_matches_nothing(pushsalt):
    done = pushsalt("apply", "localhorst", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert "localhost" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("apply", "*", "x"),
        ("apply", "local*", "x"),
        ("run", "*", "test.ping"),
        ("run", "-E", "localhost", "test.ping"),
        ("run", "-C", "L@localhost", "test.ping"),
        ("run", "-L", "localhost,web1", "test.ping"),
        ("run", "*", "test.ping", "--refresh"),
        ("target", "*"),
        ("target", "*", "--explain", "localhost"),
        ("grains", "*"),
        ("clean", "*"),
        ("inventory", "list"),
        ("inventory", "graph"),
        ("inventory", "check"),
        ("cache", "prune"),
    ],
    ids=" ".join,
)
def test_without_an_inventory_nothing_but_its_id_means_this_machine(pushsalt, tmp_path, words):
    done = pushsalt(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: no inventory here or above; use -i\nhint: " in done.stderr
    assert not list(tmp_path.glob("cache/grains/*"))


@pytest.mark.parametrize(
    "words",
    [("run", "localhost"), ("run", "-L", "localhost"), ("run", "--refresh", "localhost"), ("run", "-L", " localhost")],
    ids=" ".join,
)
def test_its_id_means_this_machine(pushsalt, words):
    done = pushsalt(*words, "test.ping")
    assert (done.returncode, done.stdout) == (0, "localhost: True\n")


@pytest.mark.parametrize("untrusted", [".", "pushsalt.yaml"])
def test_a_project_that_is_not_trusted_is_no_reason_to_take_this_machine_or_another_inventory(
    pushsalt, tmp_path, untrusted
):
    folder = tmp_path / "work"
    own = tmp_path / "home/.config/pushsalt"
    for place in (folder, own):
        place.mkdir(parents=True, mode=0o755)
        (place / "pushsalt.yaml").write_text("renderer: jinja|yaml\n")
        (place / "inventory.yaml").write_text(f"hosts: {{of-{place.name}: {{transport: offline}}}}\n")
    assert pushsalt("target", "*", cwd=folder).stdout == "of-work\n"
    (folder / untrusted).chmod(0o777)
    done = pushsalt("target", "*", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    way = f"if you trust it: -c {folder}, or PUSHSALT_TRUST={folder}\n"
    assert f"hint: {way}" in done.stderr
    assert f"{folder}/pushsalt.yaml is not used: others can write to" in done.stderr
    done = pushsalt("run", "localhost", "test.ping", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "localhost: True\n")
    assert way in done.stderr
    for done in (
        pushsalt("-c", str(folder), "target", "*", cwd=folder),
        pushsalt("target", "*", cwd=folder, PUSHSALT_TRUST=str(folder)),
        pushsalt("target", "*", cwd=folder, PUSHSALT_TRUST=f"/nowhere:{tmp_path}"),
    ):
        assert (done.returncode, done.stdout, done.stderr) == (0, "of-work\n", "")
    assert pushsalt("target", "*", cwd=folder, PUSHSALT_TRUST=str(own)).returncode == 1


def test_a_project_for_salt_ssh_needs_nothing_more(pushsalt, tmp_path):
    """The layout of salt-ssh's documentation: a Saltfile, a master configuration and a roster."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "Saltfile").write_text("salt-ssh: {config_dir: conf, ssh_user: ops, ssh_wipe: true}\n")
    (tmp_path / "conf/master").write_text("file_roots: {base: [/states]}\nssh_user: other\n")
    (tmp_path / "conf/roster").write_text("web1: 192.0.2.1\ndb1: {host: 192.0.2.2, user: root}\n")
    done = pushsalt("inventory", "list", "--out", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert {id: host["user"] for id, host in json.loads(done.stdout).items()} == {"web1": "ops", "db1": "root"}


@pytest.mark.parametrize("config_dir", [False, True])
def test_a_missing_inventory_is_corrected_where_it_is_named(pushsalt, tmp_path, config_dir):
    file = tmp_path / "Saltfile"
    file.write_text("salt-ssh:\n  roster_file: ./etc/hosts\n" + "  config_dir: ./conf\n" * config_dir)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/master").write_text("")
    done = pushsalt("target", "*")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"error: there is no inventory {tmp_path}/etc/hosts\n" in done.stderr
    assert f"hint: correct `roster_file` in {file}; a relative path begins at the folder of that file\n" in done.stderr
    assert "-i" not in done.stderr
    assert "path given with -i" in pushsalt("-i", "nowhere", "target", "*").stderr
    assert "path given with PUSHSALT_INVENTORY" in pushsalt("target", "*", PUSHSALT_INVENTORY="nowhere").stderr
    (tmp_path / "conf/master").write_text("roster_file: /nowhere\n")
    file.write_text("salt-ssh: {config_dir: conf}\n")
    assert f"correct `roster_file` in {tmp_path}/conf/master" in pushsalt("target", "*").stderr
    assert "path given with -c" in pushsalt("-c", "nowhere", "target", "*").stderr
    assert "SALT_SALTFILE" in pushsalt("target", "*", SALT_SALTFILE="nowhere").stderr


def test_what_a_found_master_configuration_includes_by_itself_must_be_trusted(pushsalt, tmp_path):
    (tmp_path / "conf/master.d").mkdir(parents=True)
    (tmp_path / "Saltfile").write_text("salt-ssh: {config_dir: conf}\n")
    (tmp_path / "conf/master").write_text("nodegroups: {mine: web1}\n")
    (tmp_path / "conf/roster").write_text("web1: 192.0.2.1\n")
    file = tmp_path / "conf/master.d/more.conf"
    file.write_text("nodegroups: {theirs: web1}\n")
    assert pushsalt("target", "-N", "theirs").stdout == "web1\n"
    file.chmod(0o666)
    done = pushsalt("target", "-N", "mine")
    assert (done.returncode, done.stdout) == (0, "web1\n")
    assert f"{file} is not used: others can write to {file} (chmod go-w it)" in done.stderr
    assert f"if you trust it: -c {tmp_path}/conf, or PUSHSALT_TRUST={file.parent}\n" in done.stderr
    assert pushsalt("-c", "conf", "-i", "conf/roster", "target", "-N", "theirs").stdout == "web1\n"
    assert pushsalt("target", "-N", "theirs", PUSHSALT_TRUST=str(tmp_path)).stdout == "web1\n"
    (tmp_path / "conf/master").write_text("default_include: master.d/*.conf\n")
    assert pushsalt("target", "-N", "theirs").stdout == "web1\n"


def test_an_inventory_that_is_refused_does_not_mean_this_machine(pushsalt, tmp_path):
    (tmp_path / "pushsalt.yaml").write_text("renderer: jinja|yaml\n")
    (tmp_path / "inventory.yaml").write_text("hosts: {web1: {}}\n")
    (tmp_path / "inventory.yaml").chmod(0o666)
    for words in (("target", "*"), ("run", "*", "test.ping"), ("inventory", "list")):
        done = pushsalt(*words)
        assert (done.returncode, done.stdout) == (1, ""), words
        assert "others can write to" in done.stderr and "inventory.yaml is not used" in done.stderr
        assert f"-i {tmp_path}/inventory.yaml" in done.stderr


@pytest.mark.parametrize(
    "text, words",
    [
        ("fileserver_backend: [rots]", "no plug-in 'rots'"),
        ("file_ignore_regex: ['(']", "'(' is not a regular expression"),
    ],
)
def test_a_file_server_that_cannot_be_is_the_command_s_own_trouble(pushsalt, tmp_path, text, words):
    (tmp_path / "pushsalt.yaml").write_text(text)
    done = pushsalt("apply", "localhost", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr and "hint: " in done.stderr
