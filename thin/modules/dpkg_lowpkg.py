"""dpkg: files and data of packages, package files, selections. Salt: modules/dpkg_lowpkg.py"""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.outputs import aptout
from thin.utils.packages import pkgspec

__virtualname__ = "lowpkg"
__fits__ = {"os_family": ("Debian",)}
__usual__ = True
__reads__ = ("bin_pkg_info", "list_pkgs", "file_list", "file_dict", "info")
__changes__ = ("unpurge",)

_ENVIRONMENT = {"LC_ALL": "C"}

#: the fields of ``info``, by dpkg-query's names. A record ends with a byte that no field can hold.
_FIELDS = (
    ("package", "Package"),
    ("revision", "binary:Revision"),
    ("architecture", "Architecture"),
    ("maintainer", "Maintainer"),
    ("summary", "Summary"),
    ("source", "source:Package"),
    ("version", "Version"),
    ("section", "Section"),
    ("size", "Size"),
    ("MD5", "MD5sum"),
    ("SHA1", "SHA1"),
    ("SHA256", "SHA256"),
    ("origin", "Origin"),
    ("homepage", "Homepage"),
    ("status", "db:Status-Abbrev"),
    ("install_date", "db-fsys:Last-Modified"),
    ("description", "Description"),
)


def __virtual__():
    if __grains__.get("os_family") == "Debian":
        return __virtualname__
    return False, "The dpkg execution module cannot be loaded: only works on Debian family systems."


def bin_pkg_info(path, saltenv="base"):
    """
    ``{"name", "version", "arch"}`` of a .deb file: an absolute path or a URL. Raises CommandExecutionError.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.bin_pkg_info /srv/releases/app_2.1_all.deb
    """
    if "://" in path:
        url, path = path, __salt__["cp.cache_file"](path, saltenv)
        if not path:
            raise CommandExecutionError("Unable to retrieve %s from saltenv '%s'" % (url, saltenv))
    elif not os.path.isabs(path):
        raise SaltInvocationError("%s is not an absolute path" % path)
    elif not os.path.exists(path):
        raise CommandExecutionError("%s does not exist on minion" % path)
    done = _run(["dpkg-deb", "-f", path, "Package", "Version", "Architecture"])
    if done["retcode"] != 0:
        raise CommandExecutionError("Unable to get info for %s: %s" % (path, done["stderr"] or done["stdout"]))
    data = (aptout.stanzas(done["stdout"]) or [{}])[0]
    missing = [key for key in ("Package", "Version", "Architecture") if key not in data]
    if missing:
        raise CommandExecutionError("Unable to get %s for %s" % (", ".join(missing), path))
    name, arch, own = data["Package"], data["Architecture"], __grains__.get("osarch")
    if __grains__.get("cpuarch") == "x86_64" and own == "amd64" and arch not in ("all", own):
        name = "%s:%s" % (name, arch)
    return {"name": name, "version": data["Version"], "arch": arch}


def unpurge(*packages):
    """
    Change packages that are selected for purging to be installed; returns the changes.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.unpurge nginx
    """
    if not packages:
        return {}
    before = __salt__["pkg.list_pkgs"](purge_desired=True)
    _run(["dpkg", "--set-selections"], stdin="".join("%s install\n" % name for name in packages))
    return pkgspec.differences(before, __salt__["pkg.list_pkgs"](purge_desired=True))


def list_pkgs(*packages, **kwargs):
    """
    ``{name: version}`` of those of the packages that are installed, or dpkg's error as text.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.list_pkgs 'nginx*'
    """
    listed = _installed(packages)
    return listed if isinstance(listed, str) else dict(listed)


def file_list(*packages, **kwargs):
    """
    ``{"errors": [], "files": [sorted paths]}``, or dpkg's error as text.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.file_list nginx-common
    """
    by_package = file_dict(*packages)
    if isinstance(by_package, str):
        return by_package
    return {"errors": [], "files": sorted({path for paths in by_package["packages"].values() for path in paths})}


def file_dict(*packages, **kwargs):
    """
    ``{"errors": [], "packages": {name: [paths]}}``, or dpkg's error as text.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.file_dict nginx-common
    """
    listed = _installed(packages)
    if isinstance(listed, str):
        return listed
    by_package = {name: _run(["dpkg-query", "-L", name])["stdout"].splitlines() for name, _ in listed}
    return {"errors": [], "packages": by_package}


def info(*packages, **kwargs):
    """
    ``{name: {field: value}}`` of packages in dpkg's database; fields without a value are omitted.

    Raises CommandExecutionError for an unknown package, unless ``failhard=False`` (then {}).

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.info nginx
    """
    form = "".join("%s:${%s}\\n" % field for field in _FIELDS) + "\\x1e"
    form = form.replace("\\x1e", "\x1e")
    done = _run(["dpkg-query", "-W", "-f", form] + list(packages))
    if done["retcode"] != 0:
        if not kwargs.get("failhard", True):
            return {}
        raise CommandExecutionError("Error getting packages information: %s" % done["stderr"])
    about = {}
    for record in done["stdout"].split("\x1e"):
        if not record.strip():
            continue
        head, _, description = record.lstrip("\n").partition("\ndescription:")
        data = dict(line.split(":", 1) for line in head.split("\n") if ":" in line)
        data = {key: value.strip() for key, value in data.items() if value.strip()}
        if "install_date" in data:
            data["install_date"] = _date(data["install_date"])
        data["description"] = description
        licences = _licence(data["package"])
        if licences:
            data["license"] = licences
        about[data["package"]] = data
    return about


def _installed(packages):
    """``[(name, version)]`` of those of the packages that are installed, or dpkg's error as text."""
    form = "${db:Status-Status}\t${binary:Package}\t${Version}\n"
    done = _run(["dpkg-query", "-W", "-f", form] + list(packages))
    if done["retcode"] != 0:
        return "Error:  " + done["stderr"]
    rows = [line.split("\t") for line in done["stdout"].splitlines()]
    return [(row[1], row[2]) for row in rows if len(row) == 3 and row[0] == "installed"]


def _date(seconds):
    import datetime

    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=int(seconds))
    return moment.isoformat() + "Z"


def _licence(package):
    try:
        with open("/usr/share/doc/%s/copyright" % package, encoding="utf-8", errors="replace") as stream:
            result = {line.split(":", 1)[1].strip() for line in stream if line.startswith("License:")}
    except OSError:
        return ""
    return ", ".join(sorted(result))


def _run(command, stdin=None):
    options = {} if stdin is None else {"stdin": stdin}
    return __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env=_ENVIRONMENT, **options)
