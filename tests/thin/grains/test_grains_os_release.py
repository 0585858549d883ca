"""Grains of the operating system, compared with real Salt's: cases/os_release has files of systems and the answers."""

import json
from pathlib import Path

import pytest

from thin.grains.os_release import describe, parse_os_release

CASES = sorted((Path(__file__).parents[1] / "cases" / "os_release").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_grains_equal_salts(path):
    case = json.loads(path.read_text())
    texts = ["\n".join(case.get(name, [])) for name in ("os_release", "lsb_release", "release_file")]
    assert describe(*texts) == case["want"]


def test_a_system_without_os_release_is_described():
    grains = describe("", "", "CentOS release 6.10 (Final)\n")
    assert (grains["os"], grains["os_family"], grains["osrelease"]) == ("CentOS", "RedHat", "6.10")
    assert (grains["oscodename"], grains["osmajorrelease"], grains["osfinger"]) == ("Final", 6, "CentOS-6")


def test_a_system_without_any_file_is_still_described():
    assert describe("")["os_family"] == ""


@pytest.mark.parametrize(
    "text, name",
    [('NAME="A \\"B\\" \\$C"', 'A "B" $C'), ("NAME='A B'", "A B"), ("NAME=A", "A"), ("# x\nID=y", "Linux")],
)
def test_quoted_values_are_parsed(text, name):
    assert parse_os_release(text)["NAME"] == name
