"""Copies by rsync. Salt: modules/rsync.py"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import osutil, textfile

__reads__ = ("version", "config")
__changes__ = ("rsync",)

#: arguments whose defaults are options of the same name (rsync.src …)
_OPTIONS = "src dst delete force update passwordfile exclude excludefrom dryrun rsh".split()


def __virtual__():
    if process.which("rsync"):
        return "rsync"
    return False, "The rsync execution module cannot be loaded: the rsync binary is not in the path."


def rsync(
    src,
    dst,
    delete=False,
    force=False,
    update=False,
    passwordfile=None,
    exclude=None,
    excludefrom=None,
    dryrun=False,
    rsh=None,
    additional_opts=None,
    saltenv="base",
):
    """
    Copy files; returns what cmd.run_all returns

    Arguments that are not given default to the options ``rsync.src``, ``rsync.dst`` …

    src
        The source, also a ``salt://`` URL
    dst
        The destination
    delete
        Delete files that the source does not have
    force
        Delete directories that are in the way, even if they are not empty
    update
        Skip files that are newer at the destination
    passwordfile
        A file with the password of a daemon
    exclude
        A pattern of files to leave out, or a list of patterns
    excludefrom
        A file with such patterns, instead of ``exclude``
    dryrun
        Only report what would be copied
    rsh
        The remote shell
    additional_opts
        A list of further options
    saltenv
        The saltenv of ``salt://``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rsync.rsync /srv/app/ web02:/srv/app/ delete=True exclude='[cache, tmp]'
    """
    given = locals()
    how = {name: given[name] or __salt__["config.option"]("rsync." + name) for name in _OPTIONS}
    src, dst = how["src"], how["dst"]
    if not src or not dst:
        raise SaltInvocationError("src and dst cannot be empty")
    folder = None
    try:
        if src.startswith("salt://"):
            folder = osutil.mkdtemp()
            src = _fetched(src, saltenv, folder)
        more = list(additional_opts) if isinstance(additional_opts, list) else []
        return __salt__["cmd.run_all"](["rsync"] + _words(how) + more + ["--", src, dst], python_shell=False)
    finally:
        if folder:
            osutil.rmtree(folder, ignore_errors=True)


def version():
    """
    Return the version of rsync

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rsync.version
    """
    words = __salt__["cmd.run_stdout"](["rsync", "--version"], python_shell=False).split("\n")[0].split()
    if len(words) < 3:
        raise CommandExecutionError("Unable to determine rsync version")
    return words[2]


def config(conf_path="/etc/rsyncd.conf"):
    """
    Return the text of the daemon's configuration

    conf_path
        Its path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' rsync.config
    """
    if os.path.isdir(conf_path):
        raise CommandExecutionError("Unable to read %s, path is a directory" % conf_path)
    text = textfile.read(conf_path)
    if text is None:
        raise CommandExecutionError("%s does not exist" % conf_path)
    return text


def _words(how):
    words = ["-avz"] + ["--" + name for name in ("delete", "force", "update") if how[name]]
    words += ["--rsh=%s" % how["rsh"]] if how["rsh"] else []
    words += ["--password-file", how["passwordfile"]] if how["passwordfile"] else []
    if how["excludefrom"]:
        words += ["--exclude-from", how["excludefrom"]]
    else:
        patterns = how["exclude"] if isinstance(how["exclude"], list) else [how["exclude"]] if how["exclude"] else []
        words += [word for pattern in patterns for word in ("--exclude", pattern)]
    return words + (["--dry-run"] if how["dryrun"] else [])


def _fetched(url, saltenv, folder):
    path = url[len("salt://") :]
    if path.rstrip("/") in __salt__["cp.list_master_dirs"](saltenv=saltenv):
        if __salt__["cp.get_dir"](url, folder, saltenv):
            return folder + "/"
    else:
        place = os.path.join(folder, os.path.basename(path))
        if __salt__["cp.get_file"](url, place, saltenv):
            return place
    raise CommandExecutionError("%s does not exist" % url)
