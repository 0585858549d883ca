"""Functions that templates, guards and slots may call in a dry run."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from pushsalt.api import Client, JobOptions, Selection, Settings
from pushsalt.minion.dryrun import treatment
from pushsalt.modules.effects import CHANGES, READS, RUNS, SILENT
from pushsalt.options import OPTIONS

pytestmark = pytest.mark.slow

KINDS = {"pkg.install": CHANGES, "pkg.version": READS, "cmd.run": RUNS, "cmd.which": READS, "mine_own.get": SILENT}


@pytest.mark.parametrize(
    "name, opts, want",
    [
        ("pkg.install", {}, "refuse"),
        ("pkg.version", {}, "allow"),
        ("cmd.run", {}, "warn"),
        ("cmd.which", {}, "allow"),
        ("mine_own.get", {}, "refuse"),
        ("mine_own.get", {"test_template_functions": "warn"}, "warn"),
        ("mine_own.get", {"test_template_functions": "allow"}, "allow"),
        ("mine_own.get", {"test_template_allow": ["mine_own.*"]}, "allow"),
        ("pkg.install", {"test_template_functions": "warn"}, "warn"),
        ("pkg.install", {"test_template_functions": "allow"}, "allow"),
        ("cmd.run", {"test_template_functions": "allow"}, "allow"),
        ("pkg.install", {"test_template_functions": "nonsense"}, "refuse"),
        ("pkg.install", {"test_template_allow": ["pkg.*"]}, "allow"),
        ("cmd.run", {"test_template_allow": ["cmd.*"]}, "allow"),
        ("cmd.run", {"test_template_refuse": ["cmd.*"]}, "refuse"),
        ("cmd.run", {"test_template_refuse": ["cmd.*"], "test_template_allow": ["cmd.run"]}, "allow"),
        ("cmd.run", {"test_template_refuse": ["cmd.*"], "test_template_allow": ["cmd*"]}, "refuse"),
        ("pkg.version", {"test_template_refuse": ["pkg.*"]}, "refuse"),
    ],
)
def test_treatment(name, opts, want):
    assert treatment(name, opts, KINDS[name]) == want


def test_default_options_of_dry_runs():
    assert OPTIONS["test_template_functions"].default == "refuse"
    assert OPTIONS["test_template_allow"].default == OPTIONS["test_template_refuse"].default == []


OWN = (
    "__changes__ = ('put',)\n__reads__ = ('get',)\n\n"
    "def put(path):\n    open(path, 'w').close()\n\ndef get():\n    return 7\n"
)


class Tree:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made = folder / "made"
        self.write("salt/_modules/mine_own.py", OWN)
        self.write("inventory.yaml", json.dumps({"hosts": {"it": {"transport": "local"}}}))

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def apply(self, sls: str, *, test: bool = True, **config):
        self.write("salt/web.sls", sls)
        trees = {"file_roots": {"base": ["salt"]}, "pillar_roots": {"base": ["pillar"]}}
        self.write("pushsalt.yaml", json.dumps({**trees, **config}))
        settings = Settings([self.folder / "inventory.yaml"], self.folder / "pushsalt.yaml")
        settings = Settings(settings.inventories, settings.config, cache_dir=self.folder / "cache")
        [result] = Client(settings).apply(Selection("it"), ["web"], JobOptions(test=test)).values()
        return result


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def comments(result) -> str:
    assert result.shape == "states", result.ret
    return " ".join(sorted(ret["name"] for ret in result.ret.values()))


REFUSED = "changes the system, and this is a dry run: it was not called"


@pytest.mark.parametrize("function", ["file.write", "mine_own.put"])
def test_a_changing_function_is_refused_with_its_line(tree, function):
    lib = "{% macro make(path) %}\n{{ salt['FUN'](path) }}\n{% endmacro %}\n".replace("FUN", function)
    tree.write("salt/lib.jinja", lib)
    sls = "{% from 'lib.jinja' import make %}\n# " + "{{ make('" + str(tree.made) + "') }}\nx: test.nop\n"
    result = tree.apply(sls)
    [text] = result.ret
    assert f"{function} {REFUSED}" in text
    assert f"in {tree.folder}/salt/lib.jinja:2\n  from {tree.folder}/salt/web.sls:2" in text
    assert "hint: leave it out with {% if not opts.test %}" in text
    assert not tree.made.exists()


def test_without_test_it_runs(tree):
    result = tree.apply(f"# {{{{ salt['mine_own.put']('{tree.made}') }}}}\nx: test.nop\n", test=False)
    assert comments(result) == "x"
    assert tree.made.exists()


def test_other_renderers_are_refused_too(tree):
    result = tree.apply(f"#!py\ndef run():\n    __salt__['file.touch']('{tree.made}')\n    return {{}}\n")
    [text] = result.ret
    assert REFUSED in text and "web.sls:3" in text
    assert not tree.made.exists()


def test_the_pillar_is_refused_too(tree):
    tree.write("pillar/top.sls", "base: {'*': [p]}\n")
    tree.write("pillar/p.sls", f"a: {{{{ salt['file.touch']('{tree.made}') }}}}\n")
    result = tree.apply("x: test.nop\n")
    assert REFUSED in result.ret[1] and "pillar/p.sls:1" in result.ret[1]
    assert not tree.made.exists()


def test_guards_and_reading_functions(tree):
    sls = (
        "{% if not opts.test %}{% do salt['file.touch']('" + str(tree.made) + "') %}{% endif %}\n"
        "'a{{ salt['mine_own.get']() }}-{{ opts['test'] }}': test.nop\n"
    )
    assert comments(tree.apply(sls)) == "a7-True"
    assert not tree.made.exists()
    assert comments(tree.apply(sls.replace("touch", "directory_exists"), test=False)) == "a7-False"


def test_commands_run_and_are_said_once(tree, caplog):
    sls = "{% for i in range(3) %}\na{{ i }}{{ salt['cmd.run']('echo -n x') }}: test.nop\n{% endfor %}\n"
    with caplog.at_level(logging.WARNING):
        assert comments(tree.apply(sls)) == "a0x a1x a2x"
    said = [record.getMessage() for record in caplog.records if "dry run" in record.getMessage()]
    assert said == [f"{tree.folder}/salt/web.sls:2: cmd.run runs a command, in a dry run too"]
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert comments(tree.apply(sls, test_template_allow=["cmd.*"])) == "a0x a1x a2x"
        assert comments(tree.apply(sls, test=False)) == "a0x a1x a2x"
    assert "dry run" not in caplog.text
    [text] = tree.apply(sls, test_template_refuse=["cmd.run"]).ret
    assert "cmd.run is among `test_template_refuse`, and this is a dry run: it was not called" in text


def test_commands_of_python_are_said_with_their_line(tree, caplog):
    sls = "#!py\ndef run():\n    return {__salt__['cmd.run']('echo -n x'): {'test.nop': []}}\n"
    with caplog.at_level(logging.WARNING):
        assert comments(tree.apply(sls)) == "x"
    assert f"{tree.folder}/salt/web.sls:3: cmd.run runs a command, in a dry run too" in caplog.text


def test_it_can_be_let_through(tree, caplog):
    sls = f"# {{{{ salt['file.touch']('{tree.made}') }}}}\nx: test.nop\n"
    with caplog.at_level(logging.WARNING):
        assert comments(tree.apply(sls, test_template_functions="warn")) == "x"
    assert tree.made.exists()
    assert "file.touch changes the system, in a dry run too" in caplog.text


SILENT_OWN = "def put(path):\n    open(path, 'w').close()\n"


def test_functions_without_declared_effects_are_refused_with_a_hint(tree):
    tree.write("salt/_modules/quiet.py", SILENT_OWN)
    sls = f"# {{{{ salt['quiet.put']('{tree.made}') }}}}\nx: test.nop\n"
    [text] = tree.apply(sls).ret
    assert "quiet.put does not say whether it changes the system, and this is a dry run: it was not called" in text
    assert f"write `__reads__ = ('put',)` into {tree.folder}/salt/_modules/quiet.py if it changes nothing" in text
    assert "`test_template_allow: ['quiet.put']`" in text
    assert not tree.made.exists()
    assert comments(tree.apply(sls, test_template_allow=["quiet.put"])) == "x"
    assert tree.made.exists()


def test_arguments_decide_where_the_module_says_so(tree):
    (tree.folder / "old").touch()
    for words in (f"'{tree.folder}', delete='f'", f"'{tree.folder}', 'delete', name='old'"):
        [text] = tree.apply(f"# {{{{ salt['file.find']({words}) }}}}\nx: test.nop\n").ret
        assert "file.find with `delete` changes the system, and this is a dry run" in text
    for call, argument in (
        (f"git.diff']('{tree.folder}', opts='--output={tree.made}')", "opts"),
        (f"git.ls_remote'](remote='{tree.folder}', opts='--upload-pack={tree.made}')", "opts"),
        (f"git.rev_parse']('{tree.folder}', 'HEAD', git_opts='-c core.fsmonitor={tree.made}')", "git_opts"),
        (f"file.sed_contains']('{tree.folder}/old', 'a', flags='w {tree.made}')", "flags"),
    ):
        [text] = tree.apply(f"# {{{{ salt['{call} }}}}\nx: test.nop\n").ret
        assert f"with `{argument}` changes the system, and this is a dry run" in text
    found = "{{ salt['file.find']('FOLDER', name='old') | first }}: test.nop\n".replace("FOLDER", str(tree.folder))
    assert comments(tree.apply(found)) == f"{tree.folder}/old"


@pytest.mark.parametrize("engine", ["py", "jinja|py", "mako", "wempy", "pyobjects", "stateconf"])
def test_every_renderer_is_refused(tree, engine):
    call = f"__salt__['hashutil.base64_decodefile']('aGk=', '{tree.made}')"
    texts = {
        "mako": f"#!mako|yaml\n# ${{salt['hashutil.base64_decodefile']('aGk=', '{tree.made}')}}\nx: test.nop\n",
        "pyobjects": f"#!pyobjects\n{call}\n",
        "wempy": f"#!wempy|yaml\n# {{{{{call.replace('__salt__', 'salt')}}}}}\nx: test.nop\n",
        "stateconf": f"#!stateconf\n# {{{{ {call.replace('__salt__', 'salt')} }}}}\nx: test.nop\n",
    }
    result = tree.apply(texts.get(engine, f"#!{engine}\ndef run():\n    {call}\n    return {{}}\n"))
    assert result.shape != "states"
    assert f"hashutil.base64_decodefile {REFUSED}" in str(result.ret)
    assert not tree.made.exists()


@pytest.mark.parametrize("engine", ["py", "jinja", "mako"])
def test_templates_of_files_are_refused(tree, engine):
    call = f"salt['file.touch']('{tree.made}')"
    texts = {"py": f"def run():\n    __{call.replace('salt', 'salt__', 1)}\n    return 'x'\n", "mako": f"${{{call}}}"}
    tree.write("salt/f", texts.get(engine, f"{{{{ {call} }}}}"))
    result = tree.apply(f"{tree.folder}/out:\n  file.managed: [{{source: 'salt://f'}}, {{template: {engine}}}]\n")
    [ret] = result.ret.values()
    assert (ret["result"], tree.made.exists()) == (False, False)
    assert f"file.touch {REFUSED}" in ret["comment"]


def test_guards_and_slots_are_refused(tree):
    tree.write("salt/_modules/quiet.py", SILENT_OWN)
    guard = f"[{{fun: file.touch, name: {tree.made}}}]"
    sls = (
        f"a: {{test.nop: [{{onlyif: {guard}}}]}}\n"
        f"b: {{test.nop: [{{unless: {guard}}}]}}\n"
        f"c: {{test.configurable_test_state: [{{comment: '__slot__:salt:file.touch({tree.made})'}}]}}\n"
        f"d: {{test.configurable_test_state: [{{comment: '__slot__:salt:quiet.put({tree.made})'}}]}}\n"
        f"e: {{test.nop: [{{unless: [{{fun: file.find, args: [{tree.folder}, delete]}}]}}]}}\n"
        "f: {test.nop: [{unless: [{fun: file.file_exists, args: [/no/such]}]}]}\n"
        "g: {test.nop: [{onlyif: ['true', {fun: cmd.retcode, cmd: 'true'}]}]}\n"
        "h: {test.configurable_test_state: [{comment: '__slot__:salt:test.echo(hi)'}]}\n"
        f"i: {{test.nop: [{{onlyif: ['false']}}, {{unless: {guard}}}]}}\n"
    )
    result = tree.apply(sls)
    rets = {ret["__id__"]: ret for ret in result.ret.values()}
    said = {name: ret["comment"] for name, ret in rets.items()}
    assert said["a"].startswith(f"onlyif: file.touch {REFUSED}\nhint: the options `test_template_functions`")
    assert said["b"].startswith(f"unless: file.touch {REFUSED}")
    assert said["c"].startswith(f"a slot: file.touch {REFUSED}")
    assert said["d"].startswith("a slot: quiet.put does not say whether it changes the system")
    assert "`__reads__ = ('put',)`" in said["d"] and "_modules/quiet.py" in said["d"]
    assert said["e"].startswith("unless: file.find with `delete` changes the system")
    assert said["h"] == "hi"
    assert {name for name, ret in rets.items() if ret["result"] is False} == set("abcdei")
    assert not tree.made.exists() and (tree.folder / "pushsalt.yaml").exists()
    allowed = tree.apply(sls.split("d: ")[0], test_template_allow=["file.touch"])
    assert all(ret["result"] is not False for ret in allowed.ret.values())
    assert tree.made.exists()


def test_arguments_of_a_guard_that_are_no_list(tree):
    guard = f"{{fun: file.find, args: {{{tree.folder}: 1, delete: 1}}}}"
    [ret] = tree.apply(f"a: {{test.nop: [{{onlyif: [{guard}]}}]}}\n").ret.values()
    assert ret["result"] is False and "file.find with `delete` changes the system" in ret["comment"]
    assert (tree.folder / "pushsalt.yaml").exists()


@pytest.mark.parametrize(
    "function",
    [
        "stats = lambda path: open(path, 'w').close()\n",
        "if True:\n    def stats(path):\n        open(path, 'w').close()\n",
        "def put(path):\n    open(path, 'w').close()\n\nstats, more = put, 1\n",
        "def put(path):\n    open(path, 'w').close()\n\nglobals()['stats'] = put\n",
        "from pathlib import Path\nPut = Path.touch\nstats: object = lambda path: Path(path).touch()\n",
    ],
)
def test_a_function_of_ours_that_a_users_module_replaces(tree, function):
    """However the module is written: pushsalt's own declaration does not apply to the user's function."""
    tree.write("salt/_modules/file_own.py", f"__virtualname__ = 'file'\n{function}")
    template = tree.apply(f"{{{{ salt['file.stats']('{tree.made}') }}}}\na: {{test.nop: []}}\n")
    assert "file.stats does not say whether it changes the system" in template.ret[0]
    [ret] = tree.apply(f"a: {{test.nop: [{{onlyif: [{{fun: file.stats, path: {tree.made}}}]}}]}}\n").ret.values()
    assert "file.stats does not say whether it changes the system" in ret["comment"]
    assert not tree.made.exists()


def test_a_function_of_the_controller_that_a_users_module_has_on_the_target(tree):
    tree.write("salt/_modules/saltutil.py", "def sync_all(path):\n    open(path, 'w').close()\n")
    [ret] = tree.apply(f"a: {{test.nop: [{{onlyif: [{{fun: saltutil.sync_all, path: {tree.made}}}]}}]}}\n").ret.values()
    assert not tree.made.exists()
    assert "saltutil.sync_all does not say whether it changes the system" in ret["comment"]


def test_slots_that_run_commands_are_said(tree, caplog):
    sls = "a: {test.configurable_test_state: [{comment: '__slot__:salt:cmd.run(\"echo hi\")'}]}\n"
    with caplog.at_level(logging.WARNING):
        [ret] = tree.apply(sls).ret.values()
    assert ret["comment"] == "hi"
    assert "a in SLS web: a slot: cmd.run runs a command, in a dry run too" in caplog.text


def test_a_real_run_calls_all(tree):
    guard = f"[{{fun: file.touch, name: {tree.made}}}]"
    [ret] = tree.apply(f"a: {{test.nop: [{{onlyif: {guard}}}]}}\n", test=False).ret.values()
    assert ret["result"] is True and tree.made.exists()
