"""Secrets do not leak: planted values are searched in all data of a run.

The data are arguments and environment of every process during the run, stdout and stderr at any log level, the
controller's caches, and the target's disk. A value may only be in the file into which a state writes it.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.beds import sshd
from tests.beds.planted import Planted
from tests.beds.processes import Watch
from tests.beds.project import Project, values
from tests.beds.sshd import SshdBed, keygen

pytestmark = [
    pytest.mark.sshd,
    pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-"),
]

NAMES = (
    "nested",
    "listed",
    "key",
    "content",
    "template",
    "late",
    "environment",
    "stdin",
    "given",
    "login",
    "passphrase",
    "sudo",
    "plain",
    "broken",
)
PASSWORDS = ("content", "template", "late", "environment", "stdin", "broken")
#: Below keys whose names do not indicate a secret: shown to a user who asks for them, and in no log, cache or argument.
OPEN = frozenset({"plain"})
STATES = """
content:
  file.managed:
    - name: {home}/content
    - contents_pillar: content_password
    - mode: '0600'
template:
  file.managed:
    - name: {home}/template
    - source: salt://secret.jinja
    - template: jinja
    - mode: '0600'
late:
  file.managed:
    - name: {home}/late
    - source: salt://late.jinja
    - template: jinja
    - context: {{'home': {home}}}
environment:
  cmd.run:
    - name: "test -n \\"$CONSUMED\\" && sleep 0.3 # consumer"
    - env:
      - CONSUMED: {{{{ pillar['environment_password'] }}}}
stdin:
  cmd.run:
    - name: cat; sleep 0.3
    - stdin: {{{{ pillar['stdin_password'] }}}}
key:
  file.managed:
    - name: {home}/key
    - contents_pillar: tls:private_key
    - mode: '0600'
