"""Packages of a dummy."""

#: Functions that templates cannot call in a dry run.
__changes__ = ("install", "remove", "upgrade")
__reads__ = ("list_pkgs", "version")


def list_pkgs():
    """Return ``{name: version}`` of the installed packages"""
    return __resource_funcs__["dummy.package_list"]()


def version(name):
    """Return the version of a package, or "" if it is not installed"""
    return list_pkgs().get(name, "")


def install(name, version="1.0"):
    """Install a package; returns the changes as ``{name: {"old": ..., "new": ...}}``"""
    return _changes(lambda: __resource_funcs__["dummy.package_install"](name, version=version))


def remove(name):
    """Remove a package; returns the changes as ``{name: {"old": ..., "new": ...}}``"""
    return _changes(lambda: __resource_funcs__["dummy.package_remove"](name))


def upgrade():
    """Give each package the next version; returns the changes as ``{name: {"old": ..., "new": ...}}``"""
    return _changes(__resource_funcs__["dummy.upgrade"])


def _changes(work):
    before = list_pkgs()
    work()
    after = list_pkgs()
    return {
        name: {"old": before.get(name, ""), "new": after.get(name, "")}
        for name in sorted(set(before) | set(after))
        if before.get(name) != after.get(name)
    }
