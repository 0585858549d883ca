"""Renderers compared with Salt's results for the same files (cases/renderers), and those that only pushsalt has."""

from __future__ import annotations

import base64
import sys
from pathlib import Path

import msgpack
import pytest

from pushsalt import plugins
from pushsalt.errors import RenderError
from pushsalt.model import Completed
from pushsalt.render import render_text
from pushsalt.render.pipeline import decrypt_value
from pushsalt.trust import Trusted
from pushsalt.yamlio import load_yaml
from thin.utils import data

CASES = {
    f"{file.stem}: {name}": case
    for file in sorted((Path(__file__).parent / "cases" / "renderers").glob("*.yaml"))
    for name, case in load_yaml(file.read_text("utf-8"), str(file)).items()
}


@pytest.fixture
def minion(tree):
    """The target for which the cases were rendered."""
    pytest.importorskip("mako")
    tree.opts.update(id="web1", test=False)
    tree.grains.update(os="Debian", os_family="Debian")
    tree.pillar.update(samba={"lookup": {"server": "mysamba"}})
    tree.salt = {
        "test.echo": lambda text: text,
        "pillar.get": lambda key, default="": data.traverse_dict_and_list(tree.pillar, key, default),
        "grains.get": lambda key, default="": tree.grains.get(key, default),
    }
    return tree


def keys(value):
    """The keys of nested mappings in their order, which matters for states."""
    if isinstance(value, dict):
        return [(key, keys(item)) for key, item in value.items()]
    return [keys(item) for item in value] if isinstance(value, list) else None


