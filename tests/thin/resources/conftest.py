"""A manager of resources, with sessions that tests hold open (``bed``), and users' own types of resources."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pushsalt.fileserver import FileServer
from pushsalt.modules.custom import CustomModules

_spec = importlib.util.spec_from_file_location("worker_peer", Path(__file__).parent.with_name("test_worker.py"))
assert _spec is not None and _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
Peer = _module.Peer

#: A type with all functions, which records its calls.
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
#: Adds to the shipped type, and replaces one of its files.
ADDED = {
    "dummy/modules/extra.py": "def who():\n    return [__resource__['id'], __resource_funcs__['dummy.ping']()]\n",
    "dummy/modules/pkg.py": "def list_pkgs():\n    return 'mine'\n",
}
#: A type in which states run.
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


class Bed:
    """A manager: its cachedir, the users' types in its file roots, and sessions."""

    FULL_TYPE, ADDED, BOX = FILES, ADDED, BOX

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
            "k": "init",
            "id": "host1",
            "opts": {"cachedir": str(self.cache)},
            "grains": {},
            "want_grains": False,
            "log_level": "warning",
            **init,
        }
        if resource is not None:
            message.update(id=resource["id"], resource={"inside": False, "manager": "host1", **resource})
        if archive is not None and archive.data is not None:
            message["custom"] = {"sha": archive.digest, "size": archive.size, "coming": False}
            peer.blob(archive.data)
        peer.send(**message)
        while True:
            received = peer.receive()
            if received["k"] == "need":
                for digest in received["digests"]:
                    peer.send_blob(digest)
            elif received["k"] in ("ready", "error"):
                peer.ready = received
                peer.answers["pillar"] = lambda question: {"pillar": {"own": "pillar"}}
                return peer
            else:
                peer.others.append(received)

    def discover(self, **declared: Any) -> tuple[dict[str, Any], dict[str, str]]:
        """{type: {id: {"grains", "enter"}}} of the discovered resources, and {type: error message}."""
        ret = self.start().request("resources", declared=declared)["ret"]
        return ret["found"], ret["failed"]

    @staticmethod
    def states(peer: Any, *chunks: dict[str, Any], test: bool = False) -> list[dict[str, Any]]:
        """The returns of a run of these chunks."""
        fixed = {"__sls__": "s", "__env__": "base"}
        whole = [{"__id__": chunk["name"], **fixed, "order": n, **chunk} for n, chunk in enumerate(chunks)]
        peer.others.clear()
        assert peer.request("run", chunks=whole, test=test)["ret"] == {"states": len(chunks)}
        return [message["ret"] for message in peer.others if message["k"] == "state"]

    @staticmethod
    def error(peer: Any, fun: str, *args: Any) -> str:
        """The error message of a failing call."""
        answer = peer.call(fun, *args)
        assert answer["k"] == "exc", answer
        return str(answer["message"])


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    bed = Bed(tmp_path)
    yield bed
    for peer in bed.peers:
        peer.close()
