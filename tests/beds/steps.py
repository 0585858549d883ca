"""Sequences of states on a booted Debian machine, compared with recorded returns.

A case file (``tests/cases/thin/states/*.yaml``) is a list of steps, run in order on a fresh machine: ``state`` (with
``args`` and ``test``), ``call`` of an execution function, or ``sh`` (drift between them). ``want`` is the expected
outcome: ``result``, ``changes`` and ``comment`` of a state, the return of a call, the output of a command. Real Salt
gives the same, except where ``because`` says what Salt gives instead.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.beds.machines import Machine, MachineBed

HERE = Path(__file__).resolve().parent
THIN = HERE.parents[1] / "thin"
CASES = HERE.parent / "cases" / "thin" / "states"

UNIT = """[Unit]
Description=nothing
[Service]
ExecStart=/bin/sleep 100000
ExecReload=/bin/true
[Install]
WantedBy=multi-user.target
Alias=svcalias.service
"""
FAILING_UNIT = "[Service]\nType=oneshot\nExecStart=/bin/false\n[Install]\nWantedBy=multi-user.target\n"
INIT_SCRIPT = """#!/bin/sh
### BEGIN INIT INFO
# Provides: sysvsvc
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
# Short-Description: x
### END INIT INFO
case "$1" in
    start) touch /run/sysvsvc.on;;
    stop) rm -f /run/sysvsvc.on;;
    status) test -e /run/sysvsvc.on;;
esac
"""

#: (name, version, more control lines, files, postinst)
PACKAGES: list[tuple[str, str, str, dict[str, str], str]] = [
    *(("alpha", v, "", {"/etc/alpha.conf": f"v {v}\n", "/usr/share/a/x": v}, "") for v in ("1.0", "1.1", "1.2~rc1")),
    ("beta", "2:1.5-1", "Depends: alpha\nProvides: beta-virtual (= 1.5), another-virtual\n", {}, ""),
    ("gamma", "1.0", "", {}, ""),
    ("delta", "0.1", "", {}, ""),
    ("delta", "0.2", "", {}, ""),
    ("broken", "1.0", "", {}, "#!/bin/sh\necho 'boom: no such luck' >&2\nexit 1\n"),
    ("unmet", "1.0", "Depends: nowhere-to-be-found\n", {}, ""),
    ("asker", "1.0", "Depends: debconf\n", {}, "#!/bin/sh\n. /usr/share/debconf/confmodule\ndb_get asker/q || true\n"),
    ("svc", "1.0", "", {"/lib/systemd/system/svc.service": UNIT}, ""),
    ("badsvc", "1.0", "", {"/lib/systemd/system/badsvc.service": FAILING_UNIT}, ""),
    ("sysvsvc", "1.0", "", {"/etc/init.d/sysvsvc": INIT_SCRIPT}, "#!/bin/sh\nchmod +x /etc/init.d/sysvsvc\n"),
]


def load(name: str, folder: Path = CASES) -> list[dict[str, Any]]:
    """Load the steps of a case file. ``TODAY`` in it is replaced by the number of days since 1970, as in
    /etc/shadow.
    """
    text = (folder / f"{name}.yaml").read_text(encoding="utf-8")
    steps: list[dict[str, Any]] = yaml.safe_load(text.replace("TODAY", str(int(time.time()) // 86400)))
    return steps


@contextmanager
def machine_with_thin(suite: str = "bookworm") -> Iterator[Machine]:
    """A booted machine with the runtime's files and a repository of small packages."""
    with MachineBed() as bed:
        machine = bed.boot("steps", suite)
        place = machine.root / "opt" / "steps"
        place.mkdir(parents=True)
        shutil.copy(HERE / "run_steps.py", place)
        shutil.copytree(THIN, place / "thin", ignore=shutil.ignore_patterns("__pycache__"))
        _repository(machine.root / "srv" / "repo")
        (machine.root / "etc/apt/sources.list").write_text("deb [trusted=yes] file:/srv/repo ./\n")
        shutil.rmtree(machine.root / "etc/apt/sources.list.d", ignore_errors=True)
        machine.shell("apt-get -q update")
        yield machine


def take(machine: Any, steps: list[dict[str, Any]]) -> list[Any]:
    """Run the steps; returns the outcome of each."""
    asked = [{key: value for key, value in step.items() if key not in ("want", "because")} for step in steps]
    (machine.root / "opt/steps/asked").write_text(repr(asked), encoding="utf-8")
    # log output of modules must not get into the answer
    text = machine.shell("cd / && python3 -I -S /opt/steps/run_steps.py < /opt/steps/asked 2> /opt/steps/errors")
    came: list[Any] = ast.literal_eval(text.split("@@@", 1)[1])
    return came


def _repository(folder: Path) -> None:
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        for number, package in enumerate(PACKAGES):
            _build(Path(scratch) / str(number), folder, *package)
    with open(folder / "Packages", "wb") as index:
        command = ["apt-ftparchive", "packages", "."]
        subprocess.run(command, cwd=folder, stdout=index, stderr=subprocess.DEVNULL, check=True)


def _build(tree: Path, out: Path, name: str, version: str, control: str, files: dict[str, str], postinst: str) -> None:
    (tree / "DEBIAN").mkdir(parents=True)
    about = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: T <t@example.org>\n"
    (tree / "DEBIAN/control").write_text(f"{about}{control}Description: test {name}\n long text\n")
    for path, text in files.items():
        file = tree / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    configuration = [path for path in files if path.startswith("/etc/")]
    if configuration:
        (tree / "DEBIAN/conffiles").write_text("\n".join(configuration) + "\n")
    if postinst:
        (tree / "DEBIAN/postinst").write_text(postinst)
        (tree / "DEBIAN/postinst").chmod(0o755)
    target = out / f"{name}_{version.replace(':', '%3a')}_all.deb"
    subprocess.run(["dpkg-deb", "-b", "--root-owner-group", tree, target], stdout=subprocess.DEVNULL, check=True)


def check(machine: Any, name: str, folder: Path = CASES) -> None:
    """Run the steps of a case file and compare; one failure names all differences.

    ``machine``: a Machine, or an object with its own ``take`` (tests/beds/foreign.py).
    """
    steps = load(name, folder)
    came = take(machine, steps) if isinstance(machine, Machine) else machine.take(steps)
    wrong = [
        f"{number}: {_shown(step)}\n  want {step['want']}\n  came {ret}"
        for number, (step, ret) in enumerate(zip(steps, came, strict=True))
        if ret != step["want"]
    ]
    if not wrong:
        return
    log = machine.root / "opt/steps/errors"
    logged = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    raise AssertionError("\n".join([*wrong, "logged:", logged]))


def _shown(step: dict[str, Any]) -> str:
    return str({key: value for key, value in step.items() if key not in ("want", "because")})
