"""rpm: files and data of packages, package files, keys. Salt: modules/rpm_lowpkg.py (the keys: openSUSE's Salt)

Every function takes ``root``: another system's root directory.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath
from thin.utils.outputs import rpmout
from thin.utils.packages import rpmversion
from thin.utils.programs import pkgrun

__virtualname__ = "lowpkg"
__fits__ = {
    "os_family": ("RedHat", "Suse"),
    "os": ("Amazon", "XCP", "XenServer", "VirtuozzoLinux", "Virtuozzo", "Issabel PBX", "openEuler", "VMware Photon OS"),
}
__usual__ = True
__reads__ = (
    "bin_pkg_info",
    "checksum",
    "diff",
    "list_pkgs",
    "file_list",
    "file_dict",
    "owner",
    "info",
    "verify",
    "modified",
    "version_cmp",
    "list_gpg_keys",
    "info_gpg_key",
)
__changes__ = ("import_gpg_key", "remove_gpg_key")

#: systems with rpm whose family is not RedHat or Suse
OTHERS = (
    "amazon",
    "xcp",
    "xenserver",
    "virtuozzolinux",
    "virtuozzo",
    "issabel pbx",
    "openeuler",
    "vmware photon os",
)

_LOCKED = ("waiting for transaction lock", "can't create transaction lock", "waiting for exclusive lock")

#: the fields of ``info``, as rpm's query tags
_FIELDS = (
    ("name", "%{NAME}"),
    ("relocations", "%|PREFIXES?{[%{PREFIXES} ]}:{(not relocatable)}|"),
    ("version", "%{VERSION}"),
    ("vendor", "%{VENDOR}"),
    ("release", "%{RELEASE}"),
    ("epoch", "%|EPOCH?{%{EPOCH}}|"),
    ("build_date_time_t", "%{BUILDTIME}"),
    ("build_date", "%{BUILDTIME}"),
    ("install_date_time_t", "%|INSTALLTIME?{%{INSTALLTIME}}:{(not installed)}|"),
    ("install_date", "%|INSTALLTIME?{%{INSTALLTIME}}:{(not installed)}|"),
    ("build_host", "%{BUILDHOST}"),
    ("group", "%{GROUP}"),
    ("source_rpm", "%{SOURCERPM}"),
    ("size", "%{LONGSIZE}"),
    ("arch", "%{ARCH}"),
    ("license", "%|LICENSE?{%{LICENSE}}|"),
    (
        "signature",
        "%|DSAHEADER?{%{DSAHEADER:pgpsig}}:{%|RSAHEADER?{%{RSAHEADER:pgpsig}}:"
        "{%|SIGGPG?{%{SIGGPG:pgpsig}}:{%|SIGPGP?{%{SIGPGP:pgpsig}}:{(none)}|}|}|}|",
    ),
    ("packager", "%|PACKAGER?{%{PACKAGER}}|"),
    ("url", "%|URL?{%{URL}}|"),
    ("summary", "%{SUMMARY}"),
    ("description", "%{DESCRIPTION}"),
    ("edition", "%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}"),
)
_NUMBERS = ("build_date_time_t", "install_date_time_t")
_DATES = ("build_date", "install_date")


def __virtual__():
    system = (__grains__.get("os") or "").lower()
    if __grains__.get("os_family") not in ("RedHat", "Suse") and system not in OTHERS:
        return False, "The rpm execution module failed to load: only available on systems with rpm packages."
    if not process.which("rpm"):
        return False, "The rpm execution module failed to load: rpm binary is not in the path."
    return __virtualname__


# Package files


def bin_pkg_info(path, saltenv="base"):
    """
    Return ``{name, version, arch, repoid, install_date, install_date_time_t}`` of an .rpm file, None if it is no .rpm
    file

    path
        An absolute path, or a URL of any kind.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.bin_pkg_info /srv/tree-2.1.noarch.rpm
    """
    if "://" in path:
        url, path = path, __salt__["cp.cache_file"](path, saltenv)
        if not path:
            raise CommandExecutionError("Unable to retrieve %s from saltenv '%s'" % (url, saltenv))
    elif not os.path.exists(path):
        raise CommandExecutionError("%s does not exist on minion" % path)
    elif not os.path.isabs(path):
        raise SaltInvocationError("%s is not an absolute path" % path)
    done = _run(["rpm", "-qp", "--nosignature", "--queryformat", rpmout.LIST_FORMAT, "--", path])
    lines = [line for line in done["stdout"].splitlines() if line.count("\t") == 5]
    if done["retcode"] != 0 or not lines:
        return None
    name, attributes = rpmout.one(lines[0], __grains__.get("osarch"))
    return {
        "name": name,
        "version": rpmout.full_version(attributes),
        "arch": attributes["arch"],
        "repoid": "none",
        "install_date": attributes["install_date"],
        "install_date_time_t": attributes["install_date_time_t"],
    }


def checksum(*paths, **kwargs):
    """
    Return ``{path: whether digests and signatures of the .rpm file are valid}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.checksum /tmp/app-2.1.rpm /tmp/app-doc-2.1.rpm
    """
    if not paths:
        raise CommandExecutionError("No package files has been specified.")
    command = _rpm(kwargs) + ["-K", "--quiet", "--"]
    return {path: os.path.isfile(path) and _run(command + [path])["retcode"] == 0 for path in paths}


def diff(package_path, path):
    """
    Return the unified diff from a file in the .rpm file to the file on the system, "" if they are equal

    package_path
        The .rpm file.
    path
        The file, as an absolute path.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.diff /tmp/app-2.1.rpm /etc/app/app.conf
    """
    for program in ("rpm2cpio", "cpio"):
        if not process.which(program):
            raise CommandExecutionError("Command not found: '%s'" % program)
    archive = process.run([process.which("rpm2cpio"), package_path])
    if archive.retcode != 0:
        raise CommandExecutionError("%s cannot be read: %s" % (package_path, archive.stderr.decode("utf-8", "replace")))
    cpio = [process.which("cpio"), "-i", "--quiet", "--to-stdout", "." + path]
    packed = process.run(cpio, stdin=archive.stdout).stdout
    with open(path, "rb") as stream:
        present = stream.read()
    if packed == present:
        return ""
    if b"\0" in packed[:8192] or b"\0" in present[:8192]:
        return "File '%s' is binary and its content has been modified." % path
    from thin.utils import unified

    old, new = [data.decode("utf-8", "replace").splitlines(True) for data in (packed, present)]
    return "".join(unified.unified(old, new, "A " + path, "B " + path)).rstrip("\n")


# Installed packages


def list_pkgs(*packages, **kwargs):
    """
    Return ``{name: version}`` of the packages, or of all that are installed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.list_pkgs nginx
    """
    return dict(_queried(packages, kwargs)[0])


def file_list(*packages, **kwargs):
    """
    Return ``{errors: [], files: [paths]}`` of the packages, or of all that are installed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.file_list curl redis
    """
    query = ["-ql", "--"] + list(packages) if packages else ["-qla"]
    return {"errors": [], "files": _run(_rpm(kwargs) + query)["stdout"].splitlines()}


def file_dict(*packages, **kwargs):
    """
    Return ``{errors: [lines], packages: {name: [paths]}}`` of the packages, or of all that are installed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.file_dict nginx
    """
    installed, errors = _queried(packages, kwargs)
    by_package = {name: [] for name, _ in installed}
    query = ["-q", "--"] + [name for name, _ in installed] if packages else ["-qa"]
    if installed:
        form = "[%{=NAME}\t%{FILENAMES}\n]"
        for line in _run(_rpm(kwargs) + ["--queryformat", form] + query)["stdout"].splitlines():
            name, _, path = line.partition("\t")
            if path:
                by_package.setdefault(name, []).append(path)
    return {"errors": errors, "packages": by_package}


def owner(*paths, **kwargs):
    """
    Return the package that a path belongs to ("" for none), or ``{path: package}`` of several

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.owner /usr/sbin/sshd /etc/app/app.conf
    """
    if not paths:
        return ""
    owners = {}
    for path in paths:
        done = _run(_rpm(kwargs) + ["-qf", "--queryformat", "%{NAME}\n", "--", path])
        owners[path] = done["stdout"].split("\n")[0].strip() if done["retcode"] == 0 else ""
    return owners[paths[0]] if len(owners) == 1 else owners


def info(*packages, **kwargs):
    """
    Return ``{name: {field: value}}`` of the packages, or of all that are installed

    attr
        Comma-separated names of fields; by default all.
    all_versions
        A list of dicts for each name, with the field ``edition``; by default only the newest version.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.info curl redis attr=version,size
    """
    wanted = pkgrun.listed(kwargs.get("attr"))
    fields = [field for field in _FIELDS if not wanted or field[0] in wanted]
    if not fields:
        raise CommandExecutionError("No valid attributes found.")
    names = [name for name, _ in fields]
    fields += [field for field in _FIELDS if field[0] in ("name", "edition") and field[0] not in names]
    # separators of records and fields that no field contains; rpm does not know \x escapes, so the bytes are inserted
    form = "\x1f".join("%s\x1d%s" % field for field in fields) + "\x1e"
    query = ["-q", "--"] + list(packages) if packages else ["-qa"]
    records = []
    for record in _run(_rpm(kwargs) + ["--queryformat", form] + query)["stdout"].split("\x1e"):
        data = dict(item.split("\x1d", 1) for item in record.split("\x1f") if "\x1d" in item)
        if len(data) == len(fields):
            records.append({key.strip(): value for key, value in data.items()})
    about = {}
    for data in sorted(records, key=lambda data: rpmversion.sort_key(data["edition"]), reverse=True):
        name = data.pop("name").split("\n")[-1]  # before it is the line "package x is not installed"
        if name.startswith("gpg-pubkey"):
            continue
        data = _typed(data)
        if kwargs.get("all_versions"):
            about.setdefault(name, []).append(data)
        elif name not in about:
            del data["edition"]
            about[name] = data
    return about


def verify(*packages, **kwargs):
    """
    Return ``{path: {mismatch: [what differs], type: kind}}`` or ``{missing: True}`` of files that differ from their
    package

    ignore_types
        Kinds of files that are left out (config, doc, ghost, license, readme): a list, or comma-separated.
    verify_options
        Further options of ``rpm -V`` without their dashes, such as nodeps: a list, or comma-separated.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.verify nginx ignore_types=config
    """
    for word in ("ignore_types", "verify_options"):
        if not isinstance(kwargs.get(word, []), (list, str)):
            raise SaltInvocationError("%s must be a list or a comma-separated string" % word)
    options = ["--" + option for option in pkgrun.listed(kwargs.get("verify_options"))]
    done = _run(_rpm(kwargs) + options + (["-V", "--"] + list(packages) if packages else ["-Va"]))
    if not done["stdout"].strip() and done["retcode"] != 0:
        raise CommandExecutionError("Failed to verify package(s)" + (": " + done["stderr"] if done["stderr"] else ""))
    return rpmout.verified(done["stdout"], pkgrun.listed(kwargs.get("ignore_types")))


def modified(*packages, **flags):
    """
    Return ``{path: [what differs]}`` of files that differ from their package: size, mode, checksum, device, symlink,
    owner, group, time, capabilities, missing, and config for configuration files

    Each of these words is also an argument: True selects files with this difference, False files without it.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.modified nginx size=True config=False
    """
    root = {"root": flags.pop("root", None)}
    done = _run(_rpm(root) + (["-V", "--"] + list(packages) if packages else ["-Va"]))
    if done["retcode"] > 1:
        del done["stdout"]
        return done
    flags = {word: value for word, value in flags.items() if not word.startswith("_")}
    files = rpmout.modified(done["stdout"])
    return {
        path: words
        for path, words in files.items()
        if all((word in words) == bool(value) for word, value in flags.items())
    }


def version_cmp(ver1, ver2, ignore_epoch=False):
    """
    Return -1, 0 or 1 as version ``ver1`` is older than, equal to or newer than ``ver2``

    ignore_epoch
        Ignore epochs.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.version_cmp 1.20.1-14.el9 1.20.1-14.el9_2.1
    """
    if ignore_epoch:
        ver1, ver2 = rpmversion.without_epoch(ver1), rpmversion.without_epoch(ver2)
    return rpmversion.compare(ver1, ver2)


# Keys


def list_gpg_keys(info=False, root=None):
    """
    Return the names of the keys that rpm trusts, or with ``info`` ``{name: result of info_gpg_key}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.list_gpg_keys info=True
    """
    done = _run(_rpm({"root": root}) + ["-qa", "--queryformat", "%{NAME}-%{VERSION}-%{RELEASE}\n", "gpg-pubkey*"])
    keys = sorted(line for line in done["stdout"].splitlines() if line.startswith("gpg-pubkey-"))
    return {key: info_gpg_key(key, root) for key in keys} if info else keys


def info_gpg_key(key, root=None):
    """
    Return ``{Name, Version, Release, Architecture, "Install Date", Packager, Summary, Description, …}`` of a key

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.info_gpg_key gpg-pubkey-3dbdc284-53674dd4
    """
    done = _run(_rpm({"root": root}) + ["-qi", "--", key])
    if done["retcode"] != 0:
        raise CommandExecutionError("There is no key %s: %s" % (key, pkgrun.words(done)))
    head, _, description = done["stdout"].partition("\nDescription :")
    result = {}
    for line in head.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            result[name.strip()] = None if value.strip() in ("(none)", "") else value.strip()
    result["Description"] = description.strip()
    return result


def import_gpg_key(key, root=None):
    """
    Let rpm trust a key: the path of a file, or the key as text. Returns whether it is trusted afterwards

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.import_gpg_key /etc/pki/rpm-gpg/RPM-GPG-KEY-example
    """
    from thin.utils.files import osutil

    path = None
    try:
        if "BEGIN PGP" in key:
            descriptor, path = osutil.mkstemp()
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(key)
        done = _change(_rpm({"root": root}) + ["--import", path or key])
    finally:
        if path:
            safepath.unlink(path)
    if done["retcode"] != 0:
        raise CommandExecutionError("The key cannot be imported: %s" % pkgrun.words(done))
    return True


def remove_gpg_key(key, root=None):
    """
    Remove a trusted key by its name (``gpg-pubkey-3dbdc284-53674dd4``). Returns whether it was removed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lowpkg.remove_gpg_key gpg-pubkey-3dbdc284-53674dd4
    """
    return _change(_rpm({"root": root}) + ["-e", "--", key])["retcode"] == 0


# Private functions


def _rpm(kwargs):
    return ["rpm", "--root", kwargs["root"]] if kwargs.get("root") else ["rpm"]


def _queried(packages, kwargs):
    """``([(name, version)], [messages about packages that are not installed])``."""
    query = ["-q", "--"] + list(packages) if packages else ["-qa"]
    done = _run(_rpm(kwargs) + ["--queryformat", "%{NAME}\t%{VERSION}\n"] + query)
    installed, errors = [], []
    for line in done["stdout"].splitlines():
        name, tab, version = line.partition("\t")
        if tab:
            installed.append((name, version))
        elif "is not installed" in line:
            errors.append(line)
    return installed, errors


def _typed(data):
    """The fields of ``info`` as numbers and dates, without empty ones."""
    result = {}
    for key, value in data.items():
        if key in _NUMBERS or key in _DATES:
            if value.isdigit():
                result[key] = int(value) if key in _NUMBERS else rpmout.date(int(value))
        elif key == "description" or value:
            result[key] = value
    return result


def _change(command):
    return pkgrun.run(__salt__["cmd.run_all"], __opts__, command, pkgrun.says(*_LOCKED))


def _run(command):
    return __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env=dict(pkgrun.ENVIRONMENT))
