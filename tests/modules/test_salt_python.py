"""The option `salt_python`: modules of an installed Salt provide missing functions, and the output says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.beds.project import Done, Project, values
from tests.beds.required import no_salt

pytestmark = pytest.mark.slow

#: An imitation of Salt: `zz` is its module, with possible errors around it.
SALT = {
    "salt/__init__.py": "",
    "salt/version.py": """
import os
class SaltStackVersion:
    def __init__(self, text):
        self.string, self.info = text, tuple(map(int, text.split(".")))
    parse = classmethod(lambda cls, text: cls(text))
__saltstack_version__ = SaltStackVersion("1.0")
__version__ = "1.0"
""",
    "salt/exceptions.py": "class CommandExecutionError(Exception):\n    pass\n",
    "salt/utils/__init__.py": "",
    "salt/utils/zed.py": """
import purelib.inner
import mixedlib
from . import zed2

def name():
    return [purelib.inner.NAME, mixedlib.KIND, zed2.NAME]

def loaded(word):
    return [word, __opts__["id"], __salt__["test.echo"]("echoed")]
""",
    "salt/utils/zed2.py": "NAME = 'zed2'\n",
    "salt/utils/lazy.py": "NAME = 'lazy'\n",
    "salt/modules/__init__.py": "",
    "salt/modules/zmod.py": '''
"""Module zz"""
import logging
import salt.utils.zed
import salt.version
from salt.exceptions import CommandExecutionError

log = logging.getLogger(__name__)
__virtualname__ = "zz"
__func_alias__ = {"list_": "list"}

def __virtual__():
    return __virtualname__

def names(first, second=2, *rest, third=object, **more):
    """What it was given."""
    return {"given": [first, second, list(rest), third is object, sorted(k for k in more if k[0] != "_")],
            "names": salt.utils.zed.name(), "version": salt.version.__version__, "id": __grains__["id"]}

def list_():
    import salt.utils.lazy
    return [salt.utils.lazy.NAME, __salt__["zz.other"](), __utils__["zed.loaded"]("word"), __pillar__.get("plain")]

def other():
    __context__["count"] = __context__.get("count", 0) + 1
    return __context__["count"]

def fails(how):
    log.warning("about to fail")
    if how == "salt":
        raise CommandExecutionError("as Salt's")
    raise ZeroDivisionError("as Python's")

def native():
    import nativelib
    return nativelib.X

def dies():
    import os
    os._exit(3)

def _private():
    pass
''',
    "salt/modules/zrefuse.py": "def __virtual__():\n    return False, 'zrefuse is not here'\n\ndef f():\n    pass\n",
    # a shipped module with one additional function
    "salt/modules/test.py": "def zz_more():\n    return 'more'\n\ndef ping():\n    return 'never'\n",
    "salt/states/__init__.py": "",
    "salt/states/zz.py": """
def present(name, value=None, bang=False):
    ret = {"name": name, "result": True, "changes": {}, "comment": "as it was"}
    if bang:
        raise ValueError("bang")
    if __opts__["test"]:
        return dict(ret, result=None, comment="would be")
    ret["changes"] = {"low": __low__["__id__"], "env": __env__, "running": len(__running__),
                      "value": __salt__["zz.names"](value)["given"]}
    return ret

def mod_watch(name, sfun=None, **kwargs):
    return {"name": name, "result": True, "changes": {"watched": sfun}, "comment": "watched"}
""",
    "salt/states/zwait.py": """
import glob

def __virtual__():
    return bool(glob.glob(__opts__["zz_program"])), "no program"

def late(name):
    return {"name": name, "result": True, "changes": {}, "comment": ""}
