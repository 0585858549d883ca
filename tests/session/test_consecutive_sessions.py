"""Several sessions on one channel: each as if it were alone, whatever happened to earlier ones."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pushsalt.bundle.runtime import Runtime
from pushsalt.errors import FunctionError, TargetError
from pushsalt.model import Target
from pushsalt.session.session import Session
from pushsalt.session.start import LockRequest, Start
from pushsalt.transport import ConnectOptions, connect, resource
from tests.beds.sessions import alive

WILD = '''
import os
import signal
import socket
import sys
import time

SEEN = []


def look():
    """What is here of this resource, and of those before; and leave as much as possible behind."""
    import colorsys

    seen, context = list(SEEN), sorted(__context__)
    left = [os.environ.get("WILD"), os.getcwd(), os.umask(0o007), hasattr(colorsys, "wild"), "wild" in sys.path]
    SEEN.append(__resource__["id"])
    __context__[__resource__["id"]] = __opts__[__resource__["id"]] = __grains__[__resource__["id"]] = True
    os.environ["WILD"] = "1"
    os.chdir("/usr")
    sys.path.append("wild")
    colorsys.wild = True
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ids = sorted(name for place in (__opts__, __grains__, __context__) for name in place if name.startswith("w"))
    declared = len(__resource_funcs__["wild.declared"]())
    return {"id": __opts__["id"], "seen": seen, "context": context, "left": left, "ids": ids, "declared": declared,
            "fixed": __grains__.get("fixed"), "pid": os.getpid()}


def random():
    import random

    return random.random()


def held():
    from thin import runtime

    store = runtime.backend()
    return [name for each in (store, *store._packs.values()) for name in each._held]


def fds(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def leave():
    sys.exit(3)


def broken():
    raise ValueError("no")


def vanish():
    os._exit(0)


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    time.sleep(60)


def noise():
    sys.stderr.write("e" * 100000)
    print("to stdout")
    return True


def over():
    """End the session from here."""
    for number in range(64):
        try:
            sock = socket.socket(fileno=number)
        except OSError:
            continue
        sock.sendall(b"D" + bytes(4))
        sock.detach()
    time.sleep(60)
'''
PACKAGE = """
def init(opts):
    __context__["wild"] = opts["pillar"]["resources"]["wild"]


def initialized():
    return "wild" in __context__


def declared():
    return __context__["wild"]["resource_ids"]
"""
DECLARED = {"resource_ids": [f"w{number:05}" for number in range(20_000)]}


@pytest.fixture(scope="module")
def wild_root(tmp_path_factory: pytest.TempPathFactory, thin_root: Path) -> Path:
    """The folder of a runtime with the resource type, and a cache next to it, so that it is packed once."""
    root = tmp_path_factory.mktemp("wild") / "thin"
    shutil.copytree(thin_root, root)
    (root / "resources" / "wild" / "modules").mkdir(parents=True)
    (root / "resources" / "wild" / "__init__.py").write_text(PACKAGE)
    (root / "resources" / "wild" / "modules" / "wild.py").write_text(WILD)
    return root


class Manager:
    """``session(id, fun)`` opens a session about a resource of this machine, with that call."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.options = ConnectOptions(inventory={id: Target(id, transport="local") for id in ("here", "there")})
        self.pids: set[int] = set()

    @contextlib.asynccontextmanager
    async def session(self, id: str, fun: str = "wild.look", *args: object, **start: object) -> AsyncIterator[Session]:
        target = Target(id, transport="resource", resource="wild", manager="here")
        about = {"type": "wild", "id": id, "inside": False, "declared": DECLARED}
        connection = await connect(target, self.options)
        try:
            assert isinstance(connection, resource.ResourceConnection)
            session = await Session.open(
                target,
                connection,
                self.runtime,
                start=Start(opts={"id": id}, grains={"fixed": id}, resource=about, **start),  # type: ignore[arg-type]
                first=[{"k": "call", "fun": fun, "args": list(args), "kwargs": {}, "cli": True}],
                channels=connection,
            )
            self.pids.add(int(session.info["pid"]))
            try:
                yield session
            finally:
                await session.close()
        finally:
            await connection.close()

    async def call(self, id: str, fun: str = "wild.look", *args: object, **start: object) -> object:
        async with self.session(id, fun, *args, **start) as session:
            return await session.first[0]


@pytest.fixture
async def manager(wild_root: Path, home: Path) -> AsyncIterator[Manager]:
    found = Manager(Runtime.load(wild_root.parent / "cache", wild_root))
    held = await connect(Target("held", transport="resource", resource="wild", manager="here"), found.options)
    try:
        yield found
    finally:
        await held.close()
        await resource.close(found.options)
        assert not [pid for pid in found.pids if alive(pid)], "nothing goes on when nobody uses the connection"


async def test_a_session_has_no_state_of_earlier_ones(manager: Manager) -> None:
    looks, sent = [], []
    for number in range(4):
        async with manager.session(f"w{number}") as session:
            looks.append(await session.first[0])
            sent.append(session.bytes_sent)
            assert number == 0 or session.round_trips == 1
    assert len(manager.pids) == 1 and len({look.pop("pid") for look in looks}) == 4
    for number, look in enumerate(looks):
        id = f"w{number}"
        fresh = [None, os.getcwd(), 0o022, False, False]
        assert look == {
            "id": id,
            "seen": [],
            "context": ["wild"],
            "left": fresh,
            "ids": [id] * 3 + ["wild"],
            "declared": 20_000,
            "fixed": id,
        }
    assert sent[1] > 100_000 > sent[2], "what is declared of all is sent once"
    assert len({await manager.call("w1", "wild.random") for _ in range(4)}) == 4


