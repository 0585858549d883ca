"""Users' own types: complete ones, files that extend shipped ones, and broken ones, which do not affect others."""

from __future__ import annotations

import re

import pytest

from pushsalt.modules.definitions import defined
from pushsalt.modules.signatures import StateFunctions
from thin import resourcetypes, runtime


def test_a_type_of_the_file_roots_has_all_functions(bed) -> None:
    bed.write(bed.FULL_TYPE)
    declared = {"stem": "a"}
    found, failed = bed.discover(full=declared, dummy=["d"])
    assert failed == {}
    assert found["full"] == {id: {"grains": {"shout": f"I am {id}", "asked": "grains"}} for id in ("a-0", "a-1")}
    assert list(found["dummy"]) == ["d"]
    assert (bed.cache / "asked").read_text().split("\n") == ["init", "grains a-0", "grains a-1", "shutdown", ""]
    (bed.cache / "asked").unlink()

    peer = bed.start({"type": "full", "id": "a-0", "declared": declared})
    assert peer.call("test.ping") is True
    assert peer.call("tell.what") == ["full", "a-0", {"resources": {"full": declared}}]
    around = ["full", "a-0", "a-0", "I am ", "x", "plain", False, ["a-0", "I am a-0"]]
    assert peer.call("tell.around") == around
    assert bed.states(peer, {"state": "thing", "fun": "done", "name": "x", "word": "w"}, test=True)[0]["result"] is None
    assert bed.states(peer, {"state": "thing", "fun": "done", "name": "x"})[0]["comment"] == "a-0"
    assert peer.request("grains", refresh=False)["ret"]["asked"] == "grains"
    assert peer.request("grains", refresh=True)["ret"]["asked"] == "refresh"
    assert "'test.echo' is not supported for resource type 'full'" in bed.error(peer, "test.echo", "x")
    bed.peers.remove(peer)
    peer.close()
    calls = (bed.cache / "asked").read_text().split()
    assert (calls[0], calls[-1], calls.count("init")) == ("init", "shutdown", 1)
    assert bed.start({"type": "full", "id": "a-1", "declared": declared}).call("test.ping") is False


def test_files_extend_a_shipped_type(bed) -> None:
    bed.write(bed.ADDED)
    found, failed = bed.discover(dummy=["d"])
    assert (list(found["dummy"]), failed) == (["d"], {})
    peer = bed.start({"type": "dummy", "id": "d"})
    assert peer.call("extra.who") == ["d", True]
    assert peer.call("pkg.list_pkgs") == "mine"
    assert peer.call("service.status", "ntp") is True
    assert "not supported" in bed.error(peer, "pkg.install", "x"), "the file of that name is hidden"


def test_states_run_inside_of_a_resource_that_is_entered(bed) -> None:
    bed.write(bed.BOX)
    found, failed = bed.discover(box=None)
    assert failed == {}
    assert found["box"] == {
        id: {"enter": ["sh", "-c", 'exec "$@"', id], "grains": {"os": "Box"}} for id in ("one", "two words")
    }
    peer = bed.start({"type": "box", "id": "one", "inside": True}, want_grains=True)
    assert peer.ready["grains"]["box"] == "one" and peer.ready["grains"]["kernel"]
    assert peer.call("test.ping") == ["one", "as ever"]
    assert peer.call("cmd.run", "echo inside") == "inside"
    assert bed.states(peer, {"state": "test", "fun": "nop", "name": "x"})[0]["result"] is True


@pytest.mark.parametrize(
    "text, expected",
    [
        ("def discover(opts)\n    return []\n", r"it cannot be loaded: _resources/bad/__init__.py:1: SyntaxError"),
        ("import nothing_of_this_name\n", r"cannot be loaded: _resources/bad/__init__.py:1: ModuleNotFoundError"),
        ("def __virtual__():\n    return False, 'not on Tuesdays'\n", "it cannot be loaded: not on Tuesdays"),
        ("raise SystemExit(3)\n", "cannot be loaded: .*SystemExit: 3"),
        ("def discover(opts):\n    raise ValueError('no')\n", r"discover\(\): .*bad/__init__.py:2: ValueError: no"),
        ("def discover(opts):\n    import sys\n    sys.exit()\n", r"discover\(\): .*__init__.py:3: SystemExit"),
        ("def discover(opts):\n    return 'a'\n", r"discover\(\) gave str, not a list of ids"),
        ("def discover(opts):\n    return None\n", r"discover\(\) gave NoneType"),
        ("def discover(opts):\n    yield 'a'\n    raise OSError('cut')\n", r"discover\(\): .*:3: OSError: cut"),
        ("def init(opts):\n    1 / 0\n", r"init\(\): .*__init__.py:2: ZeroDivisionError"),
        ("def shutdown(opts):\n    1 / 0\n", r"shutdown\(\): .*:2: ZeroDivisionError"),
        ("def discover():\n    return []\n", r"discover\(\): .*TypeError"),
    ],
)
def test_a_broken_type_does_not_affect_other_types(bed, text, expected) -> None:
    bed.write({"bad/__init__.py": text})
    found, failed = bed.discover(bad={}, dummy=["d"])
    assert (list(found["dummy"]), list(failed)) == (["d"], ["bad"])
    assert re.search(expected, failed["bad"]), failed


