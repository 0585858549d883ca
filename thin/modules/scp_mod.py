"""Copies with OpenSSH's scp. Salt: modules/scp_mod.py, which needs Python packages.

scp asks no questions: keys and known hosts must exist, and passwords are not supported.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError

__virtualname__ = "scp"
__changes__ = ("get", "put")

#: arguments of paramiko that have no effect
_SILENT = frozenset("look_for_keys allow_agent socket_timeout buff_size sanitize progress4 progress".split())


def __virtual__():
    return __virtualname__ if process.which("scp") else (False, "scp is not in the path")


def get(remote_path, local_path="", recursive=False, preserve_times=False, **kwargs):
    """
    Copy a file from another machine to this one; returns None. Raises an error on failure

    remote_path
        The file to copy
    local_path
        The destination, by default the working directory
    recursive
        Copy directories with their content
    preserve_times
        Preserve times and modes
    hostname, port, username, key_filename, timeout
        The other machine
    auto_add_policy
        Accept its host key if known_hosts has none for it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' scp.get /var/log/app.log /srv/logs/ hostname=192.0.2.10 auto_add_policy=True
    """
    words, host = _words(recursive, preserve_times, kwargs)
    _run(words + ["--", "%s:%s" % (host, remote_path), local_path or os.curdir])


def put(files, remote_path=None, recursive=False, preserve_times=False, saltenv="base", **kwargs):
    """
    Copy a file from this machine to another one; returns None. Raises an error on failure

    files
        A path or a URL, ``salt://`` too, or a list of them
    remote_path
        The destination, by default the user's home
    recursive
        Copy directories with their content
    preserve_times
        Preserve times and modes
    saltenv
        The saltenv of ``salt://``
    hostname, port, username, key_filename, timeout
        The other machine
    auto_add_policy
        Accept its host key if known_hosts has none for it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' scp.put /srv/releases/app.tar.gz /srv/app/ hostname=web01 auto_add_policy=True
    """
    words, host = _words(recursive, preserve_times, kwargs)
    paths = []
    for source in files if isinstance(files, (list, tuple)) else [files]:
        path = __salt__["cp.cache_file"](source, saltenv=saltenv)
        if not path:
            raise CommandExecutionError("Source file %s is not there" % source)
        paths.append(path)
    _run(words + ["--"] + paths + ["%s:%s" % (host, remote_path or "")])


def _words(recursive, preserve_times, given):
    given = {key: value for key, value in given.items() if not key.startswith("__") and value is not None}
    if "password" in given or "passphrase" in given or "pkey" in given:
        raise SaltInvocationError("scp: passwords and keys in arguments are not supported: use key_filename")
    host = str(given.pop("hostname", ""))
    if not host or host.startswith("-"):
        raise SaltInvocationError("scp: hostname is needed")
    host = "[%s]" % host if ":" in host else host
    words = ["-B", "-q"] + (["-r"] if recursive else []) + (["-p"] if preserve_times else [])
    user = str(given.pop("username", ""))
    if user.startswith("-"):
        raise SaltInvocationError("scp: %s is no user" % user)
    options = {
        "port": ("-P", "%s"),
        "key_filename": ("-i", "%s"),
        "timeout": ("-o", "ConnectTimeout=%s"),
    }
    for key, (option, text) in options.items():
        words += [option, text % given.pop(key)] if key in given else []
    new = given.pop("auto_add_policy", False)
    words += ["-o", "StrictHostKeyChecking=%s" % ("accept-new" if new else "yes")]
    unknown = sorted(set(given) - _SILENT)
    if unknown:
        raise SaltInvocationError("scp: these arguments are not known: %s" % ", ".join(unknown))
    return words, "%s@%s" % (user, host) if user else host


def _run(words):
    done = __salt__["cmd.run_all"](["scp"] + words, python_shell=False)
    if done["retcode"] != 0:
        raise CommandExecutionError("scp failed: %s" % (done["stderr"] or done["stdout"]))
