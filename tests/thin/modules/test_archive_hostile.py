"""Hostile archives, extracted by every method."""

from __future__ import annotations

import io
import os
import shutil
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thin.exceptions import CommandExecutionError

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="devices and foreign owners are root's")
#: ending -> mode of tarfile, and the program that compresses the result
KINDS: dict[str, tuple[str, list[str]]] = {
    "tar": ("w", []),
    "tar.gz": ("w:gz", []),
    "tar.bz2": ("w:bz2", []),
    "tar.xz": ("w:xz", []),
    "tar.zst": ("w", ["zstd", "-q", "--rm"]),
}


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", mode: int = 0o644, data: bytes = b"") -> Any:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size = kind, target, mode, len(data)
    info.devmajor, info.devminor = 1, 3
    return info, data


def tar_archive(path: Path, entries: list[Any], mode: str = "w") -> str:
    with tarfile.open(path, mode) as archive:
        for info, data in entries:
            archive.addfile(info, io.BytesIO(data))
    return str(path)


def zip_archive(path: Path, entries: list[tuple[str, int, bytes]]) -> str:
    """A zip archive of members, (name, mode with type, content)."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, mode, data in entries:
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, mode << 16
            archive.writestr(info, data)
    return str(path)


class Bed:
    def __init__(self, folder: Path, make_loaders: Callable[..., Any]) -> None:
        self.folder, self.out, self.secret = folder, folder / "out", folder / "secret"
        self.secret.mkdir()
        (self.secret / "shadow").write_text("root:x\n")
        self.opts = {"cachedir": str(folder / "cache"), "test": False}
        self.loaders = make_loaders(opts=self.opts, extra={"__env__": "base"})

    def extracted(self, source: str, **kwargs: Any) -> Any:
        arguments: dict[str, Any] = {"enforce_toplevel": False, **kwargs}
        return self.loaders.states["archive.extracted"](name=str(self.out), source=source, **arguments)

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        return self.loaders.modules[f"archive.{function}"](*args, **kwargs)

    def harm(self) -> list[str]:
        """The changes outside of the folder, and temporary files of an extraction."""
        paths = [str(path) for path in self.secret.rglob("*") if path.name != "shadow"]
        paths += [str(path) for path in self.folder.rglob(".pushsalt*")]
        if (self.secret / "shadow").read_text() != "root:x\n" or (self.secret / "shadow").stat().st_nlink != 1:
            paths.append("shadow")
        return paths


@pytest.fixture
def bed(tmp_path: Path, make_loaders: Callable[..., Any]) -> Bed:
    return Bed(tmp_path, make_loaders)


#: (members, the member that the error names, its reason, the argument that it names); @ is a folder outside
HOSTILE: dict[str, tuple[list[Any], str, str, str]] = {
    "character device": ([entry("a/null", tarfile.CHRTYPE)], "a/null", "is a character device", "allow_devices"),
    "block device": ([entry("disk", tarfile.BLKTYPE)], "disk", "is a block device", "allow_devices"),
    "pipe": ([entry("a/pipe", tarfile.FIFOTYPE)], "a/pipe", "is a FIFO", "allow_devices"),
    "set-user-ID": (
        [entry("a"), entry("su", mode=0o4755, data=b"x")],
        "su",
        "has the set-user-ID bit (mode 4755)",
        "allow_setid",
    ),
    "set-group-ID": ([entry("su", mode=0o2755)], "su", "has the set-group-ID bit (mode 2755)", "allow_setid"),
    "both": ([entry("su", mode=0o6755)], "su", "has the set-user-ID and set-group-ID bits", "allow_setid"),
    "sticky": ([entry("d", tarfile.DIRTYPE, mode=0o1777)], "d", "has the sticky bit (mode 1777)", "allow_setid"),
    "parent": ([entry("a"), entry("a/../../secret/x", data=b"x")], "a/../../secret/x", "has '..'", "allow_outside"),
    "absolute": ([entry("@/x", data=b"x")], "@/x", "has an absolute path", "allow_outside"),
    "through a link": (
        [entry("l", tarfile.SYMTYPE, "@"), entry("l/x", data=b"x")],
        "l/x",
        "through the link l",
        "allow_outside",
    ),
    "through a link, spelled otherwise": (
        [entry("a//./l", tarfile.SYMTYPE, "@"), entry("a/l/x", data=b"x")],
        "a/l/x",
        "the link a/l",
        "allow_outside",
    ),
    "through a link and a slash": (
        [entry("a/l", tarfile.SYMTYPE, "@"), entry("a//l/x", data=b"x")],
        "a//l/x",
        "the link a/l",
        "allow_outside",
    ),
    "through a relative link": (
        [entry("l", tarfile.SYMTYPE, "../secret"), entry("l/x")],
        "l/x",
        "through the link l",
        "allow_outside",
    ),
    "through a hard link to a link": (
        [entry("l", tarfile.SYMTYPE, "@"), entry("h", tarfile.LNKTYPE, "l"), entry("h/x")],
        "h/x",
        "through the link h",
        "allow_outside",
    ),
    "a link after its use": (
        [entry("l/x", data=b"x"), entry("l", tarfile.SYMTYPE, "@"), entry("l/y")],
        "l/x",
        "link l",
        "allow_outside",
    ),
    "hard link outside": (
        [entry("h", tarfile.LNKTYPE, "@/shadow")],
        "h",
        "is a hard link to @/shadow, which",
        "allow_outside",
    ),
    "hard link by ..": (
        [entry("h", tarfile.LNKTYPE, "../secret/shadow")],
        "h",
        "is a hard link to ../secret",
        "allow_outside",
    ),
    "hard link through a link": (
        [entry("l", tarfile.SYMTYPE, "@"), entry("h", tarfile.LNKTYPE, "l/shadow")],
        "h",
        "is a hard link",
        "allow_outside",
    ),
    "hard link to no member": ([entry("h", tarfile.LNKTYPE, "there")], "h", "to there, which", "allow_outside"),
    "written through a hard link": (
        [entry("h", tarfile.LNKTYPE, "@/shadow"), entry("h", data=b"gone")],
        "h",
        "is a hard link",
        "allow_outside",
    ),
    "twice, once a link": (
        [entry("d/x", data=b"x"), entry("d", tarfile.SYMTYPE, "@"), entry("d/x", data=b"y")],
        "d/x",
        "through the link d",
        "allow_outside",
    ),
}


def with_folder(value: Any, folder: Path) -> Any:
    """Members or arguments with ``@`` replaced by the outer folder."""
    if isinstance(value, str):
        return value.replace("@", str(folder))
    out = []
    for info, data in value:
        copy = tarfile.TarInfo(with_folder(info.name, folder))
        copy.type, copy.linkname, copy.mode, copy.size = (
            info.type,
            with_folder(info.linkname, folder),
            info.mode,
            info.size,
        )
        copy.devmajor, copy.devminor = info.devmajor, info.devminor
        out.append((copy, data))
    return out


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("options", [None, "v", "-P", "--absolute-names -p", "--overwrite"])
def test_a_hostile_tar_archive_is_refused_as_a_whole(bed: Bed, case: str, options: str | None) -> None:
    members, member, reason, argument = HOSTILE[case]
    members = [entry("first", data=b"1"), *with_folder(members, bed.secret)]
    source = tar_archive(bed.folder / "a.tar", members)
    for test in (True, False):
        bed.loaders.opts["test"] = test
        ret = bed.extracted(source, options=options)
        assert ret["result"] is False and not ret["changes"]
        assert (
            f"- {with_folder(member, bed.secret)} " in ret["comment"]
            and with_folder(reason, bed.secret) in ret["comment"]
        ), ret
        assert f"To extract it all the same, set '{argument}' to True." in ret["comment"]
    assert not bed.out.exists() and bed.harm() == []


@pytest.mark.parametrize("kind", KINDS)
def test_members_are_checked_in_every_compression(bed: Bed, kind: str) -> None:
    mode, packer = KINDS[kind]
    if packer and not shutil.which(packer[0]):
        pytest.skip(f"no {packer[0]}")
    source = str(bed.folder / f"a.{kind}")
    plain = bed.folder / "a.tar" if packer else Path(source)
    tar_archive(plain, [entry("d/su", mode=0o4755, data=b"x")], mode)
    if packer:
        subprocess.run([*packer, str(plain)], check=True)
    ret = bed.extracted(source)
    assert ret["result"] is False and "d/su has the set-user-ID bit" in ret["comment"]
    ret = bed.extracted(source, allow_setid=True)
    assert ret["result"] is True and stat.S_IMODE((bed.out / "d/su").stat().st_mode) == 0o4755
    assert bed.harm() == []


@needs_root
def test_permitted_members_are_extracted(bed: Bed) -> None:
    source = tar_archive(
        bed.folder / "a.tar",
        [
            entry("null", tarfile.CHRTYPE),
            entry("pipe", tarfile.FIFOTYPE),
            entry("su", mode=0o6755, data=b"x"),
            entry("d", tarfile.DIRTYPE, mode=0o1777),
            entry("d/x"),
        ],
    )
    ret = bed.extracted(source, allow_devices=True)
    assert "su has" in ret["comment"] and "null" not in ret["comment"]
    ret = bed.extracted(source, allow_setid=True, allow_devices=True)
    assert ret["result"] is True, ret
    modes = {path.name: path.lstat().st_mode for path in bed.out.iterdir()}
    assert stat.S_ISCHR(modes["null"]) and stat.S_ISFIFO(modes["pipe"])
    assert (modes["su"], modes["d"]) == (stat.S_IFREG | 0o6755, stat.S_IFDIR | 0o1777)


@pytest.mark.parametrize("options", [None, "-p"])
def test_members_outside_of_the_folder_need_a_permission(bed: Bed, options: str | None) -> None:
    source = tar_archive(bed.folder / "a.tar", [entry("a"), entry(f"{bed.secret}/x", data=b"1"), entry("../secret/y")])
    bed.out.mkdir()
    ret = bed.extracted(source, allow_outside=True, options=options)
    assert ret["result"] is True, ret
    assert (bed.secret / "x").read_text() == "1" and (bed.secret / "y").exists() and (bed.out / "a").exists()


@needs_root
def test_no_member_is_extracted_outside_of_a_folder_that_others_can_change(bed: Bed) -> None:
    source = tar_archive(bed.folder / "a.tar", [entry("a"), entry("../secret/y")])
    (bed.out / "sub").mkdir(parents=True)
    os.chown(bed.out / "sub", 1, 1)
    ret = bed.extracted(source, allow_outside=True)
    assert ret["result"] is False and f"{bed.out}/sub can be changed by other users" in ret["comment"]
    assert bed.harm() == []


def test_the_error_has_the_number_of_members_that_it_does_not_name(bed: Bed) -> None:
    source = tar_archive(
        bed.folder / "a.tar",
        [entry(f"su{number}", mode=0o4755) for number in range(9)]
        + [entry("e\x1b[2J\nwell", mode=0o4755), entry("../x")],
    )
    comment = bed.extracted(source)["comment"]
    assert "- ../x has '..' in its path" in comment and "- and 6 more" in comment and "\x1b" not in comment
    assert "'allow_setid' and 'allow_outside' to True" in comment


def test_clean_removes_nothing_outside_of_the_folder(bed: Bed) -> None:
    source = tar_archive(bed.folder / "a.tar", [entry("x"), entry("../secret/shadow", tarfile.DIRTYPE)])
    for options in ({"force": True}, {"clean": True}, {"clean_parent": True}, {"overwrite": True, "user": "root"}):
        bed.out.mkdir(exist_ok=True)
        (bed.out / "kept").touch()
        assert bed.extracted(source, **options)["result"] is False
        assert bed.harm() == [] and (bed.out / "kept").exists()


ZIPS: dict[str, tuple[list[tuple[str, int, bytes]], str, str]] = {
    "set-user-ID": ([("d/su", stat.S_IFREG | 0o4755, b"x")], "d/su has the set-user-ID bit", "allow_setid"),
    "parent": ([("../secret/x", stat.S_IFREG | 0o644, b"x")], "../secret/x has '..'", "allow_outside"),
    "absolute": ([("/etc/x", stat.S_IFREG | 0o644, b"x")], "/etc/x has an absolute path", "allow_outside"),
    "device": ([("dev", stat.S_IFCHR | 0o644, b"")], "dev is a character device", "allow_devices"),
    "through a link": (
        [("l", stat.S_IFLNK | 0o777, b"../secret"), ("l/x", stat.S_IFREG | 0o644, b"x")],
        "l/x would be put through",
        "allow_outside",
    ),
}


@pytest.mark.parametrize("case", ZIPS)
@pytest.mark.parametrize("command", [False, True])
def test_a_hostile_zip_archive_is_refused_as_a_whole(bed: Bed, case: str, command: bool) -> None:
    members, message, argument = ZIPS[case]
    source = zip_archive(bed.folder / "a.zip", [("first", stat.S_IFREG | 0o644, b"1"), *members])
    ret = bed.extracted(source, use_cmd_unzip=command)
    assert ret["result"] is False and message in ret["comment"] and f"'{argument}'" in ret["comment"], ret
    with pytest.raises(CommandExecutionError, match=argument):
        bed.call("cmd_unzip" if command else "unzip", source, str(bed.out))
    assert not bed.out.exists() and bed.harm() == []


@pytest.mark.parametrize("command", [False, True])
def test_backslashes_in_a_zip_archive_are_no_separators(bed: Bed, command: bool) -> None:
    """``unzip`` treats them as slashes in archives from DOS."""
    source = zip_archive(bed.folder / "a.zip", [("..\\secret\\x", stat.S_IFREG | 0o644, b"x")])
    data = bytearray(Path(source).read_bytes())
    data[data.index(b"PK\1\2") + 5] = 0
    Path(source).write_bytes(data)
    bed.extracted(source, use_cmd_unzip=command)
    assert bed.harm() == []


@pytest.mark.parametrize("options", ["xf", "-xf", "xvf", "--extract --file", "-xPf"])
def test_archive_tar_refuses_hostile_members_only_when_it_extracts(bed: Bed, options: str) -> None:
    source = tar_archive(bed.folder / "a.tar", [entry("a", data=b"1"), entry("su", mode=0o4755)])
    bed.out.mkdir()
    with pytest.raises(CommandExecutionError, match="su has the set-user-ID bit"):
        bed.call("tar", options, source, dest=str(bed.out))
    assert list(bed.out.iterdir()) == []
    output = bed.call("tar", options, source, dest=str(bed.out), allow_setid=True)
    assert sorted(path.name for path in bed.out.iterdir()) == ["a", "su"]
    assert output == (["a", "su"] if "v" in options else [])
    assert bed.call("tar", "tf", source) == ["a", "su"]


def test_archive_tar_extracts_some_members_only(bed: Bed) -> None:
    tar_archive(bed.folder / "a.tar", [entry("a", data=b"1"), entry("b", data=b"2")])
    bed.out.mkdir()
    bed.call("tar", "xf", "../a.tar", sources="b", cwd=str(bed.out))
    assert [path.name for path in bed.out.iterdir()] == ["b"]


@needs_root
def test_members_that_only_the_program_reads_are_checked_after_extraction(bed: Bed) -> None:
    """Our parser stops at the end of the archive; behind it are members that an option makes tar read."""
    source = tar_archive(bed.folder / "a.tar", [entry("a", data=b"1")])
    appended = tar_archive(bed.folder / "b.tar", [entry("su", mode=0o4755, data=b"x"), entry("pipe", tarfile.FIFOTYPE)])
    with open(source, "ab") as stream:
        stream.write(Path(appended).read_bytes())
    ret = bed.extracted(source, options="--ignore-zeros")
    assert ret["result"] is False
    assert "- pipe is a FIFO" in ret["comment"] and "- su has the set-user-ID bit" in ret["comment"]
    assert not bed.out.exists() and bed.harm() == []


FAKE_RAR = """#!/bin/sh
# The parts of unrar that archive.py uses; the archive is a tar archive.
case $1 in
lt) cat "$2.lt" ;;
x) tar -xpf "$3" -C "$4" 2>/dev/null; echo "Extracting  $4 OK" ;;
esac
"""


@needs_root
def test_a_rar_archive_is_checked_before_and_after_extraction(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    program = bed.folder / "bin/unrar"
    program.parent.mkdir()
    program.write_text(FAKE_RAR)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    source = tar_archive(bed.folder / "a.rar", [entry("a", data=b"1"), entry("null", tarfile.CHRTYPE)])
    listing = "Details: RAR 5\n\n    Name: {}\n    Type: File\n  Attributes: {}\n\n    Name: b\n    Type: File\n"
    for name, mode, message in (
        ("../x", "-rw-r--r--", "../x has '..'"),
        ("su", "-rwsr-xr-x", "su has the set-user-ID bit (mode 4755)"),
        ("a", "-rw-r--r--", "null is a character device"),
    ):
        Path(source + ".lt").write_text(listing.format(name, mode))
        ret = bed.extracted(source)
        assert ret["result"] is False and message in ret["comment"], ret
        assert not bed.out.exists() and bed.harm() == []
    ret = bed.extracted(source, allow_devices=True)
    assert ret["result"] is True and ret["changes"]["extracted_files"] == [f"Extracting  {bed.out}/ OK"]


# -- existing files ---------------------------------------------------------------------------------------------


@needs_root
@pytest.mark.parametrize("kind", ["tar", "tar -p", "zip", "unzip"])
def test_links_of_others_are_not_followed(bed: Bed, kind: str) -> None:
    """A user has a link in place of the archive's folder (which the archive does not list): nothing is written through
    it.
    """
    bed.out.mkdir()
    (bed.out / "d").symlink_to(bed.secret)
    os.lchown(bed.out / "d", 1, 1)
    os.chown(bed.out, 1, 1)
    if "zip" in kind:
        source = zip_archive(bed.folder / "a.zip", [("d/x", stat.S_IFREG | 0o644, b"x")])
        options: dict[str, Any] = {"use_cmd_unzip": kind == "unzip"}
    else:
        source = tar_archive(bed.folder / "a.tar", [entry("d/x", data=b"x")])
        options = {"options": "-p"} if "-p" in kind else {}
    ret = bed.extracted(source, overwrite=True, archive_format="zip" if "zip" in kind else "tar", **options)
    assert ret["result"] is False and bed.harm() == []


def test_our_own_links_are_followed(bed: Bed) -> None:
    """As by tar and unzip, if no other user can change the link."""
    bed.out.mkdir()
    (bed.folder / "elsewhere").mkdir()
    (bed.out / "d").symlink_to("../elsewhere")
    source = tar_archive(bed.folder / "a.tar", [entry("d/x", data=b"x")])
    assert bed.extracted(source)["result"] is True
    assert (bed.folder / "elsewhere/x").read_text() == "x" and (bed.out / "d").is_symlink()


@needs_root
def test_a_planted_link_or_file_is_replaced_not_written_to(bed: Bed) -> None:
    bed.out.mkdir()
    (bed.out / "x").symlink_to(bed.secret / "shadow")
    os.link(bed.secret / "shadow", bed.out / "y")
    source = tar_archive(bed.folder / "a.tar", [entry("x", data=b"new"), entry("y", data=b"new")])
    ret = bed.extracted(source, overwrite=True, force=True)
    assert ret["result"] is True, ret
    assert (bed.out / "x").read_text() == (bed.out / "y").read_text() == "new" and bed.harm() == []


@needs_root
@pytest.mark.parametrize("options", [None, "-p", "--numeric-owner --overwrite"])
def test_results_equal_those_of_tar(bed: Bed, options: str | None) -> None:
    """Owners, modes, times, links and existing folders equal the results of the program itself."""
    tree = bed.folder / "made"
    for folder in ("top/sub/deep", "top/empty"):
        (tree / folder).mkdir(parents=True)
    (tree / "top/sub/f").write_text("new")
    (tree / "top/sub/deep/g").write_text("g")
    os.link(tree / "top/sub/f", tree / "top/h")
    (tree / "top/l").symlink_to("/etc/passwd")
    os.chown(tree / "top/sub", 1, 2)
    os.chown(tree / "top/sub/f", 3, 4)
    (tree / "top/sub").chmod(0o751)
    tree.chmod(0o711)
    os.chown(tree, 5, 5)
    for path in (tree / "top/sub/f", tree / "top/sub", tree / "top", tree):
        os.utime(path, (1_500_000_000, 1_500_000_000))
    source = str(bed.folder / "a.tar")
    subprocess.run(["tar", "-cf", source, "-C", str(tree), "."], check=True)
    plain = bed.folder / "plain"
    for folder in (plain, bed.out):
        (folder / "top/sub").mkdir(parents=True)
        (folder / "top/sub/f").write_text("old")
        (folder / "top/sub/stays").write_text("stays")
        (folder / "top/empty").write_text("in the way")
    (plain / "top/empty").unlink()  # as with force
    subprocess.run(["tar", "-xp", *(options or "").split(), "-f", source, "-C", str(plain)], check=True)
    ret = bed.extracted(source, overwrite=True, force=True, options=options)
    assert ret["result"] is True, ret
    assert snapshot(bed.out) == snapshot(plain)


def snapshot(top: Path) -> dict[str, Any]:
    properties = {}
    for path in [top, *top.rglob("*")]:
        st = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else ""
        # folders to which files were added have the current time
        clock = st.st_mtime if st.st_mtime < 1_600_000_000 else "now"
        properties[str(path.relative_to(top))] = (
            oct(st.st_mode),
            st.st_uid,
            st.st_gid,
            content,
            clock,
            0 if path.is_dir() else st.st_nlink,
        )
    return properties


@pytest.mark.parametrize(
    "options, unchanged", [("--keep-newer-files", True), ("--skip-old-files", True), ("-p", False)]
)
def test_options_that_depend_on_existing_files_are_applied(bed: Bed, options: str, unchanged: bool) -> None:
    bed.out.mkdir()
    (bed.out / "x").write_text("mine")
    source = tar_archive(bed.folder / "a.tar", [entry("x", data=b"theirs"), entry("y")])
    assert bed.extracted(source, options=options)["result"] is True
    assert (bed.out / "x").read_text() == ("mine" if unchanged else "theirs")


@needs_root
def test_options_that_depend_on_existing_files_are_refused_in_a_folder_of_others(bed: Bed) -> None:
    bed.out.mkdir()
    os.chown(bed.out, 1, 1)
    source = tar_archive(bed.folder / "a.tar", [entry("x", data=b"theirs")])
    for options in ("--keep-newer-files", "-C .", "-k"):
        ret = bed.extracted(source, options=options)
        assert ret["result"] is False and "can be changed by other users" in ret["comment"]
        assert options.split()[0] in ret["comment"] and list(bed.out.iterdir()) == []


@needs_root
def test_members_are_extracted_into_another_file_system_in_the_folder(bed: Bed) -> None:
    inner = bed.out / "d/inner"
    inner.mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "none", str(inner)], check=False).returncode:
        pytest.skip("cannot mount here")
    try:
        source = tar_archive(
            bed.folder / "a.tar",
            [
                entry("d/inner/sub", tarfile.DIRTYPE, mode=0o750),
                entry("d/inner/sub/x", mode=0o640, data=b"x"),
                entry("d/inner/l", tarfile.SYMTYPE, "x"),
                entry("d/inner/p", tarfile.FIFOTYPE),
            ],
        )
        ret = bed.extracted(source, allow_devices=True)
        assert ret["result"] is True, ret
        assert stat.S_IMODE((inner / "sub/x").stat().st_mode) == 0o640 and (inner / "sub/x").read_text() == "x"
        assert os.readlink(inner / "l") == "x" and stat.S_ISFIFO((inner / "p").lstat().st_mode)
    finally:
        subprocess.run(["umount", str(inner)], check=True)
    assert bed.harm() == []


@needs_root
def test_a_source_that_others_can_change_is_copied_first(bed: Bed) -> None:
    """The owner replaces it after the check: the checked content is extracted."""
    home = bed.folder / "home"
    home.mkdir()
    source = tar_archive(home / "a.tar", [entry("x", data=b"good")])
    evil = Path(tar_archive(bed.folder / "evil.tar", [entry("x", data=b"evil"), entry("su", mode=0o4755)])).read_bytes()
    os.chown(source, 1, 1)
    run_all = bed.loaders.modules["cmd.run_all"]

    def swapping(cmd: Any, **options: Any) -> Any:
        Path(source).write_bytes(evil)
        return run_all(cmd, **options)

    bed.loaders.modules._functions["cmd.run_all"] = swapping
    ret = bed.extracted(source)
    assert ret["result"] is True and ret["comment"].startswith(f"{source} extracted to"), ret
    assert [path.name for path in bed.out.iterdir()] == ["x"] and (bed.out / "x").read_text() == "good"
    assert not [path for path in (bed.folder / "cache").rglob("*") if path.is_file()]


def test_an_abandoned_stage_is_removed(bed: Bed) -> None:
    stage = bed.out / ".pushsalt-extract-0123"
    (stage / "big/deep").mkdir(parents=True)
    stage.chmod(0o700)
    assert bed.extracted(tar_archive(bed.folder / "a.tar", [entry("x")]))["result"] is True
    assert [path.name for path in bed.out.iterdir()] == ["x"]


def test_no_stage_is_left_of_an_extraction_that_fails(bed: Bed) -> None:
    source = tar_archive(bed.folder / "a.tar", [entry("d/x", data=b"x" * 5000), entry("y")])
    data = Path(source).read_bytes()
    Path(source).write_bytes(data[:3000])
    bed.out.mkdir()
    assert bed.extracted(source)["result"] is False
    assert [path.name for path in bed.out.rglob("*")] == ["d", "x"]


def test_very_deep_archives_are_an_error(bed: Bed) -> None:
    source = tar_archive(
        bed.folder / "a.tar", [entry("d/" * number + "d", tarfile.DIRTYPE, mode=0o755) for number in range(300)]
    )
    ret = bed.extracted(source)
    assert ret["result"] is False and "more than 200 levels" in ret["comment"]
    assert not bed.out.exists()
