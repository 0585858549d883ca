"""External pillars, decryption and pillar functions, through the API and an offline target."""

from __future__ import annotations

import http.server
import json
import shutil
import subprocess
import threading

import pytest

from pushsalt.api import Client, JobOptions, Selection, Settings
from pushsalt.yamldump import dump_yaml

pytestmark = pytest.mark.slow

INVENTORY = "hosts: {web1: {transport: offline, grains: {os: Debian, 'k v': x/y}, pillar: {own: 1}}}\n"


class Project:
    """A project folder with one offline target."""

    def __init__(self, root):
        self.root = root
        self.config = {"pillar_roots": {"base": ["pillar"]}, "file_roots": {"base": ["salt"]}}
        self.write("inventory.yaml", INVENTORY)
        self.write("pillar/top.sls", "base: {'*': [tree]}\n")
        self.write("pillar/tree.sls", "tree: 1\n")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def run(self, function, *args, **kwargs):
        self.write("pushsalt.yaml", dump_yaml(self.config))
        client = Client(Settings(config=self.root / "pushsalt.yaml", cache_dir=self.root / "cache"))
        self.redactor = client.redactor()
        return client.run(Selection("web1"), function, list(args), kwargs, options=JobOptions())["web1"]

    def call(self, function="pillar.items", *args, **kwargs):
        return self.run(function, *args, **kwargs).ret

    def pillar(self, *sources):
        self.config["ext_pillar"] = list(sources)
        return self.call(unmask=True)


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    return Project(root)


BASE = {"tree": 1, "own": 1}


@pytest.mark.parametrize(
    "source, data",
    [
        ({"cmd_yaml": "echo 'a: %s'; echo 'b: [1, 010]' | cat"}, {"a": "web1", "b": [1, 10]}),
        ({"cmd_yaml": "true"}, {}),
        ({"cmd_json": """printf '%%s' '{"a": "%s"}'""".replace("%%s", "%b")}, {"a": "web1"}),
        ({"cmd_json": "echo '{}' ';' '|'"}, "cmd_json: the output of echo '{}' ';' '|' is not JSON"),
        ({"cmd_yaml": "echo 'a: ['"}, "Failed to load ext_pillar cmd_yaml: "),
        ({"cmd_yaml": "echo no >&2; exit 3"}, "cmd_yaml: the command ended with code 3: no"),
        ({"cmd_json": "/nowhere/program"}, "No such file or directory: '/nowhere/program'"),
        ({"cmd_yaml": "echo text"}, "cmd_yaml: it returned str, not a mapping"),
        ({"nodegroups": {"pillar_name": "groups"}}, {"groups": ["lists", "web"]}),
        ({"nosuch": 1}, {}),
    ],
)
def test_commands_and_nodegroups(project, source, data):
    project.config["nodegroups"] = {"web": "G@os:Debian", "db": "db*", "lists": ["web1", "or", "x"]}
    got = project.pillar(source)
    if isinstance(data, str):
        assert len(got["_errors"]) == 1 and data in got["_errors"][0]
        assert project.call("state.show_top")[0] == "Pillar failed to render with the following messages:"
    else:
        assert got == {**BASE, **data}


def test_all_errors_are_said(project):
    project.write("pillar/tree.sls", "x: {{ nope }}\n")
    errors = project.pillar({"cmd_yaml": "exit 1"}, {"cmd_json": "echo x"})["_errors"]
    assert [word in text for word, text in zip(("nope", "cmd_yaml", "cmd_json"), errors, strict=True)] == [True] * 3


def test_a_pillar_with_errors_is_shown_and_is_a_failure(project):
    assert project.run("pillar.items").exit_code == 0
    project.write("pillar/top.sls", "base: {'*': [tree, bad]}\n")
    project.write("pillar/bad.sls", "x: {{ nope }}\n")
    result = project.run("pillar.items")
    assert result.ret["tree"] == "**********" and "'nope' is undefined" in result.ret["_errors"][0]
    assert result.exit_code == 2
    assert project.run("pillar.ext", {}).exit_code == 2
    assert project.run("pillar.get", "tree").exit_code == 2, "half a pillar is no answer"


def test_states_of_other_renderers_compile(project):
    project.write("salt/a.sls", "#!stateconf\n.x:\n  test.nop: []\n.v:\n  stateconf.set: [{k: 1}]\n")
    project.write("salt/b.sls", "#!pyobjects\nwith Test.nop('p'):\n    Cmd.run('q', cwd=pillar('tree'))\n")
    chunks = project.call("state.show_low_sls", ["a", "b"])
    assert [(chunk["state"], chunk["__id__"]) for chunk in chunks] == [
        ("test", "a::x"),
        ("stateconf", "a::v"),
        ("stateconf", "a::goal"),
        ("test", "p"),
        ("cmd", "q"),
    ]
    assert chunks[4]["require"] == [{"test": "p"}] and chunks[4]["cwd"] == 1


