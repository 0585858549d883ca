"""thin's replacements of difflib, shlex, shutil and tempfile, compared with the originals."""

from __future__ import annotations

import difflib
import hmac
import os
import random
import re
import shlex
import stat
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from thin import slots
from thin.modules import hashutil
from thin.utils import matching, unified, words
from thin.utils.files import copying, edit, osutil

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "  }\n", "end"]), max_size=60)
#: special characters of shell words
COMMANDS = st.text(st.sampled_from("ab\"'\\ \t\n\r=,()#é\x0b"), max_size=30)


def both_diffs(old: list[str], new: list[str], context: int = 3) -> tuple[list[str], list[str]]:
    return list(unified.unified(old, new, "x", "y", context)), list(difflib.unified_diff(old, new, "x", "y", n=context))


def edited(rng: random.Random, lines: list[str], edits: int) -> list[str]:
    out = list(lines)
    for _ in range(edits):
        at, kind = rng.randrange(len(out) + 1), rng.randrange(4)
        if kind == 0:
            out.insert(at, rng.choice([*lines, "new\n", "\n"]))
        elif kind == 1:
            del out[at : at + rng.randrange(5)]
        elif kind == 2:
            out[at : at + 1] = ["changed\n"]
        else:
            to = rng.randrange(len(out) + 1)
            out[to:to] = out[at : at + rng.randrange(30)]
    return out


@given(LINES, LINES, st.integers(0, 4))
def test_diff_of_short_texts(old: list[str], new: list[str], context: int) -> None:
    ours, theirs = both_diffs(old, new, context)
    assert ours == theirs


@given(st.integers(0, 2**32), st.sampled_from([190, 199, 200, 201, 450]), st.integers(2, 300), st.integers(0, 30))
def test_diff_of_texts_with_popular_lines(seed: int, size: int, vocabulary: int, edits: int) -> None:
    rng = random.Random(seed)
    # few different lines are frequent, as braces and empty lines are in files
    old = [f"{int(vocabulary * rng.random() ** 3)}\n" for _ in range(size)]
    for a, b in ((old, edited(rng, old, edits)), (edited(rng, old, edits), old)):
        ours, theirs = both_diffs(a, b)
        assert ours == theirs


def test_diff_of_a_long_text() -> None:
    old = [f"line {number}\n" for number in range(3_000)]
    new = [line if number % 10 else f"other {number}\n" for number, line in enumerate(old)]
    ours, theirs = both_diffs(old, new)
    assert ours == theirs


@pytest.mark.parametrize("names, ends", [(("", ""), "\n"), (("a", "b"), "")])
def test_file_names_and_line_ends_of_a_diff(names: tuple[str, str], ends: str) -> None:
    ours = list(unified.unified(["a"], ["b"], *names, end=ends))
    assert ours == list(difflib.unified_diff(["a"], ["b"], *names, lineterm=ends))


@given(
    st.text("abcde._", min_size=1, max_size=12),
    st.lists(st.text("abcde._", max_size=12), max_size=12),
    st.integers(1, 5),
    st.sampled_from([0.3, 0.6, 0.75]),
)
def test_close_names(name: str, names: list[str], count: int, cutoff: float) -> None:
    assert matching.close(name, names, count, cutoff) == difflib.get_close_matches(name, names, count, cutoff)


@given(st.text("ab.\u00e9", max_size=260), st.text("ab.\u00e9", max_size=260))
def test_ratio_of_similarity(a: str, b: str) -> None:
    assert matching.ratio(a, b) == difflib.SequenceMatcher(None, a, b).ratio()


def outcome(function, *args):  # type: ignore[no-untyped-def]
    try:
        return function(*args)
    except ValueError as exc:
        return str(exc)


@given(COMMANDS)
@example("a 'b c' \"d \\\" e\" f\\ g ''")
@example("echo \\")
@example('echo "a\\')
@example("it's")
def test_split(text: str) -> None:
    assert outcome(words.split, text) == outcome(shlex.split, text)


@given(st.text(max_size=20))
@example("")
@example("it's")
@example("a\n")
def test_quote(text: str) -> None:
    assert words.quote(text) == shlex.quote(text)
    assert words.split(words.quote(text)) == [text]


def salts_tokens(text: str) -> list[str]:
    """The tokens of Salt's parser of slots: posix shlex, with escapes in both kinds of quotes."""
    reader = shlex.shlex(text, posix=True)
    reader.escapedquotes = "\"'"
    return list(reader)


@given(st.text("ab_9(){}[],=.'\"\\ #\n\tä×~", max_size=15))
@example("f('a, b', c=[d, {e}])")
@example("'('")
@example("''")
def test_tokens_of_slots(text: str) -> None:
    assert outcome(lambda text: list(slots._tokens(text)), text) == outcome(salts_tokens, text)


