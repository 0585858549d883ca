"""After a rotation the former secret is hidden like the new one, since it may still be valid."""

from __future__ import annotations

import base64
import json
import secrets
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.beds.project import Project, values

pytestmark = pytest.mark.slow

OUTPUTS = ("json", "rich", "yaml", "ndjson", "nested", "highstate")
SLS = """
conf:
  file.managed:
    - name: {place}/conf
    - contents: |
        [db]
        user = app
        password = {{{{ pillar['db_password'] }}}}
        url = https://x/?pw={{{{ pillar['db_password'] | urlencode }}}}
        auth = {{{{ ('app:' ~ pillar['db_password']) | base64_encode }}}}
        port = {{{{ pillar['port'] }}}}
key:
  file.managed:
    - name: {place}/key
    - contents_pillar: tls_private_key
line:
  file.keyvalue:
    - name: {place}/env
    - key: TOKEN
    - value: {{{{ pillar['db_password'] }}}}
    - append_if_not_found: true
"""


class Rotation(Project):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, {"here": {"transport": "local", "thin_dir": str(folder / "thin")}})
        self.place = folder / "place"
        self.place.mkdir()
        (self.place / "env").write_text("A=1\n")
        self.write("salt/it.sls", SLS.format(place=self.place))
        self.write("pillar/top.sls", json.dumps({"base": {"*": ["secret"]}}))
        self.planted: list[str] = []
        self.rotate()

    def rotate(self) -> None:
        """Replace the secrets by new ones."""
        password = f"c4n/{secrets.token_hex(6)}+&"
        lines = [base64.b64encode(secrets.token_bytes(45)).decode() for _ in range(3)]
        key = "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----", ""])
        self.planted += [password, *lines]
        pillar = {"db_password": password, "tls_private_key": key, "port": len(self.planted)}
        self.write("pillar/secret.sls", json.dumps(pillar))

    def leaked(self, text: str) -> list[str]:
        """The secrets that a text contains, in any form."""
        joined = text.replace("\n", "").replace("\\n", "")
        return [secret for secret in self.planted if any(form in text or form in joined for form in encodings(secret))]


def encodings(secret: str) -> set[str]:
    data = secret.encode()
    inner = {base64.b64encode(b"\0" * shift + data)[4:-4].decode() for shift in range(3)}
    return {secret, quote(secret), quote(secret, safe=""), json.dumps(secret)[1:-1], *inner}


@pytest.fixture
def rotation(tmp_path: Path) -> Rotation:
    return Rotation(tmp_path)


@pytest.mark.parametrize("out", OUTPUTS)
def test_the_diff_of_a_rotation_hides_both_secrets(rotation: Rotation, out: str) -> None:
    assert all(state["result"] for state in values(rotation.json("apply", "here", "it").data["here"]))
    rotation.rotate()
    for more in (["--test"], ["--test"], []):  # the first run has stored the new pillar
        done = rotation.run("-l", "debug", "apply", "--out", out, "-vv", *more, "here", "it")
        assert "user = app" in done.out and "port = 4" in done.out, done.out
        assert not rotation.leaked(done.out), done.out
        assert not rotation.leaked(done.err), done.err


def test_secrets_are_hidden_without_a_cached_pillar(rotation: Rotation) -> None:
    """Without a cached pillar, former secrets are recognized by the lines of the diff."""
    rotation.json("apply", "here", "it")
    for path in rotation.cache.glob("pillar*/*"):
        path.unlink()
    rotation.rotate()
    done = rotation.run("apply", "--out", "json", "--test", "here", "it")
    assert "port = 4" in done.out and not rotation.leaked(done.out), done.out


def test_the_output_of_a_command_hides_secrets_of_a_file(rotation: Rotation) -> None:
    """No pillar is compiled for the command: the cached one has the secret and the former secrets."""
    rotation.json("apply", "here", "it")
    rotation.rotate()
    rotation.run("run", "here", "pillar.items")
    folder = rotation.place
    for template in ("cat {0}/conf {0}/key", "base64 {0}/key", "base64 -w0 {0}/conf", "cat {0}/env"):
        command = template.format(folder)
        done = rotation.run("-l", "debug", "run", "--out", "json", "here", "cmd.run", command)
        assert done.code == 0 and not rotation.leaked(done.out + done.err), done.out