def test_file_tree(project):
    project.write("ext/hosts/web1/a/text", "line\n")
    project.write("ext/hosts/web1/a/keep.pem", "pem\n")
    project.write("ext/hosts/web1/tmpl", "{{ grains.os }}{{ 1 + 1 }}\n")
    project.write("ext/nodegroups/web/a/text", "group\n")
    project.write("ext/nodegroups/web/only", "group")
    project.write("ext/nodegroups/db/not", "x")
    (project.root / "ext/hosts/web1/link").symlink_to(project.root / "pillar")
    (project.root / "ext/hosts/web1/binary").write_bytes(b"\xff\n")
    project.config["nodegroups"] = {"web": "web*", "db": "db*"}
    source = {"root_dir": str(project.root / "ext"), "keep_newline": ["a/*.pem"]}
    tree = {"a": {"text": "line", "keep.pem": "pem\n"}, "only": "group", "link": {}, "binary": b"\xff"}
    assert project.pillar({"file_tree": source}) == {**BASE, **tree, "tmpl": "{{ grains.os }}{{ 1 + 1 }}"}
    got = project.pillar({"file_tree": {**source, "template": True, "render_default": "jinja"}})
    assert got["tmpl"] == "Debian2"
    followed = project.pillar({"file_tree": {**source, "follow_dir_links": True}})
    assert followed["link"] == {"top.sls": "base: {'*': [tree]}", "tree.sls": "tree: 1"}
    assert "root_dir is relative but pillarenv is not set" in project.pillar({"file_tree": "ext"})["_errors"][0]
    project.config["pillarenv"] = "base"
    assert "does not exist" in project.pillar({"file_tree": "ext"})["_errors"][0]
    project.write("pillar/ext/hosts/web1/x", "1")
    assert project.pillar({"file_tree": "ext"}) == {**BASE, "x": "1"}


def test_stack(project):
    root = str(project.root)
    project.write("one.cfg", "core.yml\n\n{{ minion_id }}/*.yml\n{{ __grains__.os }}.yml\n")
    project.write("core.yml", "a: [1]\nb: {x: 1, y: 1}\nc: {x: 1}\nd: [1, 2]\ne: 1\nf: {'__': overwrite, x: 1}\n")
    project.write("web1/1.yml", "a: [2]\nb: {'__': merge-first, x: 2, z: 2}\nc: {'__': overwrite, y: 2}\n")
    project.write(
        "web1/2.yml", "d: [{'__': remove}, 1]\n'__': merge-last\ng: {{ stack.a | length }} {{ pillar.tree }}\n"
    )
    project.write("Debian.yml", "'__': remove\ne: 0\n")
    project.write("two.cfg", "- '{{ undefined_name }}late.yml'\n")
    project.write("late.yml", "late: {{ __salt__['cmd.run']('echo x') }}\n")
    want = {"a": [1, 2], "b": {"x": 1, "z": 2, "y": 1}, "c": {"y": 2}, "d": [2], "f": {"x": 1}, "g": "2 1"}
    assert project.pillar({"stack": f"{root}/one.cfg"}) == {**BASE, **want}
    by_grain = {"grains:os": {"Debian": [f"{root}/two.cfg"], "Arch": "x"}, "pillar:tree": {1: f"{root}/gone.cfg"}}
    assert project.pillar({"stack": by_grain}) == {**BASE, "late": "x"}
    project.write("late.yml", "a: [\n")
    assert f"Stack pillar yaml parsing error in {root}/late.yml" in project.pillar({"stack": by_grain})["_errors"][0]
    project.write("late.yml", "'__': nosuch\n")
    assert 'Unknown strategy "nosuch"' in project.pillar({"stack": by_grain})["_errors"][0]
    assert 'Unknown traverse option "x"' in project.pillar({"stack": {"x:y": {}}})["_errors"][0]


