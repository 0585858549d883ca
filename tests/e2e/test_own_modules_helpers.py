"""Imports of Salt in users' own modules, errors of modules that fail to load, and their transfer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.beds import sshd
from tests.beds.project import Project, values

pytestmark = pytest.mark.slow

FILES = {
    "salt/_modules/helped.py": """
import dataclasses
import logging

import salt.modules.cmdmod
import salt.utils.files
import salt.utils.path
import salt.utils.yaml
from salt.exceptions import CommandExecutionError
from salt.ext import six
from salt.utils.decorators import depends, memoize
from salt.utils.versions import LooseVersion

import words

log = logging.getLogger(__name__)


@dataclasses.dataclass
class Pair:
    left: "int"
    right: int = 2


def all_of_it(path):
    with salt.utils.files.fopen(path, "w") as handle:
        handle.write("a: [1, 2]")
    with salt.utils.files.fopen(path) as handle:
        found = salt.utils.yaml.safe_load(handle)
    log.warning("said by %s", __name__)
    quiet = salt.modules.cmdmod._run_quiet("echo quiet")
    return {"yaml": found, "sh": bool(salt.utils.path.which("sh")), "newer": LooseVersion("1.10") > "1.9",
            "text": six.text_type(1), "quiet": quiet, "pair": dataclasses.astuple(Pair(1)), "words": words.shout("a")}


def fail():
    raise CommandExecutionError("as Salt says it")


@depends("no_such_name")
def never():
    return True


@memoize
def remembered(x):
    return x


def mine():
    return __grains__["id"]
