"""Backups of files, and copies of web sources, are in the private folder of the executing user until `clean`."""

import http.server
import os
import pwd
import shutil
import tempfile
import threading
from pathlib import Path

import pytest

from tests.beds.project import Project, values

STATES = """
conf:
  file.managed:
    - name: {path}
    - source: {url}
    - skip_verify: true
    - backup: minion
"""


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "conf").write_text("new\n")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
        threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_address[1]}/conf"
        serving.shutdown()


def test_clean_removes_backups(tmp_path, server):
    conf = tmp_path / "conf"
    conf.write_text("old\n")
    project = Project(tmp_path, {"here": {"transport": "local"}})
    project.files({"salt/site.sls": STATES.format(path=conf, url=server)})
    done = project.json("apply", "here", "site")
    assert (done.code, conf.read_text()) == (0, "new\n"), done.out
    cachedir = project.home / ".cache/pushsalt/minion"
    assert sorted(path.name for path in cachedir.iterdir()) == ["extrn_files", "file_backup", "undo"]
    listed = project.json("run", "here", "file.list_backups", str(conf)).data["here"]
    assert listed["0"]["Location"].startswith(f"{cachedir}/file_backup/")
    assert project.json("run", "here", "config.get", "cachedir").data["here"] == str(cachedir)
    assert project.json("run", "here", "file.restore_backup", str(conf), "0").data["here"]["result"] is True
    assert conf.read_text() == "old\n"
    assert f"{cachedir}" in str(project.json("clean", "here").data["here"])
    assert not cachedir.exists()


def test_a_configured_folder_is_not_cleaned(tmp_path):
    conf = tmp_path / "conf"
    conf.write_text("old\n")
    project = Project(tmp_path, {"here": {"transport": "local", "minion_opts": {"cachedir": str(tmp_path / "own")}}})
    state = f"conf:\n  file.managed: [name: {conf}, contents: new, backup: minion]\n"
    project.files({"salt/site.sls": state})
    assert project.json("apply", "here", "site").code == 0
    project.json("clean", "here")
    assert sorted(path.name for path in (tmp_path / "own").iterdir()) == ["file_backup", "undo"]


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("sudo"), reason="needs root and sudo to be somebody else")
def test_a_login_without_root_has_backups_and_web_sources(tmp_path, server):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        nobody = pwd.getpwnam("nobody")
        os.chmod(folder, 0o711)
        home = Path(folder, "home")
        home.mkdir()
        (home / "conf").write_text("old\n")
        for path in (home, home / "conf"):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
        host = {
            "transport": "local",
            "sudo": True,
            "sudo_user": "nobody",
            "python": "/usr/bin/python3",
            "thin_dir": str(home / "ours"),
        }
        project = Project(tmp_path, {"nobody": host})
        project.files({"salt/site.sls": STATES.format(path=home / "conf", url=server)})
        done = project.json("apply", "nobody", "site")
        assert [ret["result"] for ret in values(done.data["nobody"])] == [True], done.out
        assert (home / "conf").read_text() == "new\n"
        assert (home / "ours/minion/file_backup").stat().st_uid == nobody.pw_uid
