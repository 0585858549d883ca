"""``pushsalt formula``: edits the project's file, fetches and locks remotes, describes and creates formulas."""

from __future__ import annotations

import json
import shutil
import signal

import pytest
import yaml

from pushsalt.errors import ConfigError
from pushsalt.formula.edit import add_remote, remove_remote
from tests.beds.gitserver import Repo, silent_port, wait_for
from tests.beds.project import Project

pytestmark = pytest.mark.slow

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

URL = "https://example.org/x-formula.git"


@pytest.mark.parametrize(
    "before, after",
    [
        ("", f"gitfs_remotes:\n  - {URL}\nfileserver_backend: [roots, git]\n"),
        ("# only a comment", f"# only a comment\ngitfs_remotes:\n  - {URL}\nfileserver_backend: [roots, git]\n"),
        ("fileserver_backend: [git]\na: 1 # x\n", f"fileserver_backend: [git]\na: 1 # x\ngitfs_remotes:\n  - {URL}\n"),
        (
            "gitfs_remotes:\n  - u1\n  # about u2\n  - u2:\n    - root: a\n\n# more\nfileserver_backend:\n- gitfs\n",
            "gitfs_remotes:\n  - u1\n  # about u2\n  - u2:\n    - root: a\n"
            f"  - {URL}\n\n# more\nfileserver_backend:\n- gitfs\n",
        ),
        (
            "gitfs_remotes:\n- u1\nfileserver_backend: [git]",
            f"gitfs_remotes:\n- u1\n- {URL}\nfileserver_backend: [git]",
        ),
        (
            "gitfs_remotes: [u1, u2]\nfileserver_backend: [git]\n",
            f'gitfs_remotes: [u1, u2, "{URL}"]\nfileserver_backend: [git]\n',
        ),
        ("gitfs_remotes: []\nfileserver_backend: [git]\n", f"gitfs_remotes:\n  - {URL}\nfileserver_backend: [git]\n"),
        ("gitfs_remotes:\nfileserver_backend: [git]\n", f"gitfs_remotes:\n  - {URL}\nfileserver_backend: [git]\n"),
        (
            "fileserver_backend:\n  - roots # first\n  - minion\nb: 2\n",
            f'fileserver_backend: ["roots", "minion", "git"]\nb: 2\ngitfs_remotes:\n  - {URL}\n',
        ),
    ],
)
def test_add_keeps_the_rest_as_it_is(tmp_path, before, after):
    path = tmp_path / "pushsalt.yaml"
    path.write_text(before)
    add_remote(path, URL, {})
    assert path.read_text() == after


@pytest.mark.parametrize(
    "before",
    [
        "gitfs_remotes:\n  - u1\n",
        "gitfs_remotes: [u1]\n",
        "",
        "gitfs_remotes:\n  - u1:\n    - base: x\n# end\n",
    ],
)
def test_add_with_options_and_remove(tmp_path, before):
    path = tmp_path / "pushsalt.yaml"
    path.write_text(before)
    add_remote(path, URL, {"base": "v1.0", "name": "1"})
    data = yaml.safe_load(path.read_text())
    assert data["gitfs_remotes"][-1] == {URL: [{"base": "v1.0"}, {"name": "1"}]}
    assert remove_remote(path, lambda url: url == URL) == URL
    left = yaml.safe_load(path.read_text())
    assert left["gitfs_remotes"] == ((yaml.safe_load(before) or {}).get("gitfs_remotes") or [])
    with pytest.raises(ConfigError, match="no such remote"):
        remove_remote(path, lambda url: url == URL)


def test_what_cannot_be_edited_is_left_alone(tmp_path):
    path = tmp_path / "pushsalt.yaml"
    text = "x: &a [u1]\ngitfs_remotes: *a\n"
    path.write_text(text)
    with pytest.raises(ConfigError, match="cannot be edited"):
        add_remote(path, URL, {})
    assert path.read_text() == text