""",
    "salt/_utils/words.py": "def shout(text):\n    return text.upper()\n",
    "salt/_modules/broken.py": "import os\n\nimport nothing_of_the_kind\n\n\ndef it():\n    return 1\n",
    "salt/_modules/leaves.py": "import sys\nsys.exit(3)\n",
    "salt/_modules/test.py": "def ping():\n    return 'mine'\n\n\ndef echo(text):\n    return [text]\n",
    "salt/_modules/local.py": (
        "__controller__ = ('here',)\n\n\ndef here():\n    return __grains__['id'] + __utils__['words.shout']('x')\n"
        "\n\ndef there():\n    return __salt__['cmd.run']('echo there')\n"
    ),
    "salt/_modules/pack/__init__.py": "from . import inner\n\n\ndef it():\n    return inner.value\n",
    "salt/_modules/pack/inner.py": "value = 'inner'\n",
    "salt/_grains/fine.py": (
        "import salt.utils.platform\n\n\ndef fine():\n    return {'fine': salt.utils.platform.is_windows()}\n"
    ),
    "salt/_grains/bad.py": "def bad():\n    return {}['key']\n",
    "salt/_serializers/shout.py": "def serialize(obj, **options):\n    return str(obj).upper()\n",
    "salt/_renderers/upper.py": (
        "import salt.utils.stringutils\n\n\ndef render(text, saltenv='base', sls='', **kwargs):\n"
        "    text = text if isinstance(text, str) else text.read()\n"
        "    return salt.utils.stringutils.to_unicode(text).replace('NAME', 'named')\n"
    ),
    "salt/sync.sls": (
        "sync:\n  saltutil.sync_all:\n    - refresh: True\n"
        "call:\n  module.run:\n    - saltutil.sync_grains:\n      - refresh: True\n"
    ),
    "salt/shown.sls": (
        "#!upper|jinja|yaml\nNAME-{{ salt['local.here']() }}-{{ salt['local.there']() }}:\n  test.nop\n"
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path, {"it": {"transport": "local"}})
    project.files(FILES)
    return project


def test_users_modules_import_salts_helpers(project: Project, tmp_path: Path) -> None:
    done = project.json("run", "it", "helped.all_of_it", str(tmp_path / "text"))
    assert done.data["it"] == {
        "yaml": {"a": [1, 2]},
        "sh": True,
        "newer": True,
        "text": "1",
        "quiet": "quiet",
        "pair": [1, 2],
        "words": "A",
    }
    assert "said by salt.loaded.ext.module.helped" in done.err
    failed = project.json("run", "it", "helped.fail").error("it")
    assert (failed["kind"], failed["exception"], failed["message"]) == (
        "exception",
        "CommandExecutionError",
        "as Salt says it",
    )
    assert project.json("run", "it", "helped.never").error("it")["kind"] == "unknown_function"
    assert project.json("run", "it", "pack.it").data == {"it": "inner"}


def test_a_module_that_cannot_be_loaded_is_reported_with_its_line(project: Project) -> None:
    done = project.json("run", "it", "broken.it")
    assert done.error("it")["kind"] == "unknown_function"
    assert "_modules/broken.py:3: ModuleNotFoundError: No module named 'nothing_of_the_kind'" in done.err
    assert "Traceback" not in done.err + done.out
    done = project.json("run", "it", "leaves.it")
    assert done.error("it")["kind"] == "unknown_function" and "_modules/leaves.py:2: SystemExit: 3" in done.err
    done = project.json("run", "it", "grains.get", "fine")
    assert done.data == {"it": False}
    assert "bad.bad is missing: _grains/bad.py:2: KeyError: 'key'" in done.err


def test_a_users_module_replaces_one_of_the_same_name(project: Project) -> None:
    assert project.json("run", "it", "test.ping").data == {"it": "mine"}
    assert project.json("run", "it", "test.nop").error("it")["kind"] == "unknown_function"


def test_renderers_serializers_and_controller_modules_are_used(project: Project, tmp_path: Path) -> None:
    shown = project.json("apply", "it", "shown")
    assert [ret["name"] for ret in values(shown.data["it"])] == ["named-itX-there"]
    name = str(tmp_path / "shouted")
    done = project.json("run", "it", "state.single", "file.serialize", name, "dataset={a: b}", "serializer=shout")
    assert [ret["result"] for ret in values(done.data["it"])] == [True], done.out
    assert Path(name).read_text() == "{'A': 'B'}\n"


def test_states_synchronize_modules(project: Project) -> None:
    state, call = values(project.json("apply", "it", "sync").data["it"])
    assert (state["result"], state["changes"]) == (True, {})
    assert (call["result"], call["changes"]) == (True, {"saltutil.sync_grains": ["grains.bad", "grains.fine"]})
    synchronized = project.json("run", "it", "saltutil.sync_all").data["it"]
    assert (synchronized["serializers"], synchronized["renderers"]) == (["serializers.shout"], ["renderers.upper"])


def test_suggestions_include_users_functions(project: Project) -> None:
    assert "helped.mine" in project.json("run", "it", "helped.mne").error("it")["hint"]


def test_the_archive_of_modules_is_sent_once_and_verified(project: Project) -> None:
    private = project.home / ".cache" / "pushsalt"

    def suffixes() -> list[str]:
        return sorted(path.suffix for path in private.glob("user-*"))

    assert project.json("run", "it", "helped.mine").data == {"it": "it"}
    assert suffixes() == [".img", ".tar"]
    [tar] = private.glob("user-*.tar")
    assert tar.stat().st_mode & 0o777 == 0o600
    before = tar.stat()
    assert project.json("run", "it", "helped.mine").data == {"it": "it"}
    assert tar.stat().st_mtime_ns == before.st_mtime_ns, "it was not sent again"
    intact = tar.read_bytes()
    for damaged in (intact.replace(b"__grains__", b"__grxins__"), intact[:700], b""):
        tar.write_bytes(damaged)
        assert project.json("run", "it", "helped.mine").data == {"it": "it"}
        assert tar.read_bytes() == intact
    os.unlink(tar)
    assert project.json("run", "it", "helped.mine").data == {"it": "it"}
    project.write("salt/_modules/helped.py", "def mine():\n    return 'changed'\n")
    assert project.json("run", "it", "helped.mine").data == {"it": "changed"}
    assert len(list(private.glob("user-*.tar"))) == 2
    assert project.run("clean", "it").code == 0
    assert not private.exists()


def test_no_archive_is_sent_without_users_modules(tmp_path: Path) -> None:
    project = Project(tmp_path, {"it": {"transport": "local"}})
    assert project.json("run", "it", "test.ping").data == {"it": True}
    assert not list((project.home / ".cache" / "pushsalt").glob("user-*"))


@pytest.mark.sshd
def test_users_modules_run_over_ssh(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    if reason := sshd.missing():
        pytest.skip(reason)
    with sshd.sshd_bed(tmp_path_factory.mktemp("sshd"), 2) as bed:
        project = Project(tmp_path, bed.inventory()["hosts"])
        (project.home / ".ssh" / "known_hosts").write_bytes(Path(bed.known_hosts).read_bytes())
        project.files(FILES)
        for _ in range(2):
            done = project.json("run", "*", "helped.mine")
            assert (done.code, done.data) == (0, {"t1": "t1", "t2": "t2"})
        assert project.json("apply", "t1", "shown").code == 0
