"""Resources on which no runtime can be started: functions and states by the command line."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.beds.project import Project, values

pytestmark = pytest.mark.slow

SECRET = "token-that-is-secret"
FILES = {
    "pillar/top.sls": "base: {here: [manager], d1: [one], 'shelf:*': [{match: grain}, shelf]}\n",
    "pillar/manager.sls": (
        "things:\n  dummy: [d1, d2]\n  rack: {rows: 2}\n  lost: {}\n"
        "  http_api: {resource_ids: {api: {url: 'URL', token: SECRET, grains: /}}}\nother: hidden\n"
    ),
    "pillar/one.sls": "version: '7'\n",
    "pillar/shelf.sls": "stack: high\n",
    "salt/top.sls": "base:\n  'T@dummy':\n    - match: compound\n    - packages\n",
    "salt/packages.sls": (
        "tree:\n  pkg.installed:\n    - version: '{{ pillar.get('version', '1') }}'\n"
        "{{ grains['resource_id'] }}: pkg.installed\nsamba: service.running\n"
    ),
    "salt/asks.sls": "{{ salt['look.all']()[3] }}-{{ salt['test.ping']() }}-{{ salt['test.echo']('x') }}: {a.b: []}\n",
    "salt/changes.sls": "{{ salt['pkg.install']('x') }}: pkg.installed\n",
    "salt/denied.sls": "/tmp/never: file.managed\n",
    "salt/_resources/rack/__init__.py": (
        "def discover(opts):\n"
        "    return ['r%d' % n for n in range(opts['pillar']['things']['rack']['rows'])]\n\n\n"
        "def grains():\n    return {'shelf': __resource__['id']}\n\n\ndef ping():\n    return True\n"
    ),
    "salt/_resources/rack/modules/look.py": (
        "def all():\n    return [__resource__, __opts__['id'], dict(__pillar__), __grains__['shelf'], "
        "__minion__['grains.get']('kernel')]\n"
    ),
}


class ApiHandler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # http.server defines the name
        good = self.headers.get("Authorization") == f"Bearer {SECRET}"
        body = b'{"version": 5}' if good else b"{}"
        self.send_response(200 if good else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("resources")
    host = {"transport": "local", "minion_opts": {"cachedir": str(folder / "there")}}
    project = Project(folder, {"here": host, "other": {"transport": "local"}}, resource_pillar_key="things")
    with HTTPServer(("127.0.0.1", 0), ApiHandler) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        project.files({name: text.replace("URL", url).replace("SECRET", SECRET) for name, text in FILES.items()})
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            done = project.run("grains", "*", "--out", "quiet")
            assert done.code == 0, done.err
            assert "lost" in done.err and "there is no such resource type" in done.err
            yield project
        finally:
            server.shutdown()
            thread.join()


def test_functions_run_on_resources(project: Project) -> None:
    listed = project.run("resource", "list", "--out", "json").data
    assert {key: entry["manager"] for key, entry in listed.items()} == dict.fromkeys(
        ["dummy:d1", "dummy:d2", "http_api:api", "rack:r0", "rack:r1"], "here"
    )
    ping = project.json("run", "-C", "M@here", "test.ping")
    assert (ping.data, ping.code) == (dict.fromkeys(["d1", "d2", "api", "r0", "r1"], True), 0)
    expected = ["r1", {"id": "r1", "type": "rack"}, "r1", {"stack": "high"}, "Linux"]
    [resource, id, pillar, shelf, kernel] = project.json("run", "-C", "G@shelf:r1", "look.all").data["r1"]
    assert [shelf, resource, id, pillar, kernel] == expected, "the manager's pillar is not visible"
    denied = project.json("run", "d1", "cmd.run", "id")
    assert denied.code == 2
    error = denied.data["d1"]["error"]
    assert (error["kind"], error["message"]) == (
        "unknown_function",
        "'cmd.run' is not supported for resource type 'dummy'",
    )


def test_states_run_on_resources(project: Project) -> None:
    first = project.json("apply", "*")
    rets_by_id = {id: values(first.data[id]) for id in ("d1", "d2")}
    assert all(ret["result"] is True and ret["changes"] for rets in rets_by_id.values() for ret in rets), rets_by_id
    assert [rets_by_id[id][0]["changes"]["tree"]["new"] for id in ("d1", "d2")] == ["7", "1"]
    assert not any(ret["changes"] for ret in values(project.json("apply", "d1").data["d1"]))
    denied = project.run("apply", "d1", "denied")
    assert denied.code == 2 and "State 'file.managed' was not found in SLS 'denied'" in denied.out
    assert "has only the states of its type" in denied.out
    shown = project.json("run", "-L", "r1,d1", "state.show_sls", "asks").data
    assert list(shown["r1"]) == ["r1-True-x"]
    assert "not supported" in str(shown["d1"]) or "look.all" in str(shown["d1"])
    dry = project.run("apply", "--test", "d1", "changes")
    assert "pkg.install changes the system, and this is a dry run" in dry.out


def test_secrets_stay_in_memory(project: Project) -> None:
    done = project.run("run", "-l", "debug", "-C", "T@http_api", "http_api.get", "/")
    assert "version" in done.out and SECRET not in done.out + done.err
    files = [path for path in project.folder.parent.rglob("*") if path.is_file() and project.folder not in path.parents]
    assert files and not [path for path in files if SECRET.encode() in path.read_bytes()]