"""


class Bed(Planted):
    """A project with a secret in every place that may have one, and an SSH target that uses them."""

    def __init__(self, folder: Path, servers: SshdBed) -> None:
        super().__init__(NAMES)
        planted = self.words
        self.target = servers.add("t1")
        servers.wait()
        self.home = self.target.home
        self.project = Project(folder)
        self.servers = servers
        locked = folder / "locked"
        keygen(locked, passphrase=planted["passphrase"])
        authorized = servers.root / "authorized_keys"
        authorized.write_text(authorized.read_text() + Path(f"{locked}.pub").read_text())
        host = {
            **self.target.host(),
            "priv": str(locked),
            "priv_passwd": planted["passphrase"],
            "passwd": planted["login"],
            "sudo_password": planted["sudo"],
        }
        self.project.write("inventory.yaml", json.dumps({"hosts": {"t1": host}}))
        (self.project.home / ".ssh" / "known_hosts").write_text(servers.known_hosts.read_text())
        lines = [base64.b64encode(secrets.token_bytes(45)).decode() for _ in range(4)]
        lines[2] = planted["key"]
        pillar = {
            "db": {"users": [{"name": "a", "password": planted["nested"]}], "about": planted["plain"]},
            "tokens": ["x", {"deep": [planted["listed"]]}],
            "tls": {"private_key": f"-----BEGIN PRIVATE KEY-----\n{chr(10).join(lines)}\n-----END PRIVATE KEY-----\n"},
            **{f"{name}_password": planted[name] for name in PASSWORDS},
        }
        self.project.files(
            {
                "pillar/top.sls": json.dumps({"base": {"*": ["secret"]}}),
                "pillar/secret.sls": json.dumps(pillar),
                "salt/secret.jinja": "{{ pillar['template_password'] }}\n{{ pillar['given_password'] }}\n",
                "salt/late.jinja": "{% set x = salt['cmd.run']('true') %}{{ pillar['late_password'] }}\n",
                "salt/all.sls": STATES.format(home=self.home),
                "salt/broken.sls": "a:\n  x: {{ pillar['broken_password'] }}: [\n",
                "salt/raises.sls": "a: {{ raise('no ' ~ pillar['broken_password']) }}\n",
            }
        )

    @property
    def given(self) -> str:
        return json.dumps({"given_password": self.words["given"]})


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with sshd.sshd_bed(tmp_path_factory.mktemp("bed"), 0) as servers:
        yield Bed(tmp_path_factory.mktemp("canaries"), servers)


def test_an_apply_leaves_secrets_only_where_states_put_them(bed: Bed) -> None:
    with Watch({name: secret.encode() for name, secret in bed.words.items()}) as watch:
        done = bed.project.run("-l", "debug", "apply", "--out", "json", "t1", "all", "--pillar", bed.given)
    assert done.code == 0, done.out
    assert all(state["result"] and state["changes"] for state in values(done.data["t1"]))
    ours = {(place, name) for place, name, command in watch.seen if b"-m\0pushsalt\0" not in command}
    allowed = {("environment", "environment")}  # the state passes it to its own command
    assert {(place, name) for place, name, command in watch.seen if b"# consumer" in command} <= allowed
    assert ours <= allowed, ours
    on_disk = bed.on_disk(bed.home, bed.servers.root, bed.project.cache, bed.project.home)
    expected = {"content": {"content"}, "template": {"template", "given"}, "late": {"late"}, "key": {"key"}}
    assert on_disk == {str(bed.home / name): names for name, names in expected.items()}
    assert not bed.found(done.err), done.err
    assert bed.found(done.out) == set(), done.out
    again = bed.project.json("apply", "t1", "all", "--pillar", bed.given)
    changed = [state["__id__"] for state in values(again.data["t1"]) if state["changes"]]
    assert changed == ["environment", "stdin"]


@pytest.mark.parametrize("out", ["rich", "json", "ndjson", "yaml", "quiet"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["apply", "t1", "all", "--test", "--pillar"],
        ["apply", "t1", "broken", "--pillar"],
        ["apply", "t1", "raises", "--pillar"],
        ["run", "t1", "cmd.run", "grep . template", "--pillar"],
        ["run", "t1", "pillar.items", "--pillar"],
    ],
    ids=lambda arguments: " ".join(arguments[2:-1]),
)
def test_no_output_shows_secrets(bed: Bed, arguments: list[str], out: str) -> None:
    for path, name in (("content", "content"), ("template", "given")):
        (bed.home / path).write_text(f"old\n{bed.words[name]}\n")  # so that there is a difference to show
    done = bed.project.run("-l", "all", arguments[0], "--out", out, "-vv", *arguments[1:], bed.given)
    assert not bed.found(done.out) - OPEN, done.out
    assert not bed.found(done.err), done.err


def test_debug_logs_of_errors_have_no_secrets(bed: Bed) -> None:
    for arguments in (
        ["run", "t1", "no.such", bed.words["given"]],
        ["run", "t1", "test.exception", "message"],
        ["apply", "t1", "nowhere"],
        ["run", "t1", "state.apply", "all", "pillar=" + bed.given],
    ):
        done = bed.project.run("-l", "all", arguments[0], "--out", "json", *arguments[1:], "--pillar", bed.given)
        assert not bed.found(done.err), (arguments, done.err)


def test_secrets_of_a_lowstate_are_only_in_the_output(bed: Bed) -> None:
    arguments = ("run", "--out", "json", "t1", "state.show_low_sls", "all")
    done = bed.project.run("-l", "all", *arguments, "--pillar", bed.given)
    assert bed.found(done.out) == {"environment", "stdin"}
    assert not bed.found(done.err)


def test_a_requested_secret_is_only_in_the_output(bed: Bed) -> None:
    arguments = ("run", "--out", "json", "t1", "pillar.get", "content_password", "unmask=True")
    done = bed.project.run("-l", "all", *arguments, "--pillar", bed.given)
    assert done.data == {"t1": bed.words["content"]}
    assert not bed.found(done.err)


def test_only_the_owner_can_read_the_caches(bed: Bed) -> None:
    bed.project.json("run", "t1", "grains.get", "os")
    assert bed.project.cache.stat().st_mode & 0o77 == 0
    accessible = [
        path for path in bed.project.cache.rglob("*") if path.lstat().st_mode & 0o77 and not path.is_symlink()
    ]
    assert not accessible
    assert not bed.on_disk(bed.project.cache)


def test_errors_of_inventories_have_no_passwords(bed: Bed) -> None:
    inventory = bed.project.folder / "inventory.yaml"
    text = inventory.read_text()
    try:
        inventory.write_text(text.replace('"port": ', '"port": "no-port", "was": '))
        done = bed.project.run("-l", "all", "target", "*")
        assert done.code == 1 and not bed.found(done.err + done.out)
        inventory.write_text(text + "\n]")
        done = bed.project.run("-l", "all", "target", "*")
        assert done.code == 1 and not bed.found(done.err + done.out)
    finally:
        inventory.write_text(text)
