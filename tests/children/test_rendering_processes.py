"""Render processes: what data they have, what ends them, and what happens to other targets then."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pushsalt.api import Client, JobOptions, Selection, Settings
from pushsalt.children import codec, process
from pushsalt.children.child import Child, Work
from pushsalt.config import load_config
from pushsalt.minion.settings import for_rendering
from tests.beds.processes import cmdline
from tests.beds.project import Project

pytestmark = pytest.mark.slow

CANARY = "canary-4f1c9d"
OFFLINE = {"transport": "offline", "grains": {"os": "Debian"}}


def project(folder: Path, hosts: dict[str, Any], files: dict[str, str], **config: Any) -> Project:
    made = Project(folder, hosts, **config)
    made.files(files)
    return made


def client(made: Project) -> Client:
    return Client(Settings([made.folder / "inventory.yaml"], made.folder / "pushsalt.yaml", cache_dir=made.cache))


# --- what ends a rendering ---------------------------------------------------------------------------------------

LOOP = "{% for i in range(99999) %}"
SPINS = f"a:\n  test.nop: []\n{LOOP}{LOOP}{{% set x = i %}}{{% endfor %}}{{% endfor %}}\n"
FRIENDS = {f"ok{at}": OFFLINE for at in range(4)}


@pytest.mark.parametrize(
    "sls, words",
    [
        (SPINS, "rendering was not done after"),
        ("a: {{ ('a' * 2000000000) | length }}\n", "it needs more memory than `render_memory` allows"),
        (
            "{% set l = ['x' * 1000000] %}{% for i in range(30) %}{% do l.extend(l) %}{% endfor %}a: {{ l | join }}\n",
            "it needs more memory than `render_memory` allows",
        ),
        ("a: {{ 7 ** 99999999999 }}\n", "a power of more than"),
    ],
)
def test_a_template_that_spins_or_swells_is_an_error_of_its_target_with_file_and_line(
    tmp_path: Path, sls: str, words: str
) -> None:
    texts = {"salt/bad.sls": "# one\n" + sls, "salt/good.sls": "fine:\n  test.nop: []\n"}
    texts["salt/pick.sls"] = "include: [{{ 'bad' if opts.id == 'evil' else 'good' }}]\n"
    made = project(tmp_path, {"evil": OFFLINE, **FRIENDS}, texts, render_memory="256MiB")
    done = made.json("run", "--timeout", "8", "*", "state.show_low_sls", "pick", timeout=120)
    assert done.code == 2
    assert words in str(done.data["evil"]) and re.search(r"bad\.sls:[2-4]", str(done.data["evil"])), done.data["evil"]
    for id in FRIENDS:
        assert isinstance(done.data[id], list) and isinstance(done.data[id][0], dict), done.data[id]


REGEX = "{{ ('a' * 40 + 'b') | regex_match('(a|a)+$') }}\n"


@pytest.mark.parametrize(
    "way, place",
    [
        ("a regular expression", "salt/bad.sls:2"),
        ("a regular expression of what is known later", "salt/bad.sls:3"),
        ("a regular expression in a test", "salt/bad.sls:2"),
        ("a regular expression in a macro", "salt/macro.j2:3"),
        ("a regular expression behind a header", "salt/bad.sls:3"),
        ("Python", "salt/bad.sls:4"),
        ("the process dies", "salt/bad.sls:"),
        ("the process crashes", "salt/bad.sls:4"),
    ],
)
def test_what_cannot_be_interrupted_ends_with_its_process_and_the_others_go_on(
    tmp_path: Path, way: str, place: str
) -> None:
    bad = {
        "a regular expression": f"\na: {REGEX}",
        "a regular expression of what is known later": "{% set x = opts.id[:0] %}\n\na: "
        + REGEX.replace("(", "(x + ", 1),
        "a regular expression in a test": f"\n{{% if {REGEX[2:-3]} is none %}}a{{% endif %}}\n",
        "a regular expression in a macro": "{% from 'macro.j2' import m %}\n\na: {{ m() }}\n",
        "a regular expression behind a header": f'#jinja2: {{"trim_blocks": true}}\n{{% set a = 1 %}}\na: {REGEX}',
        "Python": "#!py\nimport re\ndef run():\n    re.match('(a|a)+$', 'a' * 40 + 'b')\n",
        "the process dies": "#!py\nimport os, signal\ndef run():\n    os.kill(os.getpid(), signal.SIGKILL)\n",
        "the process crashes": "#!py\nimport ctypes\ndef run():\n    ctypes.string_at(1)\n",
    }
    texts = {"salt/bad.sls": bad[way], "salt/good.sls": "fine:\n  test.nop: []\n"}
    texts["salt/macro.j2"] = f"{{% macro m() -%}}\n  b\n  {REGEX}{{%- endmacro %}}\n"
    texts["salt/pick.sls"] = "include: [{{ 'bad' if opts.id == 'evil' else 'good' }}]\n"
    made = project(tmp_path, {"evil": OFFLINE, **FRIENDS}, texts)
    done = made.json("run", "--timeout", "6", "*", "state.show_low_sls", "pick", timeout=120)
    ended = "the process that rendered it died" if "the process" in way else "its process was ended"
    assert ended in str(done.data["evil"]) and place in str(done.data["evil"]), done.data["evil"]
    assert done.code in (2, 3)
    for id in FRIENDS:
        assert isinstance(done.data[id], list) and isinstance(done.data[id][0], dict), done.data[id]


def test_a_stuck_rendering_without_time_limit_does_not_block_others(tmp_path: Path) -> None:
    """Without ``--timeout`` the command waits for that target until it is stopped, and all others have their
    results.
    """
    texts = {"salt/good.sls": "fine:\n  test.nop: []\n"}
    texts["salt/bad.sls"] = f"a: {REGEX}"
    texts["salt/pick.sls"] = "include: [{{ 'bad' if opts.id == 'evil' else 'good' }}]\n"
    hosts = {"evil": OFFLINE, **{f"ok{at}": OFFLINE for at in range(9)}}
    made = project(tmp_path, hosts, texts)
    process = made.start("run", "--out", "ndjson", "*", "state.show_low_sls", "pick")
    assert process.stdout is not None
    seen = set()
    for line in process.stdout:
        seen.update(json.loads(line))
        if len(seen) == 9:
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert seen == {f"ok{at}" for at in range(9)} and process.returncode == 130


def test_when_all_processes_are_killed_the_work_begins_anew(tmp_path: Path) -> None:
    lines = tmp_path / "marks"
    sls = f"a{{{{ salt['cmd.run']('echo x >> {lines}; sleep 2; echo -n b') }}}}:\n  test.nop: []\n"
    made = project(tmp_path, {"it": {"transport": "local"}}, {"salt/web.sls": sls})
    process = made.start("run", "--out", "json", "it", "state.show_low_sls", "web")
    until = time.monotonic() + 30
    while not lines.exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    starter = [pid for pid in children if b"children.starter" in cmdline(int(pid))]
    assert len(starter) == 1
    os.kill(int(starter[0]), signal.SIGKILL)
    done = made.finish(process, 40)
    assert done.data["it"][0]["__id__"] == "ab" and lines.read_text() == "x\nx\n"


def test_cached_pillar_does_not_exhaust_the_memory_of_a_process(tmp_path: Path) -> None:
    """Each target's pillar is cached for others: if memory is limited, a process is replaced before it runs out."""
    hosts = {f"h{at:02}": {**OFFLINE, "pillar": {"n": at}} for at in range(40)}
    sls = "{% set x = ['y' * 3000000] %}a{{ pillar.n }}:\n  test.nop:\n    - name: {{ x[0] }}{{ pillar.n }}\n"
    made = project(tmp_path, hosts, {"salt/web.sls": sls}, render_memory="64MiB")
    done = made.json("run", "*", "state.show_low_sls", "web", timeout=120)
    assert {id: low[0]["__id__"] for id, low in done.data.items()} == {id: f"a{int(id[1:])}" for id in hosts}


