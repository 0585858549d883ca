"""The runtime changes files, owners and modes through ``thin.utils.files.safepath`` only.

A change by path can be redirected by another user who swaps in a link. A line may use a path if no other user can do
so: a comment ``# path:`` on the line, or above, gives the reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: the library itself, and its removal of trees
LIBRARY = {f"thin/utils/files/{name}.py" for name in ("safepath", "safetree", "places", "osutil")}
CHANGES = {
    "chflags",
    "chmod",
    "chown",
    "lchmod",
    "lchown",
    "link",
    "makedirs",
    "mkdir",
    "mkfifo",
    "mknod",
    "remove",
    "removedirs",
    "removexattr",
    "rename",
    "renames",
    "replace",
    "rmdir",
    "setxattr",
    "symlink",
    "truncate",
    "unlink",
    "utime",
}
SHUTIL = {
    "chown",
    "copy",
    "copy2",
    "copyfile",
    "copymode",
    "copystat",
    "copytree",
    "make_archive",
    "move",
    "rmtree",
    "unpack_archive",
}
WRITES = re.compile(r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)")
DESCRIPTORS = {"fd", "descriptor", "folder.fd"}
OPENERS = {"io", "codecs", "gzip", "bz2", "lzma", "tarfile", "zipfile", "tempfile"}
MARK = re.compile(r"# path: (\S.*)")


def findings(text: str) -> Iterator[tuple[int, str]]:
    """(line, problem) of each place in a module that changes something by its path."""
    tree = ast.parse(text)
    constants = {
        target.id: ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    harmless, has_walks = set(), "os.walk" in text or "os.fwalk" in text
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            of = getattr(getattr(node.func, "value", None), "id", "")
            if of in ("os", "shutil", "tempfile") and node.args and ast.unparse(node.args[0]) in DESCRIPTORS:
                harmless.add(id(node.func))
            if any(word.arg in ("dir_fd", "src_dir_fd") for word in node.keywords):
                harmless.add(id(node.func))
            yield from _call(node, constants)
        if isinstance(node, ast.ImportFrom) and node.module in ("os", "shutil"):
            yield node.lineno, f"imports names of {node.module}: they are to be seen as such"
        if has_walks and isinstance(node, (ast.FunctionDef, ast.Lambda)):
            yield from _walks(node)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and id(node) not in harmless:
            if node.value.id == "os" and node.attr in CHANGES:
                yield node.lineno, f"os.{node.attr} by a path: safepath.{node.attr}"
            if (node.value.id == "shutil" and node.attr in SHUTIL) or (node.value.id, node.attr) == (
                "tempfile",
                "mktemp",
            ):
                yield node.lineno, f"{node.value.id}.{node.attr}"


def _call(node: ast.Call, constants: dict[str, str]) -> Iterator[tuple[int, str]]:
    if "open" not in (getattr(node.func, "attr", ""), getattr(node.func, "id", "")):
        return
    words = {word.arg for word in node.keywords}
    name = ast.unparse(node.func)
    if name == "os.open" and "dir_fd" not in words:
        flags = ast.unparse(node.args[1]) if len(node.args) > 1 else ""
        for _ in range(3):
            flags = re.sub(r"\b\w+\b", lambda match: constants.get(match.group(), match.group()), flags)
        if WRITES.search(flags):
            yield node.lineno, "os.open to write by a path: safepath.at(path).open()"
    elif name == "open" or (name.endswith(".open") and name.rpartition(".")[0] in OPENERS):
        mode = node.args[1] if len(node.args) > 1 else None
        mode = next((word.value for word in node.keywords if word.arg == "mode"), mode)
        starred = any(isinstance(value, ast.Starred) for value in node.args) or None in words
        plain = isinstance(mode, ast.Constant) and not set(str(mode.value)) & set("wax+")
        if "opener" not in words and (starred or not (mode is None or plain)):
            yield node.lineno, "open to write by a path: open(path, mode, opener=safepath.opener)"


def _walks(function: ast.AST) -> Iterator[tuple[int, str]]:
    """os.walk in code that changes something: safetree.descend stays in the folders that it opened."""
    names = {ast.unparse(node.func): node.lineno for node in ast.walk(function) if isinstance(node, ast.Call)}
    changes = [name for name in names if name.rpartition(".")[2] in CHANGES | SHUTIL | {"enforce", "own"}]
    changes = [name for name in changes if name.partition(".")[0] in ("os", "safepath", "owner", "walk", "shutil")]
    for walk in ("os.walk", "os.fwalk"):
        if walk in names and changes:
            yield names[walk], f"{walk} with {changes[0]}: safetree.descend"


def modules() -> list[Path]:
    found = [path for path in sorted((ROOT / "thin").rglob("*.py")) if "vendor" not in path.parts]
    return [path for path in found if path.relative_to(ROOT).as_posix() not in LIBRARY]


def test_files_are_changed_through_the_library_alone() -> None:
    wrong, needless = [], []
    for path in modules():
        text = path.read_text()
        if not re.search(r"\bos\b|open\(|shutil|tempfile", text):
            continue
        lines, used = text.split("\n"), set()
        for number, words in findings(text):
            marked = [line for line in (number, number - 1) if line and MARK.search(lines[line - 1])]
            used.update(marked[:1])
            if not marked:
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {words}")
        excused = {number for number, line in enumerate(lines, 1) if MARK.search(line)}
        needless += [f"{path.relative_to(ROOT)}:{number}: nothing to excuse" for number in sorted(excused - used)]
    assert not wrong + needless, "\n".join(wrong + needless)


@pytest.mark.parametrize(
    "line",
    [
        "os.chown(path, 0, 0)",
        "os.lchown(path, 0, 0)",
        "os.chmod(path, 0o600)",
        "move = os.rename",
        "shutil.rmtree(path)",
        "shutil.copyfile(a, b)",
        "shutil.move(a, b)",
        "shutil.chown(path, 'root')",
        "open(path, 'w')",
        "open(path, mode='ab')",
        "open(path, 'r+b')",
        "open(path, 'x')",
        "open(path, mode)",
        "open(*args)",
        "io.open(path, 'w')",
        "os.open(path, os.O_RDWR | os.O_CREAT)",
        "os.open(path, FLAGS)",
        "tempfile.mktemp()",
        "from os import unlink",
        "tarfile.open(path, 'w:gz')",
        "def f():\n for a, b, c in os.walk(top): safepath.unlink(a)",
    ],
)
def test_forbidden_code(line: str) -> None:
    assert list(findings(f"FLAGS = os.O_WRONLY\n{line}\n"))


@pytest.mark.parametrize(
    "line",
    [
        "open(path)",
        "open(path, 'rb')",
        "open(path, 'w', opener=safepath.opener)",
        "os.open(path, os.O_RDONLY)",
        "os.unlink(name, dir_fd=folder)",
        "os.rename(a, b, src_dir_fd=x, dst_dir_fd=x)",
        "os.fchown(fd, 0, 0)",
        "os.open(name, os.O_WRONLY, dir_fd=folder)",
        "def f():\n for a, b, c in os.walk(top): print(a)",
    ],
)
def test_permitted_code(line: str) -> None:
    assert not list(findings(line + "\n"))
