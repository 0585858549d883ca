"""Report files: complete or absent."""

import os
import stat
from pathlib import Path

import pytest

from pushsalt.errors import UsageError
from pushsalt.reports.files import check_place, write_whole


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "report.xml"
    path.write_text("old")
    path.chmod(0o640)
    seen = []

    def pieces():
        yield "new "
        seen.append(path.read_text())
        yield "text"

    write_whole(path, pieces())
    assert seen == ["old"] and path.read_text() == "new text"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["report.xml"]


def test_what_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "report.xml"
    path.write_text("old")

    def pieces():
        yield "new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, pieces())
    assert path.read_text() == "old" and len([*tmp_path.iterdir()]) == 1


def test_a_new_file_has_the_usual_mode(tmp_path):
    mask = os.umask(0o027)
    try:
        write_whole(tmp_path / "a", ["x"])
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_link_stays(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", ["new"])
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "new"


def test_a_device_is_written_to(tmp_path):
    check_place(tmp_path / "null", "--junit")
    (tmp_path / "null").symlink_to("/dev/null")
    check_place(tmp_path / "null", "--junit")
    write_whole(tmp_path / "null", ["x"])
    assert (tmp_path / "null").is_symlink() and stat.S_ISCHR((tmp_path / "null").stat().st_mode)


@pytest.mark.parametrize(
    "name, words",
    [
        ("none/report.xml", "No such file"),
        ("folder", "it is a folder"),
        ("file/x", "Not a directory"),
        ("a\0b", "null"),
    ],
)
def test_places_that_cannot_be(tmp_path, name, words):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"--junit: .* cannot be written") as caught:
        check_place(tmp_path / name, "--junit")
    assert words in str(caught.value)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder"]


def test_a_pipe_without_a_reader_is_an_error_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="nothing reads this pipe"):
        check_place(tmp_path / "pipe", "--junit")
    with pytest.raises(OSError, match="nothing reads this pipe"):
        write_whole(tmp_path / "pipe", ["x"])


def test_the_reader_of_a_pipe_gets_all_that_is_written(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        check_place(tmp_path / "pipe", "--junit")
        with pytest.raises(BlockingIOError):  # not the end of the file
            os.read(reader, 100)
        write_whole(tmp_path / "pipe", ["one ", "two"])
        assert (os.read(reader, 100), os.read(reader, 100)) == (b"one two", b"")
        write_whole(tmp_path / "pipe", ["three"])
        assert os.read(reader, 100) == b"three"
    finally:
        os.close(reader)


def test_the_pipe_of_a_descriptor_is_written_to():
    reader, writer = os.pipe()
    try:
        check_place(Path(f"/dev/fd/{writer}"), "--report")
        write_whole(Path(f"/dev/fd/{writer}"), ["x"])
        assert os.read(reader, 100) == b"x"
    finally:
        os.close(reader)
        os.close(writer)
