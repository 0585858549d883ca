"""Renderers for files of a git remote: a file that asks for a forbidden one is an error, and is not run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.errors import ConfigError
from pushsalt.git.settings import gitfs_remotes, pillar_remotes
from tests.beds.gitserver import Repo

pytestmark = pytest.mark.slow

DATA = ["jinja", "yaml", "json"]
#: Python that creates a file on the controller if it is run.
MARK = "import pathlib\npathlib.Path({mark!r}).write_text('ran')\n"


class Bed:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = folder / "mark"
        self.code = MARK.format(mark=str(self.mark))
        self.sls = f"#!py\n{self.code}\ndef run():\n    return {{'a': {{'test.nop': []}}}}\n"

    def repo(self, name: str = "r", **files: str) -> Repo:
        return Repo(self.folder / f"{name}.git", {name.replace("__", "/"): text for name, text in files.items()})

    def client(self, transport: str = "offline", **config: Any) -> Client:
        path = self.folder / "pushsalt.yaml"
        roots = {"file_roots": {"base": [str(self.folder / "salt")]}, "fileserver_backend": ["git", "roots"]}
        path.write_text(json.dumps({"cache_dir": str(self.folder / "cache"), **roots, **config}))
        (self.folder / "salt").mkdir(exist_ok=True)
        inventory = self.folder / "inventory.yaml"
        inventory.write_text(json.dumps({"hosts": {"it": {"transport": transport, "grains": {"os": "Debian"}}}}))
        return Client(Settings(config=path, inventories=[inventory]))

    def low(self, client: Client, sls: str) -> Any:
        return client.run(Selection("it"), "state.show_low_sls", [sls])["it"].ret


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bed:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / "cache"))
    (tmp_path / "home").mkdir()
    return Bed(tmp_path)


def test_an_sls_that_asks_for_more_is_an_error(bed: Bed) -> None:
    repo = bed.repo(
        **{
            "py.sls": bed.sls,
            "plain.sls": "b:\n  test.nop: []\n",
            "pipe.sls": f"#!jinja|py\n{bed.code}",
            "within.sls": f"#!stateconf py . jinja\n{bed.code}",
        }
    )
    made = bed.client(gitfs_remotes=[{repo.url: [{"renderers": [*DATA, "stateconf"]}]}])
    for sls in ("py", "pipe", "within"):
        (error,) = bed.low(made, sls)
        assert "the renderer 'py' is not allowed for files of the git remote file://" in error
        assert f":{sls}.sls:1" in error and "add py to `renderers` of the git remote" in error
    assert [chunk["__id__"] for chunk in bed.low(made, "plain")] == ["b"]
    assert not bed.mark.exists()


@pytest.mark.parametrize("renderers", [None, [*DATA, "py"]])
def test_a_remote_without_the_option_uses_all(bed: Bed, renderers: Any) -> None:
    repo = bed.repo(**{"py.sls": bed.sls})
    entry = repo.url if renderers is None else {repo.url: [{"renderers": renderers}]}
    assert [chunk["__id__"] for chunk in bed.low(bed.client(gitfs_remotes=[entry]), "py")] == ["a"]
    assert bed.mark.exists()


def test_the_option_is_global_too_and_the_remote_s_own_wins(bed: Bed) -> None:
    one, two = bed.repo("one", **{"one.sls": bed.sls}), bed.repo("two", **{"two.sls": bed.sls})
    made = bed.client(gitfs_renderers=DATA, gitfs_remotes=[one.url, {two.url: [{"renderers": "jinja, yaml, py"}]}])
    assert "not allowed" in bed.low(made, "one")[0]
    assert not bed.mark.exists()
    assert bed.low(made, "two")[0]["__id__"] == "a"


@pytest.mark.parametrize(
    "text",
    [
        "{{ salt['slsutil.renderer']('salt://py.sls') }}",
        "{{ salt['slsutil.renderer']('salt://plain.txt', default_renderer='py') }}",
        "{{ salt['slsutil.renderer'](string=code, default_renderer='py') }}",
        "{{ salt['slsutil.renderer'](string='#!py\\n' ~ code) }}",
        "{% do opts.update({'renderer': 'py'}) %}{{ salt['slsutil.renderer'](string='#!py\\n' ~ code) }}",
    ],
)
def test_no_template_leads_round_it(bed: Bed, text: str) -> None:
    code = f"{{% set code = {bed.code!r} ~ '\ndef run(): return {{}}' %}}\n"
    files = {"a.sls": f"{code}{text}\n", "py.sls": bed.sls, "plain.txt": bed.sls.partition("\n")[2]}
    made = bed.client(gitfs_remotes=[{bed.repo(**files).url: [{"renderers": DATA}]}])
    (error,) = bed.low(made, "a")
    assert "'py' is" in error and not bed.mark.exists()


def test_a_managed_file_s_template(bed: Bed) -> None:
    state = "{}:\n  file.managed:\n    - source: salt://{}\n    - template: {}\n"
    files = {
        "py.sls": state.format(bed.folder / "made", "made.py", "py"),
        "mako.sls": state.format(bed.folder / "made", "made.mako", "mako"),
        "made.py": bed.sls,
        "made.mako": f"<%\n{bed.code}%>\n",
    }
    made = bed.client("local", gitfs_remotes=[{bed.repo(**files).url: [{"renderers": DATA}]}])
    for engine in ("py", "mako"):
        (ret,) = made.apply(Selection("it"), [engine])["it"].ret.values()
        assert ret["result"] is False
        assert f"the renderer '{engine}' is not allowed for files of the git remote" in ret["comment"], ret
        assert f":made.{engine}" in ret["comment"] and "add " + engine in ret["comment"]
    assert not bed.mark.exists() and not (bed.folder / "made").exists()


def test_files_that_others_include(bed: Bed) -> None:
    """A file of the operator's that includes a remote's file in a Python-based language does not run it either."""
    repo = bed.repo(**{"theirs.sls": bed.code, "theirs.mako": f"<%\n{bed.code}%>\n"})
    made = bed.client(gitfs_remotes=[{repo.url: [{"renderers": DATA}]}])
    (bed.folder / "salt" / "a.sls").write_text("#!pyobjects\nimport salt://theirs.sls\n")
    (bed.folder / "salt" / "b.sls").write_text('#!mako|yaml\n<%include file="salt://theirs.mako"/>\n')
    for sls in ("a", "b"):
        assert "not allowed for files of the git remote" in bed.low(made, sls)[0]
    assert not bed.mark.exists()


def test_pillar_of_a_remote(bed: Bed) -> None:
    repo = bed.repo(**{"top.sls": "base: {'*': [p]}", "p.sls": bed.sls})
    for renderers, want in ((DATA, "not allowed for files of the git remote"), ([*DATA, "py"], None)):
        made = bed.client(ext_pillar=[{"git": [{f"master {repo.url}": [{"renderers": renderers}]}]}])
        done = made.run(Selection("it"), "pillar.items", [], {"unmask": True})["it"]
        if want:
            assert want in json.dumps(done.ret) and not bed.mark.exists()
        else:
            assert "a" in done.ret and bed.mark.exists()


@pytest.mark.parametrize("renderers, runs", [(DATA, False), ([*DATA, "py", "own"], True)])
def test_plug_ins_of_a_remote(bed: Bed, renderers: list[str], runs: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Python for the controller: renderers, external pillars, and modules."""
    own = f"{bed.code}\ndef render(data, saltenv='base', sls='', **kwargs):\n    return {{'a': {{'test.nop': []}}}}\n"
    module = f"{bed.code}\n__controller__ = True\ndef here(): return 1\n"
    files = {
        "_renderers/own.py": own,
        "_renderers/yaml.py": own,
        "own.sls": "#!own\n",
        "plain.sls": "b:\n  test.nop: []\n",
        "_modules/mine.py": module,
        "_utils/tool.py": bed.code,
        "mine.sls": "{{ salt['mine.here']() }}: {test.nop: []}\n",
    }
    made = bed.client(gitfs_remotes=[{bed.repo(**files).url: [{"renderers": renderers}]}])
    own_low, plain_low, mine_low = (bed.low(made, sls) for sls in ("own", "plain", "mine"))
    if runs:
        assert own_low[0]["__id__"] == "a" and bed.mark.exists()
    else:
        assert "not allowed" in own_low[0] and plain_low[0]["__id__"] == "b"
        assert "offline" in json.dumps(mine_low)  # the target is asked, as for any other module
        assert (
            "is not loaded, since it would run on the controller" in caplog.text and "_renderers/yaml.py" in caplog.text
        )
        assert not bed.mark.exists()


