"""Maintenance commands of FreeBSD's pkg, with their output: a part of ``pkg``. Salt: modules/pkgng.py

All functions except the first two take ``jail``, ``chroot`` or ``root``, like those of pkgng.py.
"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.outputs import pkgngout
from thin.utils.programs import pkgngrun

__virtualname__ = "pkg"
__fits__ = {"os": ("FreeBSD",), "kernel": ("DragonFly",)}
__reads__ = ("parse_config", "stats", "audit", "which", "owner", "search", "updating")
__changes__ = ("update_package_site", "backup", "restore", "clean", "autoremove", "check", "fetch")

CONFIGURATION = "/usr/local/etc/pkg.conf"


def __virtual__():
    reason = pkgngrun.refused(__grains__)
    return (False, reason) if reason else __virtualname__


def parse_config(file_name=CONFIGURATION):
    """
    Return ``{key: value, config_file: path}`` of pkg's configuration, or a message if the file does not exist

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.parse_config
    """
    if not os.path.isfile(file_name):
        return "Unable to find %s on file system" % file_name
    result = {}
    with open(file_name, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            words = line.split("#")[0].replace("=", ":", 1).partition(":")
            if words[1]:
                result[words[0].strip()] = words[2].strip().rstrip(",;").strip("\"' ")
    result["config_file"] = file_name
    return result


def update_package_site(new_url):
    """
    Write another ``PACKAGESITE`` into pkg's configuration

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.update_package_site http://pkg.example.org/app/
    """
    from thin.utils.files import atomic

    if not os.path.isfile(CONFIGURATION):
        raise CommandExecutionError("Unable to find %s on file system" % CONFIGURATION)
    with open(CONFIGURATION, encoding="utf-8", errors="surrogateescape") as stream:
        lines = [line for line in stream.read().splitlines() if not line.startswith("PACKAGESITE")]
    text = "\n".join(lines + ["PACKAGESITE\t : %s" % new_url]) + "\n"
    atomic.write(CONFIGURATION, text.encode("utf-8", "surrogateescape"))
    return True


def stats(local=False, remote=False, jail=None, chroot=None, root=None, bytes=False):
    """
    Return the lines of ``pkg stats``

    local, remote
        Only of the installed packages, or of the repositories.
    bytes
        Sizes as plain numbers.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.stats local=True
    """
    words = ["stats"] + pkgngout.options({"l": local, "r": remote, "b": bytes})
    return [line.strip("\t") for line in _output(words, jail, chroot, root).splitlines()]


def backup(file_name, jail=None, chroot=None, root=None):
    """
    Write the database of packages to a file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.backup /var/backups/pkg.txz
    """
    output = _output(["backup", "-d", file_name], jail, chroot, root)
    return output.partition("...")[2] or output


def restore(file_name, jail=None, chroot=None, root=None):
    """
    Read the database of packages from such a file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.restore /var/backups/pkg.txz
    """
    return _output(["backup", "-r", file_name], jail, chroot, root)


def audit(jail=None, chroot=None, root=None):
    """
    Return known vulnerabilities of the installed packages

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.audit
    """
    return _output(["audit", "-F"], jail, chroot, root)


def clean(jail=None, chroot=None, root=None, clean_all=False, dryrun=False):
    """
    Take downloaded packages away that are out of date

    clean_all
        Remove all downloaded packages.
    dryrun
        Only report.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.clean clean_all=True
    """
    words = ["clean"] + pkgngout.options({"a": clean_all, "n": dryrun, "y": not dryrun})
    return _output(words, jail, chroot, root)


def autoremove(jail=None, chroot=None, root=None, dryrun=False):
    """
    Remove dependencies that are no longer needed

    dryrun
        Only report.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.autoremove dryrun=True
    """
    return _output(["autoremove"] + pkgngout.options({"n": dryrun, "y": not dryrun}), jail, chroot, root)


def check(jail=None, chroot=None, root=None, depends=False, recompute=False, checksum=False, checklibs=False):
    """
    Check the installed packages

    depends
        Look for missing dependencies, and install them.
    recompute
        Compute sizes and sums again.
    checksum
        Search for changed files.
    checklibs
        Search for missing libraries.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.check checksum=True
    """
    if not any((depends, recompute, checksum, checklibs)):
        return "One of depends, recompute, checksum or checklibs must be set to True"
    letters = {"d": depends, "y": depends, "r": recompute, "s": checksum, "B": checklibs}
    return _output(["check"] + pkgngout.options(letters), jail, chroot, root)


def which(path, jail=None, chroot=None, root=None, origin=False, quiet=False):
    """
    Return which package a path belongs to

    origin
        Its origin instead of its name.
    quiet
        Only the name.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.which /usr/local/bin/vim quiet=True
    """
    return _output(["which"] + pkgngout.options({"q": quiet, "o": origin}) + [path], jail, chroot, root)


def owner(*paths, **kwargs):
    """
    Return the package that a path belongs to ("" for none), or ``{path: package}`` of several

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.owner /usr/local/bin/vim
    """
    owners = {}
    for path in paths:
        done = _run(["which", "-q", path], *[kwargs.get(word) for word in ("jail", "chroot", "root")])
        owners[path] = done["stdout"].strip().rpartition("-")[0] if done["retcode"] == 0 else ""
    return owners.get(paths[0], "") if len(owners) == 1 else owners or ""


def search(
    name,
    jail=None,
    chroot=None,
    root=None,
    exact=False,
    glob=False,
    regex=False,
    pcre=False,
    comment=False,
    desc=False,
    full=False,
    depends=False,
    size=False,
    quiet=False,
    origin=False,
    prefix=False,
):
    """
    Return the packages of the repositories with this name

    exact, glob, regex, pcre
        The kind of pattern.
    comment, desc
        Also search comments or descriptions.
    full, depends, size, origin, prefix
        The fields to print.
    quiet
        Less output.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.search vim exact=True
    """
    letters = {
        "e": exact,
        "g": glob,
        "x": regex,
        "X": pcre,
        "c": comment,
        "D": desc,
        "f": full,
        "d": depends,
        "s": size,
        "q": quiet,
        "o": origin,
        "p": prefix,
    }
    return _output(["search"] + pkgngout.options(letters) + [name], jail, chroot, root)


def fetch(
    name,
    jail=None,
    chroot=None,
    root=None,
    fetch_all=False,
    quiet=False,
    fromrepo=None,
    glob=True,
    regex=False,
    pcre=False,
    local=False,
    depends=False,
):
    """
    Download packages

    fetch_all
        Download all packages of the repository.
    fromrepo
        The repository.
    glob, regex, pcre
        The kind of pattern.
    local
        Do not update the lists.
    depends
        Also download dependencies.
    quiet
        Less output.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.fetch vim depends=True
    """
    letters = {"a": fetch_all, "q": quiet, "g": glob, "x": regex, "X": pcre, "L": local, "d": depends}
    words = ["fetch", "-y"] + (["-r", fromrepo] if fromrepo else []) + pkgngout.options(letters) + [name]
    return _output(words, jail, chroot, root)


def updating(name, jail=None, chroot=None, root=None, filedate=None, filename=None):
    """
    Return the entries of the ports' UPDATING for a package

    filedate
        Only newer entries; YYYYMMDD.
    filename
        Another file.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.updating vim filedate=20260101
    """
    words = ["updating"]
    words += ["-d", str(filedate)] if filedate else []
    words += ["-f", filename] if filename else []
    return _output(words + [name], jail, chroot, root)


def _output(args, jail, chroot, root):
    done = _run(args, jail, chroot, root)
    return "\n".join(text for text in (done["stdout"], done["stderr"]) if text)


def _run(args, jail=None, chroot=None, root=None):
    return pkgngrun.run(__salt__, __opts__, pkgngrun.place(jail, chroot, root), args)
