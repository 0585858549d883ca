"""The closed list of error kinds equals the documentation."""

import re
from pathlib import Path

import pytest

from pushsalt.errors import (
    EXIT_FAILED,
    EXIT_NO_ANSWER,
    KINDS,
    FunctionError,
    Position,
    StateError,
    TargetError,
    UsageError,
)

DOCS = Path(__file__).parent.parent / "docs" / "errors.md"


def test_documentation_has_every_kind_with_its_meaning():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|.*\| (\d) \|$", DOCS.read_text(), re.M)
    assert [kind for kind, _, _ in rows] == list(KINDS)
    for kind, words, code in rows:
        assert words.split(" (")[0] in KINDS[kind] or KINDS[kind].split(":")[0].startswith(words.split(" (")[0])
        assert int(code) == (EXIT_FAILED if kind in ("unknown_function", "exception", "plan_stale") else EXIT_NO_ANSWER)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_words_of_the_contract(kind):
    assert re.fullmatch(r"[a-z][a-z0-9_]*", kind)


def test_error_objects():
    assert TargetError("offline", "m", "h").as_return() == {"error": {"kind": "offline", "message": "m", "hint": "h"}}
    error = FunctionError("exception", "m", "h", "CommandExecutionError").as_return()["error"]
    assert error == {"kind": "exception", "message": "m", "hint": "h", "exception": "CommandExecutionError"}


@pytest.mark.parametrize("kind, message, hint", [("nonsense", "m", "h"), ("offline", "", "h"), ("offline", "m", "")])
def test_no_error_without_words(kind, message, hint):
    with pytest.raises(AssertionError):
        TargetError(kind, message, hint)


def test_positions_and_texts():
    assert str(Position("a.yaml", 3, 7)) == "a.yaml:3:7"
    assert str(UsageError("bad", where=Position("a.yaml", 3))) == "a.yaml:3: bad"
    assert StateError(["a", "b"]).errors == ["a", "b"]
