"""Modules are found by virtual names, lazily, with Salt's dunders; errors of missing ones have Salt's texts."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from thin import loader

SHAPES = {
    "thin.modules.one": "__virtualname__ = 'pack'\ndef __virtual__(): return (False, 'no tool')\ndef f(): return 1\n",
    "thin.modules.two": "__virtualname__ = 'pack'\ndef __virtual__(): return __virtualname__\ndef f(): return 2\n",
    "thin.modules.refused": "def __virtual__(): return (False, 'not here')\ndef f(): return 1\n",
    "thin.modules.broken": "import no_such_module\ndef f(): return 1\n",
    "thin.modules.alias": (
        "from os.path import join\n__func_alias__ = {'list_': 'list'}\n__virtual_aliases__ = ('other',)\n"
        "def list_(): return 'listed'\ndef _private(): pass\nvalue = 5\nsame = list_\n"
    ),
    "thin.modules.dunders": (
        "def grain(name): return __grains__[name]\ndef call(): return __salt__['pack.f']()\n"
        "def attribute(): return __salt__.pack.f()\ndef keep(v): __context__['v'] = v\n"
        "def kept(): return __context__['v']\ndef opt(): return __opts__['id']\n"
    ),
    "thin.modules.started": "def __init__(opts): opts['started'] = opts.get('started', 0) + 1\ndef f(): return 1\n",
}


@pytest.fixture
def modules(make_loaders: Callable[..., loader.Loaders]) -> loader.Loader:
    return make_loaders(SHAPES).modules


@pytest.mark.parametrize(
    "name, args, value",
    [
        ("pack.f", (), 2),
        ("alias.list", (), "listed"),
        ("alias.same", (), "listed"),
        ("other.list", (), "listed"),
        ("dunders.grain", ("os",), "Debian"),
        ("dunders.call", (), 2),
        ("dunders.attribute", (), 2),
        ("dunders.opt", (), "minion"),
    ],
)
def test_a_function_is_found_by_its_name(modules: loader.Loader, name: str, args: tuple[Any, ...], value: Any) -> None:
    assert name in modules
    assert modules[name](*args) == value


@pytest.mark.parametrize(
    "name, text",
    [
        ("alias.list_", "'alias.list_' is not available."),
        ("alias.join", "'alias.join' is not available."),
        ("alias._private", "'alias._private' is not available."),
        ("alias.value", "'alias.value' is not available."),
        ("nowhere.f", "'nowhere.f' is not available."),
        ("refused.f", "'refused' __virtual__ returned False: not here"),
        ("broken.f", "'broken' __virtual__ returned False: ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_the_error_of_a_missing_function_is_salts(modules: loader.Loader, name: str, text: str) -> None:
    assert name not in modules
    assert modules.get(name) is None
    with pytest.raises(KeyError) as caught:
        modules[name]
    assert str(caught.value) == text


def test_context_is_shared_between_modules(modules: loader.Loader) -> None:
    modules["dunders.keep"]("kept")
    assert modules["dunders.kept"]() == "kept"


def test_the_nearest_names_are_returned(make_loaders: Callable[..., loader.Loaders]) -> None:
    assert make_loaders().modules.nearest("test.pnig")[0] == "test.ping"
    assert make_loaders().modules.nearest("tset.ping") == ["test.ping"]


def test_only_files_that_may_have_the_function_are_executed(make_loaders: Callable[..., loader.Loaders]) -> None:
    loaders = make_loaders(SHAPES)
    loaders.modules["pack.f"]
    assert "started" not in loaders.opts
    loaders.modules["started.f"]
    loaders.modules["started.f"]
    assert loaders.opts["started"] == 1


def test_loaders_of_two_targets_are_separate(make_loaders: Callable[..., loader.Loaders]) -> None:
    first, second = make_loaders(SHAPES, grains={"os": "A"}), make_loaders(SHAPES, grains={"os": "B"})
    assert [loaders.modules["dunders.grain"]("os") for loaders in (first, second, first)] == ["A", "B", "A"]


def test_a_users_file_hides_the_built_in_one(make_loaders: Callable[..., loader.Loaders]) -> None:
    loaders = make_loaders({"thin.modules.test": "def ping(): return 'mine'\n"})
    assert loaders.modules["test.ping"]() == "mine"
    assert "test.echo" not in loaders.modules


def test_refused_modules_are_loaded_after_reconsider(make_loaders: Callable[..., loader.Loaders]) -> None:
    source = "def __virtual__(): return bool(__grains__.get('tool'))\ndef f(): return 1\n"
    loaders = make_loaders({"thin.modules.late": source}, grains={})
    assert "late.f" not in loaders.modules
    loaders.grains["tool"] = True
    assert "late.f" not in loaders.modules
    loaders.reconsider()
    assert loaders.modules["late.f"]() == 1


def test_keys_has_the_functions_of_every_module(make_loaders: Callable[..., loader.Loaders]) -> None:
    names = make_loaders().modules.keys()
    assert {"cmd.run", "test.ping", "grains.get", "pillar.get", "config.get", "sys.doc", "log.debug"} <= set(names)
    assert names == sorted(names)


class CountedFetch:
    """Returns a dict, and counts its calls."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> dict[str, Any]:
        self.times += 1
        return {"a": {"b": 1}}


@pytest.mark.parametrize(
    "use, value",
    [
        (lambda lazy: lazy["a"], {"b": 1}),
        (lambda lazy: lazy.get("zz", 5), 5),
        (lambda lazy: "a" in lazy, True),
        (len, 1),
        (bool, True),
        (dict, {"a": {"b": 1}}),
        (lambda lazy: {**lazy}, {"a": {"b": 1}}),
        (json.dumps, '{"a": {"b": 1}}'),
        (copy.deepcopy, {"a": {"b": 1}}),
        (copy.copy, {"a": {"b": 1}}),
        (list, ["a"]),
        (lambda lazy: lazy == {"a": {"b": 1}}, True),
        (lambda lazy: lazy.copy(), {"a": {"b": 1}}),
    ],
)
def test_lazy_dict_is_fetched_once_at_first_use(use: Callable[[Any], Any], value: Any) -> None:
    fetch = CountedFetch()
    lazy = loader.LazyDict(fetch)
    assert fetch.times == 0
    assert use(lazy) == value
    assert use(lazy) == value
    assert fetch.times == 1


def test_lazy_dict_is_fetched_again_after_an_error() -> None:
    answers: list[Any] = [OSError("gone"), {"a": 1}]

    def fetch() -> dict[str, Any]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)

    lazy = loader.LazyDict(fetch)
    with pytest.raises(OSError, match="gone"):
        lazy["a"]
    assert lazy["a"] == 1
