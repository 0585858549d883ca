"""Sessions over real sshds: login shells, other output, terminals, sudo, and broken connections."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pushsalt.errors import TargetError
from pushsalt.model import Secret, Target
from pushsalt.session import session as session_module
from pushsalt.session.start import LockRequest, Start
from pushsalt.transport import ConnectOptions
from tests.beds import sshd
from tests.beds.sessions import Opener, alive
from tests.beds.sshd import SshdBed

pytestmark = [
    pytest.mark.sshd,
    pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-"),
]
PASSWORD = "pa55-Wörd with $pace"
CALL = {"k": "call", "fun": "test.ping", "args": [], "kwargs": {}, "cli": True}

#: What a session waits for, each with a wrong nonce or none: reports, frames of every kind, too long ones, prompts.
IMITATION = b"".join(
    [
        b"pushsalt AAAAAAAA no_python debian none\n"
        b"pushsalt-AAAAAAAAAAAA:sudo: a password is required\nSorry, try again.\n",
        *(nonce + kind + bytes(4) for nonce in (b"A" * 16, b"") for kind in (b"G", b"H", b"E", b"N", b"M", b"S")),
        *(b"A" * 16 + kind + b"\xff\xff\xff\xffkind=locked" for kind in (b"E", b"M")),
    ]
)
#: Imitates sudo with -S, -p and -n; SUDO_MODE is the configuration of the machine.
FAKE_SUDO = """#!/bin/sh
mode=$(cat "$(dirname "$0")/mode")
ask= prompt= user=
while [ $# -gt 0 ]; do
    case $1 in
        -n) ask=no; shift ;;
        -S) ask=yes; shift ;;
        -p) prompt=$2; shift 2 ;;
        -u) user=$2; shift 2 ;;
        -H) shift ;;
        --) shift; break ;;
        *) echo "usage: sudo" >&2; exit 1 ;;
    esac
done
echo "$ask $user $*" >> "$(dirname "$0")/log"
case $mode in
    open) exec "$@" ;;
    denied) echo "Sorry, user joe is not allowed to execute '/bin/sh' as $user on host." >&2; exit 1 ;;
    stranger) echo "joe is not in the sudoers file." >&2; exit 1 ;;
esac
[ "$ask" = no ] && { echo "sudo: a password is required" >&2; exit 1; }
tries=0
while [ $tries -lt 3 ]; do
    printf "%s" "$prompt" >&2
    IFS= read -r word || exit 1
    [ "$word" = "PASSWORD" ] && exec "$@"
    tries=$((tries + 1))
    echo "Sorry, try again." >&2
    [ "$mode" = once ] && { echo "sudo: 1 incorrect password attempt" >&2; exit 1; }
