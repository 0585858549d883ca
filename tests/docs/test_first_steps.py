"""The steps of docs/getting-started.md and the first example of docs/resources.md work as written."""

import json
import re
import shlex

import pytest

from pushsalt.bundle import pack
from pushsalt.cli.init import FILES

pytestmark = pytest.mark.slow


def commands(text):
    """The command lines of pushsalt in a text, without comments."""
    found = re.findall(r"^ {4}(pushsalt .*)$", text, re.M)
    return [shlex.split(re.split(r"\s{3,}", line)[0], comments=True)[1:] for line in found]


def test_the_first_example_of_resources(page, project):
    found = page("docs/resources.md")
    for name, text in found.files().items():
        project.write(name, text)
    project.write("inventory.yaml", "hosts:\n  host1: {transport: local}\n")
    lines = commands(found.text.partition("## Declaring")[0])
    assert len(lines) == 7
    said = {}
    for words in lines:
        done = project.run(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        said[words[0], words[1]] = done.stdout
    assert said["target", "-C"] == "d1\n"
    assert set(project.run("target", "*").stdout.split()) == {"host1", "d1", "d2"}
    assert re.findall(r"^dummy +(\w+)", said["resource", "list"], re.M) == ["d1", "d2"]


def test_the_files_of_a_new_project(page):
    rows = page("docs/getting-started.md").rows("## 1. A project")
    there = {word for row in rows for cell in row for word in re.findall(r"`([\w./]+)`", cell)}
    assert {"pushsalt.yaml", "inventory.yaml", "salt/top.sls", "pillar/top.sls"} <= there & set(FILES)
    assert {"salt/", "pillar/"} <= there


def test_looking_when_something_is_wrong(page, project):
    lines = commands(page("docs/getting-started.md").section("## 4. Finding errors"))
    project.write("inventory.yaml", "hosts:\n  web1: {transport: local}\n")
    project.write("salt/nginx.sls", "nginx:\n  test.nop\n")
    assert len(lines) >= 4
    for words in lines:
        done = project.run(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)


def test_the_size_of_the_runtime(page):
    """The size of the first transfer, which the page names to the nearest 25 KB."""
    named = int(re.search(r"about (\d+) KB, compressed", page("docs/getting-started.md").text).group(1)) * 1000
    sizes = [len(archive.data) for archive in pack.build().firsts.values()]
    assert max(abs(named - size) for size in sizes) <= 25_000, sizes


@pytest.mark.parametrize("words, code", [(("apply", "localhost", "good"), 0), (("apply", "localhost", "bad"), 2)])
def test_in_scripts(project, words, code):
    project.write("salt/good.sls", "good:\n  test.nop\n")
    project.write("salt/bad.sls", "bad:\n  test.fail_without_changes\n")
    done = project.run(*words, "--out", "json")
    assert (done.returncode, list(json.loads(done.stdout))) == (code, ["localhost"])
