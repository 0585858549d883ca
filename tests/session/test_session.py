"""Sessions over the local transport: the runtime's life on the target, and all errors there."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pushsalt.errors import FunctionError, TargetError
from pushsalt.model import Blob, Target
from pushsalt.session.blobs import Sender
from pushsalt.session.session import Session
from pushsalt.session.start import LockRequest, Start
from tests.beds.pythons import pythons
from tests.beds.sessions import alive

HERE = Target("here", transport="local")


async def until(condition, timeout=10.0):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "the condition was not met in time"
        await asyncio.sleep(0.01)


async def error_of(awaitable) -> TargetError:
    with pytest.raises(TargetError) as caught:
        await awaitable
    assert caught.value.message.startswith("here: ") and caught.value.hint
    return caught.value


# --- starting


async def test_first_and_second_session(open_session, kept):
    first = await open_session()
    assert await first.call("test.ping") is True
    assert (first.info["warm"], first.round_trips) == (False, 3)
    await first.close()
    assert set(kept()) == {"tar", "img"}
    warm = await open_session(first=[{"k": "call", "fun": "test.ping", "args": [], "kwargs": {}, "cli": True}])
    assert await warm.first[0] is True
    assert (warm.info["warm"], warm.round_trips) == (True, 1)
    assert warm.info["python"].startswith("3.") and warm.info["dir"].endswith("/.cache/pushsalt")


async def test_everything_is_private_and_nothing_secret_is_in_it(open_session, kept, home, runtime):
    await (await open_session()).close()
    folder = home / ".cache" / "pushsalt"
    assert folder.stat().st_mode & 0o777 == 0o700
    for path in kept().values():
        assert path.stat().st_mode & 0o777 == 0o600
        assert runtime.key("here") not in path.read_bytes()


async def test_the_worker_is_isolated_and_its_arguments_say_nothing(open_session, runtime, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    found = await (await open_session(start=Start(opts={"id": "here", "word": "canary"}))).call("trouble.where")
    assert found["flags"] == [1, 1] and "/nowhere" not in found["path"]
    assert "canary" not in repr(found["argv"]) and runtime.key("here").hex() not in repr(found)


@pytest.mark.parametrize("which", ["tar", "img"])
@pytest.mark.parametrize("how", ["truncated", "flipped", "emptied", "foreign"])
async def test_a_damaged_file_is_repaired(open_session, kept, which, how):
    await (await open_session()).close()
    path = kept()[which]
    sound = path.read_bytes()
    damaged = bytearray(sound)
    damaged[len(damaged) // 2] ^= 1
    content = {"truncated": sound[:-700], "flipped": bytes(damaged), "emptied": b"", "foreign": b"print('mine')"}[how]
    path.write_bytes(content)
    session = await open_session()
    assert await session.call("test.ping") is True
    await session.close()
    assert kept()["tar"].stat().st_size in open_session.runtime.sizes.values()
    again = await open_session()
    assert again.info["warm"] and await again.call("test.ping") is True


async def test_code_in_an_image_without_our_key_is_not_executed(open_session, kept, runtime):
    """The image of another controller has another name; one with a changed name does not verify."""
    await (await open_session()).close()
    image = kept()["img"]
    runtime._secret = bytes(32)
    stranger = await open_session()
    assert stranger.info["warm"] is False and await stranger.call("test.ping") is True
    await stranger.close()
    mine = next(path for path in image.parent.glob("*.img") if path != image)
    mine.write_bytes(image.read_bytes())
    refused = await open_session()
    assert refused.info["warm"] is False and await refused.call("test.ping") is True


async def test_a_link_in_place_of_the_private_directory_is_not_followed(open_session, home, tmp_path):
    (home / ".cache").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (home / ".cache" / "pushsalt").symlink_to(tmp_path / "elsewhere")
    session = await open_session()
    assert not session.info["dir"].startswith(str(home))
    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_thin_dir_that_others_can_write_to_is_refused_with_a_message(open_session, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    session = await open_session(Target("here", transport="local", thin_dir=str(shared)))
    assert session.info["dir"] != str(shared) and "thin_dir" in " ".join(session.warnings)
    assert list(shared.iterdir()) == []


async def test_thin_dir_with_odd_characters(open_session, tmp_path):
    place = tmp_path / 'it\'s a $(place) \\ "ü"'
    session = await open_session(Target("here", transport="local", thin_dir=str(place)))
    assert session.info["dir"] == str(place) and place.stat().st_mode & 0o777 == 0o700


async def test_old_runtimes_are_pruned(open_session, kept, home):
    folder = home / ".cache" / "pushsalt"
    folder.mkdir(parents=True, mode=0o700)
    for number in range(6):
        for extension in ("tar", "img"):
            path = folder / f"thin-{number:064d}.{extension}"
            path.write_bytes(b"")
            os.utime(path, (1000 + number, 1000 + number))
    answers = folder / "thin-answers"
    answers.write_bytes(b"\x80")
    os.utime(answers, (1, 1))
    await (await open_session()).close()
    assert answers.exists()  # of programs: no runtime
    assert len(list(folder.glob("thin-*.tar"))) == 3
    assert {path.name[:69] for path in folder.glob("*.img")} <= {path.name[:69] for path in folder.glob("*.tar")}


async def test_images_of_other_controllers_are_limited(open_session, home):
    for word in ("thin", "pack"):
        sessions = [await open_session(Target(f"here{number}", transport="local")) for number in range(10)]
        for session in sessions:
            await session.call("test.ping" if word == "thin" else "sysfs.interfaces", [] if word == "thin" else ["x"])
            await session.close()
        folder = home / ".cache" / "pushsalt"
        assert len(list(folder.glob(f"{word}-*.tar"))) == 1
        assert len(list(folder.glob(f"{word}-*.img"))) == 8


async def test_a_controller_with_a_wrong_record_recovers(open_session, kept):
    await (await open_session()).close()
    for path in kept().values():
        path.unlink()
    session = await open_session(first=[{"k": "call", "fun": "test.ping", "args": [], "kwargs": {}, "cli": False}])
    assert await session.first[0] is True and session.info["warm"] is False


async def test_no_python(open_session):
    error = await error_of(open_session(Target("here", transport="local", python="/nowhere/python3")))
    assert error.kind == "no_python" and "/nowhere/python3" in error.message


# --- functions


async def test_functions_and_their_errors(open_session):
    session = await open_session()
    assert await session.call("test.echo", ["ü"]) == "ü"
    with pytest.raises(FunctionError) as unknown:
        await session.call("no.such")
    assert unknown.value.kind == "unknown_function"
    with pytest.raises(FunctionError) as raised:
        await session.call("test.exception", ["oh"])
    assert (raised.value.kind, raised.value.exception) == ("exception", "Exception")


async def test_a_module_may_print_and_fork_and_exit(open_session):
    session = await open_session()
    assert await session.call("trouble.noise", [300_000]) == "quiet"
    assert await session.call("trouble.fork_and_answer", [3]) == "parent"
    with pytest.raises(FunctionError) as left:
        await session.call("trouble.leave")
    assert left.value.exception == "SystemExit"
    assert await session.call("test.ping") is True


async def test_a_module_cannot_use_the_channel_and_the_lock(open_session):
    session = await open_session(start=Start(lock=LockRequest("me")))
    mine = await session.call("trouble.fds")
    assert [link for fd, link in mine if fd in (0, 1)] == ["/dev/null", "/dev/null"]
    assert not [link for _, link in mine if link.endswith("/lock")]
    assert (await session.call("trouble.child_fds"))[:3] == ["0", "1", "2"]
    assert len(await session.call("trouble.child_fds")) == 4  # and the one that ls reads


async def test_big_frames_in_both_directions(open_session):
    session = await open_session()
    size = 20_000_000
    sent, received = await asyncio.gather(
        session.call("trouble.size", [b"d" * size]), session.call("trouble.big", [size])
    )
    assert sent == size and len(received) == size


async def test_a_module_that_writes_to_every_descriptor_ends_its_session_cleanly(open_session):
    session = await open_session()
    assert (await error_of(session.call("trouble.fork_and_answer", [4096]))).kind == "protocol_error"


@pytest.mark.parametrize(
    "function, args, words",
    [("crash", [], "SIGSEGV"), ("vanish", [0], "status 0"), ("vanish", [9], "status 9")],
)
async def test_a_worker_that_dies(open_session, function, args, words):
    session = await open_session()
    error = await error_of(session.call(f"trouble.{function}", args))
    assert error.kind == "worker_died" and words in error.message
    if function == "crash":
        assert "last words" in error.message
    assert (await error_of(session.call("test.ping"))).kind == "worker_died"


async def test_a_worker_that_closes_all_descriptors(open_session):
    session = await open_session()
    assert (await error_of(session.call("trouble.close_all"))).kind == "worker_died"


# --- ending


async def sleeping(session, tmp_path):
    """A call that sleeps; returns the ids of the worker, its child and its daemon."""
    pids = tmp_path / "pids"
    call = asyncio.create_task(session.call("trouble.sleep", [60, str(pids)]))
    await until(pids.exists)
    return call, [int(pid) for pid in pids.read_text().split()]


@pytest.mark.parametrize("how", ["bye", "kill -9 supervisor"])
async def test_background_processes_of_a_call_outlive_a_session_that_ends_normally(open_session, how):
    """Also a fork of the worker that still has the pipe by which the kernel kills the group with the supervisor."""
    session = await open_session()
    child, supervisor = await session.call("trouble.leave_behind", [60]), int(session.info["pid"])
    try:
        if how != "bye":
            os.kill(supervisor, signal.SIGKILL)
            await until(lambda: not alive(child))
        await session.close()
        await until(lambda: not alive(supervisor))
        await asyncio.sleep(0.1)  # the kernel would have killed it by now
        assert alive(child) is (how == "bye")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("how", ["close", "kill -9 supervisor", "term supervisor"])
async def test_running_calls_end_with_the_channel_and_daemons_do_not(open_session, tmp_path, how):
    session = await open_session(start=Start(lock=LockRequest("first")))
    call, (worker, child, daemon) = await sleeping(session, tmp_path)
    try:
        if how == "close":
            call.cancel()
            await session.close()
        else:
            os.kill(int(session.info["pid"]), signal.SIGKILL if "-9" in how else signal.SIGTERM)
            error = await error_of(call)
            assert error.kind == ("connection_lost" if "-9" in how else "worker_died")
        await until(lambda: not alive(worker) and not alive(child))
        assert alive(daemon)
        # The lock was released with it.
        assert await (await open_session(start=Start(lock=LockRequest("second")))).call("test.ping") is True
    finally:
        os.kill(daemon, signal.SIGKILL)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(call, return_exceptions=True)


async def test_the_deadline_stops_the_work(open_session, tmp_path):
    session = await open_session(start=Start(deadline=1.0))
    call, (worker, child, daemon) = await sleeping(session, tmp_path)
    os.kill(daemon, signal.SIGKILL)
    error = await error_of(call)
    assert error.kind == "timeout" and "1 s" in error.message.replace("1 seconds", "1 s")
    await until(lambda: not alive(worker) and not alive(child))


async def test_close_leaves_no_process(open_session):
    session = await open_session()
    pid = int(session.info["pid"])
    await session.call("test.ping")
    await session.close()
    await until(lambda: not alive(pid))


# --- the lock


async def test_the_second_run_is_told_which_run_holds_the_lock(open_session, home):
    first = await open_session(start=Start(lock=LockRequest("ann@desk since noon")))
    error = await error_of(open_session(start=Start(lock=LockRequest("bob"))))
    assert error.kind == "locked" and "ann@desk since noon" in error.message
    assert await (await open_session()).call("test.ping") is True  # functions without a lock continue
    await first.close()
    assert await (await open_session(start=Start(lock=LockRequest("bob")))).call("test.ping") is True


async def test_waiting_for_the_lock(open_session):
    first = await open_session(start=Start(lock=LockRequest("ann")))
    events = []
    second = asyncio.create_task(open_session(start=Start(lock=LockRequest("bob", wait=30)), on_event=events.append))
    await until(lambda: events)
    assert events == [{"k": "waiting", "holder": "ann"}]
    await first.close()
    assert await (await second).call("test.ping") is True


async def test_a_run_follows_directly_on_one_that_is_ending(open_session):
    """The return arrives before the process that holds the lock has ended."""
    first = await open_session(start=Start(lock=LockRequest("ann")))
    second = asyncio.create_task(open_session(start=Start(lock=LockRequest("bob"))))
    await asyncio.sleep(0.3)
    assert not second.done()
    await first.close()
    assert await (await second).call("test.ping") is True


async def test_a_run_that_is_ending_is_not_reported_as_the_holder_of_the_lock(open_session):
    first = await open_session(start=Start(lock=LockRequest("ann")))
    events = []
    began = time.monotonic()
    second = asyncio.create_task(open_session(start=Start(lock=LockRequest("bob", wait=30)), on_event=events.append))
    await asyncio.sleep(0.2)
    await first.close()
    assert await (await second).call("test.ping") is True
    assert not events or time.monotonic() > began + 1, "it waited for less than a second"


async def test_without_a_private_directory_the_home_is_locked(open_session, home, monkeypatch):
    (home / ".cache").write_text("no folder")
    if os.geteuid() == 0:
        pytest.skip("root has other places for it")
    await open_session(start=Start(lock=LockRequest("ann")))
    assert (await error_of(open_session(start=Start(lock=LockRequest("bob"))))).kind == "locked"


def mount(place: Path, *options: str) -> Iterator[None]:
    """Mount a file system at ``place``; skips the test if that is not possible."""
    if os.geteuid() or not shutil.which("mount"):
        pytest.skip("mounting needs root")
    if subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    yield
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def small_disk(home):
    yield from mount(home, "-o", "size=64k,mode=700")


async def test_a_full_disk_prevents_storing_the_runtime_but_not_the_run(small_disk, open_session, home):
    (home / "rest").write_bytes(bytes(40_000))
    session = await open_session(start=Start(lock=LockRequest("me")))
    assert await session.call("test.ping") is True
    assert any("cannot keep the runtime" in text for text in session.warnings), session.warnings
    await session.close()
    assert [path.name for path in (home / ".cache" / "pushsalt").iterdir()] == ["lock"]
    again = await open_session()
    assert await again.call("test.ping") is True


async def test_a_disk_that_became_read_only_still_serves(small_disk, open_session, home):
    subprocess.run(["mount", "-o", "remount,size=64m", str(home)], check=True)
    await (await open_session(start=Start(lock=LockRequest("me")))).close()
    subprocess.run(["mount", "-o", "remount,ro", str(home)], check=True)
    session = await open_session(start=Start(lock=LockRequest("me")))
    assert session.info["warm"] and await session.call("test.ping") is True
    assert (await error_of(open_session(start=Start(lock=LockRequest("you"))))).kind == "locked"


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("sudo"), reason="becomes nobody by the real sudo")
async def test_a_user_without_a_home_leaves_no_files(open_session):
    target = Target("here", transport="local", sudo=True, sudo_user="nobody", python="/usr/bin/python3")
    if not Path("/usr/bin/python3").exists():  # the Python that runs the tests may be in the home of root
        pytest.skip("there is no /usr/bin/python3")
    session = await open_session(target, start=Start(lock=LockRequest("me")))
    assert await session.call("test.ping") is True and session.info["user"] == "nobody"
    assert session.info["dir"] == ""
    assert [text for text in session.warnings if "memory" in text or "sent each time" in text]
    assert [text for text in session.warnings if "nothing can be locked" in text]


async def test_clean_removes_everything(open_session, home, runtime):
    await (await open_session(start=Start(lock=LockRequest("x")))).close()
    connection = await open_session.connection(HERE)
    cleaning = await Session.open(HERE, connection, runtime, start=Start(lock=LockRequest("clean"), clean=True))
    await cleaning.close()
    removed = cleaning.removed
    assert {path.rsplit(".", 1)[-1] for path in removed} >= {"tar", "img"}
    assert list((home / ".cache").iterdir()) == []
    session = await open_session()
    assert await session.call("test.ping") is True


# --- questions, events and blobs


async def test_a_failing_observer_is_an_error_and_no_hang(open_session):
    def fail(event):
        raise ZeroDivisionError("oops")

    session = await open_session(start=Start(log_level="debug"), on_event=fail)
    session._message = lambda message: session._on_event(message)
    assert (await error_of(session.call("test.ping"))).kind == "internal"


def blob(data, tmp_path=None):
    digest = hashlib.sha256(data).hexdigest()
    if tmp_path is None:
        return Blob(digest, len(data), data=data)
    path = tmp_path / digest
    path.write_bytes(data)
    return Blob(digest, len(data), path=str(path))


@pytest.mark.parametrize("size", [0, 10, 262_144, 1_000_000])
@pytest.mark.parametrize("changed", [False, True])
async def test_blobs_arrive_whole_or_not_at_all(tmp_path, size, changed):
    sent = []

    async def drain():
        await asyncio.sleep(0)

    found = blob(os.urandom(size), tmp_path)
    if changed:
        Path(found.path).write_bytes(b"other")
    await Sender(lambda kind, payload: sent.append((kind, payload)), drain).send(found)
    name = bytes.fromhex(found.digest)
    assert {kind for kind, _ in sent} == {b"B"} and all(payload.startswith(name) for _, payload in sent)
    assert sent[-1][1] == name
    data = b"".join(payload[32:] for _, payload in sent)
    assert (hashlib.sha256(data).digest() == name) is (not changed or (size == 0 and data == b""))


@pytest.mark.parametrize("python", pythons().values(), ids=list(pythons()))
async def test_frames_with_every_python(open_session, python):
    """The same frames with every Python from 3.6 on."""
    target = Target("here", transport="local", python=python)
    session = await open_session(target)
    assert await session.call("test.ping") is True
    await session.close()
    warm = await open_session(target)
    assert warm.info["warm"] and await warm.call("test.echo", ["x"]) == "x"