@pytest.mark.parametrize(
    ("fun", "kind", "goes_on"),
    [
        ("wild.leave", "exception", True),
        ("wild.broken", "exception", True),
        ("wild.missing", "unknown_function", True),
        ("wild.noise", None, True),
        ("wild.vanish", "worker_died", False),
        ("wild.crash", "worker_died", False),
        ("wild.hang", "timeout", False),
        ("wild.over", "protocol_error", False),
    ],
)
async def test_a_failing_session_does_not_affect_later_ones(
    manager: Manager, fun: str, kind: str | None, goes_on: bool
) -> None:
    assert (await manager.call("w1"))["seen"] == []  # type: ignore[index]
    if kind is None:
        assert await manager.call("w2", fun) is True
    else:
        with pytest.raises((TargetError, FunctionError)) as caught:
            await manager.call("w2", fun, deadline=1.0 if kind == "timeout" else None)
        assert getattr(caught.value, "kind", "") == kind, caught.value
    found = await manager.call("w3")
    assert (found["id"], found["seen"]) == ("w3", [])  # type: ignore[index]
    assert (len(manager.pids) == 1) is goes_on


async def test_the_code_of_a_module_is_read_once(manager: Manager) -> None:
    """The supervisor reads what the first worker has used, and later ones inherit it."""
    names = {"thin.resources.wild.modules.wild", "thin.resources.wild"}
    first, second = [set(await manager.call("w1", "wild.held")) for _ in range(2)]  # type: ignore[call-overload]
    assert not first & names
    assert names <= second


async def test_stopping_a_session(manager: Manager) -> None:
    await manager.call("w1")
    task = asyncio.create_task(manager.call("w2", "wild.hang"))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await manager.call("w3"))["seen"] == []  # type: ignore[index]


async def test_locks(manager: Manager) -> None:
    for id in ("w1", "w2", "w1"):
        held = LockRequest(f"holder = {id}, 100%0A", name=f"lock-{id}")
        async with manager.session(id, lock=held) as session:
            assert (await session.first[0])["id"] == id
            with pytest.raises(TargetError) as caught:
                await manager.call(id, lock=held)
            assert caught.value.kind == "locked" and f"holder = {id}, 100%0A" in caught.value.message
            await manager.call("w9", lock=LockRequest("another", name="lock-w9"))


async def test_nothing_is_left_open_or_written_again(manager: Manager, home: Path) -> None:
    await manager.call("w1", lock=LockRequest("a", name="lock-a"))
    await manager.call("w2", "wild.noise", lock=LockRequest("a", name="lock-a"))
    (pid,) = manager.pids
    before = await manager.call("w3", "wild.fds", pid)
    images = {path: path.stat().st_mtime_ns for path in (home / ".cache" / "pushsalt").glob("*.img")}
    for number in range(5):
        await manager.call(f"w{number}", lock=LockRequest("a", name=f"lock-{number}"))
    assert await manager.call("w3", "wild.fds", pid) == before and len(manager.pids) == 1
    assert images and images == {path: path.stat().st_mtime_ns for path in images}


async def test_the_number_of_channels_is_limited(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "SESSIONS", 2)
    manager.options.shared.clear()
    held = await connect(Target("held", transport="resource", resource="wild", manager="here"), manager.options)
    try:
        found = await asyncio.gather(*(manager.call(f"w{number}") for number in range(8)))
        assert [look["id"] for look in found] == [f"w{number}" for number in range(8)]  # type: ignore[index]
        assert len(manager.pids) == 2
        way = manager.options.shared["resource"]["here"]
        assert len(way.idle) == 2
        # a session in a resource starts its own commands, and needs a place in the limit
        async with contextlib.AsyncExitStack() as stack:
            for number in (1, 2):
                target = Target(f"m{number}", transport="resource", resource="m", manager="here", enter=("env",))
                connection = await connect(target, manager.options)
                stack.push_async_callback(connection.close)
                session = await Session.open(target, connection, manager.runtime)
                stack.push_async_callback(session.close)
                assert len(way.idle) == 2 - number
    finally:
        await held.close()
        await resource.close(manager.options)
    assert not [pid for pid in manager.pids if alive(pid)]


async def test_the_connection_stays_open_for_the_next_target(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``--batch 1``, the connection is unused between two targets."""
    alone = Manager(manager.runtime)
    try:
        await alone.call("w1")
        await alone.call("w2")
        assert len(alone.pids) == 1
        way = alone.options.shared["resource"]["here"]
        other = await connect(Target("x", transport="resource", resource="wild", manager="there"), alone.options)
        await other.close()
        assert list(alone.options.shared["resource"]) == ["there"] and not any(alive(pid) for pid in alone.pids)

        await alone.call("w1")
        way = alone.options.shared["resource"]["here"]
        await way.make_room(0)

        async def broken(*arguments: object, **kwargs: object) -> None:
            raise TargetError("bootstrap_failed", "w2: the connection broke before anything was run", "run it again")

        monkeypatch.setattr(way.opening.result(), "open", broken)
        with pytest.raises(TargetError):
            await alone.call("w2")
        assert (await alone.call("w3"))["id"] == "w3"  # type: ignore[index]
    finally:
        await resource.close(alone.options)
    assert not any(alive(pid) for pid in alone.pids)


async def test_a_channel_that_has_ended_is_not_used_again(manager: Manager) -> None:
    await manager.call("w1")
    (pid,) = manager.pids
    os.kill(pid, 9)
    while manager.options.shared["resource"]["here"].idle[0].stream.exit_status is None:
        await asyncio.sleep(0.01)
    assert (await manager.call("w2"))["id"] == "w2"  # type: ignore[index]
    assert len(manager.pids) == 2
