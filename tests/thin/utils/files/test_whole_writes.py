"""Properties that a file keeps when its content changes: owner, mode, ACL, attributes; and the inode as in Salt."""

import os
import resource
import signal
import stat
import struct

import pytest

from tests.thin.filebed import Bed
from thin import link
from thin.exceptions import CommandExecutionError
from thin.utils.files import atomic, backup, edit, large, osutil

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to other users")
NOBODY = 65534
OWNER, USER, GROUP, MASK, OTHER = 1, 2, 4, 16, 32


def acl(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


#: user::rw-, user:7:rw-, group::r--, mask::rw-, other::---: the mode is 0660, although the group may only read
EXTENDED = acl((OWNER, 6, 2**32 - 1), (USER, 6, 7), (GROUP, 4, 2**32 - 1), (MASK, 6, 2**32 - 1), (OTHER, 0, 2**32 - 1))
PLAIN = acl((OWNER, 6, 2**32 - 1), (GROUP, 4, 2**32 - 1), (OTHER, 4, 2**32 - 1))


@pytest.fixture
def bed(tmp_path):
    bed = Bed(tmp_path / "bed")
    before = link.connect(bed.link)
    yield bed
    link.connect(before)


@pytest.fixture
def guarded(bed):
    path = bed.file("guarded", "old\n")
    try:
        os.setxattr(path, atomic.ACL, EXTENDED)
        os.setxattr(path, "user.note", b"kept")
    except OSError as exc:
        pytest.skip(f"this file system has no ACLs: {exc}")
    return path


def attributes(path):
    return {name: os.getxattr(path, name) for name in os.listxattr(path)}


def as_nobody(function):
    """The exit status of a child that is ``nobody``: the function's return, or 99 if it raises."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            status = function()
        finally:
            os._exit(status)
    return os.WEXITSTATUS(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize(
    "fun, arguments",
    [
        ("managed", {"contents": "new"}),
        ("managed", {"contents": "new", "mode": "0660"}),
        ("line", {"mode": "replace", "match": "old", "content": "new"}),
        ("replace", {"pattern": "old", "repl": "new"}),
        ("append", {"text": "new"}),
    ],
)
def test_a_write_keeps_acl_and_attributes(bed, guarded, fun, arguments):
    before = attributes(guarded)
    ret = bed.state(fun, name=guarded, **arguments)
    assert ret["result"] is True and ret["changes"], ret
    with open(guarded, encoding="utf-8") as handle:
        assert "new" in handle.read()
    assert attributes(guarded) == before
    assert stat.S_IMODE(os.stat(guarded).st_mode) == 0o660


COPIES = {
    "backup: extension": lambda bed, path: edit.save(path, ".bak"),
    "backup: minion": lambda bed, path: backup.keep(path, "minion", bed.target),
    "file.copy": lambda bed, path: bed.call("file.copy", path, bed.path("copy")),
}


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("supported", [True, False])
def test_a_copy_has_no_wider_permissions(bed, guarded, monkeypatch, kind, supported):
    """It has the ACL; without ACLs its group gets the rights of the group's entry, not those of the mask."""
    if not supported:
        setxattr = os.setxattr

        def refusing(path, name, value, **kwargs):
            if name == atomic.ACL:
                raise OSError(95, "Operation not supported")
            setxattr(path, name, value, **kwargs)

        monkeypatch.setattr(os, "setxattr", refusing)
    COPIES[kind](bed, guarded)
    [copy] = [os.path.join(top, name) for top, _, names in os.walk(bed.target) for name in names if name != "guarded"]
    permissions = attributes(copy).get(atomic.ACL), stat.S_IMODE(os.stat(copy).st_mode)
    assert permissions == ((EXTENDED, 0o660) if supported else (None, 0o640))


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_gets_no_default_acl(bed, guarded, kind):
    path = bed.file("folder/plain", "old\n", 0o640)
    for folder in (os.path.dirname(path), bed.target):
        os.setxattr(folder, "system.posix_acl_default", EXTENDED)
    os.unlink(guarded)
    COPIES[kind](bed, path)
    [copy] = [os.path.join(top, name) for top, _, names in os.walk(bed.target) for name in names if name != "plain"]
    assert atomic.ACL not in attributes(copy) and stat.S_IMODE(os.stat(copy).st_mode) == 0o640


def test_a_mode_limits_the_acl(bed, guarded):
    bed.state("managed", name=guarded, contents="new", mode="0640")
    assert stat.S_IMODE(os.stat(guarded).st_mode) == 0o640
    entries = [struct.unpack_from("<HHI", attributes(guarded)[atomic.ACL], at) for at in range(4, 44, 8)]
    assert (USER, 6, 7) in entries and [perm for tag, perm, _ in entries if tag == MASK] == [4]


def test_a_rewritten_file_gets_no_default_acl(bed, guarded):
    path = bed.file("folder/plain", "old\n", 0o644)
    os.setxattr(os.path.dirname(path), "system.posix_acl_default", EXTENDED)
    bed.state("managed", name=path, contents="new")
    assert attributes(path) == {} and stat.S_IMODE(os.stat(path).st_mode) == 0o644


@root_only
def test_capabilities_are_removed_from_changed_content(bed):
    path = bed.file("ping", "old\n", 0o755)
    capability = struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0)
    try:
        os.setxattr(path, "security.capability", capability)
    except OSError as exc:
        pytest.skip(f"this file system has no capabilities: {exc}")
    bed.state("managed", name=path, contents="new")
    assert "security.capability" not in attributes(path)


