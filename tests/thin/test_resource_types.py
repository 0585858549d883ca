"""Types of resources on their manager: shipped ones, users' own, broken ones; what a session of a resource can do."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pushsalt.fileserver import FileServer
from pushsalt.run import resourcefiles
from pushsalt.run.custom import CustomModules
from pushsalt.run.signatures import KnownStates, defined
from thin import lock, resourcetypes, runtime

_spec = importlib.util.spec_from_file_location("worker_peer", Path(__file__).with_name("test_worker.py"))
assert _spec is not None and _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
Peer = _module.Peer

#: A type with everything, which writes down what is asked of it.
FULL = """
import os

from .words import SHOUT


def _note(text):
    with open(os.path.join(__opts__["cachedir"], "asked"), "a") as handle:
        handle.write(text + "\\n")


def init(opts):
    _note("init")
    __context__["full"] = opts["pillar"]["resources"]["full"]


def initialized():
    return "full" in __context__


def discover(opts):
    return ["%s-%d" % (__context__["full"]["stem"], number) for number in range(2)]


def grains():
    _note("grains " + __resource__["id"])
    return {"shout": SHOUT + __resource__["id"], "asked": "grains"}


def grains_refresh():
    return dict(grains(), asked="refresh")


def ping():
    return __resource__["id"] == "a-0" and __salt__["test.echo"]("manager") == "manager"


def what():
    return [__resource__["type"], __resource__["id"], __pillar__]


def shutdown(opts):
    _note("shutdown")
"""
FILES = {
    "full/__init__.py": FULL,
    "full/words.py": "SHOUT = 'I am '\n",
    "full/modules/tell.py": """
from ..words import SHOUT

def what():
    return __resource_funcs__["full.what"]()

def around():
    found = [__opts__["resource_type"], __opts__["id"], __resource__["id"], SHOUT, __minion__["test.echo"]("x")]
    return found + [__salt__["tell.plain"](), "test.echo" in __salt__, __grains__["more"]]

def plain():
    return "plain"
""",
    "full/states/thing.py": """
def done(name, word="it"):
    result = None if __opts__["test"] else True
    return {"name": name, "result": result, "changes": {"word": word}, "comment": __resource__["id"]}
""",
    "full/grains/more.py": "def more():\n    return {'more': [__resource__['id'], __grains__['shout']]}\n",
}
#: Adds to the shipped type, and takes the place of one of its files.
ADDED = {
    "dummy/modules/extra.py": "def who():\n    return [__resource__['id'], __resource_funcs__['dummy.ping']()]\n",
    "dummy/modules/pkg.py": "def list_pkgs():\n    return 'mine'\n",
}
#: A type that states run inside of.
BOX = {
    "box/__init__.py": """
def discover(opts):
    return ["one", "two words"]

def enter():
    return ["sh", "-c", "exec \\"$@\\"", __resource__["id"]]

def grains():
    return {"os": "Box"}
""",
    "box/modules/test.py": "def ping():\n    return [__resource__['id'], __salt__['cmd.run']('echo as ever')]\n",
    "box/grains/inner.py": "def inner():\n    return {'box': __resource__['id']}\n",
}


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    made = Bed(tmp_path)
    yield made
    for peer in made.peers:
        peer.close()


class Bed:
    """A manager: its cachedir, the users' types in its file roots, and sessions."""

    def __init__(self, path: Path) -> None:
        self.cache = path / "cache"
        self.cache.mkdir()
        self.root = path / "root"
        self.root.mkdir()
        self.private = path / "private"
        self.private.mkdir(mode=0o700)
        self.opts: dict[str, Any] = {"file_roots": {"base": [str(self.root)]}}
        self.peers: list[Any] = []

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.root / "_resources" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    @property
    def custom(self) -> CustomModules:
        return CustomModules(FileServer(self.opts), self.opts)

    def start(self, resource: dict[str, Any] | None = None, **init: Any) -> Any:
        peer = Peer(self.private)
        self.peers.append(peer)
        archive = self.custom.archive
        message: dict[str, Any] = {
            "k": "init", "id": "host1", "opts": {"cachedir": str(self.cache)}, "grains": {}, "want_grains": False,
            "log_level": "warning", **init,
        }  # fmt: skip
        if resource is not None:
            message.update(id=resource["id"], resource={"inside": False, "manager": "host1", **resource})
        if archive is not None and archive.data is not None:
            message["custom"] = {"sha": archive.digest, "size": archive.size, "coming": False}
            peer.blob(archive.data)
        peer.send(**message)
        while True:
            got = peer.receive()
            if got["k"] == "need":
                for digest in got["digests"]:
                    peer.send_blob(digest)
            elif got["k"] in ("ready", "error"):
                peer.ready = got
                peer.answers["pillar"] = lambda question: {"pillar": {"own": "pillar"}}
                return peer
            else:
                peer.others.append(got)

    def discover(self, **declared: Any) -> tuple[dict[str, Any], dict[str, str]]:
        found = self.start().request("resources", declared=declared)["ret"]
        return found["found"], found["failed"]


