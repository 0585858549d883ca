"""Sentences of pushsalt that must not equal Salt's (docs/adr/0012-salts-words.md).

Texts of returns are an interface and equal Salt's. Log lines, docstrings and hints have our own words: they contain
none of Salt's log lines of four words or more, and no sentence of its docstrings of six words or more.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.beds.project import ROOT

LEVELS = {"trace", "debug", "info", "warning", "error", "critical", "exception"}
#: log lines that Salt's own tests read: these are an interface, too
READ_BY_SALTS_TESTS = {
    "Could not find the key file for keyid: %s",
    "Database '%s' does not exist",
    "Detected legacy module.run syntax: %s",
    'File "%s" does not exist',
    "Language %s already exists in %s",
    "Language %s does not exist in %s",
    "DB '%s' does not exist",
    "Schema '%s' does not exist in '%s'",
    "The directory %s does not exist. Please create this directory only writable by root",
    "The keyid needs to be either 8 or 16 characters",
    'The provided locale "%s" is not found in %s',
    "Unable to fetch file %s from saltenv %s.",
    "User '%s' does not exist",
    "User '%s'@'%s' does not exists",
    "Using new style module.run syntax: %s",
    "You must define the name of the key file to save the key. See keyfile argument",
    "'%s' could not be found",
}


def words(sentence: str) -> tuple[str, ...]:
    """The words of a text without inserted values, case and punctuation."""
    return tuple(
        re.findall(r"[a-z][a-z'_.]*[a-z]", re.sub(r"%\(?\w*\)?[-\d.]*[srdifx]|\{[^}]*\}", " ", sentence.lower()))
    )


def literal(node: ast.expr) -> str:
    """The text of an expression, with %s for inserted values; empty if it is not a text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) or "%s" for part in node.values)
    if isinstance(node, ast.BinOp):
        return literal(node.left) + (literal(node.right) if isinstance(node.op, ast.Add) else "")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return literal(node.func.value)
    return ""


def log_lines(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in LEVELS
            and node.args
        ):
            yield literal(node.args[0])


def documented(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from re.split(r"(?<=[.!?:])\s+|\n\s*\n", ast.get_docstring(node) or "")


def sentences(folder: Path) -> tuple[dict[tuple[str, ...], str], dict[tuple[str, ...], str]]:
    """Log lines and sentences of docstrings of all modules below a folder: {words: text}."""
    logged: dict[tuple[str, ...], str] = {}
    written: dict[tuple[str, ...], str] = {}
    for path in sorted(folder.rglob("*.py")):
        if not {"vendor", "ext"} & set(path.relative_to(folder).parts):
            tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
            logged.update((words(text), text) for text in log_lines(tree) if len(words(text)) >= 4)
            written.update((words(text), text) for text in documented(tree) if len(words(text)) >= 6)
    return logged, written


def test_log_lines_and_docstrings_are_not_those_of_salt(salt_python: Path) -> None:
    done = subprocess.run(
        [salt_python, "-c", "import salt; print(salt.__path__[0])"], capture_output=True, text=True, check=True
    )
    salts_lines, salts_docstrings = sentences(Path(done.stdout.strip()))
    assert len(salts_lines) > 3000
    assert len(salts_docstrings) > 10000
    for name in ("thin", "pushsalt"):
        lines, docstrings = sentences(ROOT / name)
        assert len(lines) > 50
        assert len(docstrings) > 1000
        same = {text for key, text in lines.items() if key in salts_lines} - READ_BY_SALTS_TESTS
        assert not same, f"{name}: log lines that are Salt's"
        same = {text for key, text in docstrings.items() if key in salts_docstrings}
        # a list of values of an option, which are names
        assert not {text for text in same if re.sub(r"``[^`]*``[,.]?\s*", "", text)}, (
            f"{name}: docstrings that are Salt's"
        )
