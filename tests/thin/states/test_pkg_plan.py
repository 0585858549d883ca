"""The steps and comments of a package state, computed from values."""

import pytest

from thin.utils.packages import debversion, pkgplan

INSTALLED = {"one": ["1.0-1"], "epoch": ["2:1.5-1"], "kernel": ["6.1", "6.5"]}


def compare(left, right, ignore_epoch=False):
    if ignore_epoch:
        left, right = debversion.without_epoch(left), debversion.without_epoch(right)
    return debversion.compare(left, right)


@pytest.mark.parametrize(
    ("wanted", "options", "install", "reinstall"),
    [
        ({"one": None}, {}, {}, {}),
        ({"absent": None, "one": None}, {}, {"absent": None}, {}),
        ({"absent": "1"}, {}, {"absent": "1"}, {}),
        ({"one": "1.0-1"}, {}, {}, {}),
        ({"one": "1.0-2"}, {}, {"one": "1.0-2"}, {}),
        ({"one": "0.9"}, {}, {"one": "0.9"}, {}),
        ({"one": "0.9"}, {"allow_updates": True}, {}, {}),
        ({"one": ">=1.0"}, {}, {}, {}),
        ({"epoch": "1.5-1"}, {}, {}, {}),
        ({"kernel": "6.1"}, {}, {}, {}),
        ({"one": None, "absent": None}, {"reinstall": True}, {"absent": None}, {"one": None}),
        ({"one:amd64": None}, {"normalize": lambda name: name.split(":")[0]}, {}, {}),
        ({"one": "/a.deb"}, {"source_version": {"/a.deb": "1.0-1"}.get}, {}, {}),
        ({"one": "/a.deb"}, {"source_version": {"/a.deb": "1.1"}.get}, {"one": "/a.deb"}, {}),
        ({"one": "/a.deb"}, {"source_version": {}.get}, {}, {}),
    ],
)
def test_a_plan_has_the_packages_to_install_and_reinstall(wanted, options, install, reinstall):
    plan = pkgplan.plan(wanted, INSTALLED, {}, compare, **options)
    assert (plan.install, plan.reinstall) == (install, reinstall)


def test_packages_marked_for_purging_are_unpurged():
    assert pkgplan.plan({"one": None, "absent": None}, INSTALLED, {"one": "1.0-1"}, compare).unpurge == ["one"]


def planned(wanted, **options):
    return pkgplan.plan(wanted, INSTALLED, {}, compare, **options)


@pytest.mark.parametrize(
    ("wanted", "options", "left", "changes", "report"),
    [
        ({"new": None}, {}, [], {"new": {}}, (True, "The following packages were installed/updated: new")),
        (
            {"new": "1", "one": None},
            {},
            [],
            {"new": {}},
            (
                True,
                "The following packages were installed/updated: new=1\n"
                "The following packages were already installed: one",
            ),
        ),
        ({"new": None}, {}, ["new"], {}, (False, "The following packages failed to install/update: new")),
        ({"a-rather-long-name": "1.0"}, {}, [], {}, (True, "1 targeted package was installed/updated.")),
        (dict.fromkeys(["long-nam1", "long-nam2"]), {}, [], {}, (True, "2 targeted packages were installed/updated.")),
        ({"one": None}, {"reinstall": True}, [], {"one": {}}, (True, "Package one was reinstalled.")),
        ({"one": None}, {"reinstall": True}, [], {}, (False, "Reinstall was not successful for package one.")),
    ],
)
def test_a_report_names_installed_and_failed_packages(wanted, options, left, changes, report):
    assert pkgplan.report(wanted, planned(wanted, **options), left, changes, [], False) == report


def test_comments_on_holds_follow_those_on_their_packages():
    held = [
        {"name": "new", "changes": {"new": "hold"}, "result": True, "comment": "new is held"},
        {"name": "one", "changes": {}, "result": True, "comment": "one was held"},
    ]
    wanted = {"new": None, "one": None}
    result, comment = pkgplan.report(wanted, planned(wanted), [], {"new": {}}, held, False)
    assert result
    assert comment.splitlines() == [
        "The following packages were installed/updated: new",
        "new is held",
        "The following packages were already installed: one",
        "one was held",
    ]
    assert not pkgplan.report(wanted, planned(wanted), [], {}, [dict(held[0], result=False)], False)[0]


def test_a_long_list_is_replaced_by_its_number():
    names = [f"p{number}" for number in range(21)]
    assert pkgplan.were_there(names) == "21 targeted packages were already installed"
    assert pkgplan.all_up_to_date(names) == "All 21 packages are up-to-date."
    assert pkgplan.all_up_to_date(["b", "a"]) == "All packages are up-to-date (a, b)."
    assert pkgplan.none_updated(names, names[:1]).startswith("21 targeted packages failed to update. ")


def test_unknown_packages_are_reported_with_suggestions():
    checked = {
        "good": {"found": True, "suggestions": []},
        "vmi": {"found": False, "suggestions": ["vim", "vi"]},
        "zzz": {"found": False, "suggestions": []},
    }
    assert pkgplan.unknown(checked) == (
        "The following package(s) were not found, and no possible matches were found in the package db: zzz. "
        "Package 'vmi' not found (possible matches: vim, vi)"
    )