def test_rmtree_does_not_follow_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    top = tmp_path / "top"
    (top / "a/b/c").mkdir(parents=True)
    (top / "a/b/file").write_text("x")
    (top / "a/link").symlink_to(outside)
    (top / "dangling").symlink_to("nowhere")
    os.mkfifo(top / "a/fifo")
    osutil.rmtree(str(top))
    assert not os.path.lexists(top)
    assert (outside / "kept").read_text() == "x"


def test_rmtree_of_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(OSError, match="link"):
        osutil.rmtree(str(tmp_path / "link"))
    osutil.rmtree(str(tmp_path / "link") + "/", ignore_errors=True)
    assert (tmp_path / "real").is_dir()
    with pytest.raises(FileNotFoundError):
        osutil.rmtree(str(tmp_path / "missing"))
    osutil.rmtree(str(tmp_path / "missing"), ignore_errors=True)


def test_rmtree_leaves_no_descriptor(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    for number in range(20):
        (tmp_path / f"top/{number}/x").mkdir(parents=True)
    osutil.rmtree(str(tmp_path / "top"))
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_temporary_files_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    old = os.umask(0)
    try:
        descriptor, path = osutil.mkstemp(prefix="a-", suffix=".sh")
        folder = osutil.mkdtemp()
    finally:
        os.umask(old)
    os.close(descriptor)
    assert Path(path).parent == Path(folder).parent == tmp_path
    assert Path(path).name.startswith("a-")
    assert Path(path).suffix == ".sh"
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.lstat(folder).st_mode) == 0o700


@pytest.mark.parametrize("folder", ["relative", "/nonexistent", "/etc/passwd"])
def test_an_unusable_tmpdir_is_replaced_by_tmp(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", folder)
    monkeypatch.delenv("TEMP", raising=False)
    monkeypatch.delenv("TMP", raising=False)
    assert osutil.tempdir() == "/tmp"


def shlex_words(line: str) -> list[str]:
    """The words of a line with both kinds of quotes, as in Salt's build_whitespace_split_regex."""
    lexer = shlex.shlex(line)
    lexer.whitespace_split = True
    lexer.commenters = ""
    lexer.quotes = "" if "'\\\"" in line else '"'
    try:
        return list(lexer)
    except ValueError:
        return line.split()


@given(st.text("ab\"'\\ \t#", max_size=20).map(lambda text: f"{text}'\""))
@example("'a' \"b c\"")
@example('a\'\\" "b c"')
@example('x" y" \'')
def test_the_expression_for_a_line_to_append(line: str) -> None:
    gap = r"(?:[\s]+)?"
    pattern = gap + gap.join(re.escape(word) for word in shlex_words(line)) + gap
    assert edit.spaced(line) == f"(?m)^{pattern}$"


@given(st.binary(max_size=200), st.binary(max_size=60))
def test_hmac(secret: bytes, data: bytes) -> None:
    expected = hmac.new(secret, data, "sha256").hexdigest()
    assert hashutil.hmac_compute(data, secret) == expected
    for kind in ("sha1", "sha512", "blake2b"):
        expected = hmac.new(secret, data, kind).hexdigest()
        assert hashutil.github_signature(data, secret, f"{kind}={expected}")
        assert not hashutil.github_signature(data, secret, f"{kind}={expected[:-1]}é")
    assert not hashutil.github_signature(data, secret, "shake_128=00")


def test_move_into_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "there").mkdir()
    copying.move(str(tmp_path / "file"), str(tmp_path / "there"))
    assert (tmp_path / "there/file").read_text() == "x"
    (tmp_path / "file").write_text("y")
    with pytest.raises(OSError, match="already exists"):
        copying.move(str(tmp_path / "file"), str(tmp_path / "there"))


@pytest.mark.skipif(
    not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == os.stat("/tmp").st_dev,
    reason="needs a second file system",
)
def test_move_to_another_file_system(tmp_path: Path) -> None:
    other = Path(osutil.mkdtemp("/dev/shm"))
    try:
        top = tmp_path / "top"
        (top / "sub").mkdir(parents=True)
        (top / "sub/file").write_text("x")
        (top / "sub/file").chmod(0o604)
        os.utime(top / "sub/file", (1000, 2000))
        (top / "link").symlink_to("sub/file")
        copying.move(str(top), str(other / "new"))
        assert not top.exists()
        moved = os.lstat(other / "new/sub/file")
        assert (stat.S_IMODE(moved.st_mode), moved.st_mtime) == (0o604, 2000)
        assert os.readlink(other / "new/link") == "sub/file"
    finally:
        osutil.rmtree(str(other))
