"""A correct formula has no finding; each fault that is inserted is found, with its file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pushsalt.check.findings import Finding
from pushsalt.check.rules import BY_NAME
from pushsalt.check.runner import Options, Report, check
from pushsalt.events import Reporter
from pushsalt.job import Settings

DATA = yaml.safe_load((Path(__file__).parent / "cases" / "faults.yaml").read_text())
FAULTS: dict[str, dict[str, Any]] = DATA["faults"]


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return folder


def checked(folder: Path, cache: Path, **kwargs: Any) -> Report:
    settings = Settings(cache_dir=cache)
    return check(settings, Options(paths=(folder,), jobs=1, **kwargs), Reporter())


def said(found: Finding, folder: Path) -> tuple[str, str, int]:
    return found.code, str(Path(found.path).relative_to(folder)), found.line


def test_a_sound_formula_has_no_finding(tmp_path: Path) -> None:
    folder = write(tmp_path / "app-formula", DATA["tree"])
    report = checked(folder, tmp_path / "cache")
    assert report.findings == []
    assert report.sls == 4


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_where_it_is(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    files = dict(DATA["tree"])
    if "file" in fault:
        files[fault["in"]] = fault["file"]
    else:
        assert files[fault["in"]].count(fault["old"]) == 1, "the fault would be put into no place, or into several"
        files[fault["in"]] = files[fault["in"]].replace(fault["old"], fault["new"])
    folder = write(tmp_path / "app-formula", files)
    rule, path, line, *_ = fault["finds"]
    report = checked(folder, tmp_path / "cache", systems=("debian-13", "opensuse-leap-15.6"))
    code = BY_NAME[rule].code
    found = [each for each in report.findings if each.code == code]
    places = [said(each, folder) for each in found]
    if path == "*":
        assert found
    else:
        assert (code, path, line) in places, [(*said(each, folder), each.message) for each in report.findings]
        (one,) = [each for each in found if said(each, folder) == (code, path, line)][:1]
        assert one.level == BY_NAME[rule].level
        if "systems" in fault:
            assert list(one.systems) == fault["systems"]


def test_there_are_faults_of_every_rule() -> None:
    tried = {fault["finds"][0] for fault in FAULTS.values()}
    elsewhere = {"needs-target", "not-alone", "malformed-requisite"}  # tests/check/test_check.py
    elsewhere.add("renderer-not-allowed")  # tests/formula/test_wants.py
    assert set(BY_NAME) - elsewhere == tried
