"""The comparison of formulas: differences that it reports and accepts, with folders in place of machines; the files of
formulas, and the page.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.differential import changed, formulafiles, formularuns
from tests.differential.formulafiles import Accepted, Checkouts, FormulaCase, FormulaFile, load, load_all, locked
from tests.differential.pair import Pair, Side

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "formulas_compared.py"
_spec = importlib.util.spec_from_file_location("formulas_compared", SCRIPT)
assert _spec is not None and _spec.loader is not None
compared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(compared)

TAG = "file_|-a_|-/etc/a_|-managed"
LOW = [{"state": "file", "fun": "managed", "__id__": "a", "name": "/etc/a"}]
RET = {TAG: {"result": True, "changes": {"mode": "0644"}, "comment": "File /etc/a updated", "__run_num__": 0}}
UNITS = "package cron 3.0 ii\nunit cron.service enabled\nuser root:x:0:0:root:/root:/bin/bash\n"


class Folders(Pair):
    """Two folders in place of machines; ``outputs`` are the outputs of scripts in them."""

    outputs: dict[str, str]

    def shell(self, script: str, timeout: float = 120) -> dict[str, tuple[int, str]]:
        return {kind: (0, text) for kind, text in self.outputs.items()}


class FoldersBench(formularuns.FormulaBench):
    answers: tuple[object, object]

    def _both(self, opts, pillar, test):
        return (*self.answers, LOW)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Two machines in which a run has just written the same file."""
    monkeypatch.setattr(formularuns, "LOOKS", 1)
    pair = Folders(tmp_path, [], [], [])
    pair.outputs = {"salt": UNITS, "ours": UNITS}
    for kind in ("salt", "ours"):
        side = Side(kind, tmp_path / kind, f"none-{kind}")
        side.upper.mkdir(parents=True)
        side.root.symlink_to(side.upper)
        side.baseline = changed.snapshot(side.upper)
        (side.upper / "etc").mkdir()
        (side.upper / "etc/a").write_text("words\n")
        pair.sides[kind] = side
    bench = FoldersBench(FormulaFile(Path("some.yaml")), Path("python"), pair)
    bench.answers = (RET, RET)
    return bench


def run(bench: FoldersBench, *accepted: Accepted) -> formularuns.Run:
    case = FormulaCase(["some"], "one", sls="include: [some]", accepted=list(accepted))
    return bench._run("first", case)


def test_equal_machines_have_no_differences(bench):
    result = run(bench)
    assert (result.chunks, result.same, result.failed, result.wrong) == (1, 1, 0, [])


@pytest.mark.parametrize(
    ("change", "first"),
    [
        ({"result": False}, "file|a|/etc/a|managed"),
        ({"changes": {}}, "file|a|/etc/a|managed"),
        ({"comment": "made"}, "file|a|/etc/a|managed"),
    ],
)
def test_a_different_state_is_reported(bench, change, first):
    bench.answers = (RET, {TAG: {**RET[TAG], **change}})
    result = run(bench)
    assert [block.text.split("\n")[0] for block in result.wrong] == [first]
    assert (result.chunks, result.same) == (1, 0)


def test_a_failed_compilation_on_one_side_is_reported(bench):
    bench.answers = (RET, ["no such state"])
    result = run(bench)
    assert [block.text.split("\n")[0] for block in result.wrong] == ["one of them refuses it:"] and result.same == 0


@pytest.mark.parametrize("change", ["content", "mode", "absent", "more"])
def test_a_different_file_is_reported(bench, change):
    file = bench.pair.ours.upper / "etc/a"
    if change == "content":
        file.write_text("other words\n")
    elif change == "mode":
        file.chmod(0o600)
    elif change == "absent":
        file.unlink()
    else:
        file = bench.pair.ours.upper / "etc/b"
        file.write_text("more")
    result = run(bench)
    assert [block.text.split("\n")[0] for block in result.wrong] == [f"/etc/{file.name}"]
    assert result.states == []
    bench.formula = replace(bench.formula, left_out={"/etc/?": "a test"})
    assert run(bench).wrong == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("package cron 3.0 ii", "package cron 3.1 ii"),
        ("unit cron.service enabled", "unit cron.service disabled"),
        ("user root:x:0:0:root:/root:/bin/bash", "user root:x:0:0:root:/root:/bin/sh"),
    ],
)
def test_different_packages_units_and_users_are_reported(bench, before, after):
    bench.pair.outputs["ours"] = UNITS.replace(before, after)
    assert [block.text for block in run(bench).wrong] == [f"only with Salt: {before}", f"only with pushsalt: {after}"]


def test_only_accepted_differences_pass(bench):
    (bench.pair.ours.upper / "etc/a").write_text("other words\n")
    accepted = Accepted(r"\A/etc/a\n.*\+other words\Z", "they write other words")
    assert [block.why for block in run(bench, accepted).machine] == ["they write other words"]
    assert formularuns.unseen([accepted], bench.seen) == []
    (bench.pair.ours.upper / "etc/a").write_text("quite other words\n")
    bench.seen.clear()
    assert run(bench, accepted).wrong
    assert formularuns.unseen([accepted], bench.seen) == [f"accepted, but not seen: {accepted.of}"]


