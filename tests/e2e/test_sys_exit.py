"""A call of sys.exit in users' Python code is an error with its file and line, and does not end the command."""

import pytest

from tests.beds.project import Project

pytestmark = pytest.mark.slow

SLS = {
    "py": ("#!py\nimport sys\ndef run():\n    sys.exit(0)\n", 4),
    "body": ("#!py\nimport sys\nsys.exit()\n", 3),
    "pyobjects": ("#!pyobjects\nimport sys\nsys.exit(3)\n", 3),
    "mako": ("#!mako|yaml\n<% import sys; sys.exit(3) %>\n", 2),
    "renderer": ("#!leaving\nx\n", 1),
}
ENDS = "import sys\ndef {}:\n    sys.exit(0)\n"
FILES = {
    "salt/_modules/own.py": ENDS.format("leave()"),
    "salt/_states/own.py": ENDS.format("leave(name)"),
    "salt/_renderers/leaving.py": ENDS.format("render(data, *args, **kwargs)"),
    "salt/states.sls": "x:\n  own.leave: []\ny:\n  test.nop: []\n",
    "salt/good.sls": "y:\n  test.nop: []\n",
    "mods/pillar/leaving.py": ENDS.format("ext_pillar(minion_id, pillar, *args)"),
    "mods/tops/leaving.py": ENDS.format("top(**kwargs)"),
    "mods/outputters/leaving.py": ENDS.format("output(data, **kwargs)"),
}


@pytest.fixture
def make_project(tmp_path):
    def make_project(**config):
        project = Project(tmp_path, {"here": {"transport": "local"}}, module_dirs=["mods"], **config)
        project.files({**FILES, **{f"salt/{name}.sls": text for name, (text, _) in SLS.items()}})
        return project

    return make_project


@pytest.mark.parametrize("name", list(SLS))
def test_sys_exit_of_a_renderer_is_an_error_of_its_sls(make_project, name):
    done = make_project().json("apply", "here", f"good,{name}")
    assert done.code == 2
    [text] = done.data["here"]
    assert f"base:{name}" in text and f"{name}.sls:{SLS[name][1]}" in text and "sys.exit" in text


def test_sys_exit_of_modules_and_states_is_an_error(make_project):
    project = make_project()
    done = project.json("run", "here", "own.leave")
    assert (done.code, done.data["here"]["error"]["exception"]) == (2, "SystemExit")
    done = project.json("apply", "here", "states")
    assert {ret["__id__"]: ret["result"] for ret in done.data["here"].values()} == {"x": False, "y": True}
    assert done.code == 2


def test_errors_have_the_text_and_the_line_of_the_exit(make_project):
    project = make_project()
    project.write("salt/_modules/own.py", 'import sys\ndef leave():\n    sys.exit("no licence")\n')
    project.write("salt/calls.sls", "x:\n  test.nop:\n    - foo: {{ salt['own.leave']() }}\n")
    project.write("salt/py.sls", '#!py\nimport sys\ndef run():\n    sys.exit("no licence")\n')
    error = project.json("run", "here", "own.leave").data["here"]["error"]
    assert error["message"] == "_modules/own.py, line 3: it ends the program: sys.exit('no licence')"
    [text] = project.json("apply", "here", "calls").data["here"]
    assert "_modules/own.py, line 3: it ends the program: sys.exit('no licence')" in text and "calls.sls:3" in text
    [text] = project.json("apply", "here", "py").data["here"]
    assert "no licence" in text and "py.sls:4" in text


def test_sys_exit_of_a_roster_is_an_error(make_project):
    project = make_project()
    project.write("roster", SLS["body"][0])
    done = project.run("-i", "roster", "target", "*")
    assert done.code == 1 and "roster:3" in done.err and "sys.exit" in done.err
    project.write("roster", SLS["body"][0].replace("exit()", "exit('no such rack')"))
    done = project.run("-i", "roster", "target", "*")
    assert done.code == 1 and "roster:3" in done.err and "no such rack" in done.err


def test_sys_exit_of_pillar_ext_pillar_and_tops_is_an_error(make_project):
    project = make_project()
    project.write("pillar/top.sls", SLS["body"][0])
    assert "sys.exit" in str(project.json("run", "here", "pillar.items").data["here"]["_errors"])
    (project.folder / "pillar/top.sls").unlink()
    project = make_project(ext_pillar=[{"leaving": "x"}])
    done = project.json("run", "here", "pillar.items")
    assert done.code == 2 and "ext_pillar leaving" in str(done.data["here"]["_errors"])
    done = make_project(master_tops={"leaving": "x"}).json("apply", "here")
    assert done.code == 2 and "leaving" in str(done.data["here"])


def test_sys_exit_of_an_outputter_loses_no_return(make_project):
    done = make_project().run("run", "--out", "leaving", "here", "test.ping")
    assert (done.code, done.data) == (0, {"here": True})