""",
    # the hooks of a shipped state are not Salt's
    "salt/states/test.py": "def mod_init(low):\n    raise ValueError('never')\n\ndef zz_more(name):\n    return {}\n",
    "purelib/__init__.py": "",
    "purelib/inner.py": "from .deep import NAME\n",
    "purelib/deep.py": "NAME = 'pure'\n",
    "mixedlib/__init__.py": "try:\n    from ._fast import KIND\nexcept ImportError:\n    KIND = 'slow'\n",
    "mixedlib/_fast.cpython-36m-x86_64-linux-gnu.so": "no code",
    "nativelib/__init__.py": "from nativelib._native import X\n",
    "nativelib/_native.abi3.so": "no code",
    "unrelated/__init__.py": "SECRET = 'of another distribution'\n",
}
DISTS = {
    "salt": ["purelib", "mixedlib; python_version >= '3'", "nativelib"],
    "purelib": [],
    "mixedlib": [],
    "nativelib": [],
}


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with this Salt."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    [site] = folder.glob("lib/python3*/site-packages")
    for name, text in SALT.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    for name, needs in DISTS.items():
        info = site / f"{name}-12.3.dist-info"
        info.mkdir()
        lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: 12.3\nRequires-Python: >=3.6"]
        lines += [f"Requires-Dist: {need}" for need in needs]
        (info / "METADATA").write_text("\n".join(lines) + "\n")
        own = [path for path in SALT if path.startswith(name + "/")]
        (info / "RECORD").write_text("".join(f"{path},,\n" for path in own))
    return folder / "bin" / "python"


@pytest.fixture
def project(tmp_path: Path, fake: Path) -> Project:
    return Project(tmp_path, salt_python=str(fake), ssh_minion_opts={"zz_program": f"{tmp_path}/program"})


def ran(project: Project, *arguments: str) -> Any:
    done = project.json("run", "localhost", *arguments)
    assert done.code == 0, done.out + done.err
    return done.data["localhost"]


def error(done: Done) -> tuple[str, str]:
    found = done.error("localhost")
    return found.get("exception", ""), found["message"]


def test_functions(project):
    project.write("pillar/top.sls", "base: {'*': [it]}")
    project.write("pillar/it.sls", "plain: from pillar")
    got = ran(project, "zz.names", "1", "x=5", "third=3")
    assert got == {
        "given": [1, 2, [], False, ["x"]],
        "names": ["pure", "slow", "zed2"],
        "version": "12.3",
        "id": "localhost",
    }
    assert ran(project, "zz.names", "1", "2", "3")["given"] == [1, 2, [3], True, []]
    assert ran(project, "zz.list") == ["lazy", 1, ["word", "localhost", "echoed"], "from pillar"]
    assert ran(project, "test.zz_more") == "more" and ran(project, "test.ping") is True
    said = project.run("run", "localhost", "zz.other")
    assert said.out == "localhost  by Salt 12.3's own module\n    1\n"
    assert project.run("run", "localhost", "test.ping").out == "localhost: True\n"


def test_troubles(project):
    for words, exception, text in (
        (["zz.fails", "salt"], "CommandExecutionError", "as Salt's"),
        (["zz.fails", "python"], "ZeroDivisionError", "as Python's"),
        (["zz.native"], "ImportError", "nativelib._native is a C extension, which cannot be sent: install the"),
        (["zz.dies"], "CommandExecutionError", "the process that ran Salt's own module has died"),
        (["zz._private"], "CommandExecutionError", "'zz._private' is not available."),
        (["zz.nothing"], "CommandExecutionError", "'zz.nothing' is not available."),
        (["zrefuse.f"], "CommandExecutionError", "__virtual__ returned False: zrefuse is not here (of Salt 12.3)"),
    ):
        done = project.json("run", "localhost", *words)
        assert done.code == 2 and error(done)[0] == exception and text in error(done)[1], (words, done.out)
    assert "[WARNING ] about to fail" in project.json("run", "localhost", "zz.fails", "salt").err


SLS = """
a:
  zz.present: [{value: 1}]
  test.succeed_with_changes: []
c:
  zz.present:
    - watch: [{test: a}]
    - order: last
d:
  test.nop:
    - name: "{{ salt['zz.names'](1).names }} {{ 'zz.names' in salt }} {{ 'zz.none' in salt }}"
p:
  zz.present:
    - parallel: true
"""


def test_states(project):
    project.write("salt/it.sls", SLS)
    done = project.json("apply", "localhost", "it")
    rets = {f"{ret['__id__']} {tag.split('_|-')[0]}": ret for tag, ret in done.data["localhost"].items()}
    assert rets["a zz"]["changes"] == {"low": "a", "env": "base", "running": 0, "value": [1, 2, [], True, []]}
    assert rets["c zz"]["changes"]["low"] == "c" and rets["c zz"]["changes"]["running"] >= 3
    assert rets["d test"]["name"] == "['pure', 'slow', 'zed2'] True False"
    assert rets["p zz"]["result"] is True and rets["p zz"]["changes"]["low"] == "p"
    marked = {name for name, ret in rets.items() if "__salt_python__" in ret}
    assert marked == {"a zz", "c zz", "p zz"} and rets["a zz"]["__salt_python__"] == "12.3"
    refused = project.run("apply", "localhost", "it", "--test")
    assert "zz.names does not say whether it changes the system, and this is a dry run" in refused.out
    assert "`test_template_allow: ['zz.names']`" in refused.out and refused.code != 0
    project.write("salt/it.sls", SLS.replace("{{ salt['zz.names'](1).names }} ", ""))
    said = project.run("apply", "localhost", "it", "--test").out
    assert "zz.present" in said and "by Salt 12.3's own module" in said and "would be" in said


def test_what_refused_is_asked_again(project, tmp_path):
    """An earlier state installs its program."""
    project.write(
        "salt/it.sls",
        f"""
{tmp_path}/program:
  zwait.late: []
  file.managed: [{{contents: x, order: 2}}]
