"""The choice of the cases that are compared, the code of a case, and cases that differ by design."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from tests.differential import chosen, code
from tests.differential.casefiles import Case, CaseFile, differing, load_all
from tests.differential.compare_cases import outcome, run
from tests.differential.sidebyside import SetupError

FILES = load_all()
DAY = datetime.date(2026, 11, 23)


def case_of_file(name: str) -> Case:
    """The first case of a file that is not compared by every CI run."""
    return next(case for file in FILES if file.name == name for case in file.cases if not case.ci)


def record(*without: str) -> dict[tuple[str, str, str], str]:
    """A record with current digests, except for the cases of these files."""
    picks = [(file, case) for file in FILES for case in file.cases]
    return {
        (file.name, case.title, case.digest): "" if file.name in without else code.digest(case) for file, case in picks
    }


def test_the_code_of_a_case_is_that_of_its_modules() -> None:
    files = code.files(case_of_file("host"))
    assert {"thin/states/host.py", "thin/modules/hosts.py", "thin/utils/formats/hostsfile.py"} <= set(files)
    assert "thin/engine.py" not in files and "thin/states/user.py" not in files
    packages = code.files(case_of_file("pkg"))
    assert "thin/modules/aptpkg.py" in packages and "thin/modules/yumpkg.py" not in packages


def test_every_case_has_code_of_its_own_modules() -> None:
    missing = [
        f"{file.name}: {case.title}"
        for file in FILES
        for case in file.cases
        if not any(name.startswith(("thin/states/", "thin/modules/")) for name in code.files(case))
    ]
    assert not missing


def test_comments_and_docstrings_do_not_change_the_digest() -> None:
    text = 'def f(x):\n    """Words."""\n    return {x: "#"}\n'
    same = '"""More."""\n\n# why\ndef f(x):\n    return {x: "#"}  # so\n'
    assert code.meaning(text) == code.meaning(same)
    for other in (text.replace("#", "-"), text.replace("return", "yield"), text.replace("    return", "return")):
        assert code.meaning(text) != code.meaning(other)


def test_a_share_is_chosen_if_no_case_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen, "recorded", record)
    choice = chosen.choose(FILES, DAY, 10, 10)
    assert len(choice.fixed) == 24 and not choice.changed and not choice.left_out
    assert 0 < len(choice.share) <= 10 and not any(case.ci for _, case in choice.share)
    assert all(pick in choice for pick in (*choice.fixed, *choice.share))
    assert len(choice.summary()) == 1 and "DAY=2026-11-23" in choice.summary()[0]


def test_changed_cases_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen, "recorded", lambda: record("host", "acl"))
    choice = chosen.choose(FILES, DAY, 100, 10)
    assert {file.name for file, _ in choice.changed} == {"host", "acl"} and not choice.left_out
    choice = chosen.choose(FILES, DAY, 3, 10)
    assert 0 < len(choice.changed) <= 3 and choice.left_out and "LEFT OUT" in choice.summary()[1]


def test_every_case_is_chosen_on_some_day(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = record()
    monkeypatch.setattr(chosen, "recorded", lambda: digests)
    chosen_cases: set[tuple[str, str]] = set()
    for number in range(120):
        share = chosen.choose(FILES, DAY + datetime.timedelta(number), 10, 20).share
        chosen_cases |= {(file.name, case.title) for file, case in share}
    assert len({name for name, _ in chosen_cases}) == len(
        [file for file in FILES if any(not case.ci for case in file.cases)]
    )
    again = [chosen.choose(FILES, DAY, 10, 20) for _ in range(2)]
    assert again[0] == again[1]


def test_a_case_that_differs_must_have_the_recorded_lines() -> None:
    case = Case(["a.b"], "one", differs="by design")
    lines = ["first: result", "  Salt  True", "  ours  False"]
    assert outcome(case, lines, lines).good
    other = outcome(case, [*lines, "first: comment"], lines)
    assert not other.good and "+first: comment" in other.lines
    assert not outcome(case, [], lines).good
    assert not outcome(case, lines, None).good
    plain = Case(["a.b"], "one")
    assert outcome(plain, [], None).good and not outcome(plain, lines, lines).good


def test_a_case_fails_if_its_setup_fails(tmp_path: Path) -> None:
    class Bench:
        file = CaseFile(Path("host.yaml"))

        def run(self, case: Case) -> list[str]:
            raise SetupError(["setup failed for ours: exit 1"])

    for case in (Case(["a.b"], "one", differs="by design"), Case(["a.b"], "one")):
        result = run(Bench(), case, tmp_path)  # type: ignore[arg-type]
        assert not result.good and result.lines == ["setup failed for ours: exit 1"]
    assert not list(tmp_path.iterdir())


def test_lines_are_recorded_of_each_case_that_differs() -> None:
    wanted = differing()
    cases = {(file.name, case.title) for file in FILES for case in file.cases if case.differs}
    assert {(name, title) for name, titles in wanted.items() for title in titles} == cases
    assert all(lines for titles in wanted.values() for lines in titles.values())
