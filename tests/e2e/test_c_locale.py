"""File names and texts are UTF-8 with every Python that a target may have, in any locale."""

import pytest

from tests.beds.project import Project, values
from tests.thin.test_old_pythons import pythons

pytestmark = pytest.mark.slow

STATES = """
made:
  file.managed:
    - name: {top}/ü/naïve €.txt
    - contents: |
        größe = 1
    - makedirs: true
    - replace: false
appended:
  file.append:
    - name: {top}/ü/naïve €.txt
    - text: straße
link:
  file.symlink: [name: {top}/ссылка, target: ü]
folder:
  file.recurse: [name: {top}/δέντρο, source: "salt://tree"]
command:
  cmd.run:
    - name: 'printf "%s" "$GREEN" > "{top}/ü/out-ä"; ls {top}'
    - env: [GREEN: schön]
own:
  module.run:
    - own.write: [path: "{top}/ü/own"]
"""
OWN = """
def write(path):
    with open(path, "w") as stream:
        stream.write("ж\\n")
    with open(path) as stream:
        return stream.read()
"""


@pytest.mark.parametrize("locale", ["C", "POSIX", "xx_XX.UTF-8"])
@pytest.mark.parametrize("version", [version for version in pythons() if version in ("3.6", "3.7", "3.12")])
def test_names_and_texts_are_utf8(tmp_path, version, locale):
    project = Project(tmp_path, {"here": {"transport": "local", "python": pythons()[version]}})
    project.variables = {"LC_ALL": locale, "PYTHONUTF8": "1"}
    top = tmp_path / "top"
    project.files(
        {
            "salt/site.sls": STATES.format(top=top),
            "salt/_modules/own.py": OWN,
            "salt/tree/größe/ñ": "x\n",
        }
    )
    done = project.json("apply", "here", "site")
    assert [ret["result"] for ret in values(done.data["here"])] == [True] * 6, done.out
    assert (top / "ü/naïve €.txt").read_text("utf-8") == "größe = 1\nstraße\n"
    assert (top / "ссылка/out-ä").read_text("utf-8") == "schön"
    assert (top / "δέντρο/größe/ñ").read_text("utf-8") == "x\n"
    assert (top / "ü/own").read_text("utf-8") == "ж\n"
    again = project.json("apply", "here", "site")
    assert [bool(ret["changes"]) for ret in values(again.data["here"])][:4] == [False] * 4, again.out
    listed = project.json("run", "here", "file.readdir", str(top))
    assert sorted(listed.data["here"]) == sorted([".", "..", "ü", "ссылка", "δέντρο"])
