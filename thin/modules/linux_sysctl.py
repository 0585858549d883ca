"""Kernel parameters: their current values, by the program ``sysctl``, and those in a configuration file. Salt:
``salt/modules/linux_sysctl.py``.
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
    Return the default file for persistent parameters

    systemd reads ``/etc/sysctl.d`` at boot and ignores ``/etc/sysctl.conf`` (since version 207, which is older than
    Python 3.6).

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.default_config
    """
    return "/etc/sysctl.d/99-salt.conf" if os.path.isdir("/run/systemd/system") else "/etc/sysctl.conf"


def show(config_file=False):
    """
    Return ``{name: value}`` of the current parameters, or of those in a configuration file

    ``[]`` if the file does not exist, None if it cannot be read.

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
    Return the current value; the message of ``sysctl`` if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.get vm.swappiness
    """
    return __salt__["cmd.run"]([_program(), "-n", name], python_shell=False)


def assign(name, value):
    """
    Set the current value, and return it as ``{name: value}``

    Raises CommandExecutionError if there is no such parameter or the kernel rejects the value.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.assign vm.swappiness 10
    """
    value = str(value)
    # In names of interfaces, dots and slashes are swapped: net/ipv4/conf/eth0.1 is net.ipv4.conf.eth0/1.
    if not os.path.exists("/proc/sys/" + name.translate({ord("."): "/", ord("/"): "."})):
        raise CommandExecutionError("sysctl %s does not exist" % name)
    done = __salt__["cmd.run_all"]([_program(), "-w", "%s=%s" % (name, value)], python_shell=False)
    out, err = done["stdout"], done["stderr"]
    # Failures are recognized by the output: the exit code is 0 for some read-only parameters.
    match = re.match(r"%s\s+=\s+%s$" % (re.escape(name), re.escape(value)), out)
    if not match or "Invalid argument" in err:
        raise CommandExecutionError("sysctl -w failed: %s" % (err if done["retcode"] != 0 and err else out))
    return dict([out.split(" = ", 1)])


def persist(name, value, config=None):
    """
    Set the current value and that in a configuration file; ``Updated`` or ``Already set``

    The file is written first: it keeps the value even if the kernel rejects it.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.persist vm.swappiness 10
    """
    config = default_config() if config is None else config
    text = textfile.read(config)
    if text is None:
        safepath.makedirs(os.path.dirname(config) or ".")
    kept, result = [], False
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
            result = True
    if not result:
        kept.append("%s = %s\n" % (name, value))
    textfile.write(config, "".join(kept))
    assign(name, value)
    return "Updated"


def _squeezed(value):
    """The value with single blanks: the kernel separates the numbers of a parameter by tabs."""
    return re.sub(r"\s+", "\t", str(value))


def _program():
    program = process.which("sysctl")
    if not program:
        raise CommandExecutionError("Command 'sysctl' cannot be found")
    return program
