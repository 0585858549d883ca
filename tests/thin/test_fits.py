"""A file that names its systems (``__fits__``) is not read on others."""

import pytest

from thin import folder, runtime


def test_fits_is_parsed_from_the_text():
    sources = [
        ("one", '__fits__ = {"os": ("A", "B")}\n'),
        ("two", 'x = 1\n__fits__ = {\n    "os": ("A",),\n    "kernel": ("B",),\n}\n'),
        ("three", "def f():\n    __fits__ = {}\n"),
    ]
    assert folder.fit_index(sources) == {"one": {"os": ("A", "B")}, "two": {"os": ("A",), "kernel": ("B",)}}


@pytest.mark.parametrize(
    ("grains", "loaded"),
    [
        (
            {"os": "Debian", "os_family": "Debian"},
            {"apt_files", "apt_keys", "apt_selections", "apt_sources", "aptpkg", "aptpkg_upgrades"},
        ),
        ({"os": "Alpine", "os_family": "Alpine"}, {"apkpkg"}),
        ({"os": "FreeBSD", "os_family": "FreeBSD"}, {"pkgng", "pkgng_locks", "pkgng_tools"}),
        (
            {"os": "Rocky", "os_family": "RedHat"},
            {"rpm_packages", "yum_available", "yum_groups", "yum_repos", "yumpkg"},
        ),
        (
            {"os": "SUSE", "os_family": "Suse"},
            {"rpm_packages", "zypper_locks", "zypper_repos", "zypper_search", "zypperpkg"},
        ),
        ({"os": "Windows", "os_family": "Windows"}, set()),
    ],
)
def test_providers_of_other_systems_are_not_read(make_loaders, monkeypatch, grains, loaded):
    read = []
    original = runtime.backend().code
    monkeypatch.setattr(runtime.backend(), "code", lambda name: read.append(name) or original(name))
    assert "pkg.no_such_function" not in make_loaders(grains={"kernel": "x", **grains}).modules
    stems = {name.rpartition(".")[2] for name in read if name.startswith("thin.modules.")}
    assert stems == loaded


def test_a_provider_has_the_functions_of_all_its_files(make_loaders):
    """Salt has the functions of all of them in one file."""
    modules = make_loaders(grains={"kernel": "x", "os": "x", "os_family": "x"}).modules
    assert "pkg.install" not in modules
    undo = modules.provide("pkg", "aptpkg")
    files = {name: modules[f"pkg.{name}"].__code__.co_filename for name in ("install", "upgrade", "hold", "list_repos")}
    assert {name: file.rpartition("/")[2] for name, file in files.items()} == {
        "install": "aptpkg.py",
        "upgrade": "aptpkg_upgrades.py",
        "hold": "apt_selections.py",
        "list_repos": "apt_sources.py",
    }
    undo()
    assert not any(f"pkg.{name}" in modules for name in files)
