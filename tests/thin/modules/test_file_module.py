"""The execution modules file, cp and hashutil: values and errors in Salt's shapes."""

import os
import re
import time

import pytest

from tests.thin.filebed import Bed, write_sources
from thin import exceptions, link, loader, runtime


@pytest.fixture
def bed(tmp_path):
    bed = Bed(tmp_path / "bed")
    write_sources(bed)
    before = link.connect(bed.link)
    umask = os.umask(0o022)
    yield bed
    os.umask(umask)
    link.connect(before)


@pytest.fixture
def tree(bed):
    """f (``a``, ``b``), its link l and hard link h, dir/x and dir/sub/y, a pipe p."""
    bed.file("f", "a\nb\n")
    os.symlink("f", bed.path("l"))
    os.link(bed.path("f"), bed.path("h"))
    bed.file("dir/x")
    bed.file("dir/sub/y", "12345")
    os.mkfifo(bed.path("p"))
    return bed


def with_folder(value, bed):
    """``value`` with ``@`` replaced by the bed's folder."""
    if isinstance(value, str):
        return re.sub(r"@(?=/|\Z)", bed.target, value)
    if isinstance(value, (list, tuple)):
        return type(value)(with_folder(item, bed) for item in value)
    if isinstance(value, dict):
        return {with_folder(key, bed): with_folder(item, bed) for key, item in value.items()}
    return value


@pytest.mark.parametrize(
    "call, args, expected",
    [
        ("file.file_exists", ["@/l"], True),
        ("file.file_exists", ["@/dir"], False),
        ("file.directory_exists", ["@/dir"], True),
        ("file.path_exists_glob", ["@/d*"], True),
        ("file.access", ["@/f", "r"], True),
        ("file.get_mode", ["@/f"], "0644"),
        ("file.get_hash", ["@/f", "md5"], "dd8c6a395b5dd36c56d23275028f526c"),
        ("file.get_sum", ["@/no"], "File not found"),
        ("file.readlink", ["@/l"], "f"),
        ("file.readlink", ["@/l", True], "@/f"),
        ("file.is_link", ["@/l"], True),
        ("file.is_hardlink", ["@/f"], True),
        ("file.is_fifo", ["@/p"], True),
        ("file.is_fifo", ["@/no"], False),
        ("file.is_chrdev", ["/dev/null"], True),
        ("file.get_devmm", ["/dev/null"], (1, 3)),
        ("file.find", ["@/dir"], ["@/dir", "@/dir/sub", "@/dir/sub/y", "@/dir/x"]),
        ("file.find", ["@/dir", {"type": "f", "size": "+1"}], ["@/dir/sub/y"]),
        ("file.find", ["@/dir", {"name": "y", "print": "name,size,type"}], [["y", 5, "f"]]),
        ("file.find", ["@/dir", {"maxdepth": 1}], ["@/dir", "@/dir/sub", "@/dir/x"]),
        ("file.find", ["@/dir", {"mindepth": 2}], ["@/dir/sub/y"]),
        ("file.find", ["@/dir", {"mtime": "+1d"}], []),
        ("file.find", ["@/dir", {"grep": "34"}], ["@/dir/sub/y"]),
        ("file.find", ["@/dir", {"type": "f", "delete": False}], ["@/dir/sub/y", "@/dir/x"]),
        ("file.find", ["@/dir", {"type": "f"}], ["@/dir/sub/y", "@/dir/x"]),
        ("file.find", ["@/dir", {"odd": 1}], 'error: invalid option "odd"'),
        ("file.contains", ["@/f", " b "], True),
        ("file.contains_regex", ["@/f", "^b$"], True),
        ("file.contains_glob", ["@/f", "*z*"], False),
        ("file.search", ["@/f", "^b$"], True),
        ("file.read", ["@/f"], "a\nb\n"),
        ("file.seek_read", ["@/f", 2, 1], b"\nb"),
        ("file.diskusage", ["@/dir"], 5),
        ("file.lstat", ["@/no"], {}),
        ("file.set_mode", ["@/f", "zz"], "Invalid Mode zz"),
        ("file.set_mode", ["@/f", 600], "0600"),
        ("file.chown", ["@/f", "nobody-here", "root"], "User does not exist\n"),
        ("file.chown", ["@/no", "root", "root"], "File not found"),
        ("file.user_to_uid", ["root"], 0),
        ("file.user_to_uid", ["nobody-here"], ""),
        ("file.group_to_gid", ["nobody-here"], ""),
        ("file.uid_to_user", [4000000], 4000000),
        ("file.write", ["@/w", "one", "two"], 'Wrote 2 lines to "@/w"'),
        ("file.append", ["@/f", {"args": ["c"]}], 'Wrote 1 lines to "@/f"'),
        ("file.prepend", ["@/f", "z"], 'Prepended 1 lines to "@/f"'),
        ("file.comment", ["@/f", "^b"], "--- \n+++ \n@@ -1 +1 @@\n-b\n+#b\n"),
        ("file.uncomment", ["@/f", "zz"], False),
        ("file.replace", ["@/f", "a", "A", {"dry_run": True, "show_changes": False}], True),
        ("file.line", ["@/f", "b", {"mode": "delete"}], "--- \n+++ \n@@ -1,2 +1 @@\n a\n-b\n"),
        ("file.makedirs", ["@/dir/x"], "Directory '@/dir' already exists"),
        ("file.remove", ["@/no"], False),
        ("file.remove", ["@/dir"], True),
        ("file.move", ["@/f", "@/g"], {"result": True, "comment": "'@/f' moved to '@/g'"}),
        ("file.rmdir", ["@/dir"], False),
        (
            "file.get_diff",
            ["@/f", "salt://f.txt", {"show_filenames": False}],
            "--- \n+++ \n@@ -1,2 +1,2 @@\n-a\n-b\n+hello\n+world\n",
        ),
        ("file.normpath", ["/a/../b"], "/b"),
        ("file.join", ["/a", "b"], "/a/b"),
        ("cp.get_file", ["salt://f.txt", "@/got"], "@/got"),
        ("cp.get_file", ["salt://f.txt", "@/dir"], "@/dir/f.txt"),
        ("cp.get_file", ["salt://no", "@/got"], ""),
        ("cp.get_file", ["salt://f.txt", "@/q/got"], ""),
        ("cp.get_file", ["salt://f.txt", "@/q/got", {"makedirs": True}], "@/q/got"),
        ("cp.get_file_str", ["salt://f.txt"], "hello\nworld\n"),
        ("cp.get_file_str", ["salt://no"], False),
        ("cp.get_url", ["salt://f.txt", None], "hello\nworld\n"),
        ("cp.get_url", ["salt://f.txt", "@/u", {"source_hash": "md5=" + "0" * 32}], False),
        ("cp.get_template", ["salt://t.j2", "@/t", {"context": {"who": "me"}}], "@/t"),
        ("cp.get_dir", ["salt://tree/sub", "@"], ["@/sub/two", "@/sub/deep/three"]),
        ("cp.cache_file", ["salt://no"], False),
        ("cp.cache_file", ["@/f"], "@/f"),
        ("cp.hash_file", ["salt://no"], {}),
        ("cp.stat_file", ["salt://f.txt"], "0640"),
        ("cp.stat_file", ["@/f"], "0644"),
        ("cp.is_cached", ["salt://f.txt"], ""),
        ("hashutil.digest", ["web01 is up"], "2ad8bf0420ba6aa671775bf0ce0254d0"),
        ("hashutil.base64_b64encode", ["web01 is up"], "d2ViMDEgaXMgdXA="),
        ("hashutil.base64_b64decode", ["d2ViMDEgaXMgdXA="], "web01 is up"),
        ("hashutil.base64_encodestring", ["web01 is up"], "d2ViMDEgaXMgdXA=\n"),
        (
            "hashutil.hmac_signature",
            ["web01 is up", "of the app", "EbGF8+Kjc4X8rn168qZSwDcmCY+zhIHSMtTXgGm3lE0="],
            True,
        ),
        ("hashutil.hmac_signature", ["web01 is up", "other", "EbGF8+Kjc4X8rn168qZSwDcmCY+zhIHSMtTXgGm3lE0="], False),
    ],
)
def test_functions_return_the_values_of_salt(tree, call, args, expected):
    args = with_folder(args, tree)
    kwargs = args.pop() if isinstance(args[-1], dict) else {}
    assert tree.call(call, *args, **kwargs) == with_folder(expected, tree)