def test_modules_of_a_remote_run_on_targets(bed: Bed) -> None:
    repo = bed.repo(**{"_modules/mine.py": "__controller__ = True\ndef there(): return __grains__['id']\n"})
    made = bed.client("local", gitfs_remotes=[{repo.url: [{"renderers": DATA}]}])
    assert made.run(Selection("it"), "mine.there")["it"].ret == "it"


def test_remotes_with_one_copy_have_their_own(bed: Bed) -> None:
    repo = bed.repo(**{"py.sls": bed.sls})
    entry = [{"renderers": DATA}, {"mountpoint": "salt://limited"}]
    made = bed.client(gitfs_remotes=[{repo.url: entry}, {repo.url: [{"name": "all"}]}])
    assert "not allowed" in bed.low(made, "limited.py")[0] and not bed.mark.exists()
    assert bed.low(made, "py")[0]["__id__"] == "a"


def test_what_the_option_takes() -> None:
    entry = {"file:///r.git": [{"renderers": None}]}
    assert gitfs_remotes({"gitfs_remotes": [entry]})[0].limit is None
    [remote] = pillar_remotes(["master file:///r.git"], {"git_pillar_renderers": ["jinja"]})
    assert remote.limit is not None and remote.limit.engines == {"jinja"}
    [none] = gitfs_remotes({"gitfs_remotes": [{"file:///r.git": [{"renderers": []}]}]})
    assert none.limit is not None and not none.limit.engines
    with pytest.raises(ConfigError, match="not the name of a renderer"):
        gitfs_remotes({"gitfs_remotes": [{"file:///r.git": [{"renderers": ["jinja|yaml"]}]}]})
