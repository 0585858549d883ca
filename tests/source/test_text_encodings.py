"""Text is UTF-8 or has an explicit encoding: the runtime does not depend on the locale of a target."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OPENS = {"open", "io.open", "os.fdopen", "codecs.open"}
PROGRAMS = {"Popen", "run", "check_output", "check_call", "call"}
METHODS = {"open", "fdopen", "read_text", "write_text", *PROGRAMS}


def findings(text: str) -> Iterator[tuple[int, str]]:
    """(line, problem) of each text that is opened, or read from a program, without an encoding."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        method = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
        if method not in METHODS:
            continue
        words = {word.arg: word.value for word in node.keywords}
        if "encoding" in words or None in words:
            continue
        name = ast.unparse(node.func)
        if name in OPENS:
            mode = words.get("mode", node.args[1] if len(node.args) > 1 else ast.Constant("r"))
            if "b" not in ast.unparse(mode).replace("append", ""):
                yield node.lineno, f"{name} of a text without an encoding"
        elif method in ("read_text", "write_text") and not (node.args and method == "read_text"):
            yield node.lineno, f"{method} without an encoding"
        elif method in PROGRAMS and {"universal_newlines", "text"} & set(words) and name.startswith("subprocess."):
            yield node.lineno, f"{name} of text without an encoding"


FILES = sorted(path for path in (ROOT / "thin").rglob("*.py") if "vendor" not in path.parts)
#: functions that pass on a caller's arguments, and add an encoding themselves
OTHERS_ARGUMENTS = {"thin/compat/salt/utils/files.py"}


def test_the_runtime_says_every_encoding() -> None:
    found = [
        f"{name}:{line}: {what}"
        for path in FILES
        if (name := str(path.relative_to(ROOT))) not in OTHERS_ARGUMENTS
        if any(word in (text := path.read_text("utf-8")) for word in METHODS)
        for line, what in findings(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text, wrong",
    [
        ("open(p)", 1),
        ("open(p, 'w')", 1),
        ("open(p, 'rb')", 0),
        ("open(p, encoding='utf-8')", 0),
        ("open(p, mode)", 1),
        ("os.fdopen(fd, 'w')", 1),
        ("os.fdopen(fd, 'wb')", 0),
        ("subprocess.run(x, universal_newlines=True)", 1),
        ("subprocess.run(x)", 0),
        ("path.read_text()", 1),
        ("path.read_text('utf-8')", 0),
    ],
)
def test_control_of_the_search(text: str, wrong: int) -> None:
    assert len(list(findings(text))) == wrong
