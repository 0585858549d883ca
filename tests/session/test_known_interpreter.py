"""The runtime is started by the interpreter of the target's last session, without the shell script."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from pushsalt.errors import TargetError
from pushsalt.model import Target

HERE = Target("here", transport="local")
CALL = {"k": "call", "fun": "test.echo", "args": ["yes"], "kwargs": {}, "cli": False}


async def record_interpreter(open_session, target, exe):
    """Set the interpreter in the record of the target to ``exe``."""
    connection = await open_session.connection(target)
    met = open_session.runtime.met(target, connection.user)
    open_session.runtime.remember(target, connection.user, replace(met, exe=exe))


async def ended(session):
    assert await session.first[0] == "yes"
    await session.close()
    return session._channel.opening.is_direct


async def test_the_recorded_interpreter_is_used_by_the_second_session(open_session):
    assert await ended(await open_session(first=[CALL])) is False
    assert await ended(await open_session(first=[CALL])) is True


@pytest.mark.parametrize("how", ["vanished", "a program that fails", "a program that ends", "not executable"])
async def test_an_interpreter_that_does_not_start_is_replaced_without_an_error(open_session, tmp_path, how):
    await ended(await open_session(first=[CALL]))
    path = tmp_path / "python3"
    if how != "vanished":
        path.write_text("#!/bin/sh\n" + {"a program that fails": "echo oh >&2; exit 1"}.get(how, "exit 0") + "\n")
        path.chmod(0o644 if how == "not executable" else 0o755)
    await record_interpreter(open_session, HERE, str(path))
    session = await open_session(first=[CALL])
    assert await ended(session) is False and session.warnings == []
    assert await ended(await open_session(first=[CALL])) is True


@pytest.mark.parametrize("exe", ["python3", "-c", "/usr/bin/python3 -c", "/a'b", ""])
async def test_a_path_with_special_characters_is_not_used(open_session, exe):
    await ended(await open_session(first=[CALL]))
    await record_interpreter(open_session, HERE, exe)
    assert await ended(await open_session(first=[CALL])) is False


async def test_the_interpreter_of_the_inventory_is_always_used(open_session, tmp_path):
    count, wrapper = tmp_path / "count", tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\necho >> {count}\nexec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    await ended(await open_session(first=[CALL]))
    for number in (1, 2, 3):
        session = await open_session(replace(HERE, python=str(wrapper)), first=[CALL])
        is_direct = await ended(session)
        assert len(count.read_text()) == number
    assert is_direct


async def test_the_second_attempt_reports_its_own_error(open_session, monkeypatch):
    await ended(await open_session(first=[CALL]))
    await record_interpreter(open_session, HERE, "/nowhere/python3")
    monkeypatch.setattr("pushsalt.session.handshake.sys.executable", "")
    monkeypatch.setattr("pushsalt.bundle.shim.CANDIDATES", ("no-such-python",))
    with pytest.raises(TargetError) as caught:
        await open_session(first=[CALL])
    assert caught.value.kind in ("no_python", "python_too_old")  # by what else is on this machine