def states(peer: Any, *chunks: dict[str, Any], test: bool = False) -> list[dict[str, Any]]:
    """The returns of these chunks."""
    whole = [{"__id__": c["name"], "__sls__": "s", "__env__": "base", "order": n, **c} for n, c in enumerate(chunks)]
    peer.others.clear()
    assert peer.request("run", chunks=whole, test=test)["ret"] == {"states": len(chunks)}
    return [message["ret"] for message in peer.others if message["k"] == "state"]


def said(peer: Any, fun: str, *args: Any) -> str:
    """The message of a call that fails."""
    got = peer.call(fun, *args)
    assert got["k"] == "exc", got
    return str(got["message"])


# the dummy


@pytest.mark.parametrize(
    "declared, ids",
    [
        ({"resource_ids": ["a", "b"]}, ["a", "b"]),
        (["a", "b", "a"], ["a", "b"]),
        ([7], ["7"]),
        ({"resource_ids": "a"}, ["a"]),
        ({"resource_ids": {"a": {"more": 1}, 7: None}}, ["a", "7"]),
        ({}, []),
        (None, []),
    ],
)
def test_ways_to_declare(bed, declared, ids) -> None:
    found, failed = bed.discover(dummy=declared)
    assert (list(found["dummy"]), failed) == (ids, {})
    for id in ids:
        assert found["dummy"][id] == {"grains": {
            "dummy_grain_1": "one", "dummy_grain_2": "two", "dummy_grain_3": "three", "resource_id": id}}
    assert not list(bed.cache.iterdir()), "looking changes nothing"


@pytest.mark.parametrize(
    "declared, words",
    [
        (5, "neither a mapping nor a list of ids, but int"),
        ("a", "neither a mapping nor a list of ids, but str"),
        ({"resource_ids": 5}, "resource_ids is neither a list nor a mapping, but int"),
    ],
)
def test_declarations_without_sense(bed, declared, words) -> None:
    found, failed = bed.discover(dummy=declared, http_api={})
    assert (found, list(failed)) == ({"http_api": {}}, ["dummy"])
    assert words in failed["dummy"]


def test_a_session_with_a_declaration_without_sense(bed) -> None:
    assert "neither a mapping nor" in said(bed.start({"type": "dummy", "id": "d", "declared": 5}), "test.ping")


def test_ids_that_are_none_are_said_and_the_others_found(bed) -> None:
    ids = ["good", "", "x" * 256, "new\nline", "bell\x07", "\x85", {"a": 1}, None, 1.5, True]
    found, failed = bed.discover(dummy=[*ids, "../../etc", "a:b", "ä b", "-"])
    assert list(found["dummy"]) == ["good", "../../etc", "a:b", "ä b", "-"]
    assert "an id has 1 to 255 characters, not 256" in failed["dummy"] and "control" in failed["dummy"]
    assert failed["dummy"].endswith("and 4 more")


@pytest.mark.parametrize("id", ["../../escaped", "/etc/passwd", "..", ".", "a\u0301 b", "x" * 255, "=" + "0" * 64])
def test_no_id_leads_out_of_the_folder(bed, id) -> None:
    peer = bed.start({"type": "dummy", "id": id})
    assert peer.call("pkg.install", "thing") == {"thing": {"old": "", "new": "1.0"}}
    assert peer.call("pkg.version", "thing") == "1.0"
    [kept] = bed.cache.iterdir()
    assert kept.name.startswith("dummy-resource-") and kept.stat().st_mode & 0o777 == 0o600
    assert bed.start({"type": "dummy", "id": id + "x"}).call("pkg.version", "thing") == ""


