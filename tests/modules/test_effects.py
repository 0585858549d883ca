"""Declared effects of functions: read from text, and complete for all shipped functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import thin
from pushsalt.modules.controller import names as controller_names
from pushsalt.modules.effects import CHANGES, READS, RUNS, WORDS, declared_effect, literals, shipped
from thin import folder, loader, runtime

SAYING = [word for word in WORDS if word != "__controller__"]


def told(source: str) -> dict[str, str]:
    """Function -> its declaration. No function has two."""
    found: dict[str, str] = {}
    for word, names in literals(source, ours=True).items():
        if word in SAYING:
            assert not set(found) & set(names), word
            found.update(dict.fromkeys(names, word))
    return found


def kinds() -> list[str]:
    folder = Path(thin.__file__).parent
    types = sorted(path.parent.name for path in folder.glob("resources/*/modules"))
    return ["modules", *(f"resources.{name}.modules" for name in types)]


@pytest.mark.parametrize("kind", kinds())
def test_every_function_declares_its_effects(kind):
    loaders = loader.Loaders({}, runtime, grains={}, pillar={})
    virtual: dict[str, dict[str, str]] = {}
    for full in runtime.names(f"thin.{kind}"):
        if full.endswith(".__init__"):
            continue
        source = runtime.source(full)
        there = set(loader._public(loaders.modules._namespace(runtime, full)))
        words = told(source)
        assert there - set(words) == set(), f"{full}: say of them __reads__ or __changes__"
        assert set(words) - there == set(), f"{full}: there are no such functions"
        for name in folder.index([(full.rpartition(".")[2], source)]):
            declared = virtual.setdefault(name, {})
            for function, word in words.items():
                assert declared.setdefault(function, word) == word, f"{name}.{function}: one file reads, one changes"


def test_every_function_of_the_controller_declares_its_effects():
    import pushsalt.functions

    for path in sorted(Path(pushsalt.functions.__file__).parent.glob("[!_]*.py")):
        there = {name.partition(".")[2] for name in controller_names() if name.startswith(f"{path.stem}.")}
        assert set(told(path.read_text("utf-8"))) == there, path.name


@pytest.mark.parametrize(
    "name, kind",
    [
        ("grains.get", READS),
        ("pillar.get", READS),
        ("pkg.version", READS),
        ("file.file_exists", READS),
        ("cp.cache_file", READS),
        ("http.query", READS),
        ("state.show_sls", READS),
        ("cmd.run_all", RUNS),
        ("pkg.install", CHANGES),
        ("service.restart", CHANGES),
        ("hashutil.base64_decodefile", CHANGES),
        ("mysql.query", CHANGES),
        ("postgres.psql_query", CHANGES),
        ("saltutil.mmodule", CHANGES),
        ("archive.extract_tar", CHANGES),
        ("mine.send", CHANGES),
    ],
)
def test_effects_of_shipped_functions(name, kind):
    effect = shipped(name)
    assert effect is not None and effect.kind == kind


def test_unknown_functions_have_no_effect():
    assert shipped("no.such") is None
    assert shipped("grains.no_such") is None
    assert shipped("nothing") is None


@pytest.mark.parametrize(
    "name, args, kwargs, want",
    [
        ("http.query", ["http://a"], {}, (READS, "")),
        ("http.query", ["http://a", "GET"], {"text_out": None}, (READS, "")),
        ("http.query", ["http://a", "POST"], {}, (CHANGES, "method")),
        ("http.query", ["http://a"], {"method": "DELETE"}, (CHANGES, "method")),
        ("http.query", ["http://a"], {"text_out": "/x"}, (CHANGES, "text_out")),
        ("file.find", ["/x"], {"delete": "f"}, (CHANGES, "delete")),
        ("file.find", ["/x", "delete"], {}, (CHANGES, "delete")),
        ("file.find", ["/x"], {"delete": False, "name": "*"}, (READS, "")),
        ("file.find", ["/x"], {"delete": ""}, (CHANGES, "delete")),
        ("file.find", ["/x"], {"delete": None}, (READS, "")),
        ("docker.dangling", [], {}, (READS, "")),
        ("docker.dangling", [True], {}, (CHANGES, "prune")),
        ("dnsutil.serial", ["example.org"], {}, (READS, "")),
        ("dnsutil.serial", ["example.org", True], {}, (CHANGES, "update")),
        ("disk.hdparms", ["sda"], {}, (READS, "")),
        ("disk.hdparms", ["sda", "Y"], {}, (CHANGES, "args")),
        ("state.single", ["test.nop", "x"], {}, (READS, "")),
        ("state.single", ["test.nop", "x", True], {}, (READS, "")),
        ("state.single", ["test.nop", "x", False], {}, (CHANGES, "test")),
        ("state.apply", ["x"], {"test": False}, (CHANGES, "test")),
    ],
)
def test_arguments_decide(name, args, kwargs, want):
    assert shipped(name).of_call(args, kwargs) == want


@pytest.mark.parametrize("ours", [True, False])
@pytest.mark.parametrize(
    "source, want",
    [
        ("", None),
        ("__reads__ = ('get',)", READS),
        ("__reads__ = ['get']", READS),
        ("__reads__ = True", READS),
        ("__controller__ = True", READS),
        ("__controller__ = ('other',)", None),
        ("__reads__ = True\n__changes__ = ('get',)", CHANGES),
        ("__reads__ = ('get',)\n__changes__ = True", READS),
        ("__runs__ = ('get',)", RUNS),
        ("__reads_unless__ = {'get': {'output': ()}}", READS),
        ("__reads_unless__ = {'get': 7}", None),
        ("__reads__ = ('g' + 'et',)", None),
        ("__reads__ = [name for name in ()]", None),
        ("__reads__ = 'get'", None),
        ("__reads__ = ('get',)\ndef get(:", None),
    ],
)
def test_what_a_source_says(source, want, ours):
    effect = declared_effect(f"{source}\n\n\ndef get():\n    pass\n" if "(:" not in source else source, "get", ours)
    assert (effect and effect.kind) == want


def test_a_command_that_compiles_nothing_does_not_load_the_compiler():
    code = "import sys, pushsalt.run.single; sys.exit('pushsalt.compile' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
