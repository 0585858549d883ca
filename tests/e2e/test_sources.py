"""Sources by the schemes of plug-ins, and `source_hash` in all of its forms."""

from __future__ import annotations

import functools
import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.beds.project import Project, values

pytestmark = pytest.mark.slow

S3 = """
import os, shutil

def fetch(url, folder, opts):
    assert url.startswith("s3://")
    path = os.path.join({bucket!r}, url[5:])
    if "broken" in url:
        raise OSError("no such bucket")
    if not os.path.exists(path):
        return None
    with open({bucket!r} + "/asked", "a") as log:
        log.write(url + "\\n")
    return shutil.copy(path, folder)
"""
DATA = b"payload\n"
OTHER = b"something else\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket" / "file").write_bytes(DATA)
    project = Project(tmp_path, {name: {"transport": "local", "thin_dir": str(tmp_path / name)} for name in ("a", "b")})
    project.write("salt/_sources/s3.py", S3.format(bucket=str(tmp_path / "bucket")))
    return project


def run_managed(project: Project, target: str, dest: Path, *arguments: str) -> dict[str, object]:
    (ret,) = values(project.json("run", target, "state.single", "file.managed", str(dest), *arguments).data[target])
    return ret


def test_a_plugin_provides_a_scheme(project, tmp_path):
    requests_log = tmp_path / "bucket" / "asked"
    project.write(
        "salt/it.sls",
        f"{tmp_path}/$id.dest:\n  file.managed:\n    - source: s3://file\n".replace("$id", "{{ grains.id }}"),
    )
    done = project.json("apply", "*", "it").data
    assert all(values(done[name])[0]["result"] is True for name in "ab"), done
    assert [(tmp_path / f"{name}.dest").read_bytes() for name in "ab"] == [DATA, DATA]
    assert requests_log.read_text() == "s3://file\n", "once for both"
    dest = tmp_path / "a.dest"
    assert run_managed(project, "a", dest, "source=s3://file")["changes"] == {}
    right = hashlib.md5(DATA).hexdigest()
    assert run_managed(project, "a", dest, "source=s3://file", f"source_hash={right}")["result"] is True
    wrong = run_managed(project, "a", tmp_path / "new", "source=s3://file", "source_hash=" + right[::-1])
    assert wrong["result"] is False and "does not match actual checksum" in str(wrong["comment"])
    missing = run_managed(project, "a", dest, "source=s3://nothing")
    assert missing["result"] is False and "s3://nothing not found" in str(missing["comment"])
    broken = run_managed(project, "a", dest, "source=s3://broken")
    assert broken["result"] is False and "OSError: no such bucket" in str(broken["comment"])
    unknown = run_managed(project, "a", dest, "source=swift://x/y")
    assert unknown["result"] is False and "the protocol swift is not supported" in str(unknown["comment"])
    assert project.json("run", "a", "cp.get_url", "s3://file", str(tmp_path / "got")).code == 0
    assert (tmp_path / "got").read_bytes() == DATA


def test_a_target_cannot_choose_a_url(project, tmp_path):
    """The URL is composed on the target, and is in no file of the project."""
    project.write("salt/_modules/sly.py", "def ask():\n    return __salt__['cp.cache_file']('s3' + '://file')\n")
    assert project.json("run", "a", "sly.ask").data["a"] is False
    assert not (tmp_path / "bucket" / "asked").exists()


@pytest.fixture(scope="module")
def web(tmp_path_factory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("web")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    server.server_close()


def test_source_hash_in_all_its_forms(project, tmp_path, web):
    url, folder = web
    sums = f"{hashlib.sha256(OTHER).hexdigest()}  other\n{hashlib.sha256(DATA).hexdigest()}  file\n"
    for directory in (folder, tmp_path, project.folder / "salt", tmp_path / "bucket"):
        (directory / "SUMS").write_text(sums)
        (directory / "file").write_bytes(DATA)
    literal = hashlib.sha512(DATA).hexdigest()
    forms = [
        literal,
        f"sha512={literal}",
        hashlib.sha1(DATA).hexdigest(),
        f"{url}/SUMS",
        "salt://SUMS",
        "s3://SUMS",
        f"{tmp_path}/SUMS",
        f"file://{tmp_path}/SUMS",
        {"source_hash": "salt://SUMS", "source_hash_name": "file"},
    ]
    wrong = {"source_hash": "salt://SUMS", "source_hash_name": "other"}
    lines = []
    for number, form in enumerate([*forms, wrong]):
        arguments = form if isinstance(form, dict) else {"source_hash": form}
        for kind, source in (("web", f"{url}/file"), ("local", f"{tmp_path}/file"), ("plugin", "s3://file")):
            lines += [f"{tmp_path}/{kind}{number}:", "  file.managed:", f"    - source: {source}"]
            lines += [f"    - {key}: {value}" for key, value in arguments.items()]
    project.write("salt/it.sls", "\n".join(lines) + "\n")
    done = values(project.json("apply", "a", "it").data["a"])
    assert len(done) == 3 * (len(forms) + 1)
    for ret in done[:-3]:
        assert ret["result"] is True and Path(str(ret["name"])).read_bytes() == DATA, ret
    for ret in done[-3:]:
        assert ret["result"] is False and "does not match actual checksum" in str(ret["comment"]), ret