@pytest.fixture
def server():
    """A server that answers with the request, as JSON."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status = 404 if self.path.startswith("/gone") else 200
            body = (
                b"no" if self.path == "/text" else json.dumps({"path": self.path, "who": self.headers["Authorization"]})
            )
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body if isinstance(body, bytes) else body.encode())

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_http_json(project, server):
    assert project.pillar({"http_json": f"http://{server}/%s"}) == {**BASE, "path": "/web1", "who": None}
    with_grains = {"url": f"http://user:p%40ss@{server}/<k v>", "with_grains": True}
    assert project.pillar({"http_json": with_grains})["path"] == "/x%2Fy"
    assert project.pillar({"http_json": with_grains})["who"] == "Basic dXNlcjpwQHNz"
    for url, words in [
        (f"http://user:geheim@{server}/gone?token=geheim", "HTTP 404"),
        (f"http://{server}/text", "the answer is not JSON"),
        ("file:///etc/passwd", "only http and https"),
        ({"url": f"http://{server}/<nope>", "with_grains": True}, "no grain 'nope'"),
        ("http://user:geheim@127.0.0.1:1/", "refused"),
    ]:
        [error] = project.pillar({"http_json": url})["_errors"]
        assert words in error
        assert "geheim" not in error


OWN = """
import os
def ext_pillar(minion_id, pillar, *args, **kwargs):
    return {"mine": [minion_id, pillar["tree"], args, kwargs, __opts__["id"], __grains__["os"],
                     __salt__["cmd.run"]("echo here"), __salt__["cmd.run_all"]("exit 3", python_shell=True)["retcode"]]}
