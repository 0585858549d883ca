"""Every other kind of plug-in: found in each place and used; errors name it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pushsalt import plugins

pytestmark = [pytest.mark.slow, pytest.mark.gate]


@dataclass(frozen=True)
class Case:
    """One kind. ``folder`` is Salt's; ``text`` a plug-in ``mine``, ``raises`` one that fails in its line 2.

    ``words`` is the command that uses it, whose output contains ``wanted``. ``{name}`` in files and configuration is
    its name.
    """

    folder: str
    text: str
    raises: str
    words: tuple[str, ...]
    wanted: str
    files: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    name: str = "mine"
    misspelt: str = "mien"


CASES = {
    "renderers": Case(
        "renderers",
        "def render(data, saltenv='base', sls='', **kwargs):\n"
        "    return {f'{data.read().strip()}-{sls}': {'test.nop': []}}\n",
        "def render(data, saltenv='base', sls='', **kwargs):\n    raise ValueError('not today')\n",
        ("run", "web1", "state.show_sls", "one"),
        "word-one",
        {"salt/one.sls": "#!{name}\nword"},
    ),
    "outputters": Case(
        "output",
        "def output(data, **kwargs):\n    return f'<{sorted(data)}>\\n'\n",
        "def output(data, **kwargs):\n    raise ValueError('not today')\n",
        ("run", "--out", "{name}", "web1", "grains.get", "rack"),
        "<['web1']>",
    ),
    "ext_pillar": Case(
        "pillar",
        "def ext_pillar(minion_id, pillar, *args, **kwargs):\n    return {f'key-{minion_id}-{args[0]}': 1}\n",
        "def ext_pillar(minion_id, pillar, *args, **kwargs):\n    raise ValueError('not today')\n",
        ("run", "web1", "pillar.items"),
        "key-web1-x",
        config={"ext_pillar": [{"{name}": "x"}]},
    ),
    "tops": Case(
        "tops",
        "def top(**kwargs):\n    return {'base': ['for-' + kwargs['opts']['id']]}\n",
        "def top(**kwargs):\n    raise ValueError('not today')\n",
        ("run", "web1", "state.show_top"),
        "for-web1",
        config={"master_tops": {"{name}": True}},
    ),
    "fileserver": Case(
        "fileserver",
        "from pushsalt.fileserver.backends import roots\n\n\ndef backend(opts):\n"
        "    return roots.backend({**opts, 'file_roots': {'base': ['/proc/self/cwd/more']}})\n",
        "def backend(opts):\n    raise ValueError('not today')\n",
        ("run", "web1", "cp.get_file_str", "salt://there"),
        "what is there",
        {"more/there": "what is there"},
        {"fileserver_backend": ["roots", "{name}"]},
    ),
    "serializers": Case(
        "serializers",
        "def serialize(obj, **options):\n    return f'<<{sorted(obj)}>>'\n",
        "def serialize(obj, **options):\n    raise ValueError('not today')\n",
        ("run", "web1", "slsutil.serialize", "{name}", "{a: 1}"),
        "<<['a']>>",
    ),
    "sdb": Case(
        "sdb",
        "def get(key, service=None, profile=None):\n    return f\"of {key} by {profile['word']}\"\n",
        "def get(key, service=None, profile=None):\n    raise ValueError('not today')\n",
        ("run", "web1", "state.show_sls", "one"),
        "id-12",
        {"salt/one.sls": "id-{{ salt['sdb.get']('sdb://own/k') | length }}: {test.nop: []}"},
        {"own": {"driver": "{name}", "word": "hand"}, "secret_keys": []},
    ),
    "returners": Case(
        "returners",
        "def returner(ret):\n    print('sent by', ret['id'])\n",
        "def returner(ret):\n    raise ValueError('not today')\n",
        ("run", "web1", "grains.get", "rack", "--return", "{name}"),
        "sent by web1",
    ),
    "runners": Case(
        "runners",
        "def word(text):\n    return f'<{text}> of {sorted(__opts__[\"file_roots\"])}'\n",
        "def word(text):\n    raise ValueError('not today')\n",
        ("runner", "{name}.word", "x"),
        "<x> of ['base']",
        name="motd",
        misspelt="modt",
    ),
    "sources": Case(
        "sources",
        "def fetch(url, folder, opts):\n    (folder / 'x').write_text('of ' + url)\n    return folder / 'x'\n",
        "def fetch(url, folder, opts):\n    raise ValueError('not today')\n",
        ("apply", "here", "one"),
        "of mine://x",
        {"salt/one.sls": "/proc/self/cwd/out: {file.managed: [{source: '{name}://x', skip_verify: true}]}"},
    ),
}
KINDS = pytest.mark.parametrize("kind", CASES)


def named(value: Any, name: str) -> Any:
    """The value with ``{name}`` replaced."""
    if isinstance(value, str):
        return value.replace("{name}", name)
    if isinstance(value, Mapping):
        return {named(key, name): named(item, name) for key, item in value.items()}
    return [named(item, name) for item in value] if isinstance(value, list | tuple) else value


@pytest.fixture
def use(bed):
    """Runs the command of a kind with a plug-in of this text and name."""

    def use(kind, text, name=None):
        case = CASES[kind]
        name = name or case.name
        bed.configure(**named(case.config, name))
        for path, data in case.files.items():
            bed.write(path, named(data, name).replace("/proc/self/cwd", str(bed.folder)))
        path = bed.plug(kind, case.folder, case.name, text.replace("/proc/self/cwd", str(bed.folder)))
        return bed.say(*named(case.words, name)), path

    return use


def test_each_kind_has_a_case_or_a_file_of_its_own():
    files = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert CASES.keys() == plugins.KINDS.keys() - files


@KINDS
def test_it_is_found_and_used(bed, use, kind):
    done, _ = use(kind, CASES[kind].text)
    out = bed.folder / "out"
    assert done.code == 0, done.out
    assert CASES[kind].wanted in (out.read_text() if out.exists() else done.out)


@KINDS
@pytest.mark.parametrize("text, line", [("a = 1\n)\n", 2), ("\n\nimport nothing_there\n", 3)], ids=["syntax", "import"])
def test_a_broken_one_is_named_with_its_line(use, kind, text, line):
    done, path = use(kind, text)
    assert done.code in (1, 2, 3), done.out
    words = done.out.replace("\n", "").replace(" ", "")
    assert f"{path}:{line}" in words or f'{path}",line{line}' in words or f"{path},line{line}" in words, done.out


@KINDS
def test_one_that_raises_is_named_with_its_line(use, kind):
    done, path = use(kind, CASES[kind].raises)
    assert "not today" in done.out and f"{path}:2" in done.out.replace("\n", "").replace(" ", ""), done.out


@KINDS
def test_a_missing_one_names_the_nearest(use, kind):
    done, _ = use(kind, CASES[kind].text, CASES[kind].misspelt)
    words = "ext_pillar 'mien' is not available" if kind == "ext_pillar" else CASES[kind].name  # as in Salt: a warning
    assert words in done.out, done.out
