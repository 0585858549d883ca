"""``pushsalt impact``: revisions, what differs and how it is shown, and bad input."""

from __future__ import annotations

import html
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.beds.project import Project
from tests.reports.test_html import data_of

pytestmark = pytest.mark.slow

SECRET = "correct-horse-battery-2"
HOSTS: dict[str, Any] = {
    **{f"web{n}": {"transport": "offline", "grains": {"kind": "web"}} for n in (1, 2)},
    "db1": {"transport": "offline", "grains": {"kind": "db"}},
}
MOTD = "file_|-/etc/motd_|-/etc/motd_|-managed"


def git(folder: Path, *arguments: str) -> str:
    argv = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def commit(project: Project) -> str:
    git(project.folder, "add", "-A")
    git(project.folder, "commit", "-qm", "a change")
    return git(project.folder, "rev-parse", "HEAD")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path, HOSTS)
    found.files(
        {
            "salt/top.sls": "base:\n  '*': [all]\n  'kind:web': [{match: grain}, web]\n",
            "salt/all.sls": "/etc/motd:\n  file.managed: [{source: 'salt://motd'}, {mode: '0644'}]\n",
            "salt/motd": "hello\n",
            "salt/web.sls": "/etc/web:\n  file.managed: [{source: 'salt://web.jinja'}, {template: jinja}]\n",
            "salt/web.jinja": "for {{ grains.id }}: {{ pillar.password }}\n",
            "pillar/top.sls": "base: {'*': [p]}\n",
            "pillar/p.sls": f"password: {SECRET}\nport: 80\n",
        }
    )
    git(found.folder, "init", "-q")
    commit(found)
    return found


def test_nothing_differs(project: Project) -> None:
    done = project.run("impact", "--out", "json")
    assert done.code == 0, done.err
    assert done.data["ids"] == {} and done.data["to"] == "the working tree"
    assert "0 of 3 ids differ" in project.run("impact").out
    assert not list(project.cache.glob("impact-*")), "the folder of the revision is removed"


def test_a_changed_template(project: Project) -> None:
    project.write("salt/web.jinja", "for {{ grains.id }}: {{ pillar.password }}\nmore\n")
    done = project.run("impact", "--out", "json")
    assert sorted(done.data["ids"]) == ["web1", "web2"]
    web1 = done.data["ids"]["web1"]
    assert web1["states"] == {"added": [], "removed": [], "changed": {}} and not web1["pillar"] and not web1["unknown"]
    assert "+more\n" in web1["files"]["/etc/web"] and " for web1: **********(" in web1["files"]["/etc/web"]
    text, markdown = project.run("impact").out, project.run("impact", "--out", "markdown").out
    assert "file /etc/web" in text and "2 of 3 ids differ" in text
    assert "<details>" in markdown and "+more" in markdown
    assert SECRET not in done.out + text + markdown


def test_states_arguments_files_and_pillar(project: Project) -> None:
    before = git(project.folder, "rev-parse", "HEAD")
    project.files(
        {
            "salt/all.sls": "/etc/motd:\n  file.managed: [{source: 'salt://motd'}, {mode: '0600'}]\n"
            "/etc/new:\n  file.managed: [{contents: x}]\n",
            "salt/motd": "hello you\n",
            "salt/top.sls": "base:\n  '*': [all]\n",
            "pillar/p.sls": f"password: {SECRET}\nport: 81\n",
        }
    )
    after = commit(project)
    data = project.run("impact", f"{before}..HEAD", "--out", "json").data
    assert (data["from"], data["to"]) == (before, after)
    db1, web1 = data["ids"]["db1"], data["ids"]["web1"]
    assert db1["states"]["added"] == ["file_|-/etc/new_|-/etc/new_|-managed"] and db1["states"]["removed"] == []
    assert web1["states"]["removed"] == ["file_|-/etc/web_|-/etc/web_|-managed"]
    assert db1["states"]["changed"] == {MOTD: {"mode": ["0644", "0600"]}}
    assert db1["files"]["/etc/motd"] == "--- \n+++ \n@@ -1 +1 @@\n-hello\n+hello you\n"
    assert db1["pillar"] == ["port"]
    assert project.run("impact", before, "db*", "--out", "json").data["ids"].keys() == {"db1"}
    assert project.run("impact", f"{before}..", "--fail-on", "^web1 removed file.managed /etc/web", "-q").code in (1, 2)
    assert project.run("impact", f"{before}..", "--fail-on", "^web1 removed file.managed /etc/web").code == 2
    assert project.run("impact", f"{before}..", "--fail-on", "^db1 removed").code == 0