def test_an_unknown_type_names_the_nearest(bed) -> None:
    found, failed = bed.discover(dumy=["a"], nothing=None, os=None, **{"../modules": None})
    assert found == {}
    assert failed["dumy"] == "there is no such resource type (nearest: dummy)"
    assert {failed[name] for name in ("nothing", "os", "../modules")} == {"there is no such resource type"}


def test_a_dummy_has_what_its_type_brings_and_nothing_else(bed) -> None:
    peer = bed.start({"type": "dummy", "id": "d1"}, want_grains=True, grains={"role": "fixed"})
    assert peer.ready["grains"]["resource_id"] == "d1" and peer.ready["grains"]["role"] == "fixed"
    assert "kernel" not in peer.ready["grains"]
    assert peer.call("test.ping") is True
    assert peer.call("grains.items")["resource_id"] == peer.call("grains.get", "resource_id") == "d1"
    assert "redbull" in peer.call("pkg.list_pkgs")
    for fun in ("cmd.run", "file.remove", "grains.setval", "sys.list_functions", "test.echo", "pkg.latest_version"):
        got = peer.request("call", fun=fun, args=["echo hello"], kwargs={}, cli=True)
        assert got["message"] == f"'{fun}' is not supported for resource type 'dummy'"
        assert got["known"] is False
        assert got["hint"] == "a resource of type dummy has the functions of these modules: grains, pkg, service, test"
    assert peer.request("call", fun="pkg.instal", args=[], kwargs={})["nearest"][0] == "pkg.install"
    assert peer.request("grains", refresh=True)["ret"]["resource_id"] == "d1"


def test_states_of_a_dummy(bed) -> None:
    peer = bed.start({"type": "dummy", "id": "d1"})
    chunks = [
        {"state": "pkg", "fun": "installed", "name": "tree", "version": "3"},
        {"state": "service", "fun": "running", "name": "samba"},
        {"state": "pkg", "fun": "removed", "name": "redbull"},
        {"state": "service", "fun": "dead", "name": "ntp"},
    ]
    dry = states(peer, *chunks, test=True)
    assert [ret["result"] for ret in dry] == [None] * 4
    first = states(peer, *chunks)
    assert [ret["result"] for ret in first] == [True] * 4
    assert [ret["changes"] for ret in first] == [ret["changes"] for ret in dry] == [
        {"tree": {"old": "", "new": "3"}}, {"samba": True}, {"redbull": {"old": "999.99", "new": ""}}, {"ntp": False}]
    assert [(ret["result"], ret["changes"]) for ret in states(peer, *chunks)] == [(True, {})] * 4


def test_states_of_the_manager_are_denied(bed) -> None:
    peer, path = bed.start({"type": "dummy", "id": "d1"}), bed.root / "made"
    [touch, guarded] = states(
        peer,
        {"state": "file", "fun": "touch", "name": str(path)},
        {"state": "pkg", "fun": "installed", "name": "tree", "unless": f"touch {path}"},
    )
    assert touch["result"] is False and "'file.touch' is not supported for resource type 'dummy'" in touch["comment"]
    assert guarded["result"] is False and "'cmd.retcode' is not supported" in guarded["comment"]
    assert not path.exists()


# users' own


def test_a_type_of_the_file_roots(bed) -> None:
    bed.write(FILES)
    declared = {"stem": "a"}
    found, failed = bed.discover(full=declared, dummy=["d"])
    assert failed == {}
    assert found["full"] == {id: {"grains": {"shout": f"I am {id}", "asked": "grains"}} for id in ("a-0", "a-1")}
    assert list(found["dummy"]) == ["d"]
    assert (bed.cache / "asked").read_text().split("\n") == ["init", "grains a-0", "grains a-1", "shutdown", ""]
    (bed.cache / "asked").unlink()

    peer = bed.start({"type": "full", "id": "a-0", "declared": declared})
    assert peer.call("test.ping") is True
    assert peer.call("tell.what") == ["full", "a-0", {"resources": {"full": declared}}]
    around = ["full", "a-0", "a-0", "I am ", "x", "plain", False, ["a-0", "I am a-0"]]
    assert peer.call("tell.around") == around
    assert states(peer, {"state": "thing", "fun": "done", "name": "x", "word": "w"}, test=True)[0]["result"] is None
    assert states(peer, {"state": "thing", "fun": "done", "name": "x"})[0]["comment"] == "a-0"
    assert peer.request("grains", refresh=False)["ret"]["asked"] == "grains"
    assert peer.request("grains", refresh=True)["ret"]["asked"] == "refresh"
    assert "'test.echo' is not supported for resource type 'full'" in said(peer, "test.echo", "x")
    bed.peers.remove(peer)
    peer.close()
    asked = (bed.cache / "asked").read_text().split()
    assert (asked[0], asked[-1], asked.count("init")) == ("init", "shutdown", 1)
    assert bed.start({"type": "full", "id": "a-1", "declared": declared}).call("test.ping") is False


