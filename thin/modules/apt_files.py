"""Information about packages, their files, and downloads: a part of ``pkg``. Salt: modules/aptpkg.py"""

import os

from thin import process
from thin.exceptions import CommandNotFoundError
from thin.utils.outputs import aptout
from thin.utils.programs import aptrun

__virtualname__ = "pkg"
__fits__ = {"os_family": ("Debian",)}
__usual__ = True
__reads__ = (
    "show",
    "info_installed",
    "file_list",
    "file_dict",
    "owner",
    "which",
    "list_downloaded",
    "services_need_restart",
)

CACHE = "/var/cache/apt"


def __virtual__():
    if __grains__.get("os_family") == "Debian":
        return __virtualname__
    return False, "The pkg module could not be loaded: unsupported OS family"


def show(*names, **kwargs):
    """
    ``{name: {version: {field: value}}}`` from apt-cache show. ``filter``: field names (list or comma-separated).

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.show redis-server filter=section,priority
    """
    if kwargs.get("refresh"):
        __salt__["pkg.refresh_db"]()
    wanted = kwargs.get("filter") or []
    wanted = wanted.split(",") if isinstance(wanted, str) else wanted
    wanted = {str(field).strip().lower() for field in wanted}
    result = {}
    for stanza in aptout.stanzas(_run(["apt-cache", "show", "--"] + list(names))["stdout"]) if names else ():
        name, number = stanza.pop("Package", None), stanza.pop("Version", None)
        if name and number:
            # Salt shows only the first line of a folded field
            fields = {key: value.split("\n")[0] for key, value in stanza.items() if not wanted or key.lower() in wanted}
            result.setdefault(name, {}).setdefault(number, {}).update(fields)
    return result


def info_installed(*names, **kwargs):
    """
    ``{name: {"version", "group", "packager", "url", …}}`` of installed packages. Raises CommandExecutionError for an
    unknown one.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.info_installed bash
    """
    renamed = {"package": "name", "origin": "vendor", "section": "group", "maintainer": "packager", "homepage": "url"}
    result = {}
    for name, data in __salt__["lowpkg.info"](*names, failhard=kwargs.get("failhard", True)).items():
        if data.get("status", "ii")[1] == "i":
            result[name] = {renamed.get(key, key): value for key, value in data.items() if key != "status"}
    return result


def file_list(*packages, **kwargs):
    """
    ``{"errors": [], "files": [paths]}`` of the packages; without names, of all installed packages.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.file_list openssh-server
    """
    return __salt__["lowpkg.file_list"](*packages)


def file_dict(*packages, **kwargs):
    """
    ``{"errors": [], "packages": {name: [paths]}}``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.file_dict openssh-server
    """
    return __salt__["lowpkg.file_dict"](*packages)


def owner(*paths, **kwargs):
    """
    The package that a path belongs to ("" for none), or ``{path: package}`` of several.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.owner /usr/sbin/sshd
    """
    owners = {}
    for path in paths:
        done = _run(["dpkg-query", "-S", "--", path])
        owners[path] = done["stdout"].split(":")[0] if done["retcode"] == 0 else ""
    if len(paths) == 1:
        return owners[paths[0]]
    return owners or ""


def which(path):
    """
    The package that an existing file belongs to: None if it belongs to no package, False if the path does not exist.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.which /usr/bin/git
    """
    if not os.path.isabs(path) or not os.path.exists(path):
        return False
    return owner(path) or None


def list_downloaded(root=None, **kwargs):
    """
    ``{name: {version: {"path", "size", "creation_date_time", "creation_date_time_t"}}}`` of apt's downloads.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_downloaded
    """
    from thin.utils.programs import pkgfiles

    folder = os.path.join(root, CACHE.lstrip("/")) if root else CACHE
    return pkgfiles.downloaded(folder, __salt__["lowpkg.bin_pkg_info"], ".deb")


def services_need_restart(**kwargs):
    """
    Return the services that still run programs or libraries that an upgrade has replaced; needs checkrestart of the
    package debian-goodies

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.services_need_restart
    """
    if not process.which("checkrestart"):
        raise CommandNotFoundError(
            "'checkrestart' is needed. It is part of the 'debian-goodies' package which can be installed from official "
            "repositories."
        )
    lines = _run(["checkrestart", "--machine", "--package"])["stdout"].splitlines()
    return sorted({line[8:].split(",")[0] for line in lines if line.startswith("SERVICE:")})


def _run(command):
    return aptrun.run(__salt__["cmd.run_all"], __opts__, command)
