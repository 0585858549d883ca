"""Values hidden by `no_log` and `show_changes: false` appear in no return, event, log or cache."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.beds.project import Project, values

pytestmark = pytest.mark.slow

SLS = """
{folder}/no_log:
  file.managed:
    - contents: hush-no-log
    - no_log: true
    - fire_event: true
    - order: 1
{folder}/hidden:
  file.managed:
    - contents: hush-hidden
    - show_changes: false
    - new_file_diff: true
    - fire_event: true
{folder}/replaced:
  file.replace:
    - pattern: old
    - repl: hush-replaced
    - show_changes: false
    - ignore_if_missing: true
{folder}/appended:
  file.append:
    - text: hush-appended
    - no_log: true
run it:
  cmd.run:
    - name: echo hush-output
    - no_log: true
again:
  cmd.run:
    - name: printf 'hush%s' -retried
    - no_log: true
    - retry: {{attempts: 2, interval: 1, until: false}}
beside:
  cmd.run:
    - name: echo hush-parallel
    - no_log: true
    - parallel: true
{folder}/tree:
  file.recurse:
    - source: salt://tree
    - show_changes: false
    - new_file_diff: true
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path, {"it": {"transport": "local", "thin_dir": str(tmp_path / "thin")}})
    project.write("salt/it.sls", SLS.format(folder=tmp_path / "made"))
    project.write("salt/tree/secret", "hush-tree\n")
    (tmp_path / "made").mkdir()
    for name in ("hidden", "no_log", "replaced"):
        (tmp_path / "made" / name).write_text("old\n")
    return project


@pytest.mark.parametrize("out", ["rich", "json", "yaml", "ndjson"])
def test_hidden_values_are_in_no_output_log_or_cache(project: Project, tmp_path: Path, out: str) -> None:
    for options in (["--test"], [], []):
        done = project.run("apply", "--out", out, "-vv", "it", "it", *options)
        assert done.code == 0, done.out + done.err
        assert "hush" not in done.out.replace("echo hush-", "").replace("printf 'hush", "")
        assert "hush" not in done.err
    assert (tmp_path / "made" / "no_log").read_text() == "hush-no-log\n"
    assert (tmp_path / "made" / "hidden").read_text() == "hush-hidden\n"
    files = [path for top in (project.cache, tmp_path / "thin") for path in top.rglob("*") if path.is_file()]
    assert files
    for path in files:
        # the names of the states are in their events, as they are in the output
        data = path.read_bytes().replace(b"echo hush-", b"").replace(b"printf 'hush", b"")
        leaked = re.findall(rb"hush-(?!tree)[a-z-]+", data)
        assert not leaked, f"{path}: {leaked}"  # the file of the tree is cached as a source


def test_hidden_changes_are_replaced(project: Project) -> None:
    rets = {ret["__id__"].rpartition("/")[2]: ret for ret in values(project.json("apply", "it", "it").data["it"])}
    assert rets["hidden"]["changes"]["diff"] == "<show_changes=False>"
    assert rets["replaced"]["changes"] == {"diff": True}, "as in Salt"
    assert rets["no_log"]["changes"] == {"diff": "**********"} and rets["no_log"]["comment"] == "**********"
    assert set(rets["run it"]["changes"].values()) <= {"**********", "", 0}
    (tree,) = [change for name, change in rets["tree"]["changes"].items() if name.endswith("secret")]
    assert "hush" not in json.dumps(tree)


PKGS = """
one: {pkg.installed: [{name: pushsalt-none-1}, {test: x}]}
two: {pkg.installed: [{name: pushsalt-none-2}]}
three: {pkg.installed: [{pkgs: [pushsalt-none-3, {pushsalt-none-4: '1.0'}]}]}
four: {pkg.removed: [{name: pushsalt-none-5}]}
five: {pkg.installed: [{name: pushsalt-none-6}, {fromrepo: other}]}
"""


@pytest.mark.parametrize("how", ["option", "option of pkg", "argument", "off"])
def test_packages_are_installed_together(tmp_path: Path, how: str) -> None:
    """A module records the calls in place of a package manager: the first state installs the packages of the others."""
    config = {"option": {"state_aggregate": True}, "option of pkg": {"state_aggregate": ["pkg"]}}.get(how, {})
    project = Project(tmp_path, {"it": {"transport": "local"}}, **config)
    project.write(
        "salt/_modules/aptpkg.py",
        """
__virtualname__ = "pkg"
def list_pkgs(*a, **k): return {}
def latest_version(*names, **k): return "1.0" if len(names) == 1 else dict.fromkeys(names, "1.0")
def check_db(*names, **k): return {name: {"found": True, "suggestions": []} for name in names}
def refresh_db(**k): return True
def version(*names, **k): return "" if len(names) == 1 else dict.fromkeys(names, "")
def list_repo_pkgs(*a, **k): return {}
def normalize_name(name): return name
def version_cmp(a, b, **k): return (a > b) - (a < b)
def install(name=None, pkgs=None, **k):
    wanted = sorted(next(iter(one)) if isinstance(one, dict) else one for one in pkgs or [name])
    __context__.setdefault("pushsalt_calls", []).append(wanted)
    return {one: {"old": "", "new": "1.0"} for one in wanted}
def calls(): return __context__["pushsalt_calls"]
""",
    )
    sls = PKGS.replace("{test: x}", "{order: 1}")
    if how == "argument":
        sls = re.sub(r"\]\}$", ", {aggregate: true}]}", sls, flags=re.MULTILINE)
    project.write("salt/it.sls", sls + "end: {module.run: [{name: pkg.calls}, {order: last}]}\n")
    done = values(project.json("apply", "it", "it").data["it"])
    (end,) = [ret for ret in done if ret["__id__"] == "end"]
    calls = next(iter(end["changes"].values()))
    first = ["pushsalt-none-1"] + ([] if how == "off" else [f"pushsalt-none-{number}" for number in (2, 3, 4)])
    assert calls[0] == first and ["pushsalt-none-6"] in calls, calls