second:
  zwait.late: [{{order: last}}]
""",
    )
    for number in (1, 2):
        done = project.json("apply", "localhost", "it")
        rets = {tag.split("_|-")[1]: ret for tag, ret in done.data["localhost"].items() if tag.startswith("zwait")}
        assert rets["second"]["result"] is True, rets
        assert rets[f"{tmp_path}/program"]["result"] is (number == 2)


def test_a_state_that_raises(project):
    project.write("salt/it.sls", "a:\n  zz.present: [{bang: true}]\n")
    process = project.start("apply", "--out", "json", "localhost", "it")
    out, _ = process.communicate(timeout=60)
    (ret,) = values(json.loads(out)["localhost"])
    assert process.returncode == 2 and ret["result"] is False and ret["__salt_python__"] == "12.3"
    assert ret["comment"].startswith("An exception occurred in this state: Traceback")
    assert 'File "salt/states/zz.py", line 5, in present' in ret["comment"] and "ValueError: bang" in ret["comment"]


@pytest.mark.parametrize(
    "sls, text",
    [
        ("a:\n  zz.absent: []\n", "State 'zz.absent' was not found in SLS 'it'"),
        ("a:\n  zz.present: [{valeu: 1}]\n", "'valeu' is an invalid keyword argument for 'zz.present'"),
        ("a:\n  yy.present: []\n", "State 'yy.present' was not found in SLS 'it'"),
    ],
)
def test_checked_before_anything_runs(project, sls, text):
    project.write("salt/it.sls", sls)
    done = project.json("apply", "localhost", "it")
    assert done.code == 2 and text in done.data["localhost"][0]


def test_off_by_default(tmp_path):
    project = Project(tmp_path)
    project.write("salt/it.sls", "a:\n  zz.present: []\n")
    assert "was not found" in project.json("apply", "localhost", "it").data["localhost"][0]
    assert error(project.json("run", "localhost", "zz.other"))[1] == "'zz.other' is not available."


def test_a_python_that_is_no_good(tmp_path, fake):
    plain = tmp_path / "plain"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", plain], check=True)
    for python, text in (
        (tmp_path / "nothing", "No such file or directory"),
        (plain / "bin" / "python", "it has no Salt"),
        (Path("/bin/true"), "it does not run as a Python"),
    ):
        done = Project(tmp_path, salt_python=str(python)).run("run", "localhost", "test.ping")
        assert done.code == 1 and "salt_python" in done.err and text in done.err


def test_a_target_with_an_older_python(tmp_path, fake):
    found = Path(fake).parent.parent
    [meta] = found.glob("lib/python3*/site-packages/salt-12.3.dist-info/METADATA")
    text = meta.read_text()
    meta.write_text(text.replace(">=3.6", ">=3.99"))
    try:
        os.utime(meta.parent.parent)
        done = Project(tmp_path, salt_python=str(fake)).json("run", "localhost", "zz.other")
    finally:
        meta.write_text(text)
        os.utime(meta.parent.parent)
    assert "Salt 12.3, whose own module would do it, needs Python 3.99 or newer; this target has 3." in error(done)[1]


def test_salt_gets_only_the_data_that_it_needs(project, fake):
    from pushsalt.cache.store import Bank
    from pushsalt.modules.saltpython import SaltPython

    salt = SaltPython(str(fake), Bank(project.cache, "salt"))
    for name in ("unrelated", "salt.../../x", "os", "pip", "salt.modules.nothing", "salt.modules.zmod.x", "", "."):
        given = salt.answer({"import": name})
        assert {file[0].partition(".")[0] for file in given["files"]} <= {"salt", "purelib", "mixedlib"}, name
        assert given["native"] is False and name not in [file[0] for file in given["files"]]
    for question in ({}, {"import": 5}, {"module": "x"}, {"module": ["modules", 5]}, {"digests": "x"}):
        assert "error" in salt.answer(question)
    assert salt.answer({"digests": [["00", None]]})["digests"] == []


REAL = os.environ.get("SALT_PYTHON")


@pytest.mark.salt
@pytest.mark.skipif(bool(no_salt()), reason=no_salt() or "-")
def test_real_salt(tmp_path):
    project = Project(tmp_path, salt_python=str(REAL))
    assert ran(project, "salt_version.get_release_number", "sodium") == "3001"
    project.write("salt/it.sls", "a:\n  highstate_doc.note:\n    - contents: what is done by hand\n")
    (ret,) = values(project.json("apply", "localhost", "it").data["localhost"])
    assert ret["result"] is True and ret["__salt_python__"].startswith("30"), ret
