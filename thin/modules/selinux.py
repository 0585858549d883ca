"""SELinux: mode, booleans, modules, contexts of files and ports. Salt: modules/selinux.py

The module calls semanage, setsebool, semodule and restorecon; it does not use Python's bindings. It also works if
SELinux is disabled, if the machine has a policy. Contexts are in selinux_contexts.py.
"""

import os
import re

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import osutil, safepath, textfile

__reads__ = ("selinux_fs_path", "getenforce", "getconfig", "getsebool", "list_sebool", "getsemod", "list_semod")
__changes__ = ("setenforce", "setsebool", "setsebools", "setsemod", "install_semod", "remove_semod")

CONFIG = "/etc/selinux/config"


def __virtual__():
    for name in ("semanage", "setsebool", "semodule"):
        if not process.which(name):
            return False, "%s is not in the path" % name
    if __grains__.get("kernel") != "Linux":
        return False, "Module only works on Linux with selinux installed"
    return "selinux"


def selinux_fs_path():
    """
    Return the mount point of the kernel's SELinux file system, None if SELinux is disabled

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.selinux_fs_path
    """
    for folder in ("/sys/fs/selinux", "/selinux"):
        if os.path.isfile(os.path.join(folder, "enforce")):
            return folder
    return None


def getenforce():
    """
    Return the current mode: Enforcing, Permissive or Disabled

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.getenforce
    """
    folder = selinux_fs_path()
    text = folder and _read(os.path.join(folder, "enforce"))
    return "Disabled" if not text else "Permissive" if text.strip() == "0" else "Enforcing"


def getconfig():
    """
    Return the mode after the next boot, from the configuration; None if it is not set

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.getconfig
    """
    for line in (_read(CONFIG) or "").splitlines():
        if line.strip().startswith("SELINUX="):
            return line.partition("=")[2].strip().capitalize()
    return None


def setenforce(mode):
    """
    Set the mode, now and in the configuration; returns the current one

    mode
        enforcing, permissive or disabled (disabled takes effect at the next boot; until then the mode is permissive)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.setenforce permissive
    """
    word = mode.lower() if isinstance(mode, str) else ""
    if word not in ("enforcing", "permissive", "disabled"):
        raise SaltInvocationError("Invalid mode %s" % mode)
    folder = selinux_fs_path()
    if folder:
        try:
            with open(os.path.join(folder, "enforce"), "w", opener=safepath.opener, encoding="utf-8") as target:
                target.write("1" if word == "enforcing" else "0")
        except OSError as exc:
            raise CommandExecutionError("Could not write SELinux enforce file: %s" % exc)
    text = textfile.read(CONFIG)
    if text is None:
        raise CommandExecutionError("Could not read SELinux config file: there is no %s" % CONFIG)
    changed = re.sub(r"(?m)^SELINUX=.*$", "SELINUX=" + word, text)
    if changed != text:
        textfile.write(CONFIG, changed)
    return getenforce()


def getsebool(boolean):
    """
    Return ``{State, Default, Description}`` of a boolean, {} if there is none of that name

    boolean
        Its name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.getsebool httpd_can_network_connect
    """
    return list_sebool().get(boolean, {})


def setsebool(boolean, value, persist=False):
    """
    Set a boolean; returns whether it worked

    boolean
        Its name
    value
        on or off
    persist
        After the next boot as well

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.setsebool httpd_can_network_connect on persist=True
    """
    return _works(["setsebool"] + (["-P"] if persist else []) + [str(boolean), str(value)])


def setsebools(pairs, persist=False):
    """
    Set several booleans at once; returns whether it worked

    pairs
        ``{name: value}``
    persist
        After the next boot as well

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.setsebools '{httpd_can_sendmail: on, ftpd_full_access: off}'
    """
    rows = ["%s=%s" % (name, pairs[name]) for name in pairs]
    return _works(["setsebool"] + (["-P"] if persist else []) + rows)


def list_sebool():
    """
    Return all booleans: ``{name: {State, Default, Description}}``, with the words on and off

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.list_sebool
    """
    result = {}
    for line in _lines(["semanage", "boolean", "--list"])[1:]:
        match = re.match(r"(\S+)\s+\((\w+)\s*,\s*(\w+)\)\s*(.*)", line)
        if match:
            name, state, default, words = match.groups()
            result[name] = {"State": state, "Default": default, "Description": " ".join(words.split())}
    return result


def getsemod(module):
    """
    Return ``{Enabled, Version}`` of a policy module, {} if there is none of that name

    module
        Its name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.getsemod telnet
    """
    return list_semod().get(module, {})


def setsemod(module, state):
    """
    Enable or disable a policy module; returns whether it worked

    module
        Its name
    state
        Enabled or Disabled

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.setsemod telnet Disabled
    """
    words = {"enabled": "--enable", "disabled": "--disable"}
    if str(state).lower() not in words:
        raise SaltInvocationError("Invalid state %s" % state)
    return _works(["semodule", words[str(state).lower()], str(module)])


def install_semod(module_path):
    """
    Install a policy module from a file; returns whether it worked

    module_path
        A path here, or a ``salt://`` URL

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.install_semod salt://selinux/mine.pp
    """
    if not module_path.startswith("salt://"):
        return _works(["semodule", "--install", module_path])
    # semodule determines a module's kind by the suffix of its file's name, and the module's name by the rest
    folder = osutil.mkdtemp()
    try:
        path = os.path.join(folder, os.path.basename(module_path.partition("?")[0]))
        if not __salt__["cp.get_file"](module_path, path):
            raise CommandExecutionError("Source file %s is not there" % module_path)
        return _works(["semodule", "--install", path])
    finally:
        osutil.rmtree(folder, ignore_errors=True)


def remove_semod(module):
    """
    Remove a policy module; returns whether it worked

    module
        Its name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.remove_semod mine
    """
    return _works(["semodule", "--remove", str(module)])


def list_semod():
    """
    Return the policy modules: ``{name: {Enabled: bool, Version: None}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' selinux.list_semod
    """
    rows = [line.split() for line in _lines(["semodule", "--list-modules=full"])]
    return {row[1]: {"Enabled": row[-1] != "disabled", "Version": None} for row in rows if len(row) > 2}


def _read(path):
    try:
        return textfile.read(path)
    except CommandExecutionError:
        return None


def _run(command):
    return __salt__["cmd.run_all"](command, python_shell=False)


def _works(command):
    return __salt__["cmd.retcode"](command, python_shell=False) == 0


def _lines(command):
    return __salt__["cmd.run_stdout"](command, python_shell=False).splitlines()