def test_somebodys_exit_is_an_error_of_that_sls(tmp_path: Path) -> None:
    made = project(tmp_path, {"it": OFFLINE}, {"salt/bad.sls": "#!py\nimport sys\ndef run():\n    sys.exit(0)\n"})
    done = made.json("run", "it", "state.show_low_sls", "bad")
    assert done.code == 2 and "SystemExit" in str(done.data["it"])


def test_targets_that_wait_for_answers_let_others_render(tmp_path: Path) -> None:
    sls = "a{{ salt['cmd.run']('sleep 1; echo -n b') }}:\n  test.nop: []\n"
    hosts = {f"h{at}": {"transport": "local", "thin_dir": str(tmp_path / f"d{at}")} for at in range(6)}
    made = project(tmp_path, hosts, {"salt/web.sls": sls})
    done = made.json("run", "*", "state.show_low_sls", "web", timeout=120)
    assert {id: low[0]["__id__"] for id, low in done.data.items()} == dict.fromkeys(hosts, "ab")


# --- what data a process has ----------------------------------------------------------------------------------------

#: Inspects everything in a process: its environment, its modules, its objects.
SEARCH = """#!py
import gc, os, sys

def run():
    words = [value for value in os.environ.values()]
    for thing in gc.get_objects():
        if isinstance(thing, (str, dict, list, tuple)):
            try:
                words.append(repr(thing) if not isinstance(thing, str) else thing)
            except Exception:
                pass
    own = "-".join(["canary", "4f1c9d"])
    found = sorted({word[max(0, word.find(own) - 40):][:90] for word in words if own in word})
    loaded = sorted({name.split(".")[0] for name in sys.modules} & {"asyncssh", "asyncio", "cryptography"})
    return {"found": {"test.configurable_test_state": [
        {"changes": False, "result": True, "comment": repr([found, loaded])}]}}
"""