@pytest.mark.parametrize(
    "fun, arguments",
    [
        ("append", {"text": "new"}),
        ("prepend", {"text": "new"}),
        ("replace", {"pattern": "a", "repl": "new"}),
        ("keyvalue", {"key": "a", "value": "new"}),
    ],
)
def test_edits_keep_the_inode_as_in_salt(bed, fun, arguments):
    path = bed.file("f", "a=1\n" * 3, 0o640)
    inode = os.stat(path).st_ino
    ret = bed.state(
        fun, name=path, **dict(arguments, **({} if fun in ("append", "prepend") else {"show_changes": False}))
    )
    assert ret["result"] is True, ret
    with open(path, encoding="utf-8") as handle:
        assert "new" in handle.read()
    assert (os.stat(path).st_ino, stat.S_IMODE(os.stat(path).st_mode)) == (inode, 0o640)


@pytest.mark.parametrize(
    "fun, arguments", [("managed", {"contents": "new"}), ("line", {"mode": "replace", "match": "a", "content": "new"})]
)
def test_a_file_that_is_replaced_gets_a_new_inode_as_in_salt(bed, fun, arguments):
    path = bed.file("f", "a\n")
    os.link(path, bed.path("other"))
    bed.state(fun, name=path, **arguments)
    assert bed.snapshot()["other"][3] == "a\n"


def test_module_functions_keep_the_inode(bed):
    path = bed.file("f", "a")
    inode = os.stat(path).st_ino
    bed.call("file.append", path, "b")
    bed.call("file.prepend", path, "0")
    bed.call("file.replace", path, "a", "A", backup=False)
    assert bed.snapshot()["f"][3] == "0\nA\nb\n"
    bed.call("file.write", path, "w")
    assert (bed.snapshot()["f"][3], os.stat(path).st_ino) == ("w\n", inode)


@root_only
@pytest.mark.parametrize(
    "fun, arguments",
    [
        ("append", {"text": "new"}),
        ("replace", {"pattern": "a", "repl": "new", "backup": False}),
        ("keyvalue", {"key": "a", "value": "new"}),
    ],
)
def test_a_user_edits_an_own_file_in_a_folder_of_root(bed, tmp_path, fun, arguments):
    for folder in (tmp_path, *tmp_path.parents):
        if not os.stat(folder).st_mode & 1:
            os.chmod(folder, 0o711)
    for folder in (bed.folder, bed.target):
        os.chmod(folder, 0o755)
    path = bed.file("f", "a=1\n")
    os.chown(path, NOBODY, NOBODY)
    assert as_nobody(lambda: 0 if bed.state(fun, name=path, **arguments)["result"] else 1) == 0
    assert "new" in bed.snapshot()["f"][3]
    assert os.listdir(bed.target) == ["f"]