"""


def test_own_source_as_written_for_salt(project):
    project.write("salt/_pillar/mine.py", OWN)
    want = ["web1", 1, (), {"k": 2}, "web1", "Debian", "here", 3]
    assert project.pillar({"mine": {"k": 2}})["mine"] == want
    project.write("salt/_pillar/cmd_yaml.py", "def ext_pillar(minion_id, pillar, *args):\n    return {'own': args}\n")
    project.config["ext_pillar"] = [{"cmd_yaml": "echo 'a: 1'"}]
    assert project.pillar({"cmd_yaml": "x"})["own"] == 1, "what the inventory says is merged over it"


def test_pillar_ext(project):
    project.config["on_demand_ext_pillar"] = ["cmd_yaml"]
    assert project.call("pillar.ext", {"cmd_yaml": "echo 'b: 2'"}, unmask=True) == {**BASE, "b": 2}
    assert project.call("pillar.ext", "{cmd_yaml: 'echo b: 2'}") == {"tree": "*" * 10, "own": "*" * 10, "b": "*" * 10}
    assert project.call("pillar.ext", {"cmd_json": "echo '{}'"}, unmask=True) == BASE
    assert project.call("pillar.ext", "text")["error"]["exception"] == "SaltInvocationError"


def test_pillar_raise_on_missing(project):
    assert project.call("pillar.get", "nosuch", unmask=True) == ""
    project.config["pillar_raise_on_missing"] = True
    error = project.call("pillar.get", "nosuch")["error"]
    assert error["exception"] == "KeyError" and "Pillar key not found: nosuch" in error["message"]
    assert project.call("pillar.get", "nosuch", "d", unmask=True) == "d"


@pytest.fixture
def message(project, tmp_path_factory):
    """A text encrypted for a key in the project's key ring."""
    if shutil.which("gpg") is None:
        pytest.skip("no gpg here")
    home = tmp_path_factory.mktemp("g", numbered=True)  # a short path: it contains a socket
    home.chmod(0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--trust-model", "always"]
    key = ["--passphrase", "", "--quick-generate-key", "me@example", "ed25519", "sign", "never"]
    subprocess.run([*gpg, *key], check=True, capture_output=True)
    listing = subprocess.run([*gpg, "--list-keys", "--with-colons"], check=True, capture_output=True, text=True).stdout
    print_ = next(line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr"))
    subprocess.run(
        [*gpg, "--passphrase", "", "--quick-add-key", print_, "cv25519", "encr", "never"],
        check=True,
        capture_output=True,
    )
    project.config["gpg_keydir"] = str(home)
    encrypt = [*gpg, "--armor", "--encrypt", "-r", "me@example"]
    yield lambda text: subprocess.run(encrypt, input=text.encode(), check=True, capture_output=True).stdout.decode()
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False, capture_output=True)


def test_gpg(project, message):
    secret = message("pässword\n")
    project.write(
        "pillar/tree.sls", "#!yaml|gpg\n" + dump_yaml({"tree": 1, "deep": [{"secret": secret}], "plain": "x"})
    )
    assert project.call(unmask=True) == {**BASE, "deep": [{"secret": "pässword"}], "plain": "x"}
    project.write("pillar/tree.sls", dump_yaml({"a": {"b": secret, "c": secret}, "z": [secret]}))
    project.config["decrypt_pillar"] = ["a:b", {"z": "gpg"}, "gone"]
    assert project.call(unmask=True) == {"own": 1, "a": {"b": "pässword", "c": secret}, "z": ["pässword"]}
    project.config["decrypt_pillar"] = [{"a:b": "nacl"}]
    assert "'nacl' is not a valid decryption renderer" in project.call(unmask=True)["_errors"][0]
    project.config["decrypt_pillar"] = []
    given = project.call(pillar={"k": secret}, pillar_enc="gpg", unmask=True)
    assert given["k"] == "pässword"
    project.config["gpg_keydir"] = str(project.root)
    project.config["decrypt_pillar"] = ["a:b"]
    [error] = project.call(unmask=True)["_errors"]
    assert error.startswith("Failed to decrypt pillar key 'a:b': Could not decrypt a PGP message: gpg: ")


def test_gpg_as_a_source(project, message):
    project.write("pillar/tree.sls", dump_yaml({"tree": 1, "deep": [{"k": message("one")}, "x"]}))
    project.write("own.yaml", "seen: {{ pillar.deep[0].k }}\n")
    project.write("own.cfg", "own.yaml\n")
    plain = {**BASE, "deep": [{"k": "one"}, "x"]}
    assert project.pillar({"gpg": {}}) == plain
    assert project.pillar({"gpg": {}}, {"stack": str(project.root / "own.cfg")}) == {**plain, "seen": "one"}
    project.config["gpg_keydir"] = str(project.root)
    assert "Failed to load ext_pillar gpg: deep:0:k: Could not decrypt" in project.pillar({"gpg": {}})["_errors"][0]


def test_pillar_enc_of_state_functions(project, message):
    project.write("salt/a.sls", "{{ pillar['k'] }}: {test.nop: []}\n")
    given = {"pillar": {"k": message("name-of-a-secret")}, "pillar_enc": "gpg"}
    assert list(project.call("state.show_sls", "a", **given)) == ["name-of-a-secret"]
    assert project.redactor.text("the name-of-a-secret") == "the **********"
    given["pillar"] = message("{k: other}")
    assert list(project.call("state.show_low_sls", "a", **given)[0].values()).count("other") == 2
    error = project.call("state.show_sls", "a", pillar={"k": 1}, pillar_enc="nope")["error"]
    assert error["exception"] == "CommandExecutionError"
    assert "'nope' is not a valid decryption renderer" in error["message"]
    for pillar, more in (("text", {}), (message("text"), {"pillar_enc": "GPG"})):
        error = project.call("state.show_sls", "a", pillar=pillar, **more)["error"]
        assert error["exception"] == "SaltInvocationError" and "dictionary" in error["message"]


def test_what_was_encrypted_is_hidden_in_output(project, message):
    project.write("pillar/tree.sls", "#!yaml|gpg\n" + dump_yaml({"harmless_name": message("but-a-secret-value")}))
    project.call("pillar.items")
    assert project.redactor.text("x but-a-secret-value") == "x **********"


NAMED = """
__virtualname__ = "named"
__opts__ = {"own_default": 1, "id": "not this"}


def __virtual__():
    return __virtualname__


def ext_pillar(minion_id, pillar, *args, **kwargs):
    seen = [__opts__["own_default"], __opts__["id"], __grains__["os"], sorted(__pillar__)]
    return {"named": [*seen, list(args), kwargs]}
"""


@pytest.mark.parametrize(
    "source, data",
    [
        ({"named": "x"}, {"named": [1, "web1", "Debian", ["own", "tree"], ["x"], {}]}),
        ({"named": {"a": 1}}, {"named": [1, "web1", "Debian", ["own", "tree"], [], {"a": 1}]}),
        ({"own": "x"}, {}),  # it has another name
        ({"unwilling": "x"}, {}),
        ({"file_tree": "x"}, {"replaced": "x"}),
        ({"cmd_yaml": "echo a: 1"}, {"a": 1}),  # the user's own refuses to load: ours is used
        ({"broken": 1}, "__virtual__ of the plug-in fails: KeyError: 'x'"),
    ],
)
def test_own_sources_as_salts_loader_has_them(project, source, data):
    project.write("salt/_pillar/own.py", NAMED)
    project.write("salt/_pillar/unwilling.py", "def __virtual__():\n    return (False, 'why')\n")
    project.write("salt/_pillar/file_tree.py", "def ext_pillar(id, pillar, arg):\n    return {'replaced': arg}\n")
    project.write("salt/_pillar/cmd_yaml.py", "def __virtual__():\n    return False\n")
    project.write("salt/_pillar/broken.py", "def __virtual__():\n    return {}['x']\n")
    got = project.pillar(source)
    if isinstance(data, str):
        assert data in got["_errors"][0] and "broken.py:2" in got["_errors"][0]
    else:
        assert got == {**BASE, **data}


def test_decrypt_pillar_as_a_mapping(project):
    project.config["decrypt_pillar"] = {"tree": "nacl"}
    assert "'nacl' is not a valid decryption renderer" in project.call()["_errors"][0]
