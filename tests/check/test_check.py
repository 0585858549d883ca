"""What `check` examines, what it leaves out, and its output formats."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from pushsalt.check.formats import FORMATS, load
from pushsalt.check.rules import BY_NAME, RULES, codes
from pushsalt.check.runner import Options, Report, check
from pushsalt.check.systems import names, systems
from pushsalt.errors import UsageError
from pushsalt.events import Reporter
from pushsalt.job import Settings

SOUND = "a:\n  test.nop: []\n"


def tree(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def checked(cache: Path, *paths: Path, config: Path | None = None, **kwargs: Any) -> Report:
    return check(Settings(cache_dir=cache, config=config), Options(paths=paths, jobs=1, **kwargs), Reporter())


def rules_of(report: Report) -> list[str]:
    return [RULES[each.code].name for each in report.findings]


def test_formulas_are_found_below_a_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        tree(tmp_path / "all" / f"{name}-formula", **{f"{name}__init.sls": SOUND, "test__x.sls": "{{"})
    report = checked(tmp_path / "cache", tmp_path / "all")
    assert (report.trees, report.sls, report.findings) == (2, 2, [])


def test_a_file_stands_for_itself(tmp_path: Path) -> None:
    tree(tmp_path / "states", **{"web__init.sls": SOUND, "web__bad.sls": "a: {{ nothing }}\n"})
    assert checked(tmp_path / "cache", tmp_path / "states" / "web" / "init.sls").findings == []
    report = checked(tmp_path / "cache", tmp_path / "states" / "web" / "bad.sls")
    assert rules_of(report) == ["jinja-failed"]


def test_a_project_has_its_pillar_and_top_file(tmp_path: Path) -> None:
    project = tree(
        tmp_path / "site",
        **{
            "pushsalt.yaml": "file_roots: {base: [salt]}\npillar_roots: {base: [pillar]}\n",
            "salt__top.sls": "base:\n  '*':\n    - web\n    - gone\n",
            "salt__web.sls": "a:\n  test.nop:\n    - name: {{ pillar['port'] }}\n",
            "pillar__top.sls": "base:\n  'debian*':\n    - web\n",
            "pillar__web.sls": "port: 1\n",
        },
    )
    report = checked(tmp_path / "cache", project, config=project / "pushsalt.yaml", systems=("debian-13", "arch"))
    found = {RULES[each.code].name: each for each in report.findings}
    assert set(found) == {"unknown-sls", "jinja-failed", "pillar-without-default"}
    assert (found["unknown-sls"].path, found["unknown-sls"].line) == (str(project / "salt/top.sls"), 4)
    assert found["jinja-failed"].systems == ("arch",)  # Debian machines have that pillar


@pytest.mark.parametrize("path", ["nowhere", "empty", "notes.txt"])
def test_what_cannot_be_checked_is_said(path: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(UsageError, match=path):
        checked(tmp_path / "cache", tmp_path / path)


def test_an_sls_that_others_make_whole_is_no_error(tmp_path: Path) -> None:
    folder = tree(
        tmp_path / "app-formula",
        app__init_DOT_sls="include:\n  - app.part\nbase:\n  test.nop: []\n".replace("_DOT_", "."),
        **{"app__part.sls": "part:\n  test.nop:\n    - require:\n      - test: base\n"},
    )
    report = checked(tmp_path / "cache", folder)
    assert rules_of(report) == ["not-alone"]
    assert report.count("error") == 0


def test_what_a_machine_must_answer_is_no_error(tmp_path: Path) -> None:
    text = "{% set found = salt['cmd.run']('lsblk -J') %}\na:\n  test.nop:\n    - name: {{ (found | load_json).x }}\n"
    report = checked(tmp_path / "cache", tree(tmp_path / "s", **{"x.sls": text}))
    assert rules_of(report) == ["commands-in-jinja", "needs-target"]
    assert report.count("error") == 0


@pytest.mark.parametrize(
    "text",
    [
        "a:\n  test.nop:\n    - name: {{ pillar['x'] }} # pushsalt: ignore[PS303, PS102]\n",
        "a:\n  test.nop:\n    # pushsalt: ignore[pillar-without-default, PS102]\n    - name: {{ pillar['x'] }}\n",
        "# pushsalt: ignore-file[PS*]\na:\n  test.nop:\n    - name: {{ pillar['x'] }}\n",
        "a:\n  test.nop:\n    - name: {{ pillar['x'] }} {# pushsalt: ignore #}\n",
    ],
)
def test_findings_are_ignored_where_the_source_says_so(text: str, tmp_path: Path) -> None:
    assert checked(tmp_path / "cache", tree(tmp_path / "s", **{"x.sls": text})).findings == []


def test_the_configuration_gives_levels(tmp_path: Path) -> None:
    project = tree(
        tmp_path / "site",
        **{
            "pushsalt.yaml": "file_roots: {base: [salt]}\n"
            "check: {systems: [arch], levels: {PS310: error, PS30*: off}}\n",
            "salt__x.sls": "# {{ 1 }}\na:\n  cmd.run:\n    - name: date\n",
        },
    )
    report = checked(tmp_path / "cache", project, config=project / "pushsalt.yaml")
    assert [(each.code, each.level) for each in report.findings] == [("PS310", "error")]
    assert report.systems == ["arch"]


@pytest.mark.parametrize(
    "text",
    [
        "{% if 'x' in pillar %}{{ pillar['x'] }}{% endif %}",
        "{{ pillar['x'] if pillar.get('x') else '' }}",
        "{{ pillar['x'] | default('') }}",
        "{{ pillar.get('x', '') }}",
        "{% if pillar.x is defined %}{{ pillar.x }}{% endif %}",
        "{# {{ pillar['x'] }} #}",
    ],
)
def test_pillar_that_is_asked_for_first_is_fine(text: str, tmp_path: Path) -> None:
    report = checked(tmp_path / "cache", tree(tmp_path / "s", **{"x.sls": f"{text}\n"}))
    assert "pillar-without-default" not in rules_of(report)


def test_what_was_found_is_kept_until_something_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tree(tmp_path / "s", **{"x.sls": "a: {{ nothing }}\n"})
    cache = tmp_path / "cache"
    first = checked(cache, folder)
    import pushsalt.check.runner as runner

    worked: list[str] = []
    real = runner.run_task
    monkeypatch.setattr(runner, "run_task", lambda task, *a: worked.append(task.system) or real(task, *a))
    assert checked(cache, folder).findings == first.findings
    assert worked == []
    (folder / "x.sls").write_text("a: test.nop\n")
    assert checked(cache, folder).findings == []
    assert len(worked) == len(names())


def test_systems_are_named_by_globs_and_files(tmp_path: Path) -> None:
    assert list(systems(("ubuntu-*",))) == ["ubuntu-24.04"]
    (tmp_path / "mine.json").write_text('{"web1": {"os_family": "Debian", "os": "Devuan"}}')
    assert systems((str(tmp_path / "mine.json"),))["mine"]["os"] == "Devuan"
    with pytest.raises(UsageError, match="debain"):
        systems(("debain-13",))


def test_grains_are_whole() -> None:
    keys = [{key for key in grains if key not in ("systemd", "init", "selinux")} for grains in systems().values()]
    common = set.intersection(*keys)
    assert {"os", "os_family", "kernel", "ipv4", "fqdn", "id", "host", "saltversioninfo", "cpuarch"} <= common
    assert len({grains["id"] for grains in systems().values()}) == len(names())


def test_rules_are_named_by_globs() -> None:
    assert codes(["PS31*"]) == {"PS310", "PS311"}
    assert codes(["mode"]) == {BY_NAME["mode"].code}
    with pytest.raises(UsageError, match="PS999"):
        codes(["PS999"])


def test_rules_are_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "check.md").read_text()
    for rule in RULES.values():
        assert f"| {rule.code} | `{rule.name}` | {rule.level} | {rule.text} |" in text


@pytest.fixture
def report(tmp_path: Path) -> Report:
    files = {"x.sls": "# {{ 1 }}\na:\n  test.nop:\n    - name: {{ nothing }}\n", "é & <y>.sls": "a: {{\n"}
    return checked(tmp_path / "cache", tree(tmp_path / "s", **files))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_every_finding(name: str, report: Report, tmp_path: Path) -> None:
    text = load(name).render(report, str(tmp_path), False)
    for each in report.findings:
        assert each.code in text


def test_json(report: Report, tmp_path: Path) -> None:
    data = json.loads(load("json").render(report, str(tmp_path), False))
    assert data["summary"]["error"] == 2
    (failed,) = [each for each in data["findings"] if each["name"] == "jinja-failed"]
    assert (failed["path"], failed["line"], failed["column"], failed["systems"]) == ("s/x.sls", 4, 5, names())


def test_sarif(report: Report, tmp_path: Path) -> None:
    (run,) = json.loads(load("sarif").render(report, str(tmp_path), False))["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]}
    assert uris == {"s/x.sls", "s/%C3%A9%20%26%20%3Cy%3E.sls"}


def test_junit(report: Report, tmp_path: Path) -> None:
    suite = ET.fromstring(load("junit").render(report, str(tmp_path), False).encode())
    assert suite.get("failures") == "2"
    assert {case.get("name") for case in suite} == {"s/x.sls", "s/é & <y>.sls"}


def test_github(report: Report, tmp_path: Path) -> None:
    lines = load("github").render(report, str(tmp_path), False).splitlines()
    assert any(line.startswith("::error file=s/x.sls,line=4,col=5,title=PS102 jinja-failed::") for line in lines)
    assert any(line.startswith("::warning file=s/x.sls,line=1,") for line in lines)


def test_the_command(tmp_path: Path) -> None:
    tree(tmp_path / "s", **{"x.sls": "a: {{ nothing }}\n", "y.sls": SOUND})

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pushsalt", "--cache-dir", str(tmp_path / "cache"), "check", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    failed = run("s")
    assert failed.returncode == 2, failed.stderr
    assert "s/x.sls" in failed.stdout
    assert "> 1 | a: {{ nothing }}" in failed.stdout
    assert "1 error: 1 tree, 2 SLS, 8 systems" in failed.stdout
    assert run("s/y.sls").returncode == 0
    assert run("s", "--ignore", "PS102").returncode == 0
    wrong = run("s", "--format", "sariff")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "sarif" in wrong.stderr
    assert run("--rules").stdout.count("\n") == len(RULES)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    states = tree(tmp_path / "states", **{"a.sls": SOUND})
    os.mkfifo(states / "b.sls")
    os.mkfifo(states / "c.jinja")
    (states / "d.sls").symlink_to(states / "gone")
    report = checked(tmp_path / "cache", states)
    assert (report.sls, report.findings) == (1, [])
    tree(states, **{"pushsalt.yaml": "file_roots: {base: [.]}\npillar_roots: {base: [p]}\n"})
    pillar = states / "p"
    pillar.mkdir()
    os.mkfifo(pillar / "x.sls")
    assert checked(tmp_path / "cache", states, config=states / "pushsalt.yaml").sls == 1


def test_what_does_not_compile_keeps_nothing_else_from_being_said(tmp_path: Path) -> None:
    text = (
        "a:\n  filee.managed:\n    - name: /tmp/a\n"
        "b:\n  file.managed:\n    - name: /tmp/b\n    - mode: 44\n    - require:\n      - file: gone\n"
        "c:\n  file.managed:\n    - requires:\n      - file: a\n"
    )
    report = checked(tmp_path / "cache", tree(tmp_path / "states", **{"init.sls": text}))
    found = [(RULES[each.code].name, each.line) for each in report.findings]
    assert found == [("unknown-state", 2), ("mode", 7), ("dangling-requisite", 9), ("misspelt-requisite", 12)]


FAILS = """\
{%- if grains.os_family in ('Alpine', $) %}
a: {{ nothing.at.all }}
{%- endif %}
b: {test.nop: []}
"""


@pytest.mark.parametrize(
    "said, fails_on, level",
    [
        ("os: Debian, Ubuntu\nos_family: Debian, Redhat\n", "Arch", "info"),
        ("os: [Debian]\nos_family: [Debian]\n", "Arch", "info"),
        ("os_family: Debian\n", "Debian", "error"),  # one of the claimed ones is enough
        ("os: Debian, Alpine\n", "Arch", "error"),
        ("name: app\n", "Arch", "error"),  # it claims none
        ("os: {\n", "Arch", "error"),  # no YAML
    ],
)
def test_what_fails_only_for_systems_that_a_formula_does_not_claim_is_a_note(tmp_path, said, fails_on, level):
    text = FAILS.replace("$", repr(fails_on))
    formula = tree(tmp_path / "app-formula", **{"app/init.sls": text, "FORMULA": said})
    (found,) = checked(tmp_path / "cache", formula).findings
    assert (found.code, found.level, found.line) == ("PS102", level, 2)
    assert ("does not name such systems" in found.hint) is (level == "info")


def test_grains_of_the_inventory_are_there(tmp_path: Path) -> None:
    texts = {
        "pushsalt.yaml": "file_roots: {base: [salt]}\npillar_roots: {base: [pillar]}\ninventory: [inventory.yaml]\n",
        "inventory.yaml": json.dumps(
            {
                "defaults": {"grains": {"site": {"name": "north"}}},
                "hosts": {
                    "web": {"host": "192.0.2.1", "grains": {"role": "web", "site": {"rack": 1}}},
                    "db": {"host": "192.0.2.2", "grains": {"role": "db", "engine": "pg", "os_family": "Debian"}},
                    "other": {"host": "192.0.2.3", "grains": {"os": "Debian", "os_family": "Debian", "debian_only": 1}},
                },
            }
        ),
        "salt/a.sls": "a: {test.nop: [x: [{{ grains.role }}, {{ grains.site.rack }}, {{ grains.site.name }}]]}\n",
        "salt/b.sls": "{% if grains.os == 'Debian' %}\nb: {test.nop: [{x: [{{ grains.engine }}, "
        "{{ grains.debian_only }}]}]}\n{% endif %}\n",
        "salt/c.sls": "{% if grains.os != 'Debian' and 'debian_only' in grains %}\nc: {{ nothing }}\n{% endif %}\n",
    }
    made = tree(tmp_path / "project", **texts)
    report = checked(tmp_path / "cache", made, config=made / "pushsalt.yaml")
    assert report.findings == [] and report.sls == 3
    (made / "inventory.yaml").write_text("hosts: {}")
    found = checked(tmp_path / "cache", made, config=made / "pushsalt.yaml").findings
    assert {(Path(each.path).name, each.code) for each in found} == {("a.sls", "PS102"), ("b.sls", "PS102")}
    (made / "inventory.yaml").write_text("hosts: [")  # reported by the code that needs the inventory
    assert checked(tmp_path / "cache", made, config=made / "pushsalt.yaml").findings == found


def test_templates_see_accumulators_and_arguments(tmp_path: Path) -> None:
    texts = {
        "a.sls": "/x:\n  file.managed: [source: salt://t, template: jinja, extra: 1, context: {c: 2}]\n"
        "acc:\n  file.accumulated: [filename: /x, text: [a, b], require_in: [file: /x]]\n",
        "t": "{{ extra }} {{ c }} {{ name }} {{ accumulator['acc'] | join }}\n",
    }
    assert checked(tmp_path / "cache", tree(tmp_path / "states", **texts)).findings == []
    tree(tmp_path / "states", t="{{ extra }} {{ accumulator['other'].nothing }}\n")
    (found,) = checked(tmp_path / "cache", tmp_path / "states").findings
    assert (RULES[found.code].name, found.path) == ("template", str(tmp_path / "states" / "t"))