def test_ids_that_come_and_go(project: Project) -> None:
    before = git(project.folder, "rev-parse", "HEAD")
    text = (project.folder / "inventory.yaml").read_text()
    project.write("inventory.yaml", text.replace('"db1"', '"db2"'))
    ids = project.run("impact", before, "--out", "json").data["ids"]
    assert ids["db1"]["states"]["removed"] == [MOTD] and ids["db2"]["states"]["added"] == [MOTD]
    assert set(ids) == {"db1", "db2"}


def test_what_only_the_target_knows(project: Project) -> None:
    hosts = "hosts: {web1: {transport: offline, grains: {kind: web}}, real: {host: 192.0.2.1}}\n"
    project.files({"inventory.yaml": hosts, "salt/web.jinja": "{{ salt['cmd.run']('hostname') }}\n"})
    project.write("salt/motd", "other\n")
    commit(project)
    project.write("salt/motd", "another\n")
    ids = project.run("impact", "--out", "json").data["ids"]
    assert any("asks the target: cmd." in why for why in ids["web1"]["unknown"])
    assert ids["web1"]["files"].keys() == {"/etc/motd"}, "the rest is compared all the same"
    assert any("pushsalt grains real" in why for why in ids["real"]["unknown"]) and not ids["real"]["files"]
    project.write("salt/web.sls", "{% set x = salt['cmd.run']('date') %}\na: test.nop\n")
    ids = project.run("impact", "--out", "json").data["ids"]
    assert ids["web1"]["unknown"][-1].startswith("after: cmd.")
    assert not ids["web1"]["files"] and not ids["web1"]["states"]["removed"], "nothing is guessed"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing-of-that-name..HEAD",), "there is no revision 'nothing-of-that-name'"),
        (("nothing-of-that-name",), "is neither a revision nor a target"),
        (("--output=/tmp/x..HEAD",), ""),
        (("HEAD...HEAD",), "three dots"),
        (("HEAD", "nobody"), ""),
        (("--fail-on", "("), "is not a regular expression"),
    ],
)
def test_bad_words(project: Project, words: tuple[str, ...], said: str) -> None:
    done = project.run("impact", *words)
    assert done.code == 1 and said in done.err and "Traceback" not in done.err, done.err


def test_a_shallow_clone(project: Project, tmp_path: Path) -> None:
    before = git(project.folder, "rev-parse", "HEAD")
    project.write("salt/motd", "other\n")
    commit(project)
    clone = Project(tmp_path / "clone", HOSTS)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{project.folder}", str(tmp_path / "shallow"))
    (tmp_path / "shallow").rename(tmp_path / "clone" / "shallow")
    done = clone.run("-c", str(tmp_path / "clone/shallow"), "impact", before)
    assert done.code == 1 and "shallow" in done.err, done.err
    done = clone.run("-c", str(tmp_path / "clone/shallow"), "impact", "HEAD..HEAD", "--out", "json")
    assert done.code == 0 and done.data["ids"] == {}, done.err


def test_no_repository_and_no_project_yet(tmp_path: Path) -> None:
    project = Project(tmp_path, HOSTS)
    done = project.run("impact")
    assert done.code == 1 and "is in no git repository" in done.err
    git(project.folder, "init", "-q")
    project.write("README", "x")
    git(project.folder, "add", "README")
    git(project.folder, "commit", "-qm", "x")
    done = project.run("impact")
    assert done.code == 1 and "has no pushsalt.yaml" in done.err


def test_links_of_a_commit_lead_nowhere_else(project: Project, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("outside\n")
    (project.folder / "salt/motd").unlink()
    (project.folder / "salt/motd").symlink_to(secret)
    commit(project)
    project.write("salt/all.sls", "a: test.nop\n")
    done = project.run("impact", "--out", "json")
    assert done.code == 0 and "outside" not in done.out


def test_the_report(project: Project) -> None:
    """A page per id with what differs, and no secret in it."""
    project.write("salt/web.jinja", "for {{ grains.id }}: {{ pillar.password }}\nmore\n")
    project.write("salt/all.sls", "/etc/issue:\n  file.managed: [{source: 'salt://motd'}]\n")
    done = project.run("impact", "--report", "impact.html", "--out", "json")
    assert done.code == 0, done.err
    page = (project.folder / "impact.html").read_text()
    assert SECRET not in page and SECRET not in html.unescape(page)
    data = data_of(page)
    assert [target["id"] for target in data["targets"]] == list(done.data["ids"])
    by_id = {target["id"]: data["bodies"][target["body"]] for target in data["targets"]}
    rows = {(row["w"], row["o"]) for row in by_id["web1"]}
    assert {("added", "added"), ("removed", "failed"), ("file", "changed")} <= rows
    assert any("+more" in text for row in by_id["web1"] for text in row["x"])
    assert "for web1: **********(" in page and "/etc/web" not in json.dumps(by_id["db1"])
    wrong = project.run("impact", "--report", "no/such/folder/r.html")
    assert wrong.code == 1 and "--report" in wrong.err