# -- files


def test_each_locked_formula_has_cases():
    files = load_all()
    assert {file.formula for file in files} == set(locked()) and all(file.cases for file in files)
    assert all(len(commit) == 40 for commit in locked().values())


def test_an_invalid_file_is_reported_with_the_reason(tmp_path):
    file = tmp_path / "cron.yaml"
    for text, message in [
        ("cases: [{title: t, aply: [cron]}]", r"cron.yaml, case 1: aply: not known; known are"),
        ("cases: [{title: t}]", r"cron.yaml, case 1: `apply` is missing"),
        ("cases: [{title: t, apply: [cron], accepted: [{of: x}]}]", "both `of` and `why` are wanted"),
    ]:
        file.write_text(text)
        with pytest.raises(ValueError, match=message):
            load(file)
    (tmp_path / "nonesuch.yaml").write_text("cases: []")
    with pytest.raises(ValueError, match=r"lock.json names no commit of nonesuch"):
        load(tmp_path / "nonesuch.yaml")


@pytest.mark.parametrize("folder", ["cron-formula", "some+cron-formula/repo"])
def test_formulas_are_read_from_a_folder_of_clones(tmp_path, monkeypatch, folder):
    """The locked commit is used, in each layout of the folder; the error for a missing clone names the folder."""
    clone = tmp_path / "clones" / folder
    clone.mkdir(parents=True)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}

    def git(*arguments: str) -> str:
        argv = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
        return subprocess.run(argv, cwd=clone, check=True, capture_output=True, text=True, env=environment).stdout

    git("init", "--quiet")
    (clone / "cron").mkdir()
    (clone / "cron/init.sls").write_text("old: test.nop\n")
    (clone / "pillar.example").write_text("cron: {}\n")
    (clone / "test/states").mkdir(parents=True)
    (clone / "test/states/more.sls").write_text("more: test.nop\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "one")
    commit = git("rev-parse", "HEAD").strip()
    (clone / "cron/init.sls").write_text("new: test.nop\n")
    git("commit", "--quiet", "-a", "-m", "two")
    monkeypatch.setattr(formulafiles, "locked", lambda: {"cron": commit, "nginx": commit})
    checkouts = Checkouts(tmp_path / "clones")
    try:
        case = FormulaCase(["cron"], "one", apply=["cron"], pillars=["pillar.example"], roots=["test/states"])
        formulafiles.create_roots(case, "cron", checkouts, tmp_path / "states", tmp_path / "pillar")
        assert (tmp_path / "states/cron/init.sls").read_text() == "old: test.nop\n"
        assert sorted(path.name for path in (tmp_path / "states").iterdir()) == ["cron", "more.sls", "pillar.example"]
        assert json.loads((tmp_path / "pillar/top.sls").read_text()) == {"base": {"*": ["pillar0"]}}
        assert (tmp_path / "pillar/pillar0.sls").read_text() == "cron: {}\n"
        with pytest.raises(ValueError, match=r"no repository of nginx-formula in .*clones"):
            checkouts.of("nginx")
    finally:
        checkouts.close()


# -- the record and the page


def test_the_page_equals_the_record():
    assert compared.PAGE.read_text(encoding="utf-8") == compared.page(compared.read()), (
        "docs/formulas-compared.md is not what scripts/formulas_compared.py makes of the record"
    )


def test_the_record_has_the_cases_and_only_accepted_differences():
    cases = [(file.formula, case.title, case.digest) for file in load_all() for case in file.cases]
    record = compared.read()["cases"]
    assert [(case["formula"], case["title"], case["digest"]) for case in record] == cases
    assert not {
        f"{case['formula']}: {case['title']}": differences for case in record if (differences := compared.wrong(case))
    }


def test_the_page_shows_accepted_and_other_differences(bench):
    bench.pair.outputs["ours"] = UNITS.replace("enabled", "disabled")
    bench.answers = (RET, {TAG: {**RET[TAG], "changes": {}}})
    runs = [asdict(run(bench, Accepted("only with Salt: unit cron", "known")))]
    case = {"formula": "cron", "title": "t", "apply": ["cron"], "digest": "1", "date": "2026-01-02", "salt": "3008.3"}
    text = compared.page({"cases": [compared._short({**case, "runs": runs})]})
    assert "1 formulas, 1 cases, 1 runs of 1 states, 0 of them the same (0.00 %)." in text
    row = next(line for line in text.splitlines() if line.startswith("| [cron]"))
    assert "| not run | 0/1 | not run | different |" in row
    assert "`only with Salt: unit cron.service enabled`: known" in row
    assert "**first: file\\|a\\|/etc/a\\|managed" in row
    assert compared.wrong({"runs": []}) == ["not run"]
