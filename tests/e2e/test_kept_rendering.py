"""Render processes of a kept session: forked from one that waits, and as if each command had started its own."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.beds.keeping import keeping
from tests.beds.processes import children, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sshd,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds processes in /proc"),
]

#: Says what its process is, and leaves something behind in it.
PILLAR = """#!py
import os
import sys

def run():
    found = {
        "here": os.getcwd(),
        "mask": os.umask(0o77),
        "env": dict(os.environ),
        "path": list(sys.path),
        "left": getattr(sys, "left", None),
        "parents": [os.getppid(), int(open("/proc/%d/stat" % os.getppid()).read().rpartition(")")[2].split()[1])],
        "session": os.getsid(0),
    }
    sys.left = os.environ["LEFT"] = "something"
    return {"process": found}
"""


@pytest.fixture
def kept(project):
    made = project({"pillar/top.sls": "base:\n  '*': [process]\n", "pillar/process.sls": PILLAR})
    settings = json.loads((made.folder / "pushsalt.yaml").read_text())
    made.write("pushsalt.yaml", json.dumps({**settings, "session": "5m"}))
    with keeping(made) as found:
        assert made.run("run", "t1", "test.ping").code == 0
        yield found


def process(kept, *arguments, **kwargs):
    asked = ("--out", "json", *arguments, "run", "t1", "pillar.get", "process", "unmask=True")
    done = kept.project.run(*asked, **kwargs)
    assert done.code == 0, (done.out, done.err)
    return done.data["t1"]


def waiting(kept):
    """The process that waits to be the starter of commands."""
    found = [pid for pid in children(kept.pid) if b"children.kept" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return found[0] if found else None


def test_it_is_forked_from_the_process_that_waits(kept):
    wait_until(lambda: waiting(kept))
    found = process(kept)
    assert found["parents"][1] == waiting(kept)
    assert process(kept, "--session", "0")["parents"][1] != waiting(kept)


def test_it_is_as_without_a_session(kept):
    wait_until(lambda: waiting(kept))
    kept.project.variables["SOME_TOKEN"] = "secret"
    kept.project.variables["TZ"] = "Asia/Tokyo"
    place = kept.project.folder / "salt"
    mask = os.umask(0o027)
    try:
        ours = process(kept, "-c", "../pushsalt.yaml", "-i", "../inventory.yaml", cwd=place)
        alone = process(kept, "--session", "0", "-c", "../pushsalt.yaml", "-i", "../inventory.yaml", cwd=place)
    finally:
        os.umask(mask)
    assert {name: ours[name] for name in ("here", "mask", "env", "path", "left")} == {
        name: alone[name] for name in ("here", "mask", "env", "path", "left")
    }
    assert ours["here"] == str(place) and ours["mask"] == 0o027 and ours["env"]["TZ"] == "Asia/Tokyo"
    assert "SOME_TOKEN" not in ours["env"]


def test_nothing_is_left_for_the_next_command(kept):
    wait_until(lambda: waiting(kept))
    for _ in range(2):
        found = process(kept)
        assert found["left"] is None and "LEFT" not in found["env"]
    wait_until(lambda: not children(waiting(kept)))


def test_when_it_was_killed_commands_start_their_own(kept):
    wait_until(lambda: waiting(kept))
    before = waiting(kept)
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: not waiting(kept))
    assert process(kept)["parents"][1] != before
    assert kept.project.json("run", "t1", "test.ping").data == {"t1": True}


def test_it_ends_with_the_broker(kept):
    wait_until(lambda: waiting(kept))
    pid = waiting(kept)
    os.kill(kept.pid, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_killed_command_leaves_no_process(kept):
    wait_until(lambda: waiting(kept))
    begun = kept.project.folder / "begun"
    kept.project.write(
        "pillar/process.sls", f"#!py\nimport time\ndef run():\n    open({str(begun)!r}, 'w')\n    time.sleep(600)\n"
    )
    client = kept.project.start("run", "t1", "pillar.items")
    wait_until(begun.exists)
    assert children(waiting(kept))
    client.kill()
    client.communicate()
    wait_until(lambda: not children(waiting(kept)))


def test_a_changed_configuration_is_seen(kept):
    settings = json.loads((kept.project.folder / "pushsalt.yaml").read_text())
    kept.project.write("pillar/process.sls", "process: one\n")
    kept.project.files({"other/top.sls": "base:\n  '*': [process]\n", "other/process.sls": "process: other\n"})
    assert process(kept) == "one"
    kept.project.write("pushsalt.yaml", json.dumps({**settings, "pillar_roots": {"base": ["other"]}}))
    assert process(kept) == "other"


def test_changed_templates_and_their_imports_are_seen(kept):
    kept.project.write("pillar/process.sls", "process: 1\n")
    kept.project.write("salt/a.sls", "{% from 'map.jinja' import name %}\n{{ name }}:\n  test.nop: []\n")
    for name in ("one", "two"):
        kept.project.write("salt/map.jinja", f"{{% set name = '{name}' %}}\n")
        done = kept.project.json("apply", "t1", "a")
        assert [ret["__id__"] for ret in done.data["t1"].values()] == [name], done.err


def test_a_changed_renderer_is_seen(kept):
    kept.project.write("pillar/process.sls", "#!own\n")
    for text in ("one", "two"):
        renderer = f"def render(*args, **kwargs):\n    return {{'process': {text!r}}}\n"
        kept.project.write("salt/_renderers/own.py", renderer)
        assert process(kept) == text