done
echo "sudo: 3 incorrect password attempts" >&2
exit 1
""".replace("PASSWORD", PASSWORD.replace("$", "\\$"))


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshdBed]:
    root = tmp_path_factory.mktemp("bed")
    with SshdBed(root) as bed:
        bed.add("plain")
        bed.add("noisy", ['ForceCommand head -c 100000 /dev/zero | tr "\\0" x; echo; eval "$SSH_ORIGINAL_COMMAND"'])
        noise = root / "imitation"
        noise.write_bytes(IMITATION)
        bed.add("imitating", [f'ForceCommand cat {noise}; cat {noise} >&2; eval "$SSH_ORIGINAL_COMMAND"'])
        bed.add("endless", ["ForceCommand yes"])
        bed.add("silent", ["ForceCommand sleep 60"])
        bed.add("closed", ["ForceCommand echo This account is currently not available.; exit 1"])
        bed.add("bare", [f"SetEnv HOME={root / 'homes' / 'bare'} PATH=/nowhere"])
        tools = root / "tools"
        tools.mkdir()
        (tools / "sudo").write_text(FAKE_SUDO)
        (tools / "sudo").chmod(0o755)
        bed.add("sudo", [f'ForceCommand PATH={tools}:$PATH; eval "$SSH_ORIGINAL_COMMAND"'])
        for shell in ("dash", "zsh", "fish", "tcsh"):
            if shutil.which(shell):
                bed.add(shell, [f'ForceCommand {shutil.which(shell)} -c "$SSH_ORIGINAL_COMMAND"'])
        bed.wait()
        yield bed


@pytest.fixture
def options(bed: SshdBed) -> ConnectOptions:
    return ConnectOptions(known_hosts=(bed.known_hosts,), ssh_config=(), connect_timeout=10)


def target(bed: SshdBed, id: str = "plain", **changes: object) -> Target:
    host = bed.targets[id].host()
    values = {"host": host["host"], "port": host["port"], "user": host["user"], "priv": (host["priv"],), "agent": False}
    return Target(id, **{**values, **changes})  # type: ignore[arg-type]


async def refused(open_session: Opener, *args: object, **kwargs: object) -> TargetError:
    with pytest.raises(TargetError) as caught:
        await open_session(*args, **kwargs)  # type: ignore[arg-type]
    assert caught.value.hint and caught.value.message.isprintable()
    return caught.value


async def test_a_session_with_a_stored_runtime_starts_with_one_round_trip(bed, options, open_session):
    for turns, warm in ((2, False), (1, True)):
        session = await open_session(target(bed), options, first=[CALL], start=Start(lock=LockRequest("me")))
        assert await session.first[0] is True
        if warm:
            assert session.round_trips == turns and session.info["warm"]
        await session.close()


@pytest.mark.parametrize("shell", ["dash", "zsh", "fish", "tcsh"])
async def test_login_shells(bed, options, open_session, shell):
    if shell not in bed.targets:
        pytest.skip(f"{shell} is not installed")
    for _ in range(2):  # by /bin/sh, then by the interpreter that is known
        session = await open_session(target(bed, shell), options)
        assert await session.call("test.ping") is True
        await session.close()


async def test_an_interpreter_that_has_vanished(bed, options, open_session):
    place = target(bed, "imitating")
    await (await open_session(place, options)).close()
    met = open_session.runtime.met(place, place.user)
    open_session.runtime.remember(place, place.user, replace(met, exe="/nowhere/python3"))
    session = await open_session(place, options, first=[CALL], start=Start(lock=LockRequest("me")))
    assert await session.first[0] is True and not session.warnings


async def test_noise_before_the_first_frame(bed, options, open_session):
    session = await open_session(target(bed, "noisy"), options, first=[CALL])
    assert await session.first[0] is True


@pytest.mark.parametrize("tty", [False, True])
async def test_noise_that_imitates_the_protocol(bed, options, open_session, tty):
    session = await open_session(target(bed, "imitating", tty=tty), options, first=[CALL])
    assert await session.first[0] is True and not session.warnings


async def test_endless_noise(bed, options, open_session):
    assert (await refused(open_session, target(bed, "endless"), options)).kind == "protocol_error"


async def test_a_start_up_file_that_waits(bed, options, open_session, monkeypatch):
    monkeypatch.setattr(session_module, "BOOTSTRAP_TIMEOUT", 1.0)
    monkeypatch.setattr(session_module, "CLOSE_TIMEOUT", 0.5)
    error = await refused(open_session, target(bed, "silent"), options)
    assert error.kind == "bootstrap_failed" and "1 s" in error.message


async def test_a_login_without_a_shell(bed, options, open_session):
    error = await refused(open_session, target(bed, "closed"), options)
    assert error.kind == "no_shell" and "not available" in error.message


async def test_a_target_without_python(bed, options, open_session, monkeypatch):
    from pushsalt.bundle import shim

    monkeypatch.setattr(shim, "CANDIDATES", ("python3",))
    error = await refused(open_session, target(bed, "bare"), options)
    assert error.kind == "no_python" and "install" in error.hint


async def test_a_python_2_is_too_old(bed, options, open_session, tmp_path):
    """The error of every Python 2 about -I."""
    old = tmp_path / "python2"
    old.write_text('#!/bin/sh\necho "Unknown option: -I" >&2\nexit 2\n')
    old.chmod(0o755)
    error = await refused(open_session, target(bed, python=str(old)), options)
    assert error.kind == "python_too_old" and str(old) in error.message


async def test_frames_survive_a_terminal(bed, options, open_session):
    session = await open_session(target(bed, tty=True), options)
    data = bytes(range(256)) * 4096
    assert await session.call("trouble.size", [data]) == len(data)
    assert await session.call("trouble.big", [1_000_000]) == b"b" * 1_000_000


# --- broken connections


def sessions_of(server: subprocess.Popen[bytes]) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == server.pid:
                found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds the server's processes in /proc")
async def test_a_connection_lost_in_mid_run(bed, options, open_session, tmp_path):
    session = await open_session(target(bed), options)
    pids = tmp_path / "pids"
    call = asyncio.create_task(session.call("trouble.sleep", [60, str(pids)]))
    while not pids.exists() or not pids.read_text():
        await asyncio.sleep(0.01)
    worker, child, daemon = (int(pid) for pid in pids.read_text().split())
    try:
        for pid in sessions_of(bed.targets["plain"].process):
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(TargetError) as caught:
            await call
        assert caught.value.kind == "connection_lost" and "may or may not have been done" in caught.value.hint
        while alive(worker) or alive(child):
            await asyncio.sleep(0.01)
        assert alive(daemon)
    finally:
        os.kill(daemon, signal.SIGKILL)


# --- sudo


@pytest.fixture
def sudo(bed, tmp_path):
    """Sets the mode of the imitation; returns its calls."""
    tools = bed.root / "tools"

    def set_mode(mode: str) -> Path:
        (tools / "mode").write_text(mode)
        (tools / "log").write_text("")
        return tools / "log"

    return set_mode


def becoming(bed: SshdBed, password: str | None = None, **changes: object) -> Target:
    secret = Secret(password) if password is not None else None
    return target(bed, "sudo", sudo=True, sudo_user="someone", sudo_password=secret, **changes)


@pytest.mark.parametrize("mode, password", [("open", None), ("open", PASSWORD), ("password", PASSWORD)])
@pytest.mark.parametrize("tty", [False, True])
async def test_sudo(bed, options, open_session, sudo, mode, password, tty):
    log = sudo(mode)
    session = await open_session(becoming(bed, password, tty=tty), options, first=[CALL])
    assert await session.first[0] is True
    said = log.read_text()
    assert PASSWORD not in said and "someone" in said
    environ = await session.call("trouble.where")
    assert PASSWORD not in repr(environ)


@pytest.mark.parametrize(
    "mode, password, kind",
    [
        ("password", None, "sudo_password_required"),
        ("password", "wrong", "sudo_password_wrong"),
        ("once", "wrong", "sudo_password_wrong"),
        ("denied", None, "sudo_denied"),
        ("denied", PASSWORD, "sudo_denied"),
        ("stranger", PASSWORD, "sudo_denied"),
    ],
)
async def test_sudo_that_refuses(bed, options, open_session, sudo, mode, password, kind):
    sudo(mode)
    error = await refused(open_session, becoming(bed, password), options)
    assert error.kind == kind and (password or "-none-") not in error.message + error.hint


async def test_missing_sudo(bed, options, open_session):
    error = await refused(open_session, target(bed, "bare", sudo=True, sudo_user="someone"), options)
    assert error.kind == "bootstrap_failed" and "sudo is not installed" in error.message


async def test_no_sudo_to_become_the_login_user(bed, options, open_session, sudo):
    log = sudo("denied")
    me = target(bed, "sudo").user
    session = await open_session(target(bed, "sudo", sudo=True, sudo_user=me), options)
    assert await session.call("test.ping") is True and log.read_text() == ""
