"""All variables that Salt's loader sets and reads in users' modules are supported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.beds.project import Project, values

pytestmark = pytest.mark.slow

FILES = {
    "salt/_modules/dunders.py": """
import logging
import salt.utils
import salt.utils.event
import salt.utils.platform
import salt.utils.templates
from salt.exceptions import CommandExecutionError
from salt.ext import six
from salt.utils.decorators import depends

__virtualname__ = "dd"
__func_alias__ = {"list_": "list", "set_": "set"}
__outputter__ = {"list_": "txt"}
__virtual_aliases__ = ("dd_too",)
__proxyenabled__ = ["*"]
__opts__ = {"ours": "default", "own": "not this"}
__salt__ = {}
__grains__ = {}
log = logging.getLogger(__name__)
STARTED = []


def __init__(opts):
    STARTED.append(opts["id"])


def __virtual__():
    if not salt.utils.platform.is_linux():
        return False, "not for here"
    return __virtualname__


def list_():
    return sorted(STARTED)


def all_of_them():
    __context__["dd"] = __context__.get("dd", 0) + 1
    return {
        "salt": __salt__["dd.list"](), "again": __salt__["dd.context"](), "grains": __grains__["id"],
        "pillar": __pillar__["word"], "opts": [__opts__["id"], __opts__["own"], __opts__["ours"]],
        "utils": __utils__["dhelp.two"](1), "states": "test.nop" in __states__, "env": __env__,
        "proxy": __proxy__ or None, "client": __file_client__, "name": __name__, "file": __file__,
        "package": __package__,
    }


def context():
    __context__["dd"] += 1
    return __context__["dd"]


def templated(text):
    return salt.utils.templates.render_jinja_tmpl(text, {"x": 5, "saltenv": "base"})


def flat():
    return [salt.utils.which("sh") is not None, salt.utils.is_linux(), salt.utils.to_str(b"x"), six.PY3]


def raises(how):
    raise CommandExecutionError("no " + how)


def typed(number, flag=False, *rest, **more):
    return [number, flag, list(rest), {key: value for key, value in more.items() if not key.startswith("__")}]


@depends("no_such_package_anywhere")
def needs():
    return "never"


def _hidden():
    return "never"


imported = log.info
""",
    "salt/_modules/refuses.py": "def __virtual__():\n    return False, 'because'\n\ndef f():\n    return 1\n",
    "salt/_modules/loads.py": "__load__ = ['shown']\n\ndef shown():\n    return 1\n\ndef other():\n    return 2\n",
    "salt/_modules/pack/__init__.py": (
        "from . import inner\nfrom .inner import deep\n\ndef f():\n    return deep() + inner.X\n"
    ),
    "salt/_modules/pack/inner.py": "X = 1\n\ndef deep():\n    return 41\n",
    "salt/_utils/dhelp.py": "import other_help\n\ndef two(x):\n    return [x, __opts__['id'], other_help.WORD]\n",
    "salt/_utils/other_help.py": "WORD = 'imported'\n",
    "salt/_states/dd.py": """
def present(name, value=1, **kwargs):
    ret = {"name": name, "result": None if __opts__["test"] else True, "comment": ["one", "two"], "changes": {}}
    ret["changes"] = {
        "low": [__low__["__id__"], __low__["fun"]], "env": __env__, "running": len(__running__), "value": value,
        "instance": bool(__instance_id__), "lowstate": len(__lowstate__), "user": __user__,
        "kwargs": sorted(key for key in kwargs if not key.startswith("__")), "salt": __salt__["dd.context"](),
        "inner": __states__["test.nop"]("x")["result"],
    }
    return ret


def mod_init(low):
    __context__["dd"] = 100
    return True


def mod_watch(name, sfun=None, sreqs=None, **kwargs):
    return {"name": name, "result": True, "comment": "watched", "changes": {"sfun": sfun}}


def mod_aggregate(low, chunks, running):
    low["value"] = sum(1 for chunk in chunks if chunk["state"] == "dd")
    return low
""",
    "salt/it.sls": """
a:
  dd.present: [{aggregate: true, some: thing}]
b:
  dd.present: [{aggregate: true, watch: [{test: t}]}]
t:
  test.succeed_with_changes: []
""",
    "pillar/top.sls": "base: {'*': [it]}",
    "pillar/it.sls": "word: from pillar",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder: Path = tmp_path_factory.mktemp("dunders")
    project = Project(folder, {"it": {"transport": "local", "minion_opts": {"own": "option"}}})
    project.files(FILES)
    return project


def call(project: Project, *arguments: str) -> Any:
    done = project.json("run", "it", *arguments)
    assert done.code == 0, done.out + done.err
    return done.data["it"]


def test_functions_have_all_dunders(project: Project) -> None:
    assert call(project, "dd.all_of_them") == {
        "salt": ["it"],
        "again": 2,
        "grains": "it",
        "pillar": "from pillar",
        "opts": ["it", "option", "default"],
        "utils": [1, "it", "imported"],
        "states": True,
        "env": "base",
        "proxy": None,
        "client": None,
        "name": "salt.loaded.ext.module.dunders",
        "file": "_modules/dunders.py",
        "package": "salt.loaded.ext.module",
    }
    assert call(project, "dd.flat") == [True, True, "x", True]
    assert call(project, "dd.templated", "{{ x }} {{ grains.id }} {{ pillar.word }}") == "5 it from pillar"
    assert call(project, "dd.typed", "1", "true", "a", "b=[1]") == [1, True, ["a"], {"b": [1]}]
    assert (
        call(project, "pack.f") == 42 and call(project, "dd_too.list") == ["it"] and call(project, "loads.shown") == 1
    )


@pytest.mark.parametrize(
    "function, text",
    [
        ("dd.list_", "'dd.list_' is not available."),
        ("dd._hidden", "'dd._hidden' is not available."),
        ("dd.needs", "'dd.needs' is not available."),
        ("dd.imported", "'dd.imported' is not available."),
        ("dunders.list", "'dunders.list' is not available."),
        ("loads.other", "'loads.other' is not available."),
        ("refuses.f", "'refuses' __virtual__ returned False: because"),
    ],
)
def test_errors_of_unavailable_functions(project: Project, function: str, text: str) -> None:
    assert project.json("run", "it", function).error("it")["message"] == text


def test_exceptions_keep_their_class(project: Project) -> None:
    error = project.json("run", "it", "dd.raises", "way").error("it")
    assert (error["exception"], error["message"]) == ("CommandExecutionError", "no way")


def test_states_have_all_dunders(project: Project) -> None:
    a, t, b, *_ = values(project.json("apply", "it", "it").data["it"])
    more = {"env": "base", "instance": True, "user": "root", "inner": True}
    assert a["comment"] == "one\ntwo"
    assert a["changes"] == {
        **more,
        "low": ["a", "present"],
        "running": 0,
        "value": 2,
        "lowstate": 3,
        "salt": 101,
        "kwargs": ["aggregate", "some"],
        "user": a["changes"]["user"],
    }
    assert t["result"] is True and b["changes"]["low"] == ["b", "present"] and b["changes"]["running"] == 2
    doc = call(project, "sys.doc", "dd.list")
    assert doc == {"dd.list": None} and "dd.present" in call(project, "sys.list_state_functions", "dd")
