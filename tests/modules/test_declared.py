"""Declarations in the source of modules, read without executing it."""

import pytest

from pushsalt.modules.declared import ControllerFunctions, marked
from thin import runtime
from thin.loader import Loaders


def test_what_the_controller_answers() -> None:
    found = ControllerFunctions()
    expected = ("grains.get", "pillar.get", "config.get", "slsutil.merge", "log.debug")
    assert [name for name in expected if name in found] == list(expected)
    assert not [name for name in ("cmd.run", "test.ping", "sys.doc", "nowhere.f", "log.log") if name in found]


def test_marked_names_are_those_that_load() -> None:
    """`ast` reads the same names as the loader accepts."""
    allowed = Loaders({"id": "x"}, runtime, {"kernel": "Linux", "os": "Debian"}, {}, controller=True).modules
    found = set(ControllerFunctions())
    assert set(allowed) <= found
    assert {name for name in found if name not in allowed} == set()


@pytest.mark.parametrize("ours", [True, False])
@pytest.mark.parametrize(
    "mark, want",
    [
        ("__changes__ = True", {"set", "get", "fetch"}),
        ("__changes__ = ('set', 'no_such', '_inside')", {"set"}),
        ("__changes__ = ()", set()),
        ("__other__ = True", set()),
    ],
)
def test_marks_of_a_source(mark: str, want: set[str], ours: bool) -> None:
    source = f"{mark}\n__func_alias__ = {{'set_': 'set'}}\n\ndef set_():\n    raise SystemExit\n\n"
    source += "def get():\n    pass\n\ndef _inside():\n    pass\n\nfetch = get\nhidden = _inside\n"
    assert marked(source, "__changes__", ours) == want