def test_files_added_to_a_shipped_type(bed) -> None:
    bed.write(ADDED)
    found, failed = bed.discover(dummy=["d"])
    assert (list(found["dummy"]), failed) == (["d"], {})
    peer = bed.start({"type": "dummy", "id": "d"})
    assert peer.call("extra.who") == ["d", True]
    assert peer.call("pkg.list_pkgs") == "mine"
    assert peer.call("service.status", "ntp") is True
    assert "not supported" in said(peer, "pkg.install", "x"), "the file of that name is hidden"


def test_a_type_that_is_entered(bed) -> None:
    bed.write(BOX)
    found, failed = bed.discover(box=None)
    assert failed == {}
    assert found["box"] == {
        id: {"enter": ["sh", "-c", 'exec "$@"', id], "grains": {"os": "Box"}} for id in ("one", "two words")}
    peer = bed.start({"type": "box", "id": "one", "inside": True}, want_grains=True)
    assert peer.ready["grains"]["box"] == "one" and peer.ready["grains"]["kernel"]
    assert peer.call("test.ping") == ["one", "as ever"]
    assert peer.call("cmd.run", "echo inside") == "inside"
    assert states(peer, {"state": "test", "fun": "nop", "name": "x"})[0]["result"] is True


@pytest.mark.parametrize(
    "text, words",
    [
        ("def discover(opts)\n    return []\n", r"it cannot be loaded: _resources/bad/__init__.py:1: SyntaxError"),
        ("import nothing_of_this_name\n", r"cannot be loaded: _resources/bad/__init__.py:1: ModuleNotFoundError"),
        ("def __virtual__():\n    return False, 'not on Tuesdays'\n", "it cannot be loaded: not on Tuesdays"),
        ("raise SystemExit(3)\n", "cannot be loaded: .*SystemExit: 3"),
        ("def discover(opts):\n    raise ValueError('no')\n", r"discover\(\): .*bad/__init__.py:2: ValueError: no"),
        ("def discover(opts):\n    import sys\n    sys.exit()\n", r"discover\(\): .*__init__.py:3: SystemExit"),
        ("def discover(opts):\n    return 'a'\n", r"discover\(\) gave str, not a list of ids"),
        ("def discover(opts):\n    return None\n", r"discover\(\) gave NoneType"),
        ("def discover(opts):\n    yield 'a'\n    raise OSError('cut')\n", r"discover\(\): .*:3: OSError: cut"),
        ("def init(opts):\n    1 / 0\n", r"init\(\): .*__init__.py:2: ZeroDivisionError"),
        ("def shutdown(opts):\n    1 / 0\n", r"shutdown\(\): .*:2: ZeroDivisionError"),
        ("def discover():\n    return []\n", r"discover\(\): .*TypeError"),
    ],
)
def test_a_broken_type_stops_no_other(bed, text, words) -> None:
    bed.write({"bad/__init__.py": text})
    found, failed = bed.discover(bad={}, dummy=["d"])
    assert (list(found["dummy"]), list(failed)) == (["d"], ["bad"])
    assert re.search(words, failed["bad"]), failed


def test_a_broken_resource_stops_no_other_of_its_type(bed) -> None:
    grains = "def grains():\n    return {'a': {'n': 1}, 'b': 5}[__resource__['id']]\n"
    bed.write({"odd/__init__.py": "def discover(opts):\n    return ['a', 'b', 'c', 7]\n\n\n" + grains})
    found, failed = bed.discover(odd=None)
    assert found["odd"] == {"a": {"grains": {"n": 1}}, "b": {}, "c": {}}
    assert "the grains of b are missing: grains() gave int, not a dict" in failed["odd"]
    assert "the grains of c are missing: grains(): _resources/odd/__init__.py:6: KeyError: 'c'" in failed["odd"]
    assert "an id is text, not int: 7" in failed["odd"]


