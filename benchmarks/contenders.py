"""The compared tools: how each does a task, and how its output shows success.

Every tool gets the same targets, key and known hosts, a home of its own, the same number of concurrent connections, and
the settings that its own documentation recommends for speed.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from fleet import Fleet
from peers import Venvs

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
#: Concurrent connections of every tool.
WIDTH = 50
FILES = 50
PLACE = "/srv/bench"
PUSHSALT = [sys.executable, "-m", "pushsalt"]

#: Starts an interpreter as pushsalt must, and prints the output of ``hostname``.
PYTHON_HOSTNAME = "python3 -I -S -c 'import os; print(os.uname()[1])'"
#: The same, by the program that ``cmd.run`` starts.
PYTHON_RUNS_HOSTNAME = "python3 -I -S -c 'import os; os.system(\"hostname\")'"
PYTHON_STAT = (
    f"python3 -I -S -c 'import os; print(sum(os.stat(f\"{PLACE}/{{n:02}}.conf\").st_size > 0 for n in range({FILES})))'"
)


@dataclass(frozen=True)
class Contender:
    """``done(output)`` says whether the task succeeded. A ``heavy`` one runs in fewer rounds."""

    name: str
    argv: Sequence[str | Path]
    done: Callable[[str], bool]
    heavy: bool = False
    env: dict[str, str] = field(default_factory=dict)


def environment(home: Path) -> dict[str, str]:
    """A minimal environment: no agent, no settings of the user."""
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {**inherited, "HOME": str(home), "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT), "TERM": "dumb"}


def _times(text: str, count: int) -> Callable[[str], bool]:
    return lambda output: output.count(text) >= count


# --- one command on every target


def commands(fleet: Fleet, venvs: Venvs) -> list[Contender]:
    """``hostname`` on every target."""
    everywhere = _times(socket.gethostname(), len(fleet))
    loop = [sys.executable, HERE / "loop.py", fleet.json, str(WIDTH)]
    xargs = ["xargs", "-a", fleet.ids, "-P", str(WIDTH), "-I{}", "ssh", "-F", fleet.ssh_config, "{}", "hostname"]
    adhoc = ["-i", fleet.ansible, "-f", str(WIDTH), "-m", "command", "-a", "hostname", "all"]
    return [
        Contender("pushsalt run", pushsalt(fleet, "run", "*", "cmd.run", "hostname", "--out", "json"), everywhere),
        # as pyinfra's exec, without a Python on the target
        Contender("pushsalt run --raw", pushsalt(fleet, "run", "--raw", "*", "hostname", "--out", "json"), everywhere),
        Contender("asyncssh loop, python3 -I -S", [*loop, PYTHON_HOSTNAME], everywhere),
        Contender("asyncssh loop, python3 that runs hostname", [*loop, PYTHON_RUNS_HOSTNAME], everywhere),
        Contender("asyncssh loop, hostname", [*loop, "hostname"], everywhere),
        Contender("xargs -P ssh", xargs, everywhere),
        Contender("pyinfra exec", _pyinfra(fleet, venvs, "exec", "--", "hostname"), everywhere, heavy=True),
        Contender("ansible -m command", [venvs.bin("ansible", "ansible"), *adhoc], everywhere, True, _ansible(fleet)),
        Contender(
            "ansible + mitogen", [venvs.bin("mitogen", "ansible"), *adhoc], everywhere, True, _mitogen(fleet, venvs)
        ),
        Contender("salt-ssh", _salt_ssh(fleet, venvs, "cmd.run", "hostname"), everywhere, heavy=True),
    ]


def pushsalt(fleet: Fleet, *arguments: str, cache: str = "cache") -> list[str | Path]:
    return [*PUSHSALT, "-i", fleet.native, "-c", _config(fleet), "--cache-dir", fleet.work / cache, *arguments]


# --- fifty unchanged files


def states(fleet: Fleet, venvs: Venvs) -> list[Contender]:
    """Fifty ``file.managed`` with source, owner and mode, without changes (after the first round)."""
    count = FILES * len(fleet)
    playbook = ["-i", fleet.ansible, "-f", str(WIDTH), _playbook(fleet)]
    recap = re.compile(rf": ok={FILES} +changed=0 ")

    def unchanged(output: str) -> bool:
        return output.count('"result": true') >= count and output.count('"changes": {}') >= count

    def in_order(output: str) -> bool:
        return len(recap.findall(output)) == len(fleet)

    return [
        Contender("pushsalt apply", pushsalt(fleet, "apply", "*", "bench", "--out", "json"), unchanged),
        Contender(
            "asyncssh loop, python3 that stats the files",
            [sys.executable, HERE / "loop.py", fleet.json, str(WIDTH), PYTHON_STAT],
            _times(f"{FILES}\n", len(fleet)),
        ),
        Contender("pyinfra", _pyinfra(fleet, venvs, _deploy(fleet)), _times("] No changes", count), heavy=True),
        Contender(
            "ansible + mitogen",
            [venvs.bin("mitogen", "ansible-playbook"), *playbook],
            in_order,
            True,
            _mitogen(fleet, venvs),
        ),
        Contender("ansible", [venvs.bin("ansible", "ansible-playbook"), *playbook], in_order, True, _ansible(fleet)),
        Contender(
            "salt-ssh", _salt_ssh(fleet, venvs, "state.apply", "bench", "--out=json", "--static"), unchanged, heavy=True
        ),
    ]


def _sources(fleet: Fleet) -> Path:
    """The fifty files and the SLS that manages them."""
    tree = fleet.work / "tree"
    if not tree.exists():
        (tree / "files").mkdir(parents=True)
        high = {}
        for number in range(FILES):
            (tree / "files" / f"{number:02}.conf").write_text(f"# file {number}\n" + "setting = value\n" * 20)
            arguments = {"source": f"salt://files/{number:02}.conf", "user": "root", "group": "root", "mode": "0644"}
            high[f"{PLACE}/{number:02}.conf"] = {
                "file.managed": [{name: value} for name, value in {**arguments, "makedirs": True}.items()]
            }
        (tree / "bench.sls").write_text(yaml.safe_dump(high, sort_keys=False))
    return tree


def _config(fleet: Fleet) -> Path:
    path = fleet.work / "pushsalt.yaml"
    path.write_text(yaml.safe_dump({"file_roots": {"base": [str(_sources(fleet))]}}))
    return path


def _playbook(fleet: Fleet) -> Path:
    tasks: list[dict[str, object]] = []
    for number in range(FILES):
        source = str(_sources(fleet) / "files" / f"{number:02}.conf")
        copy = {"src": source, "dest": f"{PLACE}/{number:02}.conf", "owner": "root", "group": "root", "mode": "0644"}
        tasks.append({"name": f"file {number}", "ansible.builtin.copy": copy})
    path = fleet.work / "playbook.yaml"
    path.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
    return path


def _deploy(fleet: Fleet) -> Path:
    path = fleet.work / "deploy.py"
    path.write_text(
        "from pyinfra.operations import files\n"
        f"for number in range({FILES}):\n"
        f"    files.put(src=f'{_sources(fleet)}/files/{{number:02}}.conf', dest=f'{PLACE}/{{number:02}}.conf',\n"
        "              user='root', group='root', mode='0644')\n"
    )
    return path


# --- calls of each tool


def _pyinfra(fleet: Fleet, venvs: Venvs, *arguments: str | Path) -> list[str | Path]:
    return [venvs.bin("pyinfra", "pyinfra"), "--parallel", str(WIDTH), "-y", fleet.pyinfra, *arguments]


def _ansible(fleet: Fleet) -> dict[str, str]:
    return {
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3",
        "ANSIBLE_SSH_COMMON_ARGS": f"-F {fleet.ssh_config}",
        "ANSIBLE_LOCAL_TEMP": str(fleet.work / "ansible"),
        "ANSIBLE_NOCOLOR": "1",
    }


def _mitogen(fleet: Fleet, venvs: Venvs) -> dict[str, str]:
    plugins = venvs.site_packages("mitogen") / "ansible_mitogen" / "plugins" / "strategy"
    return {**_ansible(fleet), "ANSIBLE_STRATEGY_PLUGINS": str(plugins), "ANSIBLE_STRATEGY": "mitogen_linear"}


def _salt_ssh(fleet: Fleet, venvs: Venvs, *arguments: str) -> list[str | Path]:
    folder = fleet.work / "salt"
    folder.mkdir(exist_ok=True)
    options = {
        "root_dir": str(folder),
        "pki_dir": str(folder / "pki"),
        "cachedir": str(folder / "cache"),
        "log_file": str(folder / "log"),
        "ssh_log_file": str(folder / "ssh-log"),
        "ssh_max_procs": WIDTH,
        "file_roots": {"base": [str(_sources(fleet))]},
    }
    (folder / "master").write_text(yaml.safe_dump(options))
    return [venvs.bin("salt", "salt-ssh"), "-c", folder, "--roster-file", fleet.roster, "*", *arguments]
