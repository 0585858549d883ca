"""Packages, applications and disk images of macOS, by installer, hdiutil and xar. Salt: modules/macpackage.py"""

import glob
import os
import re

from thin.utils.files import osutil, textfile

__virtualname__ = "macpackage"
__reads__ = ("installed_pkgs", "get_pkg_id", "get_mpkg_ids")
__changes__ = ("install", "install_app", "uninstall_app", "mount", "unmount")


def __virtual__():
    if __grains__.get("kernel") == "Darwin":
        return __virtualname__
    return False, "Only available on Mac OS systems with pipes"


def install(pkg, target="LocalSystem", store=False, allow_untrusted=False):
    """
    Install a package; returns what cmd.run_all returns

    pkg
        Its path, which may have wildcards
    target
        Where to
    store
        Install it as if it came from the App Store
    allow_untrusted
        Even if its certificate is not trusted

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' macpackage.install /tmp/app-2.1.pkg
    """
    more = (["-store"] if store else []) + (["-allowUntrusted"] if allow_untrusted else [])
    done = {}
    for path in _paths(pkg):
        done = _run(["installer", "-pkg", path, "-target", target] + more)
        if done["retcode"]:
            break
    return done


def install_app(app, target="/Applications/"):
    """
    Copy an application; returns the output of rsync, which is empty on success

    app
        Its folder, ``.app``
    target
        Where to: a folder, or the application's new one

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' macpackage.install_app /Volumes/Editor/Editor.app /Applications/
    """
    app = app.rstrip("/")
    if not target.endswith(".app"):
        target = os.path.join(target, os.path.basename(app))
    done = _run(["rsync", "-a", "--delete", app + "/", target])
    return "\n".join(filter(None, (done["stdout"], done["stderr"])))


def uninstall_app(app):
    """
    Remove an application; returns whether it worked

    app
        Its folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' macpackage.uninstall_app /Applications/Editor.app
    """
    return __salt__["file.remove"](app)


def mount(dmg):
    """
    Attach a disk image read-only; returns the output of hdiutil, and the mount point

    dmg
        Its path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' macpackage.mount /tmp/editor.dmg
    """
    place = osutil.mkdtemp(prefix="dmg-")
    out = __salt__["cmd.run"](
        ["hdiutil", "attach", "-readonly", "-nobrowse", "-mountpoint", place, dmg], python_shell=False
    )
    return out, place


def unmount(mountpoint):
    """
    Detach a disk image; returns the output of hdiutil

    mountpoint
        Where it is mounted

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' macpackage.unmount /Volumes/Editor
    """
    return __salt__["cmd.run"](["hdiutil", "detach", mountpoint], python_shell=False)


def installed_pkgs():
    """
    Return the ids of all packages that are installed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' macpackage.installed_pkgs
    """
    return __salt__["cmd.run"](["pkgutil", "--pkgs"], python_shell=False).splitlines()


def get_pkg_id(pkg):
    """
    Return the ids of the packages in a file

    pkg
        Its path, which may have wildcards

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' macpackage.get_pkg_id /tmp/app-2.1.pkg
    """
    return [id for path in _paths(pkg) for id in _ids(path)]


def get_mpkg_ids(mpkg):
    """
    Return the ids of all packages in the folder of a metapackage

    mpkg
        Its path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' macpackage.get_mpkg_ids /Volumes/Suite/Suite.mpkg
    """
    mpkg_ids = []
    for folder, folders, files in os.walk(os.path.dirname(mpkg)):
        for name in sorted(folders + files):
            if name.endswith(".pkg"):
                mpkg_ids += get_pkg_id(os.path.join(folder, name))
    return mpkg_ids


def _run(command, **how):
    return __salt__["cmd.run_all"](command, python_shell=False, **how)


def _paths(pattern):
    return sorted(glob.glob(pattern)) or [pattern] if "*" in pattern else [pattern]


def _ids(path):
    """The ids of a package: a flat one is an archive, an old one a folder."""
    listed = _run(["xar", "-t", "-f", path], ignore_retcode=True)
    if listed["retcode"]:
        info = os.path.join(path, "Contents", "Info.plist")
        done = _run(["/usr/libexec/PlistBuddy", "-c", "print :CFBundleIdentifier", info], ignore_retcode=True)
        return [done["stdout"].strip()] if not done["retcode"] and done["stdout"].strip() else []
    names = [name for name in listed["stdout"].splitlines() if name.endswith("PackageInfo")]
    folder = osutil.mkdtemp(prefix="pkg-")
    try:
        _run(["xar", "-x", "-f", os.path.abspath(path)] + names, cwd=folder)
        texts = [textfile.read(os.path.join(folder, name), "") for name in names]
    finally:
        osutil.rmtree(folder, ignore_errors=True)
    return [id for text in texts for id in re.findall(r'\bidentifier="([\w.\-]+)"', text)]
