"""Recorded output of apt and dpkg, parsed."""

from pathlib import Path

import pytest
import yaml

from thin.utils.outputs import aptout

CASES = Path(__file__).resolve().parents[3] / "cases" / "thin" / "aptout"
OUTPUTS = yaml.safe_load((CASES / "outputs.yaml").read_text(encoding="utf-8"))
PACKAGES = yaml.safe_load((CASES / "packages.yaml").read_text(encoding="utf-8"))


def plain(value):
    """Tuples as lists, as in YAML."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("case", OUTPUTS, ids=[f"{i}-{case['function']}" for i, case in enumerate(OUTPUTS)])
def test_output_of_apt_and_dpkg_is_parsed(case):
    assert plain(getattr(aptout, case["function"])(case["input"])) == case["want"]


@pytest.mark.parametrize("case", PACKAGES["cases"])
def test_lists_of_packages_are_parsed(case):
    assert plain(aptout.packages(case["input"], lambda arch: arch in PACKAGES["foreign"])) == case["want"]