FORMULA = {
    "FORMULA": "name: web\nversion: 1.2.3\nsummary: a web server\nrequires: [systemd]\n",
    "VERSION": "1.2.3\n",
    "pillar.example": "web:\n  port: 80\n",
    "web/init.sls": "# Everything.\ninclude:\n  - .config\n  - users\n",
    "web/config.sls": "{% set p = salt['pillar.get']('web:port', 80) %}\n"
    "web-conf:\n  test.nop:\n    - name: p{{ p }}\n",
    "web/map.jinja": "{% set a = pillar['other'] %}{% set b = salt['config.get']('web') %}",
    "test/x.sls": "no: {}",
}


@pytest.fixture
def site(tmp_path):
    return Project(tmp_path, {"here": {"transport": "offline", "grains": {"os": "Debian"}}}, gitfs_update_interval=0)


@needs_git
def test_from_add_to_remove(site, tmp_path):
    one = Repo(tmp_path / "web-formula.git", FORMULA, branch="main")
    first = one.tip("main")
    done = site.run("formula", "add", one.url)
    assert done.code == 0, done.err
    assert f"web-formula.git  main  {first[:12]}" in done.out
    assert first in (site.folder / "pushsalt.lock").read_text()
    shown = site.json("run", "here", "state.show_low_sls", "web.config")
    assert [chunk["name"] for chunk in shown.data["here"]] == ["p80"]
    again = site.run("formula", "add", one.url)
    assert again.code == 1 and "already" in again.err
    listed = site.run("formula", "list")
    assert listed.out.split() == ["NAME", "VERSION", "COMMIT", "FROM", "web", "1.2.3", first[:12], one.url]
    second = one.commit({"web/config.sls": "x:\n  test.nop: []\n"}, "main", message="Simpler")
    moved = site.run("formula", "update", "web")
    assert f"main  {first[:12]} -> {second[:12]}" in moved.out
    assert "Simpler" in moved.out and "M  web/config.sls" in moved.out
    assert site.run("formula", "update").out == "everything is up to date\n"
    assert site.run("formula", "remove", "web").code == 0
    for name in ("pushsalt.yaml", "pushsalt.lock"):
        assert "web-formula" not in (site.folder / name).read_text()
    assert site.run("formula", "list").out == "there are no formulas\n"


@needs_git
def test_check_of_a_formula_from_git(site, tmp_path):
    one = Repo(tmp_path / "web-formula.git", {**FORMULA, "web/config.sls": "a:\n  test.nope: []\n"}, branch="main")
    assert site.run("formula", "add", one.url).code == 0
    done = site.run("formula", "check", "web", "--format", "github")
    assert done.code == 2, done.err
    path = f"{one.url}/web/config.sls".replace(":", "%3A")
    assert f"::error file={one.url}/web/config.sls,line=2," in done.out.replace(path, f"{one.url}/web/config.sls")
    assert "PS205" in done.out and "PS202" in done.out  # no such state, no such SLS `users`
    one.commit({"web/config.sls": "a: test.nop\n", "web/init.sls": "include: [.config]\n"}, "main", message="Mended")
    assert site.run("formula", "update").code == 0
    assert site.run("formula", "check", "--ignore", "PS303").code == 0


@needs_git
def test_add_by_name_and_ref_and_what_cannot_be_added(site, tmp_path):
    one = Repo(tmp_path / "web-formula.git", FORMULA)
    one.tag("v1")
    one.commit({"VERSION": "2\n"})
    config = site.folder / "pushsalt.yaml"
    config.write_text(config.read_text().rstrip("}") + f', "formula_base_url": "file://{tmp_path}"}}')
    before = config.read_text()
    for words in (["nowhere"], [f"{one.url}@nope"], ["--", "--upload-pack=x"], ["ext::sh"], [f"{one.url}@-x"]):
        done = site.run("formula", "add", *words)
        assert done.code == 1, words
        assert config.read_text() == before
        assert not (site.folder / "pushsalt.lock").exists()


