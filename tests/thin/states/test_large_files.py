"""Files above the size limit of diffs are edited in parts, with the same results as smaller ones."""

from __future__ import annotations

import faulthandler
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.thin.filebed import Bed
from tests.thin.test_old_pythons import pythons
from thin import link
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import diff, edit, large

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PYTHONS = pythons()
VERSIONS = sorted({min(PYTHONS, key=lambda version: int(version[2:])), f"3.{sys.version_info[1]}"})
TEXT = "port = 80\n# name = x\n\nhost a\nhost b\r\nhost über\n\tlast"
#: pattern, replacement, further arguments; each applied to TEXT and to parts of it
CASES: list[tuple[str, str, dict[str, Any]]] = [
    (r"^port = .*$", "port = 81", {}),
    (r"^host (\w)", r"host \1\1-\g<1>", {}),
    (r"^host", "guest", {"count": 2}),
    (r"x*", "-", {}),
    (r"^", "> ", {}),
    (r"$", ";", {}),
    (r"\b", "|", {}),
    (r"", "", {}),
    (r"(?s)80.*host", "all", {}),
    (r"host(?= b)", "HOST", {}),
    (r"(?<=host )a", "c", {}),
    (r"\n\n", "\n", {}),
    (r"HOST", "h", {"flags": ["IGNORECASE"]}),
    (r"(a)|(b)", r"[\1\2]", {}),
    (r"port", "port", {}),
    (r"port", r"a\1b", {"backslash_literal": True}),
    (r"80", "80", {"count": -1}),
    (r"\Aport", "p", {}),
    (r"last\Z", "end", {}),
    (r"ü", "ue", {}),
    (r".*", "", {}),
    (r"^none", "none here", {"append_if_not_found": True}),
    (r"^none", "", {"append_if_not_found": True}),
    (r"^nothing", "x", {"prepend_if_not_found": True, "not_found_content": "first"}),
    (r"^nothing", "host a", {"prepend_if_not_found": True}),
    (r"^nothing", "host b", {"append_if_not_found": True}),
    (r"^port", "port", {"append_if_not_found": True}),
    (r"never", "x", {}),
    (r"(unclosed", "x", {}),
    (r"a", r"\9", {}),
]


@pytest.fixture
def bed(tmp_path: Path) -> Any:
    bed = Bed(tmp_path / "bed")
    before = link.connect(bed.link)
    yield bed
    link.connect(before)


@pytest.mark.parametrize("text", [TEXT, TEXT + "\n", "host a\n", "x" * 10])
def test_replacements_equal_those_in_smaller_files(bed: Any, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    for pattern, repl, options in CASES:
        for backup, test in ((".bak", False), (False, True))[: 2 if text == TEXT else 1]:
            results = []
            for limit in (1 << 20, 5):
                monkeypatch.setattr(diff, "LIMIT", limit)
                for name in os.listdir(bed.target):
                    os.unlink(bed.path(name))
                path = bed.file("f", text)
                inode, read = os.stat(path).st_ino, edit.read
                if limit == 5:
                    monkeypatch.setattr(edit, "read", lambda path: pytest.fail("the whole file is read"))
                ret = bed.state("replace", test=test, name=path, pattern=pattern, repl=repl, backup=backup, **options)
                monkeypatch.setattr(edit, "read", read)
                diff_text = ret["changes"].pop("diff", None)
                files = {name: Path(bed.path(name)).read_bytes() for name in sorted(os.listdir(bed.target))}
                results.append((ret, diff_text is None, files, os.stat(path).st_ino == inode))
                if diff_text is not None and limit == 5:
                    old, new = map(int, re.findall(r"\d+", diff_text))
                    assert diff_text == diff.TOO_LARGE % (old, new) and old == len(text.encode())
                    assert test or new == os.path.getsize(path)
            assert results[0] == results[1], (pattern, repl, options, backup, test)


@pytest.mark.parametrize("version", VERSIONS)
def test_substitution_in_pieces_equals_substitution_of_the_whole(version: str) -> None:
    """The oldest Python is tested, too: its ``sub`` treats empty matches differently."""
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from thin.utils.files.edit import Substitution\n"
        "for text, pattern, repl, count in json.loads(sys.argv[2]):\n"
        "    substitution, data = Substitution(bytes, pattern, repl, count), text.encode('utf-8')\n"
        "    assert b''.join(substitution.pieces(data)) == substitution.whole(data), (text, pattern)\n"
    )
    texts = (TEXT, "abxd", "xxaxx", "")
    cases = [
        (text, pattern, repl, count)
        for text in texts
        for pattern, repl, _ in CASES
        for count in (0, 1, 3)
        if "unclosed" not in pattern and repl != r"\9" and (repl != r"a\1b")
    ]
    cases += [(text, r"b|x*|$", "-", count) for text in texts for count in (0, 2)]
    argv = [PYTHONS[version], "-I", "-S", "-c", code, str(ROOT), json.dumps(cases)]
    process = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 0, process.stderr


