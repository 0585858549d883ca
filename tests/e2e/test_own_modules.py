"""Users' execution modules, states, grains and utilities are sent to the target, and can use each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.beds.project import Project, values

pytestmark = pytest.mark.slow

FILES = {
    "salt/_modules/mine.py": (
        "def greet(name, *, mark='!'):\n    return __utils__['words.shout'](name) + mark + str(__pillar__.get('end'))\n"
    ),
    "salt/_utils/words.py": "def shout(text):\n    return text.upper()\n",
    "salt/_grains/place.py": (
        "def rack():\n    return {'rack': 'r1'}\n\n\n"
        "def row(grains):\n    return {'row': grains['rack'] + '-2', 'fixed': 'no'}\n"
        "\n\ndef broken():\n    raise ValueError('here')\n"
    ),
    "salt/_states/own.py": (
        "__virtualname__ = 'renamed'\n\n\ndef __virtual__():\n    return __virtualname__\n\n\n"
        "def present(name, size=1):\n"
        "    ret = {'name': name, 'changes': {}, 'result': True, 'comment': ''}\n"
        "    return __utils__['state.merge_subreturn'](ret, __states__['test.succeed_with_changes']('x'))\n"
    ),
    "salt/use.sls": (
        "{{ grains['row'] }}:\n  renamed.present:\n    - size: 2\n"
        "called:\n  test.configurable_test_state:\n    - comment: {{ salt['mine.greet']('you') }}\n"
    ),
    "salt/wrong.sls": "a:\n  renamed.present:\n    - sice: 2\n",
    "salt/dev/_modules/mine.py": "def greet(name):\n    return 'dev'\n",
    "dirs/modules/far.py": "def __virtual__():\n    return 'near'\n\n\ndef it():\n    return __file__\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    host = {"transport": "local", "grains": {"fixed": "yes"}, "pillar": {"end": "?"}}
    roots = {"base": ["salt"], "dev": ["salt/dev"]}
    project = Project(tmp_path, {"it": host}, file_roots=roots, module_dirs=["dirs"])
    project.files(FILES)
    return project


def test_users_functions_run(project: Project) -> None:
    assert project.json("run", "it", "mine.greet", "you").data == {"it": "YOU!?"}
    assert project.json("run", "--saltenv", "dev", "it", "mine.greet", "you").data == {"it": "dev"}
    assert project.json("run", "it", "near.it").code == 0
    assert "mine.greet" in project.json("run", "it", "sys.list_functions", "mine").data["it"]


def test_states_see_functions_grains_and_utilities(project: Project) -> None:
    own, called = values(project.json("apply", "it", "use").data["it"])
    assert (own["__id__"], own["result"], list(own["changes"])) == ("r1-2", True, ["x"])
    assert called["comment"] == "YOU!?"


def test_users_grains_are_collected(project: Project) -> None:
    done = project.json("run", "it", "grains.item", "rack", "row", "fixed")
    assert done.data["it"] == {"rack": "r1", "row": "r1-2", "fixed": "yes"}
    assert "place.broken" in done.err and "here" in done.err


def test_arguments_of_users_states_are_checked(project: Project) -> None:
    done = project.json("apply", "it", "wrong")
    assert done.code == 2 and "sice" in done.data["it"][0] and "size" in done.err


def test_sync_all_lists_users_modules(project: Project) -> None:
    modules = project.json("run", "it", "saltutil.sync_all").data["it"]
    assert {kind: names for kind, names in modules.items() if names} == {
        "modules": ["modules.far", "modules.mine"],
        "states": ["states.own"],
        "grains": ["grains.place"],
        "utils": ["utils.words"],
    }


def test_a_changed_module_is_used(project: Project) -> None:
    assert project.json("run", "it", "mine.greet", "you").data == {"it": "YOU!?"}
    project.write("salt/_modules/mine.py", "def greet(name):\n    return 'changed'\n")
    assert project.json("run", "it", "mine.greet", "you").data == {"it": "changed"}


def test_an_invalid_module_is_reported_and_affects_no_other(project: Project) -> None:
    project.write("salt/_modules/mine.py", "def greet(:\n")
    done = project.json("run", "it", "mine.greet", "you")
    assert done.error("it")["kind"] == "unknown_function" and "mine" in done.err
    assert project.json("run", "it", "test.ping").data == {"it": True}


@pytest.mark.parametrize(
    "opts, enabled, refused",
    [
        ({"whitelist_modules": ["test", "mine"]}, "mine.greet", "cmd.run"),
        ({"disable_modules": ["mine"]}, "near.it", "mine.greet"),
    ],
)
def test_modules_can_be_disabled(project: Project, opts: dict[str, list[str]], enabled: str, refused: str) -> None:
    host = {"transport": "local", "minion_opts": opts}
    project.write("inventory.yaml", json.dumps({"hosts": {"it": host}}))
    arguments = {"mine.greet": ["you"], "cmd.run": ["true"], "near.it": []}
    assert project.json("run", "it", enabled, *arguments[enabled]).code == 0
    assert project.json("run", "it", refused, *arguments[refused]).error("it")["kind"] == "unknown_function"
    template = f"string={{{{ '{enabled}' in salt }}}} {{{{ '{refused}' in salt }}}}"
    if "whitelist_modules" not in opts:
        assert (
            project.json("run", "it", "slsutil.renderer", template, "default_renderer=jinja").data["it"] == "True False"
        )


@pytest.mark.parametrize("opts", [{"whitelist_state_modules": ["file"]}, {"disable_states": ["test"]}])
def test_states_can_be_disabled(project: Project, tmp_path: Path, opts: dict[str, list[str]]) -> None:
    host = {"transport": "local", "minion_opts": opts}
    project.write("inventory.yaml", json.dumps({"hosts": {"it": host}}))
    project.write("salt/two.sls", f"a:\n  test.nop\n{tmp_path}/b:\n  file.touch\n")
    nop, touch = values(project.json("apply", "it", "two").data["it"])
    assert nop["result"] is False and "State 'test.nop' was not found" in nop["comment"]
    assert touch["result"] is True
