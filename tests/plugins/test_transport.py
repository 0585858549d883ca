"""Transports of the user's own: ``transport: mine`` of a host."""

from __future__ import annotations

import pytest

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
    """What comes from programs has no say in what runs here."""
    program = bed.write("hosts.sh", "#!/bin/sh\necho '{\"hosts\": {\"one\": {\"transport\": \"mine\"}}}'\n")
    program.chmod(0o755)
    done = bed.say("run", "-i", "hosts.sh", "*", "test.ping")
    assert done.code == 1 and "must be one of ssh, local, offline" in done.out
