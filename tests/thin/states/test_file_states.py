"""File states: which files are fetched, what a failure leaves, sources, and differences from Salt."""

import os
import stat
import sys

import pytest

from tests.beds.project import ROOT
from tests.thin.filebed import Bed
from thin import detail, link
from thin.utils.files import places

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="owners can only be changed by root")


@pytest.fixture
def bed(tmp_path):
    bed = Bed(tmp_path / "bed")
    before = link.connect(bed.link)
    umask = os.umask(0o022)
    yield bed
    os.umask(umask)
    link.connect(before)


def mode_of(path):
    return f"{stat.S_IMODE(os.lstat(path).st_mode):04o}"


# -- transfers


def test_an_unchanged_file_is_not_fetched(bed):
    url = bed.source("a.conf", "same\n")
    path = bed.file("a.conf", "same\n")
    before = os.lstat(path)
    ret = bed.state("managed", name=path, source=url, mode="0644")
    assert ret == {"name": path, "changes": {}, "result": True, "comment": f"File {path} is in the correct state"}
    assert bed.link.requests == []
    assert os.lstat(path).st_ino == before.st_ino


def test_unchanged_files_of_a_tree_are_not_fetched(bed):
    for name in ("one", "sub/two"):
        bed.source("tree/" + name, name)
    target = bed.path("tree")
    bed.state("recurse", name=target, source="salt://tree")
    bed.link.requests.clear()
    bed.source("tree/sub/two", "changed")
    ret = bed.state("recurse", name=target, source="salt://tree")
    assert list(ret["changes"]) == [bed.path("tree/sub/two")]
    assert bed.link.requests == [("file", "salt://tree/sub/two")]


def test_a_new_file_is_not_fetched_by_a_dry_run(bed):
    ret = bed.state("managed", test=True, name=bed.path("new"), source=bed.source("x", "x\n"))
    assert (ret["result"], ret["changes"]) == (None, {"newfile": bed.path("new")})
    assert bed.link.requests == []


@pytest.mark.parametrize("fun", ["managed", "directory", "absent", "symlink"])
def test_a_run_without_changes_imports_few_modules(bed, fun):
    """States without changes import neither the execution module nor subprocess, difflib, tempfile or shutil."""
    script = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.thin.filebed import Bed
from thin import link
before = set(sys.modules)
bed = Bed({os.path.join(bed.folder, "inner")!r})
link.connect(bed.link)
args = {{
    "managed": dict(name=bed.file("f", "x"), source=bed.source("f", "x")),
    "directory": dict(name=bed.target), "absent": dict(name=bed.path("no")),
    "symlink": dict(name=bed.path("l"), target="f"),
}}[{fun!r}]
if {fun!r} == "symlink":
    import os
    os.symlink("f", bed.path("l"))