@needs_git
def test_add_a_tag_by_name(tmp_path):
    one = Repo(tmp_path / "web-formula.git", FORMULA)
    one.tag("v1")
    one.commit({"VERSION": "2\n"})
    site = Project(tmp_path, {"here": {"transport": "offline", "grains": {}}})
    (site.folder / "pushsalt.yaml").write_text(f"# mine\nformula_base_url: file://{tmp_path}\n")
    done = site.run("formula", "add", "web@v1", "--out", "json")
    assert [(move["ref"], move["new"]) for move in json.loads(done.out)] == [("refs/tags/v1", one.tip("v1"))]
    assert (site.folder / "pushsalt.yaml").read_text() == (
        f"# mine\nformula_base_url: file://{tmp_path}\n"
        f"gitfs_remotes:\n  - {one.url}:\n      - base: v1\n      - renderers: [jinja, yaml, json]\n"
        "fileserver_backend: [roots, git]\n"
    )
    [found] = json.loads(site.run("formula", "list", "--out", "json").out)
    assert (found["name"], found["version"], found["revision"]) == ("web", "1", one.tip("v1"))
    assert "states" not in found  # a list reads no state
    again = site.run("formula", "add", "web@v2")
    assert again.code == 1 and "`pushsalt formula remove web` first" in again.err


def test_show_a_folder(site):
    site.files({f"web-formula/{path}": text for path, text in FORMULA.items()} | {"web-formula/top.sls": "base: {}\n"})
    done = site.run("formula", "show", "./web-formula", "--out", "json")
    document = json.loads(done.out)
    assert document["states"] == ["web", "web.config"]
    assert document["pillar"] == {"other": ["web/map.jinja"], "web": ["web/map.jinja"], "web:port": ["web/config.sls"]}
    assert document["dependencies"] == ["systemd", "users"]
    text = site.run("formula", "show", "./web-formula").out
    assert "web 1.2.3" in text and "Everything." in text and "port: 80" in text


def test_a_folder_of_file_roots_is_listed(tmp_path):
    site = Project(tmp_path, {}, file_roots={"base": ["salt", "web-formula"]})
    site.files({f"web-formula/{path}": text for path, text in FORMULA.items()})
    rows = site.run("formula", "list").out.splitlines()[1:]
    assert [row.split() for row in rows] == [["web", "1.2.3", "-", str(site.folder / "web-formula")]]
    assert "States:" in site.run("formula", "show", "web-formula").out


def test_a_new_formula_renders_on_its_machines(tmp_path):
    site = Project(tmp_path, {})
    assert site.run("formula", "new", "app").code == 0
    tests = site.folder / "app-formula" / "tests"
    done = site.run("-c", str(tests), "run", "--out", "json", "*", "state.show_low_sls", "app,app._mapdata,app.clean")
    assert done.code == 0, done.err
    low = {id: {chunk["__id__"]: chunk for chunk in chunks} for id, chunks in done.data.items()}
    assert set(low) == {"debian", "rocky", "freebsd"}
    conf = {id: chunks["app-config-file-file-managed"] for id, chunks in low.items()}
    assert {id: chunk["name"] for id, chunk in conf.items()} == {
        "debian": "/etc/app.conf",
        "rocky": "/etc/app.conf",
        "freebsd": "/usr/local/etc/app.conf",
    }
    assert conf["rocky"]["source"] == [
        f"salt://app/files/{place}/app.conf.jinja" for place in ("rocky", "Rocky Linux-9", "Rocky", "RedHat", "default")
    ]
    assert conf["freebsd"]["context"] == {"settings": {"key": "value"}}
    again = site.run("formula", "new", "app")
    assert again.code == 1 and "exists and is not empty" in again.err
    assert site.run("formula", "new", "Not A Name").code == 1


@needs_git
def test_ctrl_c_ends_an_update(site):
    with silent_port() as port:
        urls = [f"git://127.0.0.1:{port}/{name}.git" for name in "abc"]
        config = {"fileserver_backend": ["git"], "gitfs_remotes": urls}
        (site.folder / "pushsalt.yaml").write_text(json.dumps(config))
        process = site.start("formula", "update")
        notes = site.cache / "git"
        wait_for(lambda: len(list(notes.glob("*/new-*.git"))) == 3, 20)
        process.send_signal(signal.SIGINT)
        done = site.finish(process, 10)
    assert done.code == 130
    assert not list(notes.glob("*/new-*.git"))
