"""Compressed tar archives are decompressed once, in a stream, with the same checks, dry runs and bounded memory."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.thin.modules.test_archive_hostile import HOSTILE, Bed, entry, needs_root, tar_archive, with_folder
from tests.thin.test_old_pythons import pythons
from thin.utils.archives import tarpass

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


def minor(version: str) -> int:
    return int(version[2:])


#: ending -> the program that compresses a tar archive, and its options
PROGRAMS = {"tar.xz": ["xz"], "tar.zst": ["zstd", "-q", "--rm"], "tar.bz2": ["bzip2"], "tar.lzma": ["xz", "-Flzma"]}
REAL = {command[0]: shutil.which(command[0]) for command in PROGRAMS.values()}
PYTHONS, OWN = pythons(), f"3.{sys.version_info[1]}"
TREE = [
    entry("top", tarfile.DIRTYPE, mode=0o750),
    entry("top/a", data=b"1", mode=0o640),
    entry("top/sub/b", data=b"22"),
    entry("top/l", tarfile.SYMTYPE, "a"),
    entry("top/h", tarfile.LNKTYPE, "top/a"),
]


def compressed_archive(path: Path, entries: list[Any], kind: str = "tar.xz") -> str:
    plain = path.with_name(f"{path.name}.tar")
    tar_archive(plain, entries)
    program, *options = PROGRAMS[kind]
    if REAL[program] is None:
        pytest.skip(f"no {program}")
    subprocess.run([REAL[program], *options, str(plain)], check=True)
    return str(next(path.parent.glob(f"{path.name}.tar.*")).rename(path.with_name(f"{path.name}.{kind}")))


class Counted(Bed):
    """Counts decompressions in ``runs``; ``spool`` forbids temporary files for them."""

    def __init__(self, folder: Path, make_loaders: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder, make_loaders)
        self.log, self.programs, self.spool = folder / "log", folder / "bin", folder / "spool"
        self.programs.mkdir()
        self.spool.mkdir()
        for name, real in REAL.items():
            (self.programs / name).write_text(f'#!/bin/sh\necho "$@" >>{self.log}\nexec {real} "$@"\n')
            (self.programs / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{self.programs}:{os.environ['PATH']}")
        monkeypatch.setenv("TMPDIR", str(self.spool))

    def once(self, source: str, **kwargs: Any) -> Any:
        """The return of an extraction that decompressed the archive once."""
        self.log.write_text("")
        ret = self.extracted(source, **kwargs)
        runs = self.log.read_text().splitlines()
        assert len(runs) == 1 and runs[0].endswith(source), runs
        assert not list(self.spool.iterdir()) and not list(self.folder.rglob(".pushsalt*"))
        return ret


@pytest.fixture
def bed(tmp_path: Path, make_loaders: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(tmp_path, make_loaders, monkeypatch)


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("options", [None, "v", "-p", "--no-same-owner -p"])
def test_an_archive_is_decompressed_once(bed: Counted, kind: str, options: str | None) -> None:
    source = compressed_archive(bed.folder / "a", TREE, kind)
    bed.loaders.opts["test"] = True
    ret = bed.once(source, options=options)
    assert ret["result"] is None and "absence of one or more files" in ret["comment"] and not bed.out.exists()
    bed.loaders.opts["test"] = False
    ret = bed.once(source, options=options)
    assert ret["result"] is True and ret["changes"]["directories_created"] == [f"{bed.out}/"], ret
    expected = ["top", "top/a", "top/sub/b", "top/l", "top/h"]
    extracted = [name.rstrip("/") for name in ret["changes"]["extracted_files"]]
    assert extracted == expected and ret["comment"] == (
        f"{source} extracted to {bed.out}/, due to absence of one or more files/dirs"
    )
    assert stat.S_IMODE((bed.out / "top").stat().st_mode) == 0o750 and os.readlink(bed.out / "top/l") == "a"
    assert (bed.out / "top/a").stat().st_nlink == 2 and (bed.out / "top/sub/b").read_text() == "22"
    ret = bed.once(source, options=options)
    assert (ret["result"], ret["changes"], ret["comment"]) == (True, {}, "All files in archive are already present")
    assert bed.once(source, options=options, overwrite=True)["changes"]["extracted_files"]
    (bed.out / "top/h").unlink()  # only the last one
    assert bed.once(source, options=options)["changes"]["extracted_files"] and (bed.out / "top/h").exists()


@pytest.mark.parametrize("option", ["J", "-J", "--xz", "xJf", "-pJ"])
def test_options_for_the_compression_are_accepted(bed: Counted, option: str) -> None:
    assert bed.once(compressed_archive(bed.folder / "a", TREE), options=option)["result"] is True
    assert (bed.out / "top/sub/b").read_text() == "22"


def test_list_options_is_the_command_that_decompresses(bed: Counted) -> None:
    source = compressed_archive(bed.folder / "a", TREE)
    other = Path(source).rename(bed.folder / "b.tar")
    other.write_bytes(b"junk" + other.read_bytes())
    script = bed.programs / "unjunk"
    script.write_text(f"#!/bin/sh\necho {other} >>{bed.log}\ntail -c +5 $2 | {REAL['xz']} -dc\n")
    script.chmod(0o755)
    assert bed.once(str(other), list_options="unjunk -q")["result"] is True
    assert (bed.out / "top/sub/b").read_text() == "22"


@pytest.mark.parametrize("clean", [{"clean": True}, {"force": True}, {"clean_parent": True, "force": True}])
def test_conflicting_files_are_removed_first(bed: Counted, clean: dict[str, bool]) -> None:
    source = compressed_archive(bed.folder / "a", TREE)
    (bed.out / "top/a").mkdir(parents=True)
    (bed.out / "mine").touch()
    ret = bed.once(source)
    assert ret["result"] is False and "incorrect type" in ret["comment"] and (bed.out / "top/a").is_dir()
    assert not (bed.out / "top/sub").exists()
    ret = bed.once(source, **clean)
    assert ret["result"] is True and (bed.out / "top/a").read_text() == "1", ret
    assert (bed.out / "mine").exists() is ("clean_parent" not in clean) and ret["changes"]["removed"]


def test_a_refused_archive_leaves_no_file(bed: Counted) -> None:
    source = compressed_archive(bed.folder / "a", [*TREE, entry("beside", data=b"x")])
    deep = bed.folder / "not/there/yet"
    ret = bed.loaders.states["archive.extracted"](name=str(deep), source=source)
    assert ret["result"] is False and "does not have a single top-level directory" in ret["comment"]
    assert not (bed.folder / "not").exists() and not list(bed.folder.rglob(".pushsalt*"))
    ret = bed.loaders.states["archive.extracted"](name=str(deep), source=source, enforce_toplevel=False)
    assert ret["result"] is True and (deep / "beside").read_text() == "x"


def test_an_archive_with_another_digest_is_not_extracted(bed: Counted) -> None:
    ret = bed.once(compressed_archive(bed.folder / "a", TREE), source_hash="sha256=" + "0" * 64)
    assert ret["result"] is False and "does not match the desired source_hash" in ret["comment"]
    assert not bed.out.exists()


@pytest.mark.parametrize("kind", ["tar.xz", "tar.zst"])
def test_a_damaged_archive_is_not_extracted(bed: Counted, kind: str) -> None:
    source = compressed_archive(bed.folder / "a", [*TREE, entry("big", data=os.urandom(1 << 20))], kind)
    data = Path(source).read_bytes()
    for damaged in (data[:-200_000], data[:-200_000] + b"?" * 200_000):
        Path(source).write_bytes(damaged)
        ret = bed.once(source)
        assert ret["result"] is False and f"Failed to decompress {source}" in ret["comment"], ret
        assert not bed.out.exists() and not ret["changes"]
    Path(source).write_bytes(b"\xfd7zXZ\0" + b"junk" * 100)
    assert "Failed to decompress" in bed.once(source)["comment"]
    process = subprocess.run([str(REAL["xz"]), "-zc"], input=b"no tar archive" * 100, capture_output=True, check=True)
    Path(source).write_bytes(process.stdout)
    bed.log.write_text("")
    ret = bed.extracted(source)
    assert ret["result"] is False and f"Unable to list contents of {source}" in ret["comment"] and not bed.out.exists()


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("options", [None, "-p"])
def test_tar_receives_no_hostile_member(
    bed: Counted, monkeypatch: pytest.MonkeyPatch, case: str, options: str | None
) -> None:
    members, member, reason, argument = HOSTILE[case]
    members = [entry("first", data=b"1"), *with_folder(members, bed.secret), entry("last", data=b"behind it")]
    source = compressed_archive(bed.folder / "a", members)
    passed = bytearray()
    run_all = bed.loaders.modules["cmd.run_all"]

    def recording(command: Any, stdin: Any = None, **kwargs: Any) -> Any:
        def recorded() -> Any:
            for piece in stdin:
                passed.extend(piece)
                yield piece

        return run_all(command, stdin=recorded(), **kwargs)

    bed.loaders.modules._functions["cmd.run_all"] = recording
    ret = bed.once(source, options=options)
    assert ret["result"] is False and not ret["changes"] and not bed.out.exists() and bed.harm() == []
    assert (
        f"- {with_folder(member, bed.secret)} " in ret["comment"] and with_folder(reason, bed.secret) in ret["comment"]
    ), ret
    assert f"set '{argument}' to True." in ret["comment"]
    with tarfile.open(fileobj=io.BytesIO(bytes(passed) + b"\0" * 10240)) as archive:
        names = archive.getnames()
    assert names[0] == "first" and len(names) < len(members) - 1, names


@needs_root
def test_members_that_only_tar_reads_are_checked_before_they_are_moved(bed: Counted) -> None:
    tar_archive(bed.folder / "b.tar", [entry("su", mode=0o4755, data=b"x"), entry("pipe", tarfile.FIFOTYPE)])
    plain = Path(tar_archive(bed.folder / "a.tar", [entry("a", data=b"1")]))
    plain.write_bytes(plain.read_bytes() + (bed.folder / "b.tar").read_bytes())
    subprocess.run(["xz", str(plain)], check=True)
    ret = bed.once(f"{plain}.xz", options="--ignore-zeros")
    assert ret["result"] is False and "- pipe is a FIFO" in ret["comment"] and "- su has the set-" in ret["comment"]
    assert not bed.out.exists()


@needs_root
def test_a_replaced_source_is_not_extracted(bed: Counted) -> None:
    """The owner replaces it while tar works: extracted content and digest are those of the checked file."""
    home = bed.folder / "home"
    home.mkdir()
    source = compressed_archive(home / "a", [entry("x", data=b"good")])
    digest = "sha256=" + bed.loaders.modules["file.get_hash"](source, "sha256")
    good = Path(source).read_bytes()
    evil = Path(compressed_archive(bed.folder / "evil", [entry("x", data=b"evil")])).read_bytes()
    os.chown(source, 1, 1)
    run_all = bed.loaders.modules["cmd.run_all"]

    def swapping(command: Any, **options: Any) -> Any:
        Path(source).write_bytes(evil)
        return run_all(command, **options)

    bed.loaders.modules._functions["cmd.run_all"] = swapping
    for arguments in ({}, {"source_hash": digest}):
        Path(source).write_bytes(good)
        ret = bed.extracted(source, overwrite=True, **arguments)
        assert ret["result"] is True and (bed.out / "x").read_text() == "good", ret
    assert not [path for path in (bed.folder / "cache").rglob("*") if path.is_file()]


def test_python_decompresses_without_programs(bed: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [compressed_archive(bed.folder / kind, TREE, kind) for kind in PROGRAMS]
    double = Path(sources[0])
    for name in ("tar", "cat"):
        (bed.programs / name).symlink_to(str(shutil.which(name)))
    for name in REAL:
        (bed.programs / name).unlink()
    monkeypatch.setenv("PATH", str(bed.programs))
    for source in sources:
        ret = bed.extracted(source, overwrite=True)
        if source.endswith("zst"):
            assert ret["result"] is False and f"Unable to list contents of {source}" in ret["comment"]
            continue
        assert ret["result"] is True and (bed.out / "top/sub/b").read_text() == "22", ret
        data = Path(source).read_bytes()
        Path(source).write_bytes(data[:-20])
        assert f"Failed to decompress {source}" in bed.extracted(source, overwrite=True)["comment"]
        Path(source).write_bytes(data + b"\0" * 8)
    assert bed.extracted(str(double), overwrite=True)["result"] is True  # with padding after it


def test_a_missing_tar_is_an_error(bed: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    source = compressed_archive(bed.folder / "a", TREE)
    monkeypatch.setenv("PATH", str(bed.programs))
    ret = bed.extracted(source)
    assert ret["result"] is False and "Unable to run command" in ret["comment"] and not bed.out.exists(), ret


def test_an_archive_larger_than_the_buffer_is_read_twice_if_its_end_is_missing(
    bed: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive is read once if all its members exist, twice if one behind the buffer is missing."""
    monkeypatch.setattr(tarpass, "HELD", 100_000)
    source = compressed_archive(
        bed.folder / "a", [*TREE, entry("top/big", data=b"x" * 300_000), entry("top/last", data=b"y")]
    )
    assert bed.once(source)["result"] is True and bed.once(source)["changes"] == {}
    (bed.out / "top/last").unlink()
    bed.log.write_text("")
    assert bed.extracted(source)["changes"]["extracted_files"] and (bed.out / "top/last").read_text() == "y"
    assert len(bed.log.read_text().splitlines()) == 2


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """An archive with a member of 160 MiB and others of 64 MiB."""
    folder = tmp_path_factory.mktemp("large")

    def create(kind: str) -> Path:
        source = folder / f"a.{kind}"
        if not source.exists():
            sizes = [("first", 1 << 20), *((f"d/{number}", 4 << 20) for number in range(16)), ("big", 160 << 20)]
            with tarfile.open(folder / "a.tar", "w") as archive, open("/dev/zero", "rb") as zeros:
                for name, size in sizes:
                    info = tarfile.TarInfo(name)
                    info.size = size
                    archive.addfile(info, zeros)
            compressor = {"tar.xz": ["xz", "-0"], "tar.zst": ["zstd", "-q", "--rm", "-1"]}[kind]
            subprocess.run([*compressor, str(folder / "a.tar")], check=True)
        return source

    return create


@pytest.mark.parametrize(
    "version, python",
    [(version, PYTHONS[version]) for version in sorted({min(PYTHONS, key=minor), OWN}, key=minor)],
)
@pytest.mark.parametrize("kind", ["tar.xz", "tar.zst"])
def test_memory_of_an_extraction_is_bounded(
    tmp_path: Path, large: Callable[[str], Path], version: str, python: str, kind: str
) -> None:
    """The limit is 40 MiB; the buffer has 8 MiB, the decompressor 4 MiB."""
    source, out = large(kind), tmp_path / "out"
    script = [str(Path(__file__).parents[1] / "once_run.py"), str(ROOT), str(out), str(source), str(40 << 20)]
    process = subprocess.run([python, "-I", "-S", *script], capture_output=True, text=True, timeout=100, check=False)
    assert process.returncode == 0, process.stderr
    first, second = map(json.loads, process.stdout.splitlines())
    assert first["result"] is True and len(first["changes"]["extracted_files"]) == 18, first
    assert (out / "big").stat().st_size == 160 << 20
    assert (second["result"], second["changes"]) == (True, {})