def test_a_file_that_cannot_grow_is_unchanged(bed):
    path, limits = bed.file("f", "old\n"), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, limits[1]))
    try:
        with pytest.raises(CommandExecutionError):
            edit.commit(path, b"x" * 100, keep_inode=True)
        with pytest.raises(CommandExecutionError):
            edit.extend(path, b"x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (bed.snapshot()["f"][3], os.listdir(bed.target)) == ("old\n", ["f"])


def test_the_error_of_an_interrupted_write_names_the_complete_copy(bed, monkeypatch):
    path, write = bed.file("f", "old " * 100), os.write

    def torn(descriptor, data):
        if os.fstat(descriptor).st_ino == inode:
            raise OSError(5, "Input/output error")
        return write(descriptor, data)

    inode = os.stat(path).st_ino
    monkeypatch.setattr(os, "write", torn)
    with pytest.raises(CommandExecutionError) as caught:
        edit.commit(path, b"new\n", keep_inode=True)
    [spare] = set(os.listdir(bed.target)) - {"f"}
    assert bed.path(spare) in str(caught.value)
    assert bed.snapshot()[spare][3] == "new\n"


def kill_in(path, number, work):
    """The pid of a child that runs ``work`` and gets a signal when one byte of ``path`` is written; its last signal."""
    inode, write = os.stat(path).st_ino, os.write

    def slow(descriptor, data):
        if os.fstat(descriptor).st_ino != inode:
            return write(descriptor, data)
        write(descriptor, data[:1])
        os.kill(os.getpid(), number)
        return 1

    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.write = slow
            work()
        finally:
            os._exit(99)
    return pid, os.WTERMSIG(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize(
    "work, content",
    [
        (lambda path: edit.commit(path, b"new\n", keep_inode=True), "new\n"),
        (lambda path: atomic.append(path, b"new\n"), "old " * 9 + "new\n"),
    ],
)
def test_a_started_write_is_completed_before_the_worker_stops(bed, work, content):
    path = bed.file("f", "old " * 9)
    assert kill_in(path, signal.SIGTERM, lambda: work(path))[1] == signal.SIGTERM
    assert (bed.snapshot()["f"][3], os.listdir(bed.target)) == (content, ["f"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_extended_file_is_written_or_has_a_complete_copy(bed, number):
    path = bed.file("f", "old")

    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            allocate = os.posix_fallocate
            os.posix_fallocate = lambda *args: (allocate(*args), os.kill(os.getpid(), number))
            edit.commit(path, b"new and longer\n", keep_inode=True)
        finally:
            os._exit(99)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == number
    [mode] = [mode for mode, _, _, content in bed.snapshot().values() if content == "new and longer\n"]
    if number == signal.SIGKILL:
        assert mode == "100400"
    else:
        assert os.listdir(bed.target) == ["f"]


@root_only
def test_the_complete_copy_outlives_a_killed_worker(bed, tmp_path, monkeypatch):
    for folder in (tmp_path, *tmp_path.parents):
        if not os.stat(folder).st_mode & 1:
            os.chmod(folder, 0o711)
    os.chmod(bed.folder, 0o755)
    spools = tmp_path / "spools"
    spools.mkdir()
    spools.chmod(0o1777)
    monkeypatch.setenv("TMPDIR", str(spools))
    path = bed.file("f", "old " * 9)
    os.chown(path, NOBODY, NOBODY)

    def work():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        osutil.mkstemp()
        atomic.write(path, b"new\n", keep_inode=True)

    pid, cause = kill_in(path, signal.SIGKILL, work)
    assert (cause, len(os.listdir(spools))) == (signal.SIGKILL, 2)
    osutil.sweep(pid)
    [spare] = spools.iterdir()
    assert spare.read_text() == "new\n"


@pytest.mark.parametrize("mapped", [True, False])
def test_append_reads_a_large_file_in_parts(bed, monkeypatch, mapped):
    monkeypatch.setattr(edit, "WINDOW", 1 << 20)
    if not mapped:
        monkeypatch.setattr(large, "is_large", lambda path: False)
    lines = b"".join(b"line %d of many that are here\n" % number for number in range(200_000))
    path = bed.file("log", lines + b"the last\n   words   of\nit all")
    size = os.path.getsize(path)
    monkeypatch.setattr(edit, "read", lambda path: pytest.fail("the whole file is read"))
    for text in ("line 0 of many that are here", "line 123456 of  many", "the last words\nof it\nall"):
        ret = bed.state("append", name=path, text=text)
        assert (ret["changes"] == {}) is (text != "line 123456 of  many"), (text, ret)
    dry_run = bed.state("append", test=True, name=path, text=["line 5 of many that are here", "and", "more"])
    assert (dry_run["result"], os.path.getsize(path)) == (None, size + len("\nline 123456 of  many\n"))
    applied = bed.state("append", name=path, text=["line 5 of many that are here", "and", "more"])
    assert (applied["comment"], applied["changes"]["diff"]) == ("Appended 2 lines", dry_run["changes"]["diff"])
    with open(path, "rb") as stream:
        data = stream.read()
    assert data == lines + b"the last\n   words   of\nit all\nline 123456 of  many\nand\nmore\n"


def test_windows_overlap_by_lines(bed, monkeypatch):
    monkeypatch.setattr(edit, "WINDOW", 1 << 19)
    monkeypatch.setattr(edit, "AGAIN", 4096)
    monkeypatch.setattr(large, "is_large", lambda path: False)  # as for a file that cannot be mapped
    lines = b"".join(b"%d\n" % number for number in range(400_000))
    path = bed.file("numbers", lines)
    texts = ["\n".join(str(number) for number in range(first, first + 50)) for first in range(0, 399_000, 5_000)]
    assert edit.lacking(path, [*texts, "no such line"]) == ["no such line"]
