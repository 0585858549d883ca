"""Packages, applications and disk images of macOS. Salt: states/macpackage.py

.. code-block:: yaml

    /tmp/editor.dmg:
      macpackage.installed:
        - dmg: true
        - app: true
"""

import glob
import os
import re

from thin.utils.files import safepath

__virtualname__ = "macpackage"


def __virtual__():
    if __grains__.get("kernel") == "Darwin":
        return __virtualname__
    return False, "Only supported on Mac OS"


def installed(
    name,
    target="LocalSystem",
    dmg=False,
    store=False,
    app=False,
    mpkg=False,
    force=False,
    allow_untrusted=False,
    version_check=None,
):
    """The package, or the application, is installed. changes: ``{installed: [id or application, ...]}``.

    name
        The path of the package, application or disk image
    target
        Where to: a disk, or for applications a folder, by default ``/Applications/``
    dmg
        It is a disk image with the package or application in it
    store
        Install it as if it came from the App Store
    app
        It is an application
    mpkg
        It is a metapackage
    force
        Install it again when it is there
    allow_untrusted
        Even if its certificate is not trusted
    version_check
        ``command=regular expression``: it is there when the command's output fits
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if version_check is not None and version_check.count("=") == 1:
        command, _, wanted = version_check.partition("=")
        version = __salt__["cmd.run"](command, output_loglevel="quiet", ignore_retcode=True).strip()
        if re.match(wanted, version):
            return dict(ret, comment="Version already matches %s" % wanted)
        ret["comment"] = "Version %s doesn't match %s. " % (version, wanted)
    target = "/Applications/" if app and target == "LocalSystem" else target
    if not dmg:
        return _install(ret, name, target, store, app, mpkg, force, allow_untrusted, version_check is not None)
    out, place = __salt__["macpackage.mount"](name)
    try:
        if "attach failed" in out:
            return dict(ret, result=False, comment=ret["comment"] + "Unable to mount %s: %s" % (name, out))
        inside = os.path.join(place, "*.app" if app else "*.mpkg" if mpkg else "*.pkg")
        if app and not glob.glob(inside):
            return dict(ret, result=False, comment=ret["comment"] + "Unable to find .app in %s" % place)
        return _install(ret, inside, target, store, app, mpkg, force, allow_untrusted, version_check is not None)
    finally:
        if "attach failed" not in out:
            __salt__["macpackage.unmount"](place)
        if not os.path.ismount(place) and os.path.isdir(place):
            safepath.rmdir(place)


def _install(ret, path, target, store, app, mpkg, force, allow_untrusted, versioned):
    if app:
        paths = sorted(glob.glob(path)) if "*" in path else [path.rstrip("/")]
        due = [each for each in paths if force or versioned or not os.path.exists(_app_place(each, target))]
        names = [os.path.basename(each) for each in due]
    else:
        packages = __salt__["macpackage.installed_pkgs"]()
        ids = __salt__["macpackage.get_mpkg_ids" if mpkg else "macpackage.get_pkg_id"](path)
        names = [id for id in ids if force or id not in packages]
        due = [path] if names or not ids else []
    if not due:
        return ret
    if __opts__["test"]:
        ret["comment"] += "%s is set to be installed" % ret["name"]
        return dict(ret, result=None, changes={"installed": names})
    if not app:
        done = __salt__["macpackage.install"](path, target, store, allow_untrusted)
        if done["retcode"] != 0:
            return dict(ret, result=False, comment="%s. %s failed to install: %s" % (ret["comment"], ret["name"], done))
        return dict(ret, changes={"installed": names}, comment=ret["comment"] + "%s installed" % ret["name"])
    for each, short in zip(due, names):
        out = __salt__["macpackage.install_app"](each, target)
        ret["changes"].setdefault("failed" if out else "installed", []).append(short)
        if out:
            ret["result"] = False
        ret["comment"] += "%s failed to install: %s" % (ret["name"], out) if out else "%s installed" % short
    return ret


def _app_place(path, target):
    return target if target.endswith(".app") else os.path.join(target, os.path.basename(path))
