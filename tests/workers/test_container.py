"""The container file of workers: its instructions, carried out in order in a fresh environment instead of an image.

The packages and the user of the base image are not tested: they need a container engine.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import test_distributions as distributions
from tests.beds.faults import PATIENCE, until
from tests.beds.natsserver import NatsServer, missing
from tests.beds.project import ROOT, Project

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
]
FILE = ROOT / "docs/containers/worker.Containerfile"


def instructions() -> list[tuple[str, str]]:
    """(keyword, arguments) of each instruction of the container file, in order."""
    lines = [line for line in FILE.read_text().splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def commands() -> list[list[str]]:
    """The argument list of each RUN command, in order."""
    text = " && ".join(rest for word, rest in instructions() if word == "RUN")
    return [shlex.split(each) for each in text.split("&&")]


def test_container_engines_support_each_instruction():
    words = [word for word, _ in instructions()]
    assert words == ["FROM", "RUN", "USER", "VOLUME", "STOPSIGNAL", "ENTRYPOINT"]
    values = dict(instructions())
    version = re.fullmatch(r"docker\.io/library/python:3\.(\d+)-slim", values["FROM"])
    lowest = re.search(r'requires-python = ">=3\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    assert version and lowest and int(version[1]) >= int(lowest[1])
    assert values["STOPSIGNAL"] == "SIGTERM"
    assert subprocess.run(["sh", "-n", "-c", values["RUN"]]).returncode == 0


def test_the_user_and_the_cache_are_made_before_they_are_used():
    made = commands()
    values = dict(instructions())
    assert ["useradd", "--uid", "1000", "--create-home", values["USER"]] in made
    (cache,) = json.loads(values["VOLUME"])
    assert ["install", "-d", "-o", values["USER"], "-m", "700", cache] in made
    entry = json.loads(values["ENTRYPOINT"])
    assert entry[entry.index("--cache-dir") + 1] == cache
    names = [words[0] for words in made]
    assert names.index("useradd") < names.index("install")
    assert made[0] == ["apt-get", "update"] and made[1][:2] == ["apt-get", "install"]


def test_the_installed_worker_runs_jobs_and_ends_at_its_stop_signal(tmp_path):
    (pip,) = (words for words in commands() if words[0] == "pip")
    assert pip[-1] == "pushsalt[nats]"
    wheel = distributions.build(ROOT, "wheel", tmp_path / "wheel")
    distributions.run(sys.executable, "-m", "venv", tmp_path / "venv", folder=tmp_path)
    words = ["install", "--quiet", f"{wheel}[nats]"]
    distributions.run(tmp_path / "venv/bin/pip", *words, folder=tmp_path, HOME=distributions.HOME)
    values = dict(instructions())
    project = Project(tmp_path, {"l1": {"transport": "local", "site": "berlin"}})
    assert project.run("worker", "init", "berlin", timeout=PATIENCE).code == 0
    mounted = read_only(project.folder / "worker-berlin", tmp_path / "mounted")
    places = {"/etc/pushsalt/worker": mounted, "/var/cache/pushsalt": tmp_path / "volume"}
    entry = [str(places.get(word, word)) for word in json.loads(values["ENTRYPOINT"])]
    entry[0] = str(tmp_path / "venv/bin" / entry[0])
    log = tmp_path / "log"
    with NatsServer(tmp_path / "nats", project.folder / "workers/nats.conf") as server, log.open("wb") as stream:
        environment = {"HOME": str(project.home), "PATH": "/usr/bin:/bin"}
        worker = subprocess.Popen(
            [*entry, "--workers", server.url], cwd=tmp_path, env=environment, stdout=stream, stderr=stream
        )
        try:
            done = project.json("run", "l1", "test.ping", "--workers", server.url, timeout=PATIENCE)
            assert (done.code, done.data) == (0, {"l1": True}), done.err
            until(lambda: "is ready" in log.read_text())
            worker.send_signal(getattr(signal, values["STOPSIGNAL"]))
            assert worker.wait(PATIENCE) == 0, log.read_text()
        finally:
            worker.kill()
            worker.wait()


def read_only(source: Path, target: Path) -> Path:
    """A read-only copy of a folder, as it is mounted into the container."""
    shutil.copytree(source, target)
    for path in (target, *target.rglob("*")):
        path.chmod(0o500 if path.is_dir() else 0o400)
    return target
