"""The aliases file: parsed entries, and edits that leave all others unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from thin import loader, runtime
from thin.exceptions import SaltInvocationError

TEXT = """\
# See man 5 aliases
postmaster:    root
root: ann@example.org,
\tbob@example.org
"first last" : someone # a comment

news: "|/usr/bin/program"
"""
ALIASES = {
    "postmaster": "root",
    "root": "ann@example.org, bob@example.org",
    "first last": "someone",
    "news": '"|/usr/bin/program"',
}


class Bed:
    def __init__(self, path: Path, test: bool = False) -> None:
        self.path = path
        self.loaders = loader.Loaders({"id": "it", "aliases.file": str(path), "test": test}, runtime)
        self.loaders.modules._functions["cmd.which"] = lambda name: None

    def __call__(self, fun: str, *args: Any) -> Any:
        kind = self.loaders.states if fun.startswith("alias.") else self.loaders.modules
        return kind[fun](*args)


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    path = tmp_path / "aliases"
    path.write_text(TEXT)
    path.chmod(0o640)
    return Bed(path)


def test_aliases_are_read(bed: Bed) -> None:
    assert bed("aliases.list_aliases") == ALIASES
    assert bed("aliases.get_target", "root") == ALIASES["root"] and bed("aliases.get_target", "none") == ""
    assert bed("aliases.has_target", "root", ["ann@example.org", "bob@example.org"]) is True
    assert bed("aliases.has_target", "root", "ann@example.org") is False
    assert bed("aliases.has_target", "none", "x") is False


@pytest.mark.parametrize(
    "fun, args, old, new",
    [
        ("set_target", ("root", "eve"), "root: ann@example.org,\n\tbob@example.org\n", "root: eve\n"),
        ("set_target", ("first last", "me"), '"first last" : someone # a comment\n', '"first last": me  # a comment\n'),
        ("set_target", ("postmaster", "root"), "", ""),
        ("set_target", ("new", ["a", "b"]), 'program"\n', 'program"\nnew: a, b\n'),
        ("rm_alias", ("root",), "root: ann@example.org,\n\tbob@example.org\n", ""),
        ("rm_alias", ("none",), "", ""),
    ],
)
def test_only_the_line_of_the_alias_changes(bed: Bed, fun: str, args: tuple[Any, ...], old: str, new: str) -> None:
    assert bed(f"aliases.{fun}", *args) is True
    assert bed.path.read_text() == TEXT.replace(old, new)
    assert bed.path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("fun, args", [("set_target", ("", "x")), ("set_target", ("x", "")), ("has_target", ("x", ""))])
def test_empty_names_are_errors(bed: Bed, fun: str, args: tuple[str, str]) -> None:
    with pytest.raises(SaltInvocationError):
        bed(f"aliases.{fun}", *args)


def test_a_missing_file_is_created(tmp_path: Path) -> None:
    bed = Bed(tmp_path / "aliases")
    assert bed("aliases.list_aliases") == {} and bed("aliases.rm_alias", "x") is True
    assert not bed.path.exists()
    assert bed("aliases.set_target", "x", "y") is True
    assert bed.path.read_text() == "x: y\n" and bed.path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("fun, args", [("alias.present", ("root", "eve")), ("alias.absent", ("news",))])
def test_aliases_are_present_and_absent(bed: Bed, fun: str, args: tuple[str, ...]) -> None:
    dry_run = Bed(bed.path, test=True)(fun, *args)
    assert (dry_run["result"], dry_run["changes"]) == (None, {}) and bed.path.read_text() == TEXT
    ret = bed(fun, *args)
    assert (ret["result"], ret["changes"]) == (True, {"alias": args[0]})
    second = bed(fun, *args)
    assert (second["result"], second["changes"]) == (True, {}) and "already" in second["comment"]
