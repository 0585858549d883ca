"""Archives are parsed without Python's libraries, with the same results as theirs."""

import io
import os
import stat
import subprocess
import tarfile
import zipfile

import pytest

from thin.utils.archives import tarmembers, zips

LONG = "long/" * 30 + "name" * 20 + "é"
FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]


def entry(name, kind=tarfile.REGTYPE, target="", size=0):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, size
    return info


def tar_archive(path, entries, tar_format=tarfile.PAX_FORMAT, mode="w"):
    with tarfile.open(path, mode, format=tar_format) as archive:
        for info in entries:
            archive.addfile(info, io.BytesIO(b"x" * info.size))
    return str(path)


@pytest.mark.parametrize("tar_format", FORMATS)
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_members_of_tar_equal_those_of_tarfile(tar_format, mode, tmp_path):
    entries = [
        entry("top", tarfile.DIRTYPE),
        entry("top/file", size=1),
        entry("top/big", size=70_000),
        entry("top/link", tarfile.SYMTYPE, "file"),
        entry("top/same", tarfile.LNKTYPE, "top/file"),
        entry("top/pipe", tarfile.FIFOTYPE),
        entry("top/" + "n" * 99, size=512),
    ]
    if tar_format != tarfile.USTAR_FORMAT:
        entries += [entry(LONG, size=3), entry("l", tarfile.SYMTYPE, LONG), entry("last", size=5)]
    path = tar_archive(tmp_path / "a", entries, tar_format, mode)
    members = [(member.name, member.kind, member.target) for member in tarmembers.members(path)]
    kinds = {tarfile.DIRTYPE: "dir", tarfile.SYMTYPE: "link", tarfile.LNKTYPE: "hardlink"}
    with tarfile.open(path) as archive:
        assert members == [(info.name, kinds.get(info.type, "file"), info.linkname) for info in archive.getmembers()]


def test_members_of_gnu_tar_with_a_sparse_file(tmp_path):
    (tmp_path / "d").mkdir()
    with open(tmp_path / "d/holes", "wb") as stream:
        for number in range(40):
            stream.seek(number * 1_000_000)
            stream.write(b"data")
    (tmp_path / "d/next").write_text("x")
    for tar_format in ("gnu", "posix"):
        command = ["tar", "-c", "-S", "--sort=name", f"--format={tar_format}", "-f", "a.tar", "d"]
        subprocess.run(command, cwd=tmp_path, check=True)
        names = [member.name for member in tarmembers.members(str(tmp_path / "a.tar"))]
        assert names == ["d", "d/holes", "d/next"]


@pytest.mark.parametrize("data", [b"", b"junk", b"x" * 2000, b"\x1f\x8bjunk", b"\x1f\x8b\x08"])
def test_other_files_are_no_tar_archives(data, tmp_path):
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(tarmembers.NotTar):
        tarmembers.members(str(tmp_path / "a"))


@pytest.mark.parametrize("compression", ["", "gz"])
def test_a_negative_size_is_refused(compression, tmp_path):
    """It would lead back to the same header, in a loop without end."""
    info = entry("a")
    info.pax_headers = {"size": "-1024"}
    path = tmp_path / "a"
    with tarfile.open(path, "w:" + compression, format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info)
    with pytest.raises(tarmembers.NotTar, match="negative"):
        tarmembers.members(str(path))


@pytest.mark.parametrize("kind", [b"x", b"g", b"L", b"S"])
def test_headers_without_end_are_refused(kind, monkeypatch):
    """They are held in memory until their member is known."""
    monkeypatch.setattr(tarmembers, "HEADER", 100_000)
    read = []

    def pieces():
        info = entry("a", kind, size=0 if kind == b"S" else 512)
        head = bytearray(info.tobuf(tarfile.GNU_FORMAT))
        if kind == b"S":  # each block announces another one
            head[482] = 1
            head[148:156] = b" " * 8
            head[148:155] = b"%06o\0" % sum(head)
        yield bytes(head)
        for _ in range(1000):
            read.append(512)
            yield b"\1" * 512
            if kind != b"S":
                yield bytes(head)

    with pytest.raises(tarmembers.NotTar, match="too large"):
        list(tarmembers.passing(pieces()))
    assert sum(read) <= 100_000


def zip_archive(path, compression=zipfile.ZIP_DEFLATED, before=b"", comment=b""):
    with open(path, "wb") as stream:
        stream.write(before)
        with zipfile.ZipFile(stream, "w", compression) as archive:
            link = zipfile.ZipInfo("d/link")
            link.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr("d/", b"")
            archive.writestr("d/file é", b"some text\n" * 10_000)
            archive.writestr(link, "file")
            archive.comment = comment
    return open(path, "rb")


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
@pytest.mark.parametrize("before", [b"", b"#!/bin/sh\nexit\n"])
def test_zip_is_read(compression, before, tmp_path):
    with zip_archive(tmp_path / "a.zip", compression, before, b"a comment") as stream:
        members = zips.members(stream)
        assert [(member.name, member.kind) for member in members] == [
            ("d/", "dir"),
            ("d/file é", "file"),
            ("d/link", "link"),
        ]
        assert b"".join(zips.pieces(stream, members[1])) == b"some text\n" * 10_000
        assert b"".join(zips.pieces(stream, members[2])) == b"file"


def test_a_damaged_zip_member_is_an_error(tmp_path):
    zip_archive(tmp_path / "a.zip", zipfile.ZIP_STORED).close()
    data = bytearray((tmp_path / "a.zip").read_bytes())
    data[data.index(b"some text")] ^= 1
    stream = io.BytesIO(bytes(data))
    with pytest.raises(zips.ZipError, match="CRC"):
        list(zips.pieces(stream, zips.members(stream)[1]))


def test_other_files_are_no_zip_archives():
    for data in (b"", b"junk" * 100, b"PK\5\6" + b"\xff" * 18):
        with pytest.raises(zips.ZipError):
            zips.members(io.BytesIO(data))


#: output of "zip -P secret": one file, "in", of the text "hidden\n"
LOCKED = io.BytesIO(
    bytes.fromhex(
        "504b03040a00090000002b80755d4b948f87130000000700000002000000696e69c483fdd1a3ca4ab2d0f9312596341175cd"
        "3e504b07084b948f871300000007000000504b01021e030a00090000002b80755d4b948f8713000000070000000200000000"
        "00000001000000a48100000000696e504b0506000000000100010030000000430000000000"
    )
)


def test_an_encrypted_zip_member_needs_its_password():
    (member,) = zips.members(LOCKED)
    assert member.encrypted
    assert b"".join(zips.pieces(LOCKED, member, b"secret")) == b"hidden\n"
    for password, message in ((None, "password required"), (b"wrong", "Bad password|CRC|invalid|incomplete")):
        with pytest.raises(zips.ZipError, match=message):
            list(zips.pieces(LOCKED, member, password))


def test_zip_is_written(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/é").write_bytes(os.urandom(300_000))
    (tmp_path / "d/é").chmod(0o750)
    with open(tmp_path / "out.zip", "wb") as stream:
        zips.write(stream, [("d/", str(tmp_path / "d")), ("d/é", str(tmp_path / "d/é"))])
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["d/", "d/é"]
        assert archive.read("d/é") == (tmp_path / "d/é").read_bytes()
        assert archive.getinfo("d/é").external_attr >> 16 == stat.S_IFREG | 0o750
        assert archive.getinfo("d/").is_dir()
