"""``react`` is killed at many moments: no event is lost, and no reaction runs twice."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter

import pytest

from pushsalt.journal.store import Journal
from tests.beds.project import Project

#: `PUSHSALT_KILLS=100` for a long run
KILLS = int(os.environ.get("PUSHSALT_KILLS") or 5)
EVENTS = 3 * KILLS


@pytest.mark.timeout(300 + 20 * KILLS)
def test_kills_at_many_moments(tmp_path):
    """Reactions on two targets, each of which appends a line; further events are written between the kills."""
    hosts = {"web1": {"transport": "local"}, "web2": {"transport": "local"}}
    project = Project(tmp_path, hosts, reactor=[{"app": "salt://note.sls"}])
    command = f"echo $ID-{{{{ data['n'] }}}} >> {tmp_path}/ran"
    call = {"local.cmd.run": [{"tgt": "web*"}, {"args": {"cmd": command, "python_shell": True}}]}
    call["local.cmd.run"][1]["args"]["env"] = {"ID": "x"}
    project.write("salt/note.sls", json.dumps({"note": call}))
    journal = Journal(project.cache)
    chance = random.Random(18)
    for number in range(KILLS):
        each = EVENTS // KILLS
        journal.put_many([("app", {"n": number * each + more}) for more in range(each)])
        process = project.start("react")
        time.sleep(chance.uniform(0.5, 4.0))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    done = project.run("react", "--once", "--out", "ndjson", timeout=180 + 10 * KILLS)
    assert done.code == 0, done.out + done.err
    ran = Counter((tmp_path / "ran").read_text().split())
    assert ran == {f"x-{number}": 2 for number in range(EVENTS)}  # once on each of both targets
    failed = [event.tag for event in journal.after(0) if event.tag.startswith("pushsalt/react/")]
    assert failed == []


def test_ten_thousand_events(tmp_path):
    """All events are read, and each matching one has one reaction."""
    project = Project(tmp_path, {"web1": {"transport": "local"}}, reactor=[{"app/*/meant": "salt://note.sls"}])
    project.write("salt/note.sls", "a:\n  runner.event.send:\n    - args: {tag: made, data: {n: {{ data['n'] }}}}\n")
    journal = Journal(project.cache)
    for begin in range(0, 10_000, 100):
        tags = ("meant" if number % 500 == 0 else "other" for number in range(begin, begin + 100))
        journal.put_many([(f"app/{begin}/{tag}", {"n": begin + at}) for at, tag in enumerate(tags)])
    done = project.run("react", "--once", timeout=180)
    assert done.code == 0, done.err
    made = sorted(event.data["n"] for event in journal.after(10_000, 1000) if event.tag == "made")
    assert made == list(range(0, 10_000, 500))