def test_a_broken_resource_does_not_affect_others_of_its_type(bed) -> None:
    grains = "def grains():\n    return {'a': {'n': 1}, 'b': 5}[__resource__['id']]\n"
    bed.write({"odd/__init__.py": "def discover(opts):\n    return ['a', 'b', 'c', 7]\n\n\n" + grains})
    found, failed = bed.discover(odd=None)
    assert found["odd"] == {"a": {"grains": {"n": 1}}, "b": {}, "c": {}}
    assert "the grains of b are missing: grains() gave int, not a dict" in failed["odd"]
    assert "the grains of c are missing: grains(): _resources/odd/__init__.py:6: KeyError: 'c'" in failed["odd"]
    assert "an id is text, not int: 7" in failed["odd"]


def test_slow_grains_do_not_delay_other_resources(make_loaders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resourcetypes, "GRAINS_TIME", -1)
    answer = resourcetypes.discover(make_loaders(), runtime, [], {"dummy": ["a", "b"]})
    assert answer["found"] == {"dummy": {"a": {}, "b": {}}}
    assert answer["failed"]["dummy"].startswith(
        "the grains of a are missing: those of the other resources took more than"
    )


def test_a_resource_that_cannot_be_entered_is_left_out(bed) -> None:
    enter = "def enter():\n    return {'a': ['in'], 'b': 'in', 'c': []}[__resource__['id']]\n"
    bed.write({"odd/__init__.py": "def discover(opts):\n    return ['a', 'b', 'c', 'd']\n\n\n" + enter})
    found, failed = bed.discover(odd=None)
    assert found["odd"] == {"a": {"enter": ["in"], "grains": {}}}
    assert failed["odd"].count("cannot be entered") == 3


@pytest.mark.parametrize(
    "text, expected",
    [
        ("def init(opts):\n    raise OSError('no way')\n", r"init\(\): _resources/bad/__init__.py:2: OSError: no way"),
        ("def grains(:\n", "it cannot be loaded: _resources/bad/__init__.py:1: SyntaxError"),
    ],
)
def test_a_session_of_a_broken_type_reports_the_error(bed, text, expected) -> None:
    bed.write({"bad/__init__.py": text, "bad/modules/thing.py": "def do():\n    return 1\n"})
    resource = {"type": "bad", "id": "x"}
    assert re.search("^the resource type bad: .*" + expected, bed.error(bed.start(resource), "thing.do"))
    ready = bed.start(resource, want_grains=True).ready
    assert (ready["k"], ready["kind"]) == ("error", "resource_unreachable")
    assert re.search(expected, ready["message"])


def test_states_depend_on_the_type(bed) -> None:
    bed.write({**bed.FULL_TYPE, **bed.BOX, "dummy/states/pkg.py": "def kept(name, how):\n    return {}\n"})
    custom = bed.custom
    plain = StateFunctions(custom, resource="full")
    assert plain.spec("thing.done") == defined(bed.FULL_TYPE["full/states/thing.py"])["done"]
    assert list(plain.names()) == ["thing.done"]
    assert plain.spec("file.managed") is None
    dummy = StateFunctions(custom, resource="dummy")
    assert set(dummy.names()) == {"pkg.kept", "service.running", "service.dead"}
    assert dummy.spec("pkg.installed") is None
    inside = StateFunctions(custom, resource="box", inside=True)
    assert inside.spec("file.managed") == StateFunctions().spec("file.managed")
    assert StateFunctions(custom).spec("thing.done") is None
