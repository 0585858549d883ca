"""The recorded answers of Salt's beacons are those of a real Salt; ``RECORD=1`` writes them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.beds import beaconfacts
from thin import loader, runtime
from thin.utils.system import beaconing

DRIVER = Path(__file__).with_name("beacon_driver.py")


def ask_salt(python: Path, rows: list[Any]) -> list[Any]:
    """The answers of real Salt."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run([python, "-W", "ignore", DRIVER], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_recorded_answers_equal_salts(salt_python):
    returned = ask_salt(salt_python, list(beaconfacts.inputs()))
    if os.environ.get("RECORD"):
        beaconfacts.ANSWERS.write_text(json.dumps(returned, indent=1) + "\n")
    assert list(map(beaconfacts.comparable, returned)) == list(map(beaconfacts.comparable, beaconfacts.answers()))


def test_events_equal_salts(salt_python, monkeypatch):
    """Tags, data, and what becomes of the options of all beacons."""
    averages = {"averages": {"1m": [0.0, 0.1], "5m": [0.0, 9.0], "15m": [0.0, 9.0]}}
    config = {
        "load": [averages],
        "other": [{"beacon_module": "load"}, averages],
        "off": [{"enabled": False}, {"beacon_module": "load"}, averages],
        "wrong": [{"beacon_module": "load"}],
    }
    row = {"process": config, "load": [1.0, 2.0, 3.0]}
    [salts] = ask_salt(salt_python, [row])
    monkeypatch.setattr("os.getloadavg", lambda: (1.0, 2.0, 3.0))
    pack = {"__grains__": {"kernel": "Linux"}, "__salt__": {}, "__context__": {}}
    ours = beaconing.Beacons(loader.Loader("beacons", pack, {"id": "web1"}, runtime), config, "web1").poll(0, "")
    assert [(f"salt/beacon/web1/{event['name']}/{event['tag']}", event["data"]) for event in ours] == [
        (event["tag"], event["data"]) for event in salts
    ]
    assert len(ours) == 2