@pytest.mark.parametrize(
    "call, args, error, message",
    [
        ("file.stats", ["@/no"], "CommandExecutionError", "Path not found: @/no"),
        ("file.readlink", ["@/f"], "SaltInvocationError", "A valid link was not specified: @/f"),
        ("file.readdir", ["rel"], "SaltInvocationError", "Dir path must be absolute."),
        ("file.symlink", ["z", "@/l"], "CommandExecutionError", "Found existing symlink: @/l"),
        ("file.symlink", ["z", "@/f"], "CommandExecutionError", "Existing path is not a symlink: @/f"),
        ("file.rename", ["@/no", "@/x"], "CommandExecutionError", "Could not rename '@/no' to '@/x'"),
        (
            "file.copy",
            ["@/dir", "@/x"],
            "SaltInvocationError",
            "Cannot copy overwriting a directory without recurse flag set to true!",
        ),
        ("file.touch", ["@/f", "soon"], "SaltInvocationError", "atime and mtime must be integers"),
        ("file.check_hash", ["@/f", "abc"], "SaltInvocationError", "Hash abc (length: 3) could not be matched"),
        ("file.replace", ["@/no", "a", "b"], "SaltInvocationError", "File not found: @/no"),
        (
            "file.blockreplace",
            ["@/f"],
            "CommandExecutionError",
            "Cannot edit marked block. Markers were not found in file.",
        ),
        ("file.grep", ["@/f", "a", "-i -v"], "SaltInvocationError", "Passing multiple command line arguments"),
        ("file.mknod", ["@/z", "x"], "SaltInvocationError", "Node type unavailable: 'x'."),
        ("file.get_diff", ["@/f", "@/no"], "CommandExecutionError", "Failed to cache one or more files"),
        ("hashutil.digest", ["x", "crc"], "CommandExecutionError", "Hash function 'crc' is not supported"),
    ],
)
def test_functions_raise_the_errors_of_salt(tree, call, args, error, message):
    with pytest.raises(getattr(exceptions, error)) as caught:
        tree.call(call, *with_folder(args, tree))
    assert str(caught.value).startswith(with_folder(message, tree))


