"""Functions of the controller and of resource types that are declared as reading are called in a dry run, and change
nothing.

Those of ``thin/modules``: tests/thin/test_reading_changes_nothing.py.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from pushsalt.modules.effects import literals
from tests.beds.project import ROOT, Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

#: caches which each run writes
CACHES = (
    "cache/events/",
    "cache/grains-index/",
    "cache/resource_grains-index/",
    "cache/jobs",
    "cache/pillar",
    "home/.cache/pushsalt/",
)
#: arguments with which functions return; all others are called without arguments, and with one and two texts
SAMPLES = {
    "defaults.get": [["a:b"]],
    "jinja.load_map": [["map.jinja", "value"]],
    "jinja.import_yaml": [["data.json"]],
    "jinja.import_json": [["data.json"]],
    "match.filter_by": [[{"it": 1}]],
    "match.search_by": [[{"it": ["it"]}]],
    "pillar.ext": [[{"cmd_json": "echo {}"}]],
    "pillar.keys": [["a"]],
    "ret.get_fun": [["local_cache", "state.apply"]],
    "ret.get_jids": [["local_cache"]],
    "ret.get_minions": [["local_cache"]],
    "sdb.get": [["sdb://values/known"]],
    "sdb.get_or_set_hash": [["sdb://values/known"], ["sdb://values/new"]],
    "slsutil.deserialize": [["json", "{}"]],
    "slsutil.findup": [["sub", "it.sls"]],
    "slsutil.renderer": [["it.sls"]],
    "slsutil.serialize": [["json", {}]],
    "state.single": [["file.touch", "MADE"]],
    "state.low": [[{"state": "file", "fun": "touch", "name": "MADE", "__id__": "x"}]],
    "state.high": [[{"MADE": {"file": ["touch"]}}]],
    "state.template_str": [["MADE: file.touch"]],
    "state.sls_id": [["MADE", "it"]],
}
#: functions that need a Salt master, or the JID of a kept job
FAILING = {"saltutil.runner", "ret.get_jid"}

CALLER = """#!py
import json

def run():
    outcomes = {}
    for name, args in json.loads(CALLS):
        try:
            __salt__[name](*args)
            outcome = "returned"
        except Exception as exc:
            outcome = f"{type(exc).__name__}: {exc}"
        outcomes.setdefault(name, []).append(outcome)
    with open(OUTCOMES, "w", encoding="utf-8") as stream:
        json.dump(outcomes, stream)
    return {}
"""


def reading(folder: Path) -> Iterator[str]:
    """The functions of the files of a folder that are declared as reading, as module.function."""
    for path in sorted(folder.glob("*.py")):
        declared = literals(path.read_text("utf-8"), ours=True)
        for name in (*declared.get("__reads__", ()), *declared.get("__reads_unless__", ())):
            yield f"{path.stem}.{name}"


def content(folder: Path) -> dict[str, str]:
    """Path -> digest of each file below a folder, except caches which each run writes."""
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in files.items()
        if not name.startswith(CACHES)
    }


def outcomes(project: Project, target: str, calls: list[tuple[str, list[object]]]) -> dict[str, list[str]]:
    """Call the functions while the states of a target are rendered in a dry run: ``returned`` or the error of each."""
    written = project.folder / "outcomes.json"
    caller = CALLER.replace("CALLS", repr(json.dumps(calls))).replace("OUTCOMES", repr(str(written)))
    project.write("salt/calls.sls", caller)
    project.run("apply", target, "calls", "--test")
    found = json.loads(written.read_text("utf-8"))
    written.unlink()
    assert isinstance(found, dict)
    return found


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    sdb = {"values": {"driver": "yaml", "files": [str(tmp_path / "values.yaml")]}}
    project = Project(tmp_path, {"it": {"transport": "local"}}, **sdb)
    (tmp_path / "values.yaml").write_text("known: 1\n")
    project.files({"salt/it.sls": f"{tmp_path}/made: file.touch\n", "salt/map.jinja": "{% set value = 1 %}"})
    project.files({"salt/data.json": "{}", "salt/top.sls": "base: {'*': [it]}", "salt/sub/x.sls": ""})
    project.files({"pillar/top.sls": "base: {'*': [p]}", "pillar/p.sls": "a: {b: 1}"})
    return project


def test_functions_of_the_controller_that_read_change_nothing(project: Project, tmp_path: Path) -> None:
    names = list(reading(ROOT / "pushsalt" / "functions"))
    assert not set(SAMPLES) - set(names)
    made = str(tmp_path / "made")
    samples = json.loads(json.dumps(SAMPLES).replace("MADE", made))
    calls = [(name, args) for name in names for args in ([], ["it"], ["it", "it"], *samples.get(name, []))]
    project.run("run", "it", "state.request", "it")
    outcomes(project, "it", [])
    before = content(tmp_path)
    found = outcomes(project, "it", calls)
    assert {name for name, texts in found.items() if "returned" not in texts} == FAILING
    assert changed(before, content(tmp_path)) == {"project/salt/calls.sls"}


class ApiServer(HTTPServer):
    """Answers GET and HEAD with an empty object; every other method is an error, and its path goes to ``changing``."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ApiHandler)
        self.changing: list[str] = []


class ApiHandler(BaseHTTPRequestHandler):
    server: ApiServer

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def do_POST(self) -> None:
        self.server.changing.append(self.path)
        self.send_error(405)

    do_PUT = do_PATCH = do_DELETE = do_POST

    def log_message(self, *args: object) -> None:
        pass


def test_functions_of_resource_types_that_read_change_nothing(tmp_path: Path) -> None:
    host = {"transport": "local", "minion_opts": {"cachedir": str(tmp_path / "state")}}
    project = Project(tmp_path, {"it": host})
    project.write("pillar/top.sls", "base: {it: [p]}")
    with ApiServer() as server:
        types = {
            "dummy": ["d1"],
            "http_api": {"resource_ids": {"api": {"url": f"http://127.0.0.1:{server.server_port}"}}},
        }
        project.write("pillar/p.sls", json.dumps({"resources": types}))
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        try:
            project.run("grains", "*")
            assert project.run("run", "d1", "pkg.install", "samba").code == 0
            assert any(name.startswith("state/") for name in content(tmp_path)), "the dummy has a file for its state"
            for target, type in (("d1", "dummy"), ("api", "http_api")):
                names = list(reading(ROOT / "thin" / "resources" / type / "modules"))
                outcomes(project, target, [])
                before = content(tmp_path)
                found = outcomes(project, target, [(name, args) for name in names for args in ([], ["samba"])])
                assert {name for name, texts in found.items() if "returned" in texts} == set(names)
                assert changed(before, content(tmp_path)) == {"project/salt/calls.sls"}
        finally:
            server.shutdown()
    assert server.changing == []
