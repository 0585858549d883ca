"""The order of Debian versions, and version requirements of an SLS."""

import itertools
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thin.utils.packages import debversion, pkgspec

#: from old to new; equal ones share a line
ORDER = [
    ["0~~"],
    ["0~"],
    ["0", "0-0", "", "00"],
    ["0.0a~rc1"],
    ["0.0a"],
    ["1.0~rc1-1"],
    ["1.0-1~bpo12+1"],
    ["1.0-1", "0:1.0-1", "1.00-1"],
    ["1.0-1+b2"],
    ["1.0-1+deb12u1"],
    ["1.0-1.1"],
    ["1.0-10"],
    ["1.0a-1"],
    ["1.0+dfsg-1"],
    ["1.0.1-1"],
    ["1.2.3"],
    ["1.10"],
    ["2.0-1-1"],
    ["20230311"],
    ["1:0.1"],
    ["2:0"],
]


def test_versions_sort_from_old_to_new():
    for (left_rank, left_versions), (right_rank, right_versions) in itertools.product(enumerate(ORDER), repeat=2):
        for left, right in itertools.product(left_versions, right_versions):
            assert debversion.compare(left, right) == (left_rank > right_rank) - (left_rank < right_rank), (left, right)


@pytest.mark.parametrize("version", ["a:1", ":1", "1.x:2"])
def test_an_epoch_is_a_number(version):
    with pytest.raises(ValueError, match="epoch"):
        debversion.compare(version, "1")


@pytest.mark.skipif(not shutil.which("dpkg"), reason="needs dpkg")
@settings(max_examples=60, deadline=None)
@given(*[st.from_regex(r"([0-9]:)?[0-9][0-9a-c.+~]{0,5}(-[0-9a~+]{1,4})?", fullmatch=True)] * 2)
def test_the_order_equals_that_of_dpkg(left, right):
    operator = {-1: "lt", 0: "eq", 1: "gt"}[debversion.compare(left, right)]
    assert subprocess.call(["dpkg", "--compare-versions", left, operator, right], stderr=subprocess.DEVNULL) == 0


def compare(left, right, ignore_epoch=False):
    if ignore_epoch:
        left, right = debversion.without_epoch(left), debversion.without_epoch(right)
    return debversion.compare(left, right)


@pytest.mark.parametrize(
    ("installed", "spec", "options", "met"),
    [
        (["1.2-1"], "1.2-1", {}, True),
        (["1.2-1"], "=1.2-1", {}, True),
        (["1.2-1"], "==1.2-1", {}, True),
        (["1.2-1"], "1.2", {}, False),
        (["1.2-1"], "1.2*", {}, True),
        (["1.3-1"], "1.2*", {}, False),
        (["1.2-1"], ">=1.2", {}, True),
        (["1.2-1"], ">= 1.2 , < 2", {}, True),
        (["2.0-1"], ">=1.2,<2", {}, False),
        (["1.5-1"], ">=1.2,<2,!=1.5-1", {}, False),
        (["1.5-1"], ">1.5-1", {}, False),
        (["1.5-1"], "<=1.5-1", {}, True),
        (["1.0", "2.0"], ">=2", {}, True),
        ([], ">=2", {}, False),
        # a missing epoch is ignored for equality, but not for order
        (["2:1.5-1"], "1.5-1", {}, True),
        (["2:1.5-1"], "1:1.5-1", {}, False),
        (["2:1.5-1"], "<3", {}, False),
        (["2:1.5-1"], "<3", {"ignore_epoch": True}, True),
        (["2:1.5-1"], "1.5-1", {"ignore_epoch": False}, False),
        (["1.6"], "1.5", {}, False),
        (["1.6"], "1.5", {"allow_updates": True}, True),
        (["1.4"], "1.5", {"allow_updates": True}, False),
    ],
)
def test_versions_fulfill_requirements(installed, spec, options, met):
    assert pkgspec.fulfills(installed, spec, compare, **options) is met


@pytest.mark.parametrize(
    ("pkgs", "packed"),
    [
        (["a", "b"], {"a": None, "b": None}),
        (["a", {"b": "1.2"}, {"c": None}], {"a": None, "b": "1.2", "c": None}),
        ([{"a": 1.2}, 3], {"a": "1.2", "3": None}),
        ({"a": 2}, {"a": "2"}),
        ("a,b", {"a": None, "b": None}),
        ([{"a": 1, "b": 2}], {}),
        ([["a"]], {}),
        (7, {}),
    ],
)
def test_all_forms_of_package_lists_are_accepted(pkgs, packed):
    assert pkgspec.names_and_versions(pkgs) == packed


def test_a_package_is_named_once():
    with pytest.raises(ValueError, match="duplicated packages names"):
        pkgspec.names_and_versions(["a", {"a": "1"}])


def test_the_best_match_is_the_newest_that_fulfills_the_requirement():
    assert pkgspec.best_match(["3", "2.5", "2.1", "1"], ">=2,<3", compare) == "2.5"
    assert pkgspec.best_match(["1"], ">=2", compare) is None


@pytest.mark.parametrize(
    ("version", "label"), [(None, "a"), ("", "a"), ("1", "a=1"), (">=1", "a>=1"), ("=1", "a=1"), ("<2,>1", "a<2,>1")]
)
def test_labels_of_packages(version, label):
    assert pkgspec.label("a", version) == label


def test_differences_of_installed_packages():
    old, new = {"gone": "1", "same": "1", "up": "1"}, {"same": "1", "up": "2", "come": "1"}
    assert pkgspec.differences(old, new) == {
        "gone": {"old": "1", "new": ""},
        "up": {"old": "1", "new": "2"},
        "come": {"old": "", "new": "1"},
    }