def test_a_process_has_no_credential_and_nothing_of_the_inventory(tmp_path: Path) -> None:
    secret = {"passwd": f"{CANARY}-password", "sudo_password": f"{CANARY}-sudo", "priv_passwd": f"{CANARY}-phrase"}
    other = {"host": "192.0.2.7", "pillar": {"k": f"{CANARY}-pillar"}}
    hosts = {"it": {"transport": "local", **secret}, "other": other}
    config = {
        "vault.auth.token": f"{CANARY}-vault",
        "mysql.pass": f"{CANARY}-mysql",
        "ssh_passwd": f"{CANARY}-ssh",
        "gitfs_password": f"{CANARY}-git",
        "nacl.config": {"sk": f"{CANARY}-nacl"},
        "ext_pillar": [{"cmd_yaml": f"echo 'a: {CANARY}'| cut -c1-3"}],
    }
    made = project(tmp_path, hosts, {"salt/look.sls": SEARCH}, **config)
    made.variables = {"CI_TOKEN": f"{CANARY}-token", "SSH_AUTH_SOCK": CANARY}
    done = made.json("apply", "it", "look")
    [ret] = done.data["it"].values()
    assert ret["comment"] == repr([[], []])


def test_control_the_search_finds_existing_data(tmp_path: Path) -> None:
    hosts = {"it": {"transport": "local", "pillar": {"k": f"{CANARY}-own"}}}
    made = project(tmp_path, hosts, {"salt/look.sls": SEARCH})
    done = made.json("apply", "it", "look")
    [ret] = done.data["it"].values()
    assert f"{CANARY}-own" in ret["comment"]


def test_only_options_that_rendering_may_see_are_told(tmp_path: Path) -> None:
    remotes = [f"https://me:{CANARY}@h.example/a.git", {"https://h.example/b.git": [{"password": CANARY}]}]
    config = {
        "gitfs_remotes": remotes,
        "vault": {"token": CANARY},
        "ssh_priv_passwd": CANARY,
        "s3.key": CANARY,
        "roster_defaults": {"passwd": CANARY},
        "ext_pillar": [{"http_json": {"url": f"https://u:{CANARY}@h.example"}}],
    }
    (tmp_path / "pushsalt.yaml").write_text(json.dumps(config))
    told = for_rendering(load_config(tmp_path / "pushsalt.yaml"))
    assert CANARY not in repr(told)
    assert told["opts"]["ext_pillar"] == [{"http_json": [0]}]
    assert told["opts"]["gitfs_remotes"] == ["https://h.example/a.git", "https://h.example/b.git"]


def test_the_command_renders_nothing_itself(tmp_path: Path) -> None:
    """After a run with pillar, a template file and a text of the target, the command has not loaded a template
    engine.
    """
    file = f"{tmp_path}/out"
    sls = (
        f"{file}:\n  file.managed:\n    - source: salt://a.j2\n    - template: jinja\n"
        f"{file}2:\n  file.managed:\n    - contents: '{{{{ grains.id }}}}'\n    - template: jinja\n"
    )
    texts = {
        "salt/web.sls": "#!yaml\n" + sls,
        "salt/a.j2": "{{ pillar.k }}\n",
        "pillar/top.sls": "base: {'*': [k]}\n",
        "pillar/k.sls": "k: {{ grains.id }}\n",
    }
    made = project(tmp_path, {"it": {"transport": "local"}}, texts)
    code = (
        "import sys\nfrom pushsalt.api import Client, Selection, Settings\nfrom pathlib import Path\n"
        "settings = Settings([Path('inventory.yaml')], Path('pushsalt.yaml'))\n"
        "print(Client(settings).apply(Selection('it'), ['web'])['it'].exit_code)\n"
        "print(sorted({'jinja2', 'mako'} & set(sys.modules)))\n"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=made.folder, env=made.environment, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:2] == ["0", "[]"], done
    assert Path(file).read_text() == "it\n" and Path(f"{file}2").read_text().strip() == "it"