def test_slow_grains_hold_nobody_up(make_loaders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resourcetypes, "GRAINS_TIME", -1)
    answer = resourcetypes.discover(make_loaders(), runtime, [], {"dummy": ["a", "b"]})
    assert answer["found"] == {"dummy": {"a": {}, "b": {}}}
    assert answer["failed"]["dummy"].startswith("the grains of a are missing: those of the others took more than")


def test_a_resource_that_cannot_be_entered_is_left_out(bed) -> None:
    enter = "def enter():\n    return {'a': ['in'], 'b': 'in', 'c': []}[__resource__['id']]\n"
    bed.write({"odd/__init__.py": "def discover(opts):\n    return ['a', 'b', 'c', 'd']\n\n\n" + enter})
    found, failed = bed.discover(odd=None)
    assert found["odd"] == {"a": {"enter": ["in"], "grains": {}}}
    assert failed["odd"].count("cannot be entered") == 3


@pytest.mark.parametrize(
    "text, words",
    [
        ("def init(opts):\n    raise OSError('no way')\n", r"init\(\): _resources/bad/__init__.py:2: OSError: no way"),
        ("def grains(:\n", "it cannot be loaded: _resources/bad/__init__.py:1: SyntaxError"),
    ],
)
def test_a_session_of_a_broken_type_says_so(bed, text, words) -> None:
    bed.write({"bad/__init__.py": text, "bad/modules/thing.py": "def do():\n    return 1\n"})
    resource = {"type": "bad", "id": "x"}
    assert re.search("^the resource type bad: .*" + words, said(bed.start(resource), "thing.do"))
    ready = bed.start(resource, want_grains=True).ready
    assert (ready["k"], ready["kind"]) == ("error", "resource_unreachable")
    assert re.search(words, ready["message"])


def test_states_are_known_by_type(bed) -> None:
    bed.write({**FILES, **BOX, "dummy/states/pkg.py": "def kept(name, how):\n    return {}\n"})
    custom = bed.custom
    plain = KnownStates(custom, resource="full")
    assert plain.spec("thing.done") == defined(FILES["full/states/thing.py"])["done"]
    assert list(plain.names()) == ["thing.done"]
    assert plain.spec("file.managed") is None
    dummy = KnownStates(custom, resource="dummy")
    assert set(dummy.names()) == {"pkg.kept", "service.running", "service.dead"}
    assert dummy.spec("pkg.installed") is None
    inside = KnownStates(custom, resource="box", inside=True)
    assert inside.spec("file.managed") == KnownStates().spec("file.managed")
    assert KnownStates(custom).spec("thing.done") is None


# installed


def install(folder: Path, name: str, files: dict[str, str], points: str) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    info = folder / f"{name}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(points)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    resourcefiles._installed.cache_clear()
    yield lambda *args: install(folder, *args)
    resourcefiles._installed.cache_clear()


def test_types_of_installed_packages_are_found_without_importing_them(bed, installed) -> None:
    boom = "raise RuntimeError('imported')\n"
    installed(
        "rack",
        {"rackful/inner/types/__init__.py": boom}  # rackful and inner are namespaces
        | {f"rackful/inner/types/rack/{path.partition('/')[2]}": text for path, text in FILES.items()},
        "[pushsalt.resources]\nfull = rackful.inner.types.rack\nlost = rackful.nowhere\n",
    )
    box = {f"saltext/boxes/resources/{path}": text for path, text in BOX.items()}
    installed("boxes", {"saltext/boxes/__init__.py": boom, **box}, "[salt.loader]\nsaltext.boxes=saltext.boxes:load\n")
    assert resourcefiles.any_installed()
    assert sorted(bed.custom.by_kind["resources"]) == ["box", "full"]
    found, failed = bed.discover(full={"stem": "a"}, box=None)
    assert (sorted(found["full"]), sorted(found["box"]), failed) == (["a-0", "a-1"], ["one", "two words"], {})
    peer = bed.start({"type": "full", "id": "a-0", "declared": {"stem": "a"}})
    assert peer.call("tell.around")[:4] == ["full", "a-0", "a-0", "I am "]
    bed.write({"full/__init__.py": "def discover(opts):\n    return ['mine']\n"})
    assert list(bed.discover(full=None)[0]["full"]) == ["mine"], "those of the file roots come first"