def plain(value):
    """The value as JSON represents it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value if isinstance(value, str | int | float | None) else str(value)


@pytest.mark.parametrize("name", CASES)
def test_as_salt(minion, name):
    case = CASES[name]
    for path, text in case["files"].items():
        minion.write(path, text)
    context = minion.context
    got = {}
    try:
        for sls in case.get("sls", ["web"]):
            got[sls] = plain(minion.render(sls, context=context))
    except RenderError as exc:
        assert "error" in case, exc
        assert case["error"].replace("{root}", str(minion.root)) in exc.message
        return
    assert got == case.get("want")
    assert keys(got) == keys(case["want"])


def failure(tree, sls="web"):
    with pytest.raises(RenderError) as caught:
        tree.render(sls)
    return caught.value.message


# --- wempy -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "template, text",
    [
        ("OK", "OK"),
        ('{{="OK"}}', "OK"),
        ("{{if 1:}}OK{{pass}}", "OK"),
        ("{{=var}} {{= sls}} {{ =1 }}", "a & <b> web 1"),
        ("{{for i in range(3):}}{{=i}}, {{pass}}end", "0, 1, 2, end"),
        ("{{if False:}}a{{elif True:}}b{{else:}}c{{pass}}", "b"),
        ("{{for i in range(9):}}{{if i == 2:}}{{break}}{{=i}}{{pass}}.", "01."),
        ("{{for i in range(3):}}{{if i == 1:}}{{continue}}{{else:}}{{=i}}{{pass}}{{pass}}", "02"),
        ("{{try:}}{{1/0}}{{except ZeroDivisionError:}}no{{finally:}}!{{pass}}", "no!"),
        ("{{def twice(x):}}{{=x}}{{=x}}{{return}}{{twice('a')}}", "aa"),
        ("{{\nfor i in range(2):\n=i\n  if i:\nx = 5\npass\npass\n}}{{=x}}", "015"),
        ("{{=sum(\n  [1,\n   2])}}", "3"),
        ("{{x = '''a\n  b'''}}{{=x}}", "a\n  b"),
        ("{{import json}}{{=json.dumps({'a': [1]})}}", '{"a": [1]}'),
        ("{{=grains['os']}} {{=salt['test.echo']('x')}}", "Debian x"),
        ("{{# a comment}}{{}}a { b } 'c' \\n", "a { b } 'c' \\n"),
        ("{{include = 1}}{{=include}}", "1"),
        ("[{{include 'part.w'}}]", "[part 80]"),
        (
            "before {{x = 7}}{{extend 'layout.w'}}{{block title}}{{super}}/mine{{end}}body {{=x}}",
            "before T:theirs/mine B:body 7 F:foot",
        ),
        ("{{extend 'layout.w'}}only", "T:theirs B:only F:foot"),
    ],
)
def test_wempy(minion, template, text):
    minion.write("part.w", "part {{=pillar['port']}}")
    minion.write("layout.w", "T:{{block title}}theirs{{end}} B:{{include}} F:{{block foot}}foot{{end}}")
    names = {"var": "a & <b>", "sls": "web"}
    source = Trusted(template, "test")
    assert render_text(source, "wempy", path="", saltenv="base", context=minion.context, variables=names) == text


@pytest.mark.parametrize(
    "template, words",
    [
        ("a\n{{=nothing}}", "NameError: name 'nothing' is not defined\n  in {root}/web.sls:3"),
        ("a\n{{if 1:}}\nb", "a {{pass}} is missing for what begins here\n  in {root}/web.sls:3"),
        ("a\n{{pass}}", "one {{pass}} too many: nothing is open\n  in {root}/web.sls:3"),
        ("{{else:}}", "else: without a block that it continues"),
        ("a\n{{=1 +}}", "invalid syntax\n  in {root}/web.sls:3"),
        ("{{include 'gone'}}", "gone: no such file in the file server to include\n  in {root}/web.sls:2"),
        ("{{include x}}", "the path of a template is written in quotes"),
        ("{{include '../../etc/passwd'}}", "no such file"),
        ("{{include 'loop.w'}}", "more than 20 templates include or extend each other"),
        ("{{include 'bad.w'}}", "ZeroDivisionError: division by zero\n  in {root}/bad.w:2"),
        ("{{block a}}", "the block 'a' has no {{end}}"),
        ("{{end}}", "{{end}} without a {{block}}"),
    ],
)
def test_wempy_errors(minion, template, words):
    minion.write("loop.w", "{{include 'loop.w'}}")
    minion.write("bad.w", "a\n{{1/0}}")
    minion.write("web.sls", f"#!wempy|yaml\n{template}\n")
    assert words.replace("{root}", str(minion.root)) in failure(minion)


# --- toml, msgpack -----------------------------------------------------------------------------------------------


def test_toml(tree):
    tree.write("web.sls", '#!jinja|toml\n[a."test.nop"]\nname = "{{ grains.os }}"\nlist = [1, 2]\n')
    assert tree.render("web") == {"a": {"test.nop": {"name": "Debian", "list": [1, 2]}}}
    tree.write("web.sls", "#!toml\n")
    assert tree.render("web") == {}
    tree.write("web.sls", "#!toml\na = 1\nb = ?\n")
    assert f"{tree.root}/web.sls:3" in failure(tree)


def test_msgpack_from_a_renderer_that_gives_bytes(tree):
    packed = base64.b64encode(msgpack.packb({"a": {"test.nop": []}, "ü": b"x"})).decode()
    tree.write(
        "_renderers/b64.py",
        "import base64\ndef render(data, *_, **kw):\n    return base64.b64decode(data.readlines()[1])\n",
    )
    tree.write("web.sls", f"#!b64|msgpack\n{packed}\n")
    assert tree.render("web") == {"a": {"test.nop": []}, "ü": b"x"}
    tree.write("web.sls", "#!msgpack\n")
    assert tree.render("web") == {}
    tree.write("web.sls", "#!msgpack\nüü")
    assert "msgpack: " in failure(tree)


# --- users' own --------------------------------------------------------------------------------------------------

OWN = """
import io
def render(data, saltenv="base", sls="", **kws):
    first = data.readline()
    rest = "".join(line.upper() for line in data)
    more = __salt__["test.echo"]("e") + __opts__["id"] + __grains__["os"] + str(__pillar__["port"])
    assert data.read() == "" and data.seek(0) == 0 and data.read().startswith("#!")
    words = kws.get("argline", ""), saltenv, sls, kws["tmplpath"].endswith("web.sls"), more
    return io.StringIO(rest + "words: " + repr(list(words)))