def test_grains_with_the_content_of_a_file_hide_secrets(rotation: Rotation) -> None:
    grain = f"def conf():\n    return {{'conf': open('{rotation.place}/conf').read().split()}}\n"
    rotation.write("salt/_grains/conf.py", grain)
    rotation.json("apply", "here", "it")
    rotation.rotate()
    rotation.run("run", "here", "pillar.items")
    for arguments in (["grains", "here"], ["run", "here", "grains.get", "conf"]):
        done = rotation.run("-l", "debug", *arguments)
        assert "url" in done.out and not rotation.leaked(done.out + done.err), done.out


@pytest.mark.parametrize("out", OUTPUTS[:4])
def test_raw_pillar_hides_only_secrets(rotation: Rotation, out: str) -> None:
    done = rotation.run("run", "--out", out, "here", "pillar.raw")
    assert "port" in done.out and "4" in done.out and not rotation.leaked(done.out), done.out
    assert done.err.count("unmask=True") == 1
    clear = rotation.json("run", "here", "pillar.raw", "unmask=True")
    assert clear.data["here"]["db_password"] == rotation.planted[0] and not clear.err


def test_masked_values_are_reported_once(rotation: Rotation) -> None:
    done = rotation.json("run", "here", "pillar.items")
    assert done.data["here"]["port"] == "**********" and done.err.count("unmask=True") == 1
    assert not rotation.json("run", "here", "pillar.ls").err
    assert not rotation.json("run", "here", "pillar.items", "unmask=False").err


def test_a_default_is_not_masked(rotation: Rotation) -> None:
    def returned(*arguments: str) -> object:
        return rotation.json("run", "here", *arguments).data["here"]

    assert returned("pillar.get", "no:such", "plain") == "plain"
    assert returned("pillar.get", "no:such", "default=plain") == "plain"
    assert returned("pillar.get", "port", "default=plain") == "**********"
    assert returned("pillar.item", "port", "none", "default=plain") == {"port": "**********", "none": "plain"}
    assert returned("pillar.get", "no/such", "default={c: mine}", "delimiter=/") == {"c": "mine"}


def test_errors_and_debug_logs_hide_secrets(rotation: Rotation) -> None:
    rotation.json("apply", "here", "it")
    rotation.files(
        {
            "salt/_modules/tells.py": "def it():\n    raise ValueError(__pillar__['db_password'] + '!')\n"
            "def log():\n    import logging\n    logging.error('it is %s', __pillar__['db_password'])\n    1/0\n",
            "salt/broken.sls": "a:\n  b: {{ pillar['db_password'] }}: [\n",
            "salt/raising.sls": "a: {{ salt['tells.it']() }}\n",
            "salt/failing.sls": "a:\n  module.run:\n    - tells.it: []\n",
        }
    )
    for arguments in (
        ["run", "here", "tells.it"],
        ["run", "here", "tells.log"],
        ["apply", "here", "broken"],
        ["apply", "here", "raising"],
        ["apply", "here", "failing"],
    ):
        for out in OUTPUTS[:2]:
            out, err = rotation.start("-l", "all", arguments[0], "--out", out, *arguments[1:]).communicate()
            assert b"**********" in out + err and not rotation.leaked((out + err).decode()), out + err


def test_errors_of_an_invalid_pillar_hide_secrets(rotation: Rotation) -> None:
    password = rotation.planted[0]
    for text in ("db_password: {0}: [\n", "db_password: {{{{ '{0}' | nofilter }}}}\n", "db_password: '{0}\n"):
        rotation.write("pillar/secret.sls", text.format(password))
        done = rotation.run("-l", "all", "run", "--out", "json", "here", "pillar.items")
        assert done.code and not rotation.leaked(done.out + done.err), done.out + done.err


def test_a_password_that_is_also_a_name_does_not_mask_ids(rotation: Rotation) -> None:
    rotation.write("pillar/secret.sls", json.dumps({"users": [{"uid": 7, "password": "carolina"}]}))
    rotation.write("salt/users/carolina.sls", "add carolina:\n  test.nop:\n    - name: carolina\n")
    done = rotation.json("apply", "--test", "here", "users.carolina")
    [(key, state)] = done.data["here"].items()
    assert key == "test_|-add carolina_|-carolina_|-nop"
    assert (state["__id__"], state["name"], state["__sls__"]) == ("add carolina", "carolina", "users.carolina")