def test_folders_of_module_dirs(bed, tmp_path: Path) -> None:
    for name, place in (("one", "_resources"), ("two", "resources")):
        path = tmp_path / "dirs" / place / name / "__init__.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"def discover(opts):\n    return ['{name}']\n")
    bed.opts["module_dirs"] = [str(tmp_path / "dirs")]
    bed.write({"one/__init__.py": "", "three.py": "", "no-type/__init__.py": "", "empty/notes.txt": ""})
    assert sorted(bed.custom.by_kind["resources"]) == ["one", "two"]
    assert [list(found) for found in bed.discover(one=None, two=None)[0].values()] == [["one"], ["two"]]


# endpoints


class Endpoint(ThreadingHTTPServer):
    """Objects by path; writes down who asked with which headers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects: dict[str, Any] = {"/api/about": {"version": "2.1", "tags": ["a"]}, "/api/health": {}}
        self.asked: list[tuple[str, str, str | None]] = []
        self.elsewhere = ""
        self.stubborn = False
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_GET(self) -> None:  # the name is http.server's
        path, there = self.path, self.server
        there.asked.append((self.command, path, self.headers.get("Authorization")))
        size = int(self.headers.get("Content-Length") or 0)
        data = json.loads(self.rfile.read(size)) if size else None
        if path == "/api/elsewhere":
            return self._answer(302, None, {"Location": there.elsewhere})
        if path == "/api/moved":
            return self._answer(302, None, {"Location": "/api/about"})
        if path == "/api/text":
            return self._answer(200, b"just text")
        if self.command == "POST":
            return self._answer(201, {"got": data})
        if self.command in ("PUT", "DELETE") and there.stubborn:
            return self._answer(200, {})
        if self.command == "PUT":
            there.objects[path] = data
        elif path not in there.objects:
            return self._answer(404, {"error": "none"})
        elif self.command == "DELETE":
            del there.objects[path]
            return self._answer(204, None)
        return self._answer(200, there.objects[path])

    do_PUT = do_POST = do_DELETE = do_PATCH = do_GET

    def _answer(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        body = data if isinstance(data, bytes) else b"" if data is None else json.dumps(data).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def declared(endpoint: Endpoint) -> dict[str, Any]:
    whole = {"url": endpoint.url + "/api/", "token": "s3cret", "grains": "/about", "ping": "health"}
    return {"timeout": 5, "resource_ids": {"crm": whole, "wiki": endpoint.url + "/none"}}


def test_endpoints_are_found_with_their_grains(bed, endpoint, declared) -> None:
    found, failed = bed.discover(http_api=declared)
    assert failed == {}
    assert found["http_api"] == {
        "crm": {"grains": {"url": endpoint.url + "/api", "version": "2.1", "tags": ["a"]}},
        "wiki": {"grains": {"url": endpoint.url + "/none"}},
    }
    assert endpoint.asked == [("GET", "/api/about", "Bearer s3cret")]


def test_endpoints_that_are_down_or_senseless(bed, endpoint, declared) -> None:
    declared["resource_ids"].update(
        down={"url": "http://127.0.0.1:1", "grains": "/"}, user="http://me:hidden@127.0.0.1/", file="file:///etc/passwd",
        number=5, typo={"url": endpoint.url, "tokn": "hidden"}, lines={"url": endpoint.url, "token": "hidden\nX: y"},
    )  # fmt: skip
    endpoint.objects["/api/about"] = ["no object"]
    found, failed = bed.discover(http_api=declared)
    assert sorted(found["http_api"]) == sorted(declared["resource_ids"])
    assert [id for id, what in found["http_api"].items() if "grains" in what] == ["wiki"]
    assert "hidden" not in str(failed) and "s3cret" not in str(failed)
    assert "crm" in failed["http_api"] and "gives no JSON object" in failed["http_api"]
    for id, words in {
        "down": "GET http://127.0.0.1:1/: ", "user": "without user and password", "file": "no URL of http",
        "number": "an endpoint is a URL", "typo": "there is no option tokn", "lines": "'Authorization' has a character",
    }.items():  # fmt: skip
        peer = bed.start({"type": "http_api", "id": id, "declared": declared})
        if id == "down":
            assert peer.call("test.ping") is False
        message = said(peer, "http_api.get", "/")
        assert words in message and "hidden" not in message


def test_asking_an_endpoint(bed, endpoint, declared) -> None:
    peer = bed.start({"type": "http_api", "id": "crm", "declared": declared})
    assert peer.call("test.ping") is True
    assert peer.call("http_api.get", "/about") == {"version": "2.1", "tags": ["a"]}
    assert peer.call("http_api.get", "text") == "just text"
    assert peer.call("http_api.get", "/moved")["version"] == "2.1"
    assert peer.call("http_api.post", "/made", {"a": ["ü"]}) == {"got": {"a": ["ü"]}}
    assert peer.call("http_api.put", "/x y/ü", {"a": 1}) == {"a": 1}
    assert "/api/x%20y/%C3%BC" in endpoint.objects
    assert "404 Not Found" in said(peer, "http_api.get", "/nothing")
    assert peer.call("http_api.find", "/nothing") is None
    assert "not supported" in said(peer, "cmd.run", "id")
    assert bed.start({"type": "http_api", "id": "wiki", "declared": declared}).call("test.ping") is False
    assert "no endpoint" in said(bed.start({"type": "http_api", "id": "gone", "declared": declared}), "http_api.get")
    assert {token for _, path, token in endpoint.asked if path.startswith("/api")} == {"Bearer s3cret"}


def test_a_token_is_for_one_server(bed, endpoint, declared) -> None:
    with Endpoint() as other:
        endpoint.elsewhere = other.url + "/api/about"
        peer = bed.start({"type": "http_api", "id": "crm", "declared": declared}, log_level="debug")
        assert "302" in said(peer, "http_api.get", "/elsewhere")
        assert other.asked == []
    assert "s3cret" not in str(peer.others)


def test_states_of_an_endpoint(bed, endpoint, declared) -> None:
    peer = bed.start({"type": "http_api", "id": "crm", "declared": declared})
    chunk = {"state": "http_api", "fun": "present", "name": "/customers/7", "data": {"name": "Ann", "plan": "gold"}}
    made = {"name": {"old": None, "new": "Ann"}, "plan": {"old": None, "new": "gold"}}
    [dry] = states(peer, chunk, test=True)
    assert (dry["result"], dry["changes"]) == (None, made) and "/api/customers/7" not in endpoint.objects
    [first] = states(peer, chunk)
    assert (first["result"], first["changes"]) == (True, made)
    endpoint.objects["/api/customers/7"].update(plan="tin", since=1999)
    [drift] = states(peer, chunk)
    assert (drift["result"], drift["changes"]) == (True, {"plan": {"old": "tin", "new": "gold"}})
    assert endpoint.objects["/api/customers/7"] == {"name": "Ann", "plan": "gold", "since": 1999}
    [again] = states(peer, chunk)
    assert (again["result"], again["changes"]) == (True, {})
    [whole] = states(peer, {**chunk, "replace": True, "show_changes": False})
    assert (whole["result"], whole["changes"]) == (True, {"since": {"old": "*" * 10, "new": "*" * 10}})
    endpoint.stubborn = True
    gone = {"state": "http_api", "fun": "absent", "name": "/customers/7"}
    assert "still there" in states(peer, gone)[0]["comment"]
    assert "still otherwise: plan" in states(peer, {**chunk, "data": {"plan": "x"}})[0]["comment"]
    endpoint.stubborn = False
    assert [states(peer, gone, test=test)[0]["result"] for test in (True, False, True)] == [None, True, True]
    assert "/api/customers/7" not in endpoint.objects
    bad = bed.start({"type": "http_api", "id": "typo", "declared": {"resource_ids": {"typo": 5}}})
    assert states(bad, chunk)[0]["result"] is False


# locks


def test_a_resource_has_a_lock_of_its_own(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)

    def busy(words: str) -> None:
        raise lock.Held(words)

    whole = lock.acquire(fd, str(tmp_path), "a run", busy)
    first = lock.acquire(fd, str(tmp_path), "of one", busy, "lock-1")
    second = lock.acquire(fd, str(tmp_path), "of two", busy, "lock-2")
    with pytest.raises(lock.Held, match="of one"):
        lock.acquire(fd, str(tmp_path), "again", busy, "lock-1")
    assert first is not None
    fcntl.flock(first, fcntl.LOCK_UN)
    for held in (whole, first, second, lock.acquire(fd, str(tmp_path), "again", busy, "lock-1"), fd):
        assert held is not None
        os.close(held)
