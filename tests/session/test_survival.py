"""Runs that continue without their connection: the stored returns, who can collect them, and false reports."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from pushsalt.bundle.runtime import Runtime
from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.session.collecting import Collector
from pushsalt.session.handshake import FinishedError
from pushsalt.session.start import LockRequest, Start
from pushsalt.session.survival import STOP, Ours, Reconnect, Survival, UnknownRunError
from pushsalt.transport import Connection, ConnectOptions, connect
from tests.beds.processes import running

pytestmark = pytest.mark.slow

HERE = Target("here", transport="local")
JID = "20261126120000000001"


def chunk(number: int, command: str) -> dict[str, Any]:
    name = f"step{number}"
    return {"state": "cmd", "fun": "run", "__id__": name, "__sls__": "s", "__env__": "base", "name": command}


def start(jid: str = JID, reconnect: float = 5, deadline: float | None = None) -> Start:
    return Start(lock=LockRequest("me", 20), job=jid, reconnect=reconnect, deadline=deadline)


async def until(condition: Any, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition was not met in time"
        await asyncio.sleep(0.02)


class Bed:
    """Runs on this machine whose connection ends as after a kill of the controller: without a message."""

    def __init__(self, opener: Any, home: Path) -> None:
        self.opener, self.home = opener, home
        self.log = home / "log"
        self.gate = home / "gate"
        self.jobs = home / ".cache/pushsalt/jobs"

    def chunks(self, count: int = 3) -> list[dict[str, Any]]:
        wait = f"echo 0 >> {self.log}; while test ! -e {self.gate}; do sleep 0.05; done"
        return [chunk(0, wait), *(chunk(n, f"echo {n} >> {self.log}") for n in range(1, count))]

    async def begun(
        self, jid: str = JID, deadline: float | None = None, **message: Any
    ) -> tuple[Any, asyncio.Task[Any]]:
        async def no_connection() -> Connection:
            raise TargetError("unreachable", "here: gone", "-")

        session = await self.opener(start=start(jid, 5, deadline), reconnect=Reconnect(5, no_connection))
        run = {
            "chunks": self.chunks(),
            "test": False,
            "mock": False,
            "files": {},
            "templates": {},
            "wants": [],
            **message,
        }
        task = asyncio.create_task(session.run(run, {}.__getitem__))
        await until(lambda: self.log.exists() or task.done())
        return session, task

    async def cut(self, session: Any, task: asyncio.Task[Any]) -> None:
        """Close the pipes without a message, as if this process was killed."""
        session._survival.state = ""  # so that it neither stops the run nor connects again
        session._reader.cancel()
        session._channel.stream.abort()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def collect(self, runtime: Runtime, jid: str = JID) -> tuple[dict[str, Any], Any]:
        """(states that another session collects, its result or exception)."""
        states: dict[str, Any] = {}

        def on_event(message: dict[str, Any]) -> None:
            if message["k"] == "state":
                assert message["tag"] not in states, "twice"
                states[message["tag"]] = message["ret"]

        async def again() -> Connection:
            return await connect(HERE, ConnectOptions())

        connection = await again()
        session = await Collector.begin(
            HERE,
            connection,
            runtime,
            start=start(jid),
            reconnect=Reconnect(5, again),
            on_event=on_event,
            warnings=[],
        )
        try:
            end: Any = await session.finished()
        except TargetError as exc:
            end = exc
        finally:
            await session.close()
            await connection.close()
        return states, end

    def at_work(self) -> list[int]:
        return [pid for pid in running(f"HOME={self.home} ", "environ") if pid != os.getpid()]


@pytest.fixture
def bed(open_session: Any, home: Path) -> Bed:
    return Bed(open_session, home)


async def test_a_run_whose_controller_is_gone_ends_and_is_collected(bed, runtime):
    await bed.cut(*await bed.begun())
    bed.gate.touch()
    await until(lambda: list(bed.jobs.glob("*/end")))
    await until(lambda: not bed.at_work())
    assert bed.log.read_text().split() == ["0", "1", "2"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in bed.jobs.glob("**/*"))
    states, end = await bed.collect(runtime)
    assert [ret["result"] for ret in states.values()] == [True] * 3 and end == {"states": 3}
    await until(lambda: not bed.jobs.exists())
    assert isinstance((await bed.collect(runtime))[1], UnknownRunError)  # once
    assert bed.log.read_text().split() == ["0", "1", "2"]


async def test_a_request_to_stop_that_comes_after_the_end_of_the_output_stops_the_run(bed):
    """sshd closes the pipe for the output of a program before it writes the last of its input."""
    session, task = await bed.begun()
    session._survival.state = ""  # so that it does not connect again
    session._reader.cancel()
    stream = session._channel.stream
    stream.process.get_pipe_transport(1).close()
    await asyncio.sleep(0.3)  # until the supervisor has noticed it
    stream.write(STOP)
    stream.close()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await until(lambda: not bed.at_work())
    assert not bed.jobs.exists()
    assert bed.log.read_text().split() == ["0"]


async def test_an_input_that_stays_open_does_not_stop_the_run(bed, runtime):
    session, task = await bed.begun()
    session._channel.stream.process.get_pipe_transport(1).close()
    bed.gate.touch()
    await until(lambda: bed.log.read_text().split() == ["0", "1", "2"])
    await bed.cut(session, task)
    await until(lambda: list(bed.jobs.glob("*/end")))
    states, end = await bed.collect(runtime)
    assert len(states) == 3 and end == {"states": 3}


async def test_a_run_without_its_controller_ends_at_the_time_of_the_job(bed, runtime):
    await bed.cut(*await bed.begun(deadline=8.0))
    await until(lambda: list(bed.jobs.glob("*/end")), 40)  # the running state never ends
    await until(lambda: not bed.at_work())
    states, end = await bed.collect(runtime)
    assert states == {} and isinstance(end, TargetError) and end.kind == "timeout"
    assert bed.log.read_text().split() == ["0"]


async def test_a_run_that_is_under_way_is_collected_as_it_ends(bed, runtime):
    await bed.cut(*await bed.begun())
    collecting = asyncio.create_task(bed.collect(runtime))
    await asyncio.sleep(0.5)
    bed.gate.touch()
    states, end = await collecting
    assert len(states) == 3 and end == {"states": 3}
    assert bed.log.read_text().split() == ["0", "1", "2"]
    await until(lambda: not bed.jobs.exists() and not bed.at_work())


async def test_the_same_job_is_not_run_again(bed, runtime, open_session):
    await bed.cut(*await bed.begun())
    bed.gate.touch()
    await until(lambda: list(bed.jobs.glob("*/end")))
    with pytest.raises(FinishedError):
        await open_session(start=start())
    session = await open_session(start=start("20261126120000000002"))
    assert bed.log.read_text().split() == ["0", "1", "2"]
    await session.close()


async def test_the_jid_is_not_enough_to_collect_returns(bed, runtime, thin_root, tmp_path):
    """Another user of the controller, or another controller, has a different key."""
    await bed.cut(*await bed.begun())
    bed.gate.touch()
    await until(lambda: list(bed.jobs.glob("*/end")))
    other = Runtime.load(tmp_path / "other cache", thin_root)
    states, end = await bed.collect(other)
    assert not states and isinstance(end, UnknownRunError)
    assert len((await bed.collect(runtime))[0]) == 3


async def test_a_question_without_an_answer_ends_the_run(bed, runtime):
    """The collecting process cannot answer in place of the first one."""
    asks = {**chunk(1, "x"), "state": "file", "fun": "managed", "name": str(bed.home / "f"), "source": "salt://f"}
    chunks = [bed.chunks(1)[0], asks, chunk(2, f"echo 2 >> {bed.log}")]
    await bed.cut(*await bed.begun(chunks=chunks))
    collecting = asyncio.create_task(bed.collect(runtime))
    await asyncio.sleep(0.5)
    bed.gate.touch()
    states, end = await collecting
    assert [ret["__id__"] for ret in states.values()] == ["step0"]
    assert isinstance(end, TargetError) and end.kind == "connection_lost" and "needed an answer" in end.message
    assert bed.log.read_text().split() == ["0"]
    await until(lambda: not bed.at_work())


async def test_a_killed_supervisor_is_reported(bed, runtime):
    session, task = await bed.begun()
    front = int(session.info["pid"])
    supervisor = next(pid for pid in bed.at_work() if _parent(pid) == front)
    await bed.cut(session, task)
    os.kill(supervisor, 9)
    _, end = await bed.collect(runtime)
    assert isinstance(end, TargetError) and end.kind == "connection_lost" and "killed there" in end.message
    await until(lambda: not bed.jobs.exists() and not bed.at_work())


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another user")
@pytest.mark.parametrize("owner, mode", [(65534, 0o700), (0, 0o777)])
async def test_a_folder_of_somebody_else_is_refused(bed, open_session, owner, mode):
    await (await open_session()).close()
    bed.jobs.mkdir(mode=0o700)
    os.chown(bed.jobs, owner, -1)
    bed.jobs.chmod(mode)
    session, task = await bed.begun()
    bed.gate.touch()
    assert await task == {"states": 3}
    (text,) = [text for text in session.warnings if "would not survive" in text]
    assert "/.cache/pushsalt/jobs: it belongs to another user, or others can write to it" in text
    assert not list(bed.jobs.iterdir())


async def test_data_that_is_not_collected_is_removed_after_a_week(bed, runtime):
    await bed.cut(*await bed.begun())
    bed.gate.touch()
    await until(lambda: list(bed.jobs.glob("*/end")))
    (old,) = bed.jobs.iterdir()
    week = time.time() - 8 * 24 * 3600
    os.utime(old, (week, week))
    session, task = await bed.begun("20261126120000000002")
    await task
    await session.close()
    await until(lambda: not bed.jobs.exists())


# --- false reports of a target


def survival(runtime: Runtime) -> Survival:
    async def never() -> Connection:
        raise AssertionError

    def ignore(*_: Any) -> None:
        raise AssertionError

    found = Survival(HERE, runtime, start(), Reconnect(5, never), Ours(ignore, ignore, ignore, ignore, ignore))
    found.written(b"x" * 100)
    found.keep()
    found.written(b"y" * 50)
    return found


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"state": "running", "got": "151"}, "more received bytes"),
        ({"state": "running", "got": "99"}, "fewer than before"),
        ({"state": "running", "got": "-1"}, "an invalid number"),
        ({"state": "running", "got": "1" * 30}, "an invalid number"),
        ({"state": "running", "got": "\u0663"}, "an invalid number"),
        ({"state": "running", "got": "120", "at": "5"}, "an unexpected report"),
        ({"state": "ended", "got": "120"}, "an unexpected report"),
        ({"state": "gone", "got": "0"}, "an unexpected report"),
        ({"state": "unknown", "got": "0"}, "an unexpected report"),
        ({"state": "splendid", "got": "0"}, "unknown state"),
        ({}, "unknown state"),
    ],
)
def test_false_reports_are_refused(runtime, fields, words):
    with pytest.raises(ValueError, match=words):
        survival(runtime).told(fields)


def test_repeated_frames_are_refused(runtime):
    found = survival(runtime)
    found.told({"state": "running", "got": "120"})
    for _ in range(3):
        found.frame()
    found.attach()
    found.told({"state": "ended", "got": "0", "at": "4"})
    assert found.count == 4
    with pytest.raises(ValueError, match="received before"):
        found.told({"state": "ended", "got": "0", "at": "2"})


def test_a_session_without_a_run_hears_of_none(runtime):
    async def never() -> Connection:
        raise AssertionError

    plain = Survival(HERE, runtime, Start(), Reconnect(5, never), Ours(*[never] * 5))  # type: ignore[arg-type]
    plain.keep()
    with pytest.raises(ValueError, match="not requested"):
        plain.told({"state": "running", "got": "0"})