# --- whose data, and whose text ------------------------------------------------------------------------------------


def test_contents_of_foreign_values_are_rendered_with_that_targets_data_alone(tmp_path: Path) -> None:
    """A grain in ``contents`` with ``template: jinja``: its text reads data of its own target only, and cannot ask
    another.
    """
    evil = "{{ pillar.own }} {{ salt['mine.get']('*', 'x') }}"
    hosts = {
        "it": {"transport": "local", "grains": {"evil": evil}, "pillar": {"own": "mine"}},
        "other": {"transport": "offline", "pillar": {"own": CANARY}},
    }
    file = tmp_path / "out"
    sls = f"{file}:\n  file.managed:\n    - contents_grains: evil\n    - template: jinja\n"
    made = project(tmp_path, hosts, {"salt/web.sls": sls})
    done = made.json("apply", "it", "web")
    [ret] = done.data["it"].values()
    assert ret["result"] is False and "a text of the target's own cannot ask that" in ret["comment"]
    hosts["it"]["grains"]["evil"] = "{{ pillar.own }} {{ grains.id }}"
    made = project(tmp_path, hosts, {"salt/web.sls": sls})
    made.json("apply", "it", "web")
    assert file.read_text().strip() == "mine it"


@pytest.mark.parametrize("engine", ["py", "mako", "wempy", "jinja|py"])
def test_contents_are_never_rendered_by_an_engine_that_runs_python(tmp_path: Path, engine: str) -> None:
    file, made_by = tmp_path / "out", tmp_path / "ran"
    code = f"def run():\n    open({str(made_by)!r}, 'w')\n    return 'x'\n"
    sls = {f"{file}": {"file.managed": [{"contents": code}, {"template": engine}]}}
    made = project(tmp_path, {"it": {"transport": "local"}}, {"salt/web.sls": json.dumps(sls)})
    done = made.json("apply", "it", "web")
    [ret] = done.data["it"].values()
    assert ret["result"] is False and not made_by.exists() and not file.exists()
    assert "`contents` is Jinja" in ret["comment"]


def test_jobs_of_one_client_see_changed_files_and_leave_no_process(tmp_path: Path) -> None:
    made = project(tmp_path, {"it": OFFLINE}, {"salt/web.sls": "a:\n  test.nop: []\n"})
    ours = client(made)
    low = ours.run(Selection("it"), "state.show_low_sls", ["web"])["it"].ret
    assert low[0]["__id__"] == "a"
    made.write("salt/web.sls", "b:\n  test.nop: []\n")
    low = ours.run(Selection("it"), "state.show_low_sls", ["web"], options=JobOptions(timeout=30))["it"].ret
    assert low[0]["__id__"] == "b"
    pids = [child.pid for child in ours.project.pool._children]
    assert pids and all(pids)
    ours.project.pool.close()
    until = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < until, pids
        time.sleep(0.05)


# --- results -----------------------------------------------------------------------------------------------------


def test_the_values_of_a_pillar_come_before_all_that_only_names_them() -> None:
    """Two threads of a process return at the same time: the first one sends the values."""
    ours, theirs = socket.socketpair()
    child = Child(theirs)
    packed = threading.Event()
    pack = codec.pack

    def slow(message: Any) -> bytes:
        if message.get("pillar") is not None and not packed.is_set():
            packed.set()
            time.sleep(0.2)
        return pack(message)

    with ours, theirs, pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "pack", slow)
        first = threading.Thread(target=child._return, args=(Work({"n": 1, "h": 1}), {"known_pillar": (7, {"a": 1})}))
        first.start()
        packed.wait()
        child._return(Work({"n": 2, "h": 2}), {"known_pillar": (7, {"a": 1})})
        first.join()
        data, found = ours.recv(65536), []
    while data:
        size = int.from_bytes(data[: codec.HEAD], "big")
        found.append(codec.unpack(data[codec.HEAD : codec.HEAD + size])["pillar"])
        data = data[codec.HEAD + size :]
    assert found == [[7, {"a": 1}], [7]]


def test_a_result_that_makes_no_sense_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = project(tmp_path, {"it": OFFLINE}, {"salt/web.sls": "a:\n  test.nop: []\n"})
    failed = []
    take = process.Child._pillar

    def no_sense(self: Any, *pillar: Any) -> Any:
        if not failed:
            failed.append(pillar)
            raise KeyError("no such pillar")
        return take(self, *pillar)

    monkeypatch.setattr(process.Child, "_pillar", no_sense)
    ret = client(made).run(Selection("it"), "state.show_low_sls", ["web"])["it"]
    assert failed and ret.ret[0]["__id__"] == "a"
