"""Answers that are used again for what was not affected equal those of rendering everything."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pushsalt.api import Client, Settings
from pushsalt.events import Reporter
from pushsalt.impact import impact as impacts

KINDS, HOSTS = 4, 12
BODIES = (
    "{{ grains.kind }}\n",
    "{{ grains.id }} {{ pillar.get('port') }}\n",
    "{% import 'lib.jinja' as lib %}{{ lib.word }}\n",
    "{{ salt['pillar.get']('app:name', 'none') }}\n",
    "{{ salt['cp.get_file_str']('salt://word') }}\n",
    "{{ opts.id }} {{ opts['file_roots'] }}\n",
    "{{ salt['cmd.run']('true') }}\n",
    "{% include 'word' %}\n",
    "{{ tplfile }}\n",
)


def tree(folder: Path, rng: random.Random) -> None:
    """A random project."""
    hosts: dict[str, Any] = {}
    for number in range(HOSTS):
        hosts[f"m{number}"] = {"transport": "offline", "grains": {"kind": f"k{number % KINDS}"}}
        if rng.random() < 0.2:
            hosts[f"m{number}"]["pillar"] = {"port": rng.randint(1, 3)}
    top = "".join(f"  'kind:k{n}': [{{match: grain}}, app{n}, both]\n" for n in range(KINDS))
    texts = {
        "pushsalt.yaml": json.dumps({"file_roots": {"base": ["salt"]}, "pillar_roots": {"base": ["pillar"]}}),
        "inventory.yaml": json.dumps({"hosts": hosts}),
        "salt/top.sls": f"base:\n{top}",
        "salt/lib.jinja": "{% set word = 'lib' %}",
        "salt/word": "word\n",
        "salt/d/one": "1\n",
        "salt/d/two": "2\n",
        "salt/both.sls": "/etc/d:\n  file.recurse: [{source: 'salt://d'}]\n",
        "pillar/top.sls": "base: {'*': [p]}\n",
        "pillar/p.sls": "app: {name: {{ grains.kind }}}\npassword: not-shown-here\n",
    }
    for number in range(KINDS):
        texts[f"salt/f{number}.jinja"] = rng.choice(BODIES)
        rows = f"[{{source: 'salt://f{number}.jinja'}}, {{template: jinja}}]"
        guard = rng.choice(
            ("", "{% if grains.id != 'm1' %}", "{% if pillar.get('port') %}", "{% import 'lib.jinja' as l %}")
        )
        end = "{% endif %}" if "if " in guard else ""
        texts[f"salt/app{number}.sls"] = (
            f"/etc/f{number}:\n  file.managed: {rows}\n{guard}\nx{number}: test.nop\n{end}\n"
        )
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def change(folder: Path, rng: random.Random) -> None:
    """One to three random changes."""
    changes = (
        ("salt/lib.jinja", "{% set word = 'other' %}"),
        ("salt/word", "another\n"),
        ("salt/d/one", "one\n"),
        ("salt/d/three", "3\n"),
        ("salt/f0.jinja", rng.choice(BODIES)),
        ("salt/f1.jinja", "plain\n"),
        ("salt/both.sls", "y: test.nop\n"),
        ("salt/app2.sls", "z: {test.nop: [{order: 1}]}\n"),
        ("pillar/p.sls", "app: {name: all}\n"),
        ("salt/_modules/own.py", "def a():\n    return 1\n"),
        ("salt/unused", "x\n"),
    )
    for name, text in rng.sample(changes, rng.randint(1, 3)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize("seed", range(int(os.environ.get("IMPACT_EXAMPLES", "6"))))
def test_equal_to_rendering_everything(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    folder = tmp_path / "project"
    tree(folder, rng)
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    change(folder, rng)
    settings = Settings(config=folder, cache_dir=tmp_path / "cache")
    found = []
    for everything in (False, True):
        project = Client(settings).project
        found.append(impacts.compare(settings, project, None, None, Reporter(), everything=everything))
    quick, whole = found
    assert quick.as_data() == whole.as_data()
    assert whole.rendered == 2 * HOSTS
    assert quick.rendered < whole.rendered
