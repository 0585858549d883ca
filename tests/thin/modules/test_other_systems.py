"""Modules for other systems (FreeBSD, macOS, Red Hat without systemd), with outputs of their programs.

A file in tests/cases/thin/commands has ``source`` (the origin of the outputs; "synthetic": written after the manual),
``grains``, ``commands`` (the output of each command line: a text, or ``stdout``, ``stderr``, ``retcode``, and ``then``:
answers that change after it ran), ``files`` (below a folder that replaces ``{tmp}``), ``set`` (constants of modules),
``missing`` (programs that do not exist), ``manager`` (instead of this machine's service manager), and ``steps``:
``call`` or ``state`` with ``args``, ``kwargs``, ``test``; ``want`` is the expected return, ``raises`` the text of an
error, ``ran`` the commands that ran (without those of ``reading``), ``stdin`` the input of the last of them, ``file``
the expected content of a file.
"""

import grp
import pwd
from pathlib import Path

import pytest
import yaml

from thin.engine import Engine
from thin.exceptions import SaltException

CASES = Path(__file__).parents[2] / "cases" / "thin" / "commands"


class Programs:
    """Replaces ``cmd``: returns recorded outputs, and records the calls."""

    def __init__(self, case):
        self.answers = dict(case.get("commands") or {})
        self.missing = case.get("missing") or []
        self.ran = []
        self.stdin = None

    def run_all(self, cmd, **kwargs):
        command = cmd if isinstance(cmd, str) else " ".join(cmd)
        self.ran.append(command)
        self.stdin = kwargs.get("stdin")
        assert kwargs.get("python_shell") is False, f"{command}: by a shell"
        if command not in self.answers:
            raise AssertionError(f"not recorded: {command}")
        answer = self.answers[command]
        answer = {"stdout": answer} if not isinstance(answer, dict) else answer
        self.answers.update(answer.get("then") or {})
        result = {
            "stdout": "",
            "stderr": "",
            "retcode": 0,
            "pid": 1,
            **{k: v for k, v in answer.items() if k != "then"},
        }
        result["stdout"] = (result["stdout"] or "").rstrip("\n")
        return result

    def functions(self):
        def text(cmd, **kwargs):
            result = self.run_all(cmd, **kwargs)
            return "\n".join(part for part in (result["stdout"], result["stderr"]) if part)

        return {
            "cmd.run_all": self.run_all,
            "cmd.run": text,
            "cmd.run_stdout": lambda cmd, **kwargs: self.run_all(cmd, **kwargs)["stdout"],
            "cmd.retcode": lambda cmd, **kwargs: self.run_all(cmd, **kwargs)["retcode"],
            "cmd.which": lambda name: None if name in self.missing else f"/sbin/{name}",
            "cmd.has_exec": lambda name: name not in self.missing,
            "status.pid": lambda sig: "",
            "file.mkdir": lambda path, **kwargs: self.ran.append(f"mkdir {path}") or True,
            "file.remove": lambda path, **kwargs: self.ran.append(f"remove {path}") or True,
        }


def with_folder(tmp, value):
    """The value with ``{tmp}`` replaced."""
    if isinstance(value, str):
        return value.replace("{tmp}", str(tmp))
    if isinstance(value, dict):
        return {with_folder(tmp, key): with_folder(tmp, item) for key, item in value.items()}
    return [with_folder(tmp, item) for item in value] if isinstance(value, list) else value


def run_step(loaders, step):
    if "call" in step:
        return loaders.modules[step["call"]](*step.get("args", ()), **step.get("kwargs", {}))
    state, fun = step["state"].split(".")
    args = {"name": "x", **step.get("args", {})}
    low = {"state": state, "fun": fun, "__id__": args["name"], "__sls__": "t", "__env__": "base", "order": 1, **args}
    (ret,) = Engine(loaders).run([low]).values()
    return {key: ret[key] for key in ("result", "changes", "comment")}


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.yaml")))
def test_calls_and_states_with_recorded_output(name, make_loaders, tmp_path, monkeypatch):
    case = with_folder(tmp_path, yaml.safe_load((CASES / f"{name}.yaml").read_text(encoding="utf-8")))
    assert case["source"]
    monkeypatch.setattr("thin.process.which", lambda program: f"/sbin/{program}")
    for path, text in (case.get("files") or {}).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
        (tmp_path / path).chmod(0o755 if text.startswith("#!") else 0o644)
    accounts(monkeypatch, case)
    if "manager" in case:
        monkeypatch.setattr("thin.utils.system.initsystem.manager", lambda grains: case["manager"])
    programs = Programs(case)
    differences = []
    for number, step in enumerate(case["steps"]):
        loaders = make_loaders(grains=dict(case["grains"]), opts={"test": step.get("test", False)})
        for function, fake in programs.functions().items():
            loaders.modules[function]
            loaders.modules._functions[function] = fake
        for constant, value in (case.get("set") or {}).items():
            module, _, variable = constant.rpartition(".")
            loaders.modules.module(module)[variable] = value
        programs.ran, programs.stdin = [], None
        try:
            actual = run_step(loaders, step)
        except SaltException as exc:
            actual = {"raises": f"{type(exc).__name__}: {exc}"}
        expected = {"raises": step["raises"]} if "raises" in step else step.get("want")
        if actual != expected:
            differences.append(f"{number} {step}\n  returned {actual!r}")
        reading = set(case.get("reading") or ())
        ran = [command for command in programs.ran if command not in reading]
        if "ran" in step and ran != step["ran"]:
            differences.append(f"{number} {step}\n  ran {ran}")
        if "stdin" in step and programs.stdin != step["stdin"]:
            differences.append(f"{number} {step}\n  stdin {programs.stdin!r}")
        for path, text in step.get("file", {}).items():
            if (tmp_path / path).read_text(encoding="utf-8") != text:
                differences.append(f"{number} {step}\n  {path} {(tmp_path / path).read_text(encoding='utf-8')!r}")
    assert not differences, "\n".join(differences)


def accounts(monkeypatch, case):
    """The accounts of the C library: ``users`` and ``groups`` as lines of passwd and group."""
    if "users" not in case:
        return
    rows = [line.split(":") for line in case["users"].split()]
    users = [
        pwd.struct_passwd([*row[:2], int(row[2]), int(row[3]), row[4].replace("_", " "), *row[5:7]]) for row in rows
    ]
    rows = [line.split(":") for line in case["groups"].split()]
    groups = [grp.struct_group([*row[:2], int(row[2]), [name for name in row[3].split(",") if name]]) for row in rows]

    def finder(entries, index):
        def find(key):
            for entry in entries:
                if entry[index] == key:
                    return entry
            raise KeyError(key)

        return find

    def group_ids(name, gid):
        return [gid, *(group.gr_gid for group in groups if name in group.gr_mem)]

    monkeypatch.setattr("pwd.getpwall", lambda: users)
    monkeypatch.setattr("pwd.getpwnam", finder(users, 0))
    monkeypatch.setattr("grp.getgrall", lambda: groups)
    monkeypatch.setattr("grp.getgrnam", finder(groups, 0))
    monkeypatch.setattr("grp.getgrgid", finder(groups, 2))
    monkeypatch.setattr("os.getgrouplist", group_ids)