def test_searches_equal_those_in_smaller_files(bed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bed.file("f", TEXT)
    for pattern, _, options in CASES:
        results = []
        for limit in (1 << 20, 5):
            monkeypatch.setattr(diff, "LIMIT", limit)
            try:
                results.append(edit.search_file(path, pattern, options.get("flags", 8)))
            except SaltInvocationError as exc:
                results.append(str(exc))
        assert results[0] == results[1], pattern
    monkeypatch.setattr(diff, "LIMIT", 5)
    binary = bed.file("b", b"\0" * 600)
    for call in (edit.search_file, edit.replace_in_file):
        with pytest.raises(SaltInvocationError, match="Cannot perform string replacements on a binary file"):
            call(binary, "x", *(["y"] if call is edit.replace_in_file else []))


@pytest.mark.parametrize("header", [None, True])
@pytest.mark.parametrize("text", ["host a", ["new", "host  b", "# name = x"], "port = 80\n# name = x", "ü\nport", ""])
def test_prepend_equals_that_of_smaller_files(
    bed: Any, monkeypatch: pytest.MonkeyPatch, text: Any, header: bool | None
) -> None:
    results = []
    for limit in (1 << 20, 5):
        monkeypatch.setattr(diff, "LIMIT", limit)
        path = bed.file("f", "ü\n" + TEXT if text == "ü\nport" else TEXT)
        inode, read = os.stat(path).st_ino, edit.read
        if limit == 5:
            monkeypatch.setattr(edit, "read", lambda path: pytest.fail("the whole file is read"))
        rets = [bed.state("prepend", test=test, name=path, text=text, header=header) for test in (True, False, False)]
        monkeypatch.setattr(edit, "read", read)
        diffs = [ret["changes"].pop("diff", None) for ret in rets]
        same_inode = os.stat(path).st_ino == inode
        results.append((rets, [diff_text is None for diff_text in diffs], Path(path).read_bytes(), same_inode))
        assert diffs[0] == diffs[1]
        if limit == 5 and diffs[1]:
            assert diffs[1].startswith(diff.TOO_LARGE[:14]) and f" {os.path.getsize(path)} bytes" in diffs[1]
    assert results[0] == results[1]


def test_a_file_that_is_truncated_during_an_edit_is_an_error(bed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that reads a truncated part of a mapped file gets SIGBUS; it must not be the worker."""
    monkeypatch.setattr(diff, "LIMIT", 5)
    path = bed.file("f", b"line\n" * 100_000)

    def truncating(data: Any) -> Any:
        faulthandler.disable()
        os.truncate(path, 0)
        yield data[300_000:300_010]

    with pytest.raises(OSError, match="it was truncated while it was read"):
        list(large.pieces(path, truncating))
    monkeypatch.setattr(edit.Substitution, "measured", lambda self, data: truncating(data))
    Path(path).write_bytes(b"line\n" * 100_000)
    ret = bed.state("replace", name=path, pattern="line", repl="x")
    assert ret["result"] is False and "Unable to open file" in ret["comment"] and "truncated" in ret["comment"]


def test_a_failed_replacement_leaves_the_file(bed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "LIMIT", 5)
    path = bed.file("f", b"line\n" * 300_000)

    def failing(self: Any, data: Any) -> Any:
        faulthandler.disable()
        yield b"y" * 400_000
        os.kill(os.getpid(), signal.SIGBUS)

    monkeypatch.setattr(edit.Substitution, "pieces", failing)
    with pytest.raises(CommandExecutionError, match="Unable to write file"):
        edit.replace_in_file(path, "line", "x", backup=False)
    assert Path(path).read_bytes() == b"line\n" * 300_000 and os.listdir(bed.target) == ["f"]


def with_little_memory(version: str, path: Path, calls: list[Any]) -> tuple[tuple[Any, ...], ...]:
    """Call functions on a file with 10 MiB of memory: their returns, sizes of the file, and whether it is the same."""
    program = Path(__file__).parents[1] / "large_run.py"
    process = subprocess.run(
        [PYTHONS[version], "-I", "-S", str(program), str(ROOT), str(path), str(10 << 20), json.dumps(calls)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return tuple(zip(*map(json.loads, process.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("version", VERSIONS)
def test_memory_is_bounded(tmp_path: Path, version: str) -> None:
    """A file of 40 MiB, mostly a hole, with a limit of 10 MiB."""
    path, size = tmp_path / "log", 40 << 20
    with open(path, "wb") as stream:
        stream.write(b"first line of it\n" * 100)
        stream.seek(size - len(b"\nthe end\n"))
        stream.write(b"\nthe end\n")
    calls = [
        ("states:file.replace", {"pattern": "^the end$", "repl": "THE END", "backup": False}),
        ("states:file.replace", {"pattern": "^THE END$", "repl": "THE END", "backup": False}),
        ("states:file.replace", {"pattern": "^none$", "repl": "more", "append_if_not_found": True, "backup": False}),
        ("states:file.prepend", {"text": ["head", "more"]}),
        ("states:file.prepend", {"text": ["head", "2nd"], "header": True}),
        ("modules:file.search", {"pattern": "^more$"}),
        ("modules:file.prepend", {"args": ["top"]}),
        ("states:file.append", {"text": ["the end"]}),
    ]
    rets, sizes, same_inodes = with_little_memory(version, path, calls)
    assert same_inodes == (True,) * 8
    assert sizes == (size, size, size + 5, size + 10, size + 19, size + 19, size + 23, size + 31)
    assert [ret["comment"] for ret in rets[:5]] == [
        "Changes were made",
        "No changes needed to be made",
        "Changes were made",
        "Prepended 1 lines",
        "Prepended 2 lines",
    ]
    assert rets[2]["changes"]["diff"] == diff.TOO_LARGE % (size, size + 5)
    assert rets[5] is True
    with open(path, "rb") as stream:
        assert stream.read(23) == b"top\nhead\n2nd\nhead\nfirst"
        stream.seek(-30, os.SEEK_END)
        assert stream.read().endswith(b"\nTHE END\nmore\nthe end\n")


KEYS = b"port = 80\n#name = x\nport = 81\n" + b"other = 5\n" * 10


@pytest.mark.parametrize("version", VERSIONS)
def test_memory_of_keyvalue_is_bounded(tmp_path: Path, version: str) -> None:
    """42 MB in lines, with a limit of 10 MiB."""
    path, lines = tmp_path / "settings", (b"a line of it" * 30 + b"\n") * 116_000
    path.write_bytes(KEYS + lines)
    size = len(KEYS) + len(lines)
    more = {"separator": " = ", "uncomment": "#", "key_values": {"port": 82, "name": "y", "new": "z"}}
    calls = [
        ("states:file.keyvalue", dict(more, append_if_not_found=True)),
        ("states:file.keyvalue", more),
        ("states:file.keyvalue", {"key": "top", "value": "first", "prepend_if_not_found": True}),
        ("states:file.keyvalue", {"key_values": {"port": 8}, "separator": " = ", "prune": True}),
    ]
    rets, sizes, same_inodes = with_little_memory(version, path, calls)
    changed = size - len("#port = 81\n") + len("new = z\n")
    assert (sizes, same_inodes) == ((changed, changed, changed + 10, len("port = 8\n")), (True,) * 4)
    assert [ret["comment"] for ret in rets] == [
        "Changed 4, deleted 0 lines",
        "",
        "Changed 1, deleted 0 lines",
        "Changed 1, deleted 116013 lines",
    ]
    assert rets[0]["changes"]["diff"] == (
        "- port = 80\n+ port = 82 (from int type)\n- #name = x\n+ name = y\n- port = 81\n- <EOF>\n+ new = z\n+ <EOF>\n"
    )
    assert rets[2]["changes"]["diff"] == "  <SOF>\n+ top=first\n"
    assert rets[3]["changes"]["diff"] == diff.TOO_LARGE % (changed + 10, len("port = 8\n"))
    assert path.read_bytes() == b"port = 8\n"


def test_lines_with_keys_end_at_line_feeds_as_in_salt(bed: Any) -> None:
    path = bed.file("f", b"page = \x0cport = 1\n\xe9 = \xc2\x85port = 2\r\nport = 3")
    ret = bed.state("keyvalue", name=path, key="port", value="4", separator=" = ")
    assert ret["changes"]["diff"] == "- port = 3+ port = 4\n"
    assert Path(path).read_bytes() == b"page = \x0cport = 1\n\xe9 = \xc2\x85port = 2\r\nport = 4\n"