def test_stats_of_a_link_and_of_its_target(tree):
    stats = tree.call("file.stats", tree.path("l"), "sha256", True)
    st = os.stat(tree.path("f"))
    assert stats.pop("sum") == tree.call("file.get_hash", tree.path("f"))
    assert (stats["inode"], stats["uid"], stats["mode"], stats["type"]) == (st.st_ino, st.st_uid, "0644", "file")
    assert stats["target"] == tree.path("f")
    assert tree.call("file.stats", tree.path("l"), None, False)["type"] == "link"


def test_the_functions_of_file_managed(bed):
    """get_managed, manage_file and their checks, called as by Salt's own callers."""
    ownership = (None, None, "0640", None)
    sfn, source_sum, comment = bed.call(
        "file.get_managed", bed.path("f"), "jinja", "salt://t.j2", None, None, *ownership, "base", {"who": "you"}, None
    )
    assert comment == ""
    assert source_sum["hsum"] == bed.call("file.get_hash", sfn)
    assert f"{os.lstat(sfn).st_mode & 0o777:o}" == "600"
    changes = bed.call("file.check_file_meta", bed.path("f"), sfn, "salt://t.j2", source_sum, *ownership, "base")
    assert changes == {"newfile": bed.path("f")}
    ret = bed.call("file.manage_file", bed.path("f"), sfn, None, "salt://t.j2", source_sum, *ownership, "base", "")
    assert (ret["result"], ret["changes"]) == (True, {"diff": "New file", "mode": "0640"})
    assert not os.path.exists(sfn)
    assert bed.snapshot()["f"][3] == "hi you web\n"
    args = ("salt://f.txt", None, None, *ownership, None, None, None, "base")
    result, comment = bed.call("file.check_managed", bed.path("f"), *args)
    assert result is None
    assert comment.startswith("The following values are set to be changed:\ndiff: ")
    assert bed.call("file.check_managed_changes", bed.path("f"), "salt://no", *args[1:]) == (
        False,
        "Source file salt://no not found in saltenv 'base'",
    )


@pytest.mark.parametrize(
    "mode, follow, expected",
    [
        ("0777", False, {}),
        ("0644", False, {"mode": "0644"}),
        ("0644", True, {}),
        ("0600", True, {"mode": "0600"}),
    ],
)
def test_a_link_is_not_followed_unless_requested(tree, mode, follow, expected):
    """The link's own mode and its target's text are compared, or with ``follow_symlinks`` the target's properties."""
    os.chmod(tree.path("f"), 0o644)
    link_, source = tree.path("l"), tree.file("source", "a\nb\n")
    changes = tree.call(
        "file.check_managed_changes",
        link_,
        source,
        None,
        None,
        None,
        None,
        mode,
        *[None] * 4,
        "base",
        follow_symlinks=follow,
    )
    assert changes == expected
    changes = tree.call(
        "file.check_file_meta", link_, source, None, None, None, None, mode, None, "base", follow_symlinks=follow
    )
    assert changes == expected


def test_extract_hash_finds_the_line_of_a_file(bed):
    sums = bed.file(
        "SUMS",
        "\n".join(
            [
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  x.tgz",
                "d41d8cd98f00b204e9800998ecf8427e *dist/y.tgz",
                "not a hash",
            ]
        ),
    )
    assert bed.call("file.extract_hash", sums, "", "/tmp/y.tgz")["hash_type"] == "md5"
    assert bed.call("file.extract_hash", sums, "sha256", "/tmp/x.tgz")["hsum"].startswith("e3b0")
    assert bed.call("file.extract_hash", sums, "sha256", "/tmp/zz")["hsum"].startswith("e3b0")
    assert bed.call("file.extract_hash", sums, "sha512") is None


def test_touch_sets_one_time_to_now(bed):
    path = bed.file("f")
    bed.call("file.touch", path, 5)
    st = os.stat(path)
    assert st.st_atime == 5
    assert abs(st.st_mtime - time.time()) < 3600


def test_the_controller_has_the_functions_that_use_no_files():
    loaders = loader.Loaders({"test": False}, runtime, controller=True)
    assert loaders.modules["file.dirname"]("/a/b") == "/a"
    assert "file.stats" not in loaders.modules
    assert loaders.modules["hashutil.md5_digest"]("x") == "9dd4e461268c8034f5c8564e155c67a6"
    assert "hashutil.digest_file" not in loaders.modules
