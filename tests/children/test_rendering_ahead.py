"""States that are rendered ahead with cached grains: what is used of it, and that it has no effect besides."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pushsalt.api import Client, JobOptions, Selection, Settings
from pushsalt.children.pool import Pool
from pushsalt.run import rendered
from tests.beds.project import Project

pytestmark = pytest.mark.slow

PLAIN = "a {{ grains.id }} {{ grains.osrelease }} {{ pillar.get('k') }}:\n  test.nop: []\n"


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """(kind, whether the answer says that its result was memoized) of each work of the render processes.

    What is rendered ahead has more time than usual: these tests do not depend on the speed of the machine.
    """
    monkeypatch.setattr(rendered, "AHEAD_TIME", 60.0)
    ended: list[tuple[str, bool]] = []
    work = Pool.work

    async def noted(self: Pool, message: dict[str, Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
        result = await work(self, message, *args, **kwargs)
        ended.append((message["k"], "known" in result))
        return result

    monkeypatch.setattr(Pool, "work", noted)
    return ended


def project(folder: Path, sls: str, hosts: int = 1, **config: Any) -> Project:
    made = Project(folder, {f"t{at}": {"transport": "local"} for at in range(1, hosts + 1)}, **config)
    made.files({"salt/web.sls": sls})
    return made


def client(made: Project) -> Client:
    """A client without memoized results, as each command has one."""
    return Client(Settings([made.folder / "inventory.yaml"], made.folder / "pushsalt.yaml", cache_dir=made.cache))


def applied(made: Project, **options: Any) -> dict[str, Any]:
    """The return of ``t1`` by the name of each state."""
    returned = client(made).apply(Selection("t*"), ["web"], JobOptions(**options))["t1"]
    assert returned.shape == "states", returned.ret
    return {state["name"]: state for state in returned.ret.values()}


def test_a_target_with_equal_grains_uses_what_was_rendered_ahead(tmp_path: Path, works: list[Any]) -> None:
    made = project(tmp_path, PLAIN)
    first = applied(made)
    assert [kind for kind, _ in works] == ["call"]  # no cached grains
    works.clear()
    assert applied(made).keys() == first.keys()
    assert ("ahead", True) in works and sorted(kind for kind, _ in works) == ["ahead", "call"]


def test_one_target_of_a_job_is_rendered_ahead(tmp_path: Path, works: list[Any]) -> None:
    made = project(tmp_path, "a:\n  test.nop: []\n", hosts=4)
    applied(made)
    works.clear()
    applied(made)
    assert ("ahead", True) in works and sorted(kind for kind, _ in works) == ["ahead", *["call"] * 4]


def test_a_target_whose_grains_have_changed_is_rendered_anew(tmp_path: Path, works: list[Any]) -> None:
    made = project(tmp_path, PLAIN)
    first = applied(made)
    bank = client(made).project.grains
    bank.put("t1", {**bank.get("t1"), "osrelease": "0"})
    works.clear()
    assert applied(made).keys() == first.keys()
    assert sorted(works) == [("ahead", True), ("call", False)]


def test_changed_files_and_pillar_are_used(tmp_path: Path) -> None:
    made = project(tmp_path, PLAIN)
    made.files({"pillar/top.sls": "base: {'*': [k]}\n", "pillar/k.sls": "k: 1\n"})
    (first,) = applied(made)
    made.write("pillar/k.sls", "k: 2\n")
    (second,) = applied(made)
    assert (first[-2:], second[-2:]) == (" 1", " 2")
    assert next(iter(applied(made, pillar={"k": 3})))[-2:] == " 3"


EFFECTS = [
    "{% do salt['cmd.run']('echo once >> FILE') %}\na:\n  test.nop: []\n",
    "a {{ salt['cmd.run']('echo once | tee -a FILE', python_shell=True) }}:\n  test.nop: []\n",
]


@pytest.mark.parametrize("effect", EFFECTS)
def test_a_template_has_its_effects_once(tmp_path: Path, works: list[Any], effect: str) -> None:
    file = tmp_path / "effects"
    made = project(tmp_path / "p", effect.replace("FILE", str(file)))
    applied(made)
    works.clear()
    file.unlink()
    applied(made)
    assert ("ahead", False) in works
    assert file.read_text().split() == ["once"]


def test_python_runs_once(tmp_path: Path, works: list[Any]) -> None:
    file = tmp_path / "effects"
    text = f"#!py\ndef run():\n    open({str(file)!r}, 'a').write('once ')\n    return {{'a': {{'test.nop': []}}}}\n"
    made = project(tmp_path / "p", text)
    applied(made)
    works.clear()
    file.unlink()
    applied(made)
    assert sorted(works) == [("ahead", False), ("call", False)]
    assert file.read_text().split() == ["once"]


def test_an_external_pillar_is_asked_once(tmp_path: Path, works: list[Any]) -> None:
    file = tmp_path / "effects"
    command = {"cmd_yaml": f"sh -c 'echo once >> {file}; echo k: 1'"}
    made = project(tmp_path / "p", PLAIN, ext_pillar=[command])
    applied(made)
    works.clear()
    file.unlink()
    assert next(iter(applied(made)))[-2:] == " 1"
    assert ("ahead", False) in works
    assert file.read_text().split() == ["once"]


@pytest.mark.parametrize(
    "text, words",
    [
        ("{% do salt['log.warning']('said here') %}\na:\n  test.nop: []\n", "said here"),
        ("a:\n  test.nop: []\nb:\n  file.managed:\n    - name: /dev/null\n    - unless: 'true'\n    - moed: '1'\n", ""),
    ],
)
def test_each_warning_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, works: list[Any], text: str, words: str
) -> None:
    made = project(tmp_path, text, strict_arguments="warn")
    lines = []
    for _ in range(2):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            applied(made)
        lines.append([record.getMessage() for record in caplog.records if words in record.getMessage()])
    assert lines[0] == lines[1] and len(lines[0]) == 1
    assert ("ahead", False) in works


def test_an_error_is_reported_once_with_its_place(tmp_path: Path, works: list[Any]) -> None:
    made = project(tmp_path, "a:\n  test.nop: []\n")
    applied(made)
    made.write("salt/web.sls", "a: {{ nothing.there }}\n")
    returned = client(made).apply(Selection("t1"), ["web"])["t1"]
    assert returned.shape == "errors" and len(returned.ret) == 1 and "web.sls" in returned.ret[0]


def test_a_template_that_does_not_end_is_an_error_in_time(tmp_path: Path) -> None:
    made = project(tmp_path, "a:\n  test.nop: []\n")
    applied(made)
    loop = "{% for i in range(99999) %}"
    made.write("salt/web.sls", f"{loop}{loop}{{% set x = i %}}{{% endfor %}}{{% endfor %}}\n")
    returned = client(made).apply(Selection("t1"), ["web"], JobOptions(timeout=12))["t1"]
    assert "rendering was not done after" in str(returned.ret)


@pytest.mark.parametrize("options", [{"render_cache": False}, {"detach": False, "test": True}])
def test_without_memoized_results_nothing_is_rendered_ahead(
    tmp_path: Path, works: list[Any], options: dict[str, Any]
) -> None:
    made = project(tmp_path, PLAIN)
    applied(made)
    works.clear()
    applied(made, **options)
    kinds = sorted(kind for kind, _ in works)
    assert kinds == (["call"] if "render_cache" in options else ["ahead", "call"])


def test_functions_that_run_no_states_render_nothing_ahead(tmp_path: Path, works: list[Any]) -> None:
    made = project(tmp_path, PLAIN)
    applied(made)
    works.clear()
    client(made).run(Selection("t1"), "state.show_low_sls", ["web"])
    assert [kind for kind, _ in works] == ["call"]


def test_unchanged_grains_are_not_written_again(tmp_path: Path) -> None:
    made = project(tmp_path, PLAIN)
    applied(made)
    bank = client(made).project.grains
    (entry,) = (path for path in bank.path.iterdir() if not path.name.startswith("."))
    inode = entry.stat().st_ino
    assert "pid" not in bank.get("t1")
    applied(made)
    assert entry.stat().st_ino == inode


def test_a_starter_that_waits_knows_nothing_of_later_installations() -> None:
    """Its caches depend on files that do not change, or have their times in their keys."""
    code = (
        "from pushsalt import plugins\nfrom pushsalt.children import starter\nfrom pushsalt.modules import signatures\n"
        "starter.begin()\nstarter.warm()\n"
        "print(plugins._entry_points.cache_info().currsize, signatures._functions.cache_info().currsize)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "5"]  # of file, pkg, service, cmd and test