heavy = {{"subprocess", "difflib", "tempfile", "shutil", "urllib.request", "shlex"}} - before
ret = bed.state({fun!r}, **args)
assert ret["result"] is True and not ret["changes"], ret
print(sorted(heavy & set(sys.modules)), "file.stats" in bed.loaders.modules._functions)
"""
    import subprocess

    # filebed itself imports some of these, so earlier imports do not count
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout == "[] False\n", run.stdout + run.stderr


# -- complete writes --


def test_a_full_disk_leaves_the_old_content(bed, monkeypatch):
    path = bed.file("f", "old\n")
    os_write = os.write

    def failing_write(descriptor, data):
        os_write(descriptor, bytes(data)[:1])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", failing_write)
    ret = bed.state("managed", name=path, contents="new\n" * 10)
    monkeypatch.undo()
    assert ret["result"] is False
    assert "No space left on device" in ret["comment"]
    assert ret["changes"] == {}
    assert bed.snapshot()["f"][3] == "old\n"
    assert os.listdir(bed.target) == ["f"]


@root_only
def test_a_file_never_exists_with_the_wrong_owner_or_mode(bed, monkeypatch):
    renamed = []
    rename = os.rename

    def spy(source, target, **folders):
        st = os.stat(source, dir_fd=folders["src_dir_fd"], follow_symlinks=False)
        renamed.append((f"{stat.S_IMODE(st.st_mode):04o}", st.st_uid))
        rename(source, target, **folders)

    monkeypatch.setattr(os, "rename", spy)
    bed.state("managed", name=bed.path("secret"), contents="x", mode="0400", user="daemon", group="daemon")
    assert renamed == [("0400", 1)]


def test_a_link_with_the_name_of_the_temporary_file_is_not_followed(bed, monkeypatch):
    victim = bed.file("victim", "precious")
    names = iter([b"\0" * 12, b"\1" * 12])
    monkeypatch.setattr(os, "urandom", lambda count: next(names))
    os.symlink(victim, bed.path(".pushsalt-" + "00" * 12))
    bed.state("managed", name=bed.path("f"), contents="new")
    monkeypatch.undo()
    snapshot = bed.snapshot()
    assert snapshot["victim"][3] == "precious"
    assert snapshot["f"][3] == "new\n"


def test_a_mount_point_is_written_in_place(bed, monkeypatch):
    path = bed.file("hosts", "old\n", 0o640)
    inode = os.lstat(path).st_ino

    def busy(source, target, **folders):
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(os, "rename", busy)
    ret = bed.state("managed", name=path, contents="new")
    monkeypatch.undo()
    assert ret["result"] is True
    assert bed.snapshot()["hosts"][3] == "new\n"
    assert (os.lstat(path).st_ino, mode_of(path)) == (inode, "0640")
    assert os.listdir(bed.target) == ["hosts"]


def test_edits_keep_hard_links(bed):
    path = bed.file("f", "a\n")
    os.link(path, bed.path("other"))
    bed.state("append", name=path, text="b")
    assert bed.snapshot()["other"][3] == "a\nb\n"


# -- sources --


def test_the_first_existing_source_is_used_with_its_own_hash(bed):
    existing = bed.file("here", "text\n")
    path = bed.path("f")
    ret = bed.state("managed", name=path, source=["salt://none", {existing: "md5=" + "0" * 32}, "salt://later"])
    assert ret["result"] is False
    assert ret["comment"].startswith(f"Specified md5 checksum for {path} ({'0' * 32}) does not match actual checksum")
    assert f" of {existing}. " in ret["comment"]
    assert not os.path.exists(path)


@pytest.mark.parametrize("kind", ["md5", "sha1", "sha256", "sha512"])
def test_a_list_of_hashes_is_searched_for_the_name(bed, kind):
    import hashlib

    data = b"payload"
    source = bed.file("here.bin", data)
    digest = hashlib.new(kind, data).hexdigest()
    sums = bed.source("SUMS", f"{'0' * len(digest)}  other\n{digest}  f\n")
    ret = bed.state("managed", name=bed.path("f"), source=source, source_hash=sums)
    assert ret["result"] is True, ret


@pytest.fixture
def web(tmp_path):
    """A web server on loopback over a folder; ``web.url`` and the requested paths."""
    import http.server
    import threading

    folder = tmp_path / "web"
    folder.mkdir()
    requests = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def log_message(self, format, *args):
            requests.append((self.command, self.path))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.folder, server.requests, server.url = folder, requests, f"http://127.0.0.1:{server.server_port}"
        yield server
        server.shutdown()
        thread.join()


def test_a_web_source_is_fetched_only_when_its_hash_differs(bed, web):
    import hashlib

    (web.folder / "f.txt").write_bytes(b"from the web\n")
    url, digest = web.url + "/f.txt", hashlib.sha256(b"from the web\n").hexdigest()
    first = bed.state("managed", name=bed.path("f"), source=url, source_hash=digest.upper())
    assert (first["result"], first["changes"]["diff"]) == (True, "New file"), first
    web.requests.clear()
    assert bed.state("managed", name=bed.path("f"), source=url, source_hash="sha256=" + digest)["changes"] == {}
    assert web.requests == []


@pytest.mark.parametrize(
    "args, message",
    [
        ({}, "Unable to verify upstream hash of source file"),
        ({"source_hash": "sha256=" + "1" * 64}, "does not match actual checksum"),
        ({"source_hash": "sha256=12"}, "may also not be of a valid length"),
        ({"source_hash": "sha256=" + "1" * 32}, "Invalid length (32) for hash type 'sha256'"),
    ],
)
def test_a_web_source_is_verified(bed, web, args, message):
    (web.folder / "f.txt").write_bytes(b"x")
    ret = bed.state("managed", name=bed.path("f"), source=web.url + "/f.txt", **args)
    assert ret["result"] is False
    assert message in ret["comment"]
    assert not os.path.exists(bed.path("f"))


def test_skip_verify_permits_a_web_source_without_hash(bed, web):
    (web.folder / "f.txt").write_bytes(b"x\n")
    ret = bed.state(
        "managed", name=bed.path("f"), source=["salt://no", web.url + "/no", web.url + "/f.txt"], skip_verify=True
    )
    assert ret["result"] is True, ret
    assert ("HEAD", "/no") in web.requests


def test_the_error_of_a_missing_web_source_hides_the_password(bed, web):
    url = web.url.replace("http://", "http://me:hunter2@") + "/nope"
    ret = bed.state("managed", name=bed.path("f"), source=url, skip_verify=True)
    assert ret["result"] is False
    assert "404" in ret["comment"]
    assert "hunter2" not in ret["comment"]


def test_a_dry_run_reports_a_missing_web_source(bed, web):
    """Also if its digest is given, unless the file exists with this digest."""
    import hashlib

    url, digest = web.url + "/f.txt", hashlib.sha256(b"x\n").hexdigest()
    for name in ("new", bed.file("other", "y\n")):
        ret = bed.state("managed", test=True, name=bed.path(name), source=url, source_hash=digest)
        assert (ret["result"], ret["changes"]) == (False, {}), ret
        assert f"Failed to cache {url}" in ret["comment"] and "404" in ret["comment"]
    web.requests.clear()
    ret = bed.state("managed", test=True, name=bed.file("same", "x\n"), source=url, source_hash=digest)
    assert (ret["result"], ret["changes"], web.requests) == (True, {}, [])
    (web.folder / "f.txt").write_bytes(b"x\n")
    ret = bed.state("managed", test=True, name=bed.path("new"), source=url, source_hash=digest)
    assert (ret["result"], ret["changes"]) == (None, {"newfile": bed.path("new")})


def test_a_dry_run_does_not_compare_the_digest_of_a_web_source(bed, web):
    """As in Salt. A plan does."""
    (web.folder / "f.txt").write_bytes(b"x\n")
    source = {"name": bed.path("new"), "source": web.url + "/f.txt", "source_hash": "1" * 64}
    ret = bed.state("managed", test=True, **source)
    assert (ret["result"], ret["changes"]) == (None, {"newfile": bed.path("new")}), ret
    assert bed.state("managed", **source)["result"] is False
    detail.begin()
    try:
        ret = bed.state("managed", test=True, **source)
    finally:
        detail.end()
    assert ret["result"] is False and "does not match actual checksum" in ret["comment"]


# -- managed: other cases


def test_rendered_text_is_in_no_other_file(bed, monkeypatch):
    bed.source("t", "{{ password }}\n")
    folders = []
    monkeypatch.setattr(places.Place, "temporary", spying(places.Place.temporary, folders))
    context = {"password": "pw"}
    bed.state("managed", name=bed.path("f"), source="salt://t", template="jinja", context=context, mode="0600")
    assert folders == [bed.target]
    assert os.listdir(bed.target) == ["f"]


def spying(function, folders):
    def spy(place, *args):
        folders.append(os.path.dirname(place.path))
        return function(place, *args)

    return spy


def test_a_render_error_is_the_comment(bed):
    bed.source("t", "{{ nobody }}")
    ret = bed.state("managed", name=bed.path("f"), source="salt://t", template="jinja")
    assert ret["comment"] == "Unable to manage file: Jinja variable 'nobody' is undefined"
    assert not os.path.exists(bed.path("f"))


def test_a_dry_run_predicts_mode_keep(bed):
    url = bed.source("run.sh", "#!/bin/sh\n", 0o755)
    path = bed.file("run.sh", "#!/bin/sh\n", 0o600)
    assert bed.state("managed", test=True, name=path, source=url, mode="keep")["changes"] == {"mode": "0755"}
    assert bed.state("managed", name=path, source=url, mode="keep")["changes"] == {"mode": "0755"}
    assert mode_of(path) == "0755"


def test_a_backup_is_kept_and_can_be_restored(bed):
    path = bed.file("f", "old\n", 0o640)
    bed.state("managed", name=path, contents="new", backup="minion")
    copies = bed.call("file.list_backups", path)
    assert list(copies) == [0]
    assert mode_of(copies[0]["Location"]) == "0640"
    with open(copies[0]["Location"]) as copy:
        assert copy.read() == "old\n"
    assert bed.call("file.restore_backup", path, 0)["result"] is True
    assert bed.snapshot()["f"][3] == "old\n"
    assert len(bed.call("file.list_backups", path)) == 2
    assert bed.call("file.restore_backup", path, 9)["result"] is False


@pytest.mark.parametrize(
    "show, diff", [(True, "--- \n+++ \n@@ -1 +1 @@\n-old\n+new\n"), (False, "<show_changes=False>")]
)
@pytest.mark.parametrize("test", [True, False])
def test_diffs_are_hidden_on_request(bed, test, show, diff):
    path = bed.file("f", "old\n")
    ret = bed.state("managed", test=test, name=path, contents="new", show_changes=show)
    assert ret["changes"] == {"diff": diff}


def test_a_failed_check_cmd_keeps_the_old_content(bed):
    path = bed.file("f", "good\n")
    commands = []

    def run_all(command, **kwargs):
        temp = command.split()[-1]
        with open(temp) as copy:
            commands.append((copy.read(), kwargs, mode_of(temp)))
        return {"retcode": 1, "stdout": "out", "stderr": "err"}

    bed.loaders.modules._functions["cmd.run_all"] = run_all
    ret = bed.state("managed", name=path, contents="bad", check_cmd="verify -f", mode="0640")
    assert ret["comment"] == "check_cmd execution failed\nout\nerr"
    assert (ret["result"], ret["skip_watch"], ret["changes"]) == (False, True, {})
    assert commands == [("bad\n", {"shell": "/bin/sh"}, "0640")]
    assert bed.snapshot()["f"][3] == "good\n"


def test_check_cmd_does_not_run_for_a_correct_file(bed):
    bed.loaders.modules._functions["cmd.run_all"] = None
    path = bed.file("f", "x\n")
    assert bed.state("managed", name=path, contents="x", check_cmd="verify")["result"] is True


@pytest.mark.parametrize("test", [False, True])
def test_a_file_that_disappears_is_a_failure_with_a_comment(bed, monkeypatch, test):
    path = bed.file("a.conf", "old\n")
    monkeypatch.setattr(os.path, "exists", lambda name: os.unlink(name) or True)
    ret = bed.state("managed", test=test, name=path, replace=False, mode="0600")
    assert ret["result"] is False and ret["changes"] == {}
    assert "No such file or directory" in ret["comment"] and path in ret["comment"]


def test_ignored_differences_are_written_without_effect_on_requisites(bed):
    path = bed.file("f", "a\nb\n")
    ret = bed.state("managed", name=path, contents="b\na", ignore_ordering=True)
    assert ret["skip_req"] is True
    assert bed.snapshot()["f"][3] == "b\na\n"


# -- directories --


@root_only
def test_a_dry_run_predicts_the_owner_of_the_directory_itself(bed):
    path = bed.path("d")
    os.makedirs(path + "/sub")
    args = {"name": path, "user": "daemon", "mode": "0700", "recurse": ["mode"]}
    predicted = bed.state("directory", test=True, **args)["changes"]
    assert predicted == {path: {"user": "daemon", "mode": "0700"}, path + "/sub": {"mode": "0700"}}
    changes = bed.state("directory", **args)["changes"]
    assert {key: changes[key] for key in predicted} == predicted


def test_clean_keeps_what_required_states_manage(bed):
    for name in ("d/managed", "d/stray", "d/kept/inner", "d/kept/more", "d/gone/inner"):
        bed.file(name)
    bed.loaders.pack["__lowstate__"] += [
        {"state": "file", "fun": "managed", "__id__": "one", "name": bed.path("d/managed")},
        {"state": "file", "fun": "directory", "__id__": "two", "name": bed.path("d/kept")},
    ]
    requires = [{"file": "one"}, {"file": bed.path("d/kept")}, {"pkg": "nginx"}]
    ret = bed.state("directory", name=bed.path("d"), clean=True, require=requires)
    assert sorted(ret["changes"]["removed"]) == [bed.path("d/gone"), bed.path("d/stray")]
    assert sorted(bed.snapshot()) == ["d", "d/kept", "d/kept/inner", "d/kept/more", "d/managed"]


def test_clean_does_not_follow_links(bed):
    bed.file("outside/precious")
    os.makedirs(bed.path("d"))
    os.symlink(bed.path("outside"), bed.path("d/link"))
    bed.state("directory", name=bed.path("d"), clean=True)
    assert sorted(bed.snapshot()) == ["d", "outside", "outside/precious"]


def test_absent_removes_the_link_and_not_its_target(bed):
    bed.file("real/f")
    os.symlink("real", bed.path("link"))
    assert bed.state("absent", name=bed.path("link"))["comment"] == f"Removed file {bed.path('link')}"
    assert sorted(bed.snapshot()) == ["real", "real/f"]


@pytest.mark.parametrize("name", ["/", "//", "/usr/.."])
def test_the_root_directory_is_never_removed(bed, name):
    assert bed.state("absent", test=True, name=name)["result"] is False


def test_recurse_writes_nothing_outside_of_its_directory(bed, monkeypatch):
    entries = [["../evil", "f", "0" * 64, 0o644, 1], ["a/../../evil", "f", "0" * 64, 0o644, 1]]
    monkeypatch.setattr(bed.link, "tree", lambda url, saltenv="base": entries)
    ret = bed.state("recurse", name=bed.path("d"), source="salt://tree")
    assert ret["changes"] == {}
    assert sorted(bed.snapshot()) == ["d"]


# -- accumulators --


def test_accumulated_texts_are_available_in_blocks_and_templates(bed):
    path = bed.file("f", "#-- start managed zone --\n#-- end managed zone --\n")
    bed.low["require_in"] = [{"file": "block"}]
    first = bed.state("accumulated", name="acc", filename=path, text=["one", "two"])
    assert first["comment"] == f"Accumulator acc for file {path} was charged by text"
    assert bed.state("accumulated", name="acc", filename=path, text="two")["comment"] == ""
    bed.state("blockreplace", name=path, content="zero", backup=False)
    assert "start managed zone --\nzero\none\ntwo\n#-- end" in bed.snapshot()["f"][3]
    bed.source("t", "{{ accumulator }}")
    bed.state("managed", name=path, source="salt://t", template="jinja")
    assert bed.snapshot()["f"][3] == "{'acc': ['one', 'two']}"


def test_an_accumulator_without_reader_is_refused(bed):
    ret = bed.state("accumulated", name="acc", filename="/f", text="x")
    assert (ret["result"], ret["comment"]) == (False, "Orphaned accumulator acc in the.sls:the id")


# -- edits --


@pytest.mark.parametrize(
    "args", [{"pattern": "("}, {"pattern": "a", "repl": r"\9"}, {"pattern": "a", "flags": ["NOPE"]}]
)
def test_an_invalid_expression_is_a_failure_with_a_comment(bed, args):
    path = bed.file("f", "a\n")
    ret = bed.state("replace", name=path, **dict({"repl": "b"}, **args))
    assert ret["result"] is False
    assert ret["comment"].startswith("Invalid")
    assert bed.snapshot()["f"][3] == "a\n"


def test_a_dry_run_predicts_an_existing_header(bed):
    path = bed.file("f", "head\nbody\n")
    ret = bed.state("prepend", test=True, name=path, text="head", header=True)
    assert (ret["result"], ret["changes"]) == (True, {})


def test_keyvalue_appends_after_a_last_line_without_line_feed(bed):
    path = bed.file("f", "a=1")
    bed.state("keyvalue", name=path, key="z", value="5", append_if_not_found=True)
    assert bed.snapshot()["f"][3] == "a=1\nz=5\n"


def test_line_keeps_line_ends(bed):
    path = bed.file("f", "x=1\r\ny=2\r\n")
    bed.state("line", name=path, mode="replace", match="y", content="N")
    assert bed.snapshot()["f"][3] == "x=1\r\nN\r\n"


PATCH = "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"


def test_a_patch_is_applied_once(bed):
    import shutil

    if not shutil.which("patch"):
        pytest.skip("patch(1) is not installed")
    path, url = bed.file("f", "a\nb\n"), bed.source("p", PATCH)
    assert bed.state("patch", test=True, name=path, source=url)["comment"] == "The patch would be applied"
    assert bed.snapshot()["f"][3] == "a\nb\n"
    assert bed.state("patch", name=path, source=url)["comment"] == "Patch successfully applied"
    assert bed.snapshot()["f"][3] == "a\nc\n"
    second = bed.state("patch", name=path, source=url)
    assert (second["comment"], second["changes"]) == ("Patch was already applied", {})
    bed.file("f", "other\n")
    assert bed.state("patch", name=path, source=url)["result"] is False
    assert sorted(bed.snapshot()) == ["f"]


# -- not a regular file


@pytest.mark.parametrize("test", [True, False])
def test_a_pipe_is_neither_read_nor_replaced(bed, test):
    pipe = bed.path("pipe")
    os.mkfifo(pipe)
    ret = bed.state("managed", test=test, name=pipe, contents="x")
    assert (ret["result"], ret["comment"]) == (
        False,
        f"Specified target {pipe} is neither a regular file nor a symbolic link",
    )
    ret = bed.state("managed", test=test, name=bed.path("f"), source=pipe)
    assert ret["result"] is False
    assert ret["comment"].endswith(f"Local file source {pipe} is a named pipe")
    assert sorted(bed.snapshot()) == ["pipe"]
