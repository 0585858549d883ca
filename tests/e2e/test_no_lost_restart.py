"""If a run is killed between a change and its reactions, the next command runs the reactions once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.beds.project import Project

pytestmark = pytest.mark.slow

STATES = """
{place}/app.conf:
  file.managed:
    - contents: new

kill the run once:
  cmd.run:
    - name: touch {place}/killed; kill -9 {victim}; sleep 9
    - unless: test -e {place}/killed

restart:
  cmd.run:
    - name: echo restarted >> {place}/restarts
    - onchanges: [{{file: '{place}/app.conf'}}]

restart later:
  cmd.wait:
    - name: echo watched >> {place}/restarts
    - watch: [{{file: '{place}/app.conf'}}]

listens:
  cmd.wait:
    - name: echo listened >> {place}/restarts
    - listen: [{{file: '{place}/app.conf'}}]
"""


#: the worker, and the supervisor, whose end also ends the worker
VICTIMS = {"worker": "$PPID", "supervisor": "$(ps -o ppid= $PPID)"}


@pytest.mark.parametrize("victim", VICTIMS)
def test_the_next_run_executes_the_reactions_of_a_killed_one(tmp_path: Path, victim: str) -> None:
    project = Project(tmp_path, {"here": {"transport": "local", "thin_dir": str(tmp_path / "thin")}})
    project.write("salt/app.sls", STATES.format(place=tmp_path, victim=VICTIMS[victim]))
    restarts = tmp_path / "restarts"

    killed = project.json("apply", "here", "app")
    assert killed.code == 3 and killed.error("here")["kind"] in ("worker_died", "connection_lost"), killed.data
    assert not restarts.exists()

    dry = project.json("apply", "here", "app", "--test")
    assert "It was due" in str(dry.data) and not restarts.exists()
    done = project.json("apply", "here", "app")
    assert done.code == 0, done.data
    assert sorted(restarts.read_text().split()) == ["listened", "restarted", "watched"]
    assert str(done.data).count(f"It was due: file: {tmp_path}/app.conf changed on ") == 3

    again = project.json("apply", "here", "app")
    assert again.code == 0 and "It was due" not in str(again.data)
    assert len(restarts.read_text().split()) == 3
