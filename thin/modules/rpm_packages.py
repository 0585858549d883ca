"""Installed packages of a system with rpm: the part of ``pkg`` that yum, dnf and zypper share.

The list of packages is kept in ``__context__`` until rpm's database changes. Changes are in yumpkg.py and zypperpkg.py.
Salt: modules/yumpkg.py, modules/zypperpkg.py
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils import data
from thin.utils.outputs import rpmout
from thin.utils.programs import pkgrun, yumrun

__virtualname__ = "pkg"
__fits__ = {
    "os_family": ("RedHat", "Suse"),
    "os": ("Amazon", "XCP", "XenServer", "VirtuozzoLinux", "Virtuozzo", "Issabel PBX", "openEuler", "VMware Photon OS"),
}
__usual__ = True
__reads__ = (
    "normalize_name",
    "parse_arch",
    "version_cmp",
    "list_pkgs",
    "version",
    "list_provides",
    "info_installed",
    "file_list",
    "file_dict",
    "owner",
    "verify",
    "modified",
    "diff",
    "get_repo_keys",
)
__changes__ = ("add_repo_key", "del_repo_key")


def __virtual__():
    if __grains__.get("os_family") == "Suse":
        return __virtualname__ if process.which("zypper") else (False, "Module zypper: zypper not found")
    reason = yumrun.refused(__grains__, __opts__)
    return (False, reason) if reason else __virtualname__


# Names and versions


def normalize_name(name):
    """
    Return the name without ``.arch`` where that is the system's own architecture, or noarch

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.normalize_name glibc.i686
    """
    return rpmout.normalize(name, __grains__.get("osarch"))


def parse_arch(name):
    """
    Return ``{name, arch}`` of a name that may end in ``.arch``; arch is None where it does not

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.parse_arch glibc.i686
    """
    base, arch = rpmout.split_arch(name)
    return {"name": base, "arch": arch}


def version_cmp(pkg1, pkg2, ignore_epoch=False, **kwargs):
    """
    Return -1, 0 or 1 as version ``pkg1`` is older than, equal to or newer than ``pkg2``

    ignore_epoch
        Ignore epochs.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.version_cmp 1.20.1-14.el9 1.20.1-14.el9_2.1
    """
    return __salt__["lowpkg.version_cmp"](pkg1, pkg2, ignore_epoch=ignore_epoch)


# Installed packages


def list_pkgs(versions_as_list=False, root=None, includes=None, **kwargs):
    """
    Return ``{name: "version"}`` of the installed packages; a name of a foreign architecture ends in ``.arch``

    versions_as_list
        ``{name: [versions]}``.
    attr
        ``{name: [{version, arch, …}]}`` with these of epoch, release, install_date and install_date_time_t, or all.
    root
        Another system's root directory.
    includes
        On SUSE also installed items of these kinds (product, pattern, patch), as ``kind:name``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_pkgs attr=release,install_date
    """
    if any(data.is_true(kwargs.get(word)) for word in ("removed", "purge_desired")):
        return {}
    attr = kwargs.get("attr")
    attr = attr if attr in (None, "all") else pkgrun.listed(attr)
    paths = [(root or "") + path for path in rpmout.DATABASES]
    packages = pkgrun.remembered(
        __context__, "pkg.list_pkgs_%s" % root if root else "pkg.list_pkgs", paths, lambda: _read(root)
    )
    if includes:
        packages = dict(packages, **__salt__["pkg.list_included"](includes, root))
    return __salt__["pkg_resource.format_pkg_list"](packages, data.is_true(versions_as_list), attr)


def _read(root):
    command = ["rpm", "--root", root] if root else ["rpm"]
    command += ["-qa", "--nodigest", "--nosignature", "--queryformat", rpmout.LIST_FORMAT]
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env=dict(pkgrun.ENVIRONMENT))
    if done["retcode"] != 0:
        raise CommandExecutionError("Cannot list the packages: %s" % pkgrun.words(done))
    packages = rpmout.packages(done["stdout"], __grains__.get("osarch"))
    if __grains__.get("os_family") == "Suse":
        return {name: several for name, several in packages.items() if not name.startswith("gpg-pubkey")}
    return packages


def version(*names, **kwargs):
    """
    Return the installed version of a package ("" when absent), or ``{name: version}`` of several; names may be globs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.version bash 'kernel*'
    """
    return __salt__["pkg_resource.version"](*names, **kwargs)


def list_provides(root=None, **kwargs):
    """
    Return ``{capability: [names of installed packages that provide it]}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_provides
    """
    paths = [(root or "") + path for path in rpmout.DATABASES]

    def read():
        command = ["rpm", "--root", root] if root else ["rpm"]
        command += ["-qa", "--queryformat", "[%{PROVIDES}\t%{=NAME}\n]"]
        done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env=dict(pkgrun.ENVIRONMENT))
        result = {}
        for line in done["stdout"].splitlines():
            capability, _, name = line.partition("\t")
            if name and capability != name and name not in result.setdefault(capability, []):
                result[capability].append(name)
        return result

    return pkgrun.remembered(__context__, "pkg.list_provides_%s" % root if root else "pkg.list_provides", paths, read)


def info_installed(*names, **kwargs):
    """
    Return ``{name: {field: value}}`` of installed packages

    attr
        Comma-separated names of fields; all without it.
    all_versions
        A list of dicts for each name, with the field ``edition``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.info_installed nginx attr=version,arch
    """

    def renamed(data):
        return {"source" if key == "source_rpm" else key: value for key, value in data.items()}

    packages = __salt__["lowpkg.info"](*names, **kwargs)
    if kwargs.get("all_versions"):
        return {name: [renamed(data) for data in several] for name, several in packages.items()}
    return {name: renamed(data) for name, data in packages.items()}


# Files of packages


def file_list(*packages, **kwargs):
    """
    Return ``{errors: [], files: [paths]}`` of the packages, or of all that are installed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.file_list curl redis
    """
    return __salt__["lowpkg.file_list"](*packages, **kwargs)


def file_dict(*packages, **kwargs):
    """
    Return ``{errors: [lines], packages: {name: [paths]}}`` of the packages, or of all that are installed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.file_dict curl
    """
    return __salt__["lowpkg.file_dict"](*packages, **kwargs)


def owner(*paths, **kwargs):
    """
    Return the package that a path belongs to ("" for none), or ``{path: package}`` of several

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.owner /usr/sbin/sshd
    """
    return __salt__["lowpkg.owner"](*paths, **kwargs)


def verify(*names, **kwargs):
    """
    Return ``{path: {mismatch: [what differs], type: kind}}`` or ``{missing: True}`` of files that differ from their
    package

    ignore_types
        Kinds of files that are left out: config, doc, ghost, license, readme.
    verify_options
        Further options of ``rpm -V`` without their dashes.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.verify nginx ignore_types=config
    """
    return __salt__["lowpkg.verify"](*names, **kwargs)


def modified(*packages, **flags):
    """
    Return ``{path: [what differs]}`` of files that differ from their package; see lowpkg.modified

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.modified nginx size=True
    """
    return __salt__["lowpkg.modified"](*packages, **flags)


def diff(*paths, **kwargs):
    """
    Return ``{path: unified difference to the file in its package}``, or Unchanged, Not managed, N/A (no such file)

    The packages are downloaded for this.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.diff /etc/nginx/nginx.conf
    """
    differences, of_package = {}, {}
    for path in paths:
        package = __salt__["lowpkg.owner"](path, **kwargs)
        if package:
            of_package.setdefault(package, []).append(path)
        else:
            differences[path] = "Not managed" if os.path.exists(path) else "N/A"
    if of_package:
        files = __salt__["pkg.download"](*of_package, **kwargs)
        for package, several in of_package.items():
            local = files.get(package)
            if not local:
                raise CommandExecutionError("Package %s could not be downloaded" % package)
            local = local["path"] if isinstance(local, dict) else local
            for path in several:
                differences[path] = __salt__["lowpkg.diff"](local, path) or "Unchanged"
    return differences


# Keys


def get_repo_keys(info=False, root=None, **kwargs):
    """
    Return the names of the trusted keys of packages, or with ``info`` the data of each

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.get_repo_keys info=True
    """
    return __salt__["lowpkg.list_gpg_keys"](info, root)


def add_repo_key(path=None, text=None, root=None, saltenv="base", **kwargs):
    """
    Trust a key: from a file or a URL of any kind, or from text. Returns whether it is trusted now

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.add_repo_key salt://repo/key.asc
    """
    if not path and not text:
        raise CommandExecutionError("Provide a path or a text with the key")
    if path:
        source = __salt__["cp.cache_file"](path, saltenv)
        if not source:
            raise CommandExecutionError("Error: file not found: %s" % path)
        text = source
    return __salt__["lowpkg.import_gpg_key"](text, root)


def del_repo_key(name=None, keyid=None, root=None, **kwargs):
    """
    Remove a key by its name in get_repo_keys. Returns whether it existed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.del_repo_key keyid=gpg-pubkey-3dbdc284-53674dd4
    """
    return __salt__["lowpkg.remove_gpg_key"](keyid or name, root)