"""


def test_own_renderer_reads_like_a_file(minion):
    minion.write("_renderers/shout.py", OWN)
    minion.write("web.sls", "#!shout -x  y | yaml\na: b\n")
    assert minion.render("web") == {"A": "B", "words": ["-x  y", "base", "web", True, "eweb1Debian80"]}


def test_own_renderer_wins_over_ours_and_can_call_others(minion):
    minion.write(
        "_renderers/toml.py",
        "def render(data, saltenv, sls, renderers, **kws):\n"
        "    text = renderers['jinja'](data, saltenv, sls, context={'x': 5})\n"
        "    return {'own': renderers['yaml'](text), 'known': 'mako' in renderers, 'not': 'nosuch' in renderers}\n",
    )
    minion.write("web.sls", "#!toml\na: {{ x }}\n")
    assert minion.render("web") == {"own": {"a": 5}, "known": True, "not": False}


def test_own_renderer_as_salt_loads_it(minion):
    minion.write(
        "_renderers/other.py",
        "__virtualname__ = 'counted'\n"
        "def __virtual__():\n    return __virtualname__ if 'id' in __opts__ else (False, 'no id')\n"
        "def __init__(opts):\n    __context__.setdefault('n', 0)\n"
        "def render(data, saltenv, sls, **kws):\n    __context__['n'] += 1\n    return dict(__context__)\n",
    )
    minion.write("web.sls", "#!counted\n")
    context = minion.context
    assert [minion.render("web", context=context) for _ in range(2)] == [{"n": 1}, {"n": 2}]
    minion.write("other.sls", "#!other\n")
    assert "The renderer 'other' is not available" in failure(minion, "other")
    del minion.opts["id"]
    assert "The renderer 'counted' is not available: no id" in failure(minion)
    minion.write("_renderers/toml.py", "def __virtual__():\n    return False\n")
    minion.write("web.sls", "#!toml\na = 1\n")
    assert minion.render("web") == {"a": 1}, "ours, then"


def test_entry_point_wins_over_ours(tree, tmp_path, monkeypatch):
    site = tmp_path / "site"
    (site / "theirs-1.dist-info").mkdir(parents=True)
    (site / "theirs_plugin.py").write_text("def render(data, saltenv, sls, **kws):\n    return {'theirs': sls}\n")
    (site / "theirs-1.dist-info" / "METADATA").write_text("Name: theirs\nVersion: 1\n")
    (site / "theirs-1.dist-info" / "entry_points.txt").write_text(
        "[pushsalt.renderers]\njson = theirs_plugin\nbroken = not_there\n"
    )
    monkeypatch.syspath_prepend(str(site))
    plugins._entry_points.cache_clear()
    try:
        tree.write("web.sls", "#!json\n{}")
        assert tree.render("web") == {"theirs": "web"}
        tree.write("_renderers/json.py", "def render(data, *_, **kw):\n    return {'mine': 1}\n")
        assert tree.render("web") == {"mine": 1}
        tree.write("web.sls", "#!broken\n")
        assert "'broken' (not_there) cannot be loaded: ModuleNotFoundError" in failure(tree)
    finally:
        plugins._entry_points.cache_clear()
        sys.modules.pop("theirs_plugin", None)


@pytest.mark.parametrize(
    "pipe, words",
    [
        ("yaml|json", "the renderer 'json' needs text, and the renderer 'yaml' before it gives data (dict)"),
        (
            "jinja|stateconf -p",
            "the renderer 'stateconf' needs the data of states (option -p), and the renderer 'jinja'",
        ),
        ("jinja|mako", "the last renderer, 'mako', gives text"),
        ("yaml|shout", "the renderer 'shout' cannot take what 'yaml' before it gives (dict): AttributeError"),
        ("shout|nosuch", "The renderer 'nosuch' is not available"),
        ("raises", "the renderer 'raises' failed: KeyError: 'x'"),
        ("stateconf yaml", "stateconf renderer: it takes two renderers"),
        ("stateconf -z", "Invalid use of stateconf renderer: option -z not recognized"),
        ("stateconf yaml . nosuch", "Renderer: 'nosuch' is not available!"),
        ("stateconf json . yaml", "the renderer 'json' needs text"),
    ],
)
def test_pipes_that_do_not_fit(minion, pipe, words):
    minion.write("_renderers/shout.py", OWN)
    minion.write("_renderers/raises.py", "def render(data, *_, **kw):\n    return {}['x']\n")
    minion.write("web.sls", f"#!{pipe}\na: 1\n")
    assert words in failure(minion)


def test_missing_package_is_named_with_the_extra(tree, monkeypatch):
    monkeypatch.setitem(sys.modules, "mako", None)
    monkeypatch.delitem(sys.modules, "pushsalt.render.renderers.mako", raising=False)
    monkeypatch.setitem(sys.modules, "mako.exceptions", None)
    tree.write("web.sls", "#!mako|yaml\na: 1\n")
    text = failure(tree)
    assert "The renderer 'mako' needs the Python package 'mako'" in text
    assert "hint: pip install 'pushsalt[mako]'" in text


# --- secrets -----------------------------------------------------------------------------------------------------

MESSAGE = "-----BEGIN PGP MESSAGE-----\n\n{}\n-----END PGP MESSAGE-----"


class Gpg:
    """Represents the program: the plain text is the reversed third line of the message."""

    def __init__(self):
        self.calls = []

    def __call__(self, argv, *, input=b""):
        self.calls.append((tuple(argv), input))
        line = input.splitlines()[2].strip()
        if line == b"bad":
            return Completed(2, b"", b"[GNUPG:] DECRYPTION_FAILED\ngpg: decryption failed: No secret key\n")
        return Completed(2, line[::-1] + b"\n", b"[GNUPG:] DECRYPTION_OKAY\ngpg: Can't check signature\n")


@pytest.fixture
def gpg(minion):
    from pushsalt.render.renderers import gpg as renderer

    renderer.plain_texts.__init__()
    minion.opts["gpg_keydir"] = "/keys"
    minion.run = Gpg()
    return minion


def indented(name, text):
    return f"{name}: |\n" + "".join(f"  {line}\n" for line in MESSAGE.format(text).splitlines())


def test_gpg_in_data_and_in_text_once_for_each_message(gpg):
    gpg.write("web.sls", "#!yaml|gpg\n" + indented("a", "abc") + "b: [x, 1, null]\n" + indented("c", "abc"))
    gpg.write("text.sls", "#!gpg|yaml\n" + indented("a", "cba"))
    assert gpg.render("web") == {"a": "cba", "b": ["x", 1, None], "c": "cba"}
    assert gpg.render("web")["a"] == "cba"
    assert len(gpg.run.calls) == 1
    argv, _ = gpg.run.calls[0]
    assert argv == ("gpg", "--homedir", "/keys", "--status-fd", "2", "--no-tty", "--batch", "--decrypt")
    assert gpg.render("text") == {"a": "abc"}


def test_gpg_gets_bytes(gpg):
    gpg.write("_renderers/raw.py", "def render(data, *_, **kw):\n    return {'text': b'ok', 'binary': b'\\xff'}\n")
    gpg.write("web.sls", "#!raw|gpg\n")
    assert gpg.render("web") == {"text": "ok", "binary": b"\xff"}


def test_gpg_that_cannot_decrypt(gpg):
    gpg.write("web.sls", "#!yaml|gpg\nx:\n  - " + '"' + MESSAGE.format("bad").replace("\n", "\\n") + '"\n')
    assert "x:0: Could not decrypt a PGP message: gpg: decryption failed: No secret key" in failure(gpg)
    gpg.opts["gpg_decrypt_must_succeed"] = False
    assert gpg.render("web")["x"][0].startswith("-----BEGIN")

    def missing(argv, *, input=b""):
        raise FileNotFoundError("gpg")

    gpg.opts["gpg_decrypt_must_succeed"] = True
    gpg.run = missing
    assert "GPG unavailable" in failure(gpg)
    gpg.run = None
    assert "rendered without outside programs" in failure(gpg)


def test_decrypt_value(gpg):
    written = MESSAGE.format("abc").replace("\n", "\\n")
    assert decrypt_value({"a": [written]}, None, gpg.context) == {"a": ["cba"]}
    assert decrypt_value(written, "gpg", gpg.context) == "cba"
    with pytest.raises(RenderError, match=r"'nacl' is not a valid decryption renderer\. Valid choices are: gpg"):
        decrypt_value("x", "nacl", gpg.context)


def test_nacl(minion, tmp_path):
    public = pytest.importorskip("nacl.public")
    from nacl.secret import SecretBox

    key = public.PrivateKey.generate()
    sealed = base64.b64encode(public.SealedBox(key.public_key).encrypt(b"pa\xc3\xbc")).decode()
    secret = base64.b64encode(SecretBox(key.encode()).encrypt(b"\xff")).decode()
    file = tmp_path / "nacl"
    file.write_bytes(base64.b64encode(key.encode()) + b"\n")
    minion.opts["nacl.config"] = {"sk_file": str(file)}
    minion.write("web.sls", f"#!yaml|nacl\na: ['NACL[{sealed}]', 5]\nb: x NACL[y]\n")
    assert minion.render("web") == {"a": ["paü", 5], "b": "x NACL[y]"}
    minion.opts["nacl.config"] = {"sk": base64.b64encode(key.encode()).decode(), "box_type": "secretbox"}
    minion.write("web.sls", f"#!yaml|nacl\na: 'NACL[{secret}]'\n")
    assert minion.render("web") == {"a": b"\xff"}
    minion.write("web.sls", f"#!yaml|nacl\na: 'NACL[{sealed}]'\n")
    assert "a: Could not decrypt a NACL value" in failure(minion)
    minion.opts["nacl.config"] = {"sk_file": "/nowhere/key"}
    assert "no NaCl key: /nowhere/key" in failure(minion)


def test_mako_templates_are_compiled_once(tree, monkeypatch):
    pytest.importorskip("mako")
    from pushsalt.render.renderers import mako

    made = []
    plain = mako.Template
    monkeypatch.setattr(mako, "Template", lambda *args, **kwargs: made.append(1) or plain(*args, **kwargs))
    mako._compiled.cache_clear()
    tree.write("part.mako", "x: ${port}\n")
    tree.write("web.sls", "#!mako|yaml\n<%include file='/part.mako'/>\ny: ${sls}\n")
    tree.write("other.sls", "#!mako|yaml\n<%include file='/part.mako'/>\nz: ${sls}\n")
    for port in (1, 2):
        assert tree.render("web", port=port) == {"x": port, "y": "web"}
    assert len(made) == 2
    tree.write("part.mako", "x: -${port}\n")
    assert tree.render("web", port=3) == {"x": -3, "y": "web"}
    assert len(made) == 3
    assert tree.render("other", port=4)["z"] == "other"
