"""Users' own transports: ``transport: mine`` of a host."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.gate]

MINE = '''
"""This machine, by way of a program that says so."""
from pathlib import Path

from pushsalt.transport import local


async def connect(target, options):
    options.shared.setdefault("mine", []).append(target.id)
    if target.host == "gone":
        raise OSError("nobody there")
    return await local.connect(target, options)


async def close(options):
    Path("closed").write_text(" ".join(sorted(options.shared["mine"])))
'''
HOSTS = "hosts: {one: {transport: mine}, two: {transport: mine, host: gone}, here: {transport: local}}\n"


@pytest.fixture
def mine(bed):
    bed.write("inventory.yaml", HOSTS)
    return bed.plug("transport", "transport", "mine", MINE)


def test_it_leads_to_the_target(bed, mine):
    done = bed.json("run", "one", "cmd.run", "echo there")
    assert done.data == {"one": "there"} and (bed.folder / "closed").read_text() == "one"
    bed.write("salt/one.sls", f"{bed.folder}/out: {{file.managed: [{{contents: x}}]}}")
    assert bed.run("apply", "one", "one").code == 0
    assert (bed.folder / "out").read_text() == "x\n"


def test_it_is_a_type(bed, mine):
    assert bed.run("target", "-C", "T@mine").out.split() == ["one", "two"]


def test_one_that_raises_is_named_with_its_line(bed, mine):
    done = bed.json("run", "*", "test.ping")
    assert done.code == 3 and done.data["one"] is done.data["here"] is True
    error = done.error("two")
    assert error["kind"] == "unreachable" and f"{mine}:11: OSError: nobody there" in error["message"]


@pytest.mark.parametrize("text, words", [("a = 1\n)", ":2"), ("import nothing", ":1"), ("a = 1", "no `connect`")])
def test_a_broken_one_is_named_with_its_line(bed, text, words):
    bed.write("inventory.yaml", HOSTS)
    path = bed.plug("transport", "transport", "mine", text)
    done = bed.json("run", "-L", "one,here", "test.ping")
    assert done.code == 3 and done.data["here"] is True
    assert str(path) in done.error("one")["message"] and words in done.error("one")["message"]


def test_a_missing_one_names_the_nearest(bed, mine):
    bed.write("inventory.yaml", "hosts:\n  one:\n    transport: mien\n")
    done = bed.say("run", "*", "test.ping")
    assert done.code == 1 and "inventory.yaml:3" in done.out and "did you mean mine" in done.out


def test_a_program_cannot_name_it(bed, mine):
    """Output of programs does not decide what runs on the controller."""
    program = bed.write("hosts.sh", '#!/bin/sh\necho \'{"hosts": {"one": {"transport": "mine"}}}\'\n')
    program.chmod(0o755)
    done = bed.say("run", "-i", "hosts.sh", "*", "test.ping")
    assert done.code == 1 and "must be one of ssh, local, offline" in done.out


HANGS = """
import asyncio

from pushsalt.transport import local


class Mine(local.LocalConnection):
    async def close(self):
        await super().close()
        await asyncio.sleep(1000)


async def connect(target, options):
    found = await local.connect(target, options)
    found.__class__ = Mine
    return found


async def close(options):
    await asyncio.sleep(1000)
"""


def test_connecting_is_bounded_by_the_timeout_of_the_host(bed):
    waits = "import asyncio\n\n\nasync def connect(target, options):\n    await asyncio.sleep(1000)\n"
    bed.plug("transport", "transport", "mine", waits)
    bed.write("inventory.yaml", "hosts: {one: {transport: mine, timeout: 1}, here: {transport: local}}\n")
    done = bed.json("run", "*", "test.ping")
    error = done.error("one")
    assert (done.code, error["kind"], done.data["here"]) == (3, "connect_timeout", True)
    assert error["message"].startswith("one: the transport mine has not connected in 1 s") and ".py" in error["hint"]


def test_one_that_does_not_end_is_not_waited_for(tmp_path, monkeypatch, caplog):
    from pushsalt import transport
    from pushsalt.api import Client, Selection, Settings

    monkeypatch.setattr(transport, "CLOSE_TIMEOUT", 0.2)
    (tmp_path / "modules/transport").mkdir(parents=True)
    (tmp_path / "modules/transport/mine.py").write_text(HANGS)
    (tmp_path / "pushsalt.yaml").write_text("module_dirs: [modules]\n")
    (tmp_path / "inventory.yaml").write_text("hosts: {one: {transport: mine}}\n")
    settings = Settings([tmp_path / "inventory.yaml"], tmp_path / "pushsalt.yaml", cache_dir=tmp_path / "cache")
    [result] = Client(settings).run(Selection("one"), "test.ping").values()
    assert result.ret is True
    said = [record.getMessage() for record in caplog.records if "did not close in 0.2 s" in record.getMessage()]
    assert len(said) == 2 and said[0].startswith("a connection of mine") and "transport/mine.py did not" in said[1]
