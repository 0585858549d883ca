"""Kernel parameters: those in force, by the program ``sysctl``, and those of a configuration file.
Salt: ``salt/modules/linux_sysctl.py``.
"""

import os
import re

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath, sysctlconf, textfile

__virtualname__ = "sysctl"
__usual__ = True
__reads__ = ("default_config", "show", "get")
__changes__ = ("assign", "persist")


def __virtual__():
    if __grains__.get("kernel") != "Linux":
        return False, "The linux_sysctl execution module cannot be loaded: only available on Linux systems."
    return __virtualname__


def default_config():
    """
    Return the file that parameters are persisted in when none is named

    systemd reads ``/etc/sysctl.d`` at boot and leaves ``/etc/sysctl.conf`` alone (since 207: before any Python 3.6).

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.default_config
    """
    return "/etc/sysctl.d/99-salt.conf" if os.path.isdir("/run/systemd/system") else "/etc/sysctl.conf"


def show(config_file=False):
    """
    Return ``{name: value}`` of the parameters in force, or of those in a configuration file

    ``[]`` when there is no such file, None when it cannot be read.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.show
    """
    if not config_file:
        text = __salt__["cmd.run_stdout"]([_program(), "-a"], output_loglevel="trace")
        pairs = [line.split(" = ", 1) for line in text.splitlines() if " = " in line]
        return dict(pairs)
    return sysctlconf.read(config_file)


def get(name):
    """
    Return the value in force; what ``sysctl`` says when it has none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.get vm.swappiness
    """
    return __salt__["cmd.run"]([_program(), "-n", name], python_shell=False)


def assign(name, value):
    """
    Put a value in force, and return it as ``{name: value}``

    Raises CommandExecutionError when there is no such parameter or the kernel refuses.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.assign vm.swappiness 10
    """
    value = str(value)
    # In the names of interfaces dots and slashes change places: net/ipv4/conf/eth0.1 is net.ipv4.conf.eth0/1.
    if not os.path.exists("/proc/sys/" + name.translate({ord("."): "/", ord("/"): "."})):
        raise CommandExecutionError("sysctl %s does not exist" % name)
    done = __salt__["cmd.run_all"]([_program(), "-w", "%s=%s" % (name, value)], python_shell=False)
    out, err = done["stdout"], done["stderr"]
    # Read-only and unwilling parameters are told apart by what was printed: the exit code is 0 for some of them.
    said = re.match(r"%s\s+=\s+%s$" % (re.escape(name), re.escape(value)), out)
    if not said or "Invalid argument" in err:
        raise CommandExecutionError("sysctl -w failed: %s" % (err if done["retcode"] != 0 and err else out))
    return dict([out.split(" = ", 1)])


def persist(name, value, config=None):
    """
    Put a value in force and in a configuration file; ``Updated`` or ``Already set``

    The file is written before the value is put in force: it stays when the kernel refuses.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.persist vm.swappiness 10
    """
    config = default_config() if config is None else config
    text = textfile.read(config)
    if text is None:
        safepath.makedirs(os.path.dirname(config) or ".")
    kept, found = [], False
    for line in textfile.split(sysctlconf.HEADER if text is None else text):
        key, equals, written = line.partition("=")
        if not equals or key.strip() != name:
            kept.append(line)
        elif _squeezed(written.strip()) == _squeezed(value):
            if _squeezed(get(name)) == _squeezed(value):
                return "Already set"
            assign(name, value)
            return "Updated"
        else:
            kept.append("%s = %s\n" % (name, value))
            found = True
    if not found:
        kept.append("%s = %s\n" % (name, value))
    textfile.write(config, "".join(kept))
    assign(name, value)
    return "Updated"


def _squeezed(value):
    """The kernel separates the numbers of a parameter by tabs, whatever was written."""
    return re.sub(r"\s+", "\t", str(value))


def _program():
    found = process.which("sysctl")
    if not found:
        raise CommandExecutionError("Command 'sysctl' cannot be found")
    return found
