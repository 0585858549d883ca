"""Kernel parameters of FreeBSD, in force and in /etc/sysctl.conf. Salt: the module freebsd_sysctl of Salt 3007

/boot/loader.conf has parameters, too: they hold from the next start, and their values stand in quotes.
"""

from thin.utils.files import sysctlconf, textfile

__virtualname__ = "sysctl"
__fits__ = {"kernel": ("FreeBSD", "DragonFly")}
__reads__ = ("default_config", "show", "get")
__changes__ = ("assign", "persist")

LOADER = "/boot/loader.conf"
ROOTS = (
    "compat.",
    "debug.",
    "dev.",
    "hptmv.",
    "hw.",
    "kern.",
    "machdep.",
    "net.",
    "p1003_1b.",
    "security.",
    "user.",
    "vfs.",
    "vm.",
)


def __virtual__():
    if __grains__.get("kernel") in ("FreeBSD", "DragonFly"):
        return __virtualname__
    return False, "The freebsd_sysctl execution module cannot be loaded: only available on FreeBSD systems."


def default_config():
    """
    Return the file that parameters are persisted in when none is named

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.default_config
    """
    return "/etc/sysctl.conf"


def show(config_file=False):
    """
    Return ``{name: value}`` of the parameters in force, or of those in a file

    config_file
        the file; [] if there is none, None when it cannot be read

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.show
    """
    if not config_file:
        text = __salt__["cmd.run"](["sysctl", "-ae"], python_shell=False, output_loglevel="trace")
        return sysctlconf.pairs(text, "=", ROOTS)
    return sysctlconf.read(config_file)


def get(name):
    """
    Return the value in force; what sysctl says when it has none

    name
        the parameter

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.get kern.hostname
    """
    return __salt__["cmd.run"](["sysctl", "-n", str(name)], python_shell=False, ignore_retcode=True)


def assign(name, value):
    """
    Put a value in force; ``{name: value}``. Raises CommandExecutionError

    name
        the parameter
    value
        the value

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.assign kern.ipc.somaxconn 1024
    """
    command = ["sysctl", "%s=%s" % (name, value)]
    return sysctlconf.assigned(__salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True))


def persist(name, value, config="/etc/sysctl.conf"):
    """
    Put a value in force and in a file; ``Updated`` or ``Already set``. Raises CommandExecutionError

    name
        the parameter
    value
        the value
    config
        the file; /boot/loader.conf holds from the next start

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.persist kern.ipc.somaxconn 1024
    """
    value = str(value)
    written = '"%s"' % value if config == LOADER else value
    changed = sysctlconf.persisted(textfile.lines(config), name, value, written)
    if changed is None:
        return "Already set"
    textfile.write(config, "".join(changed))
    if config != LOADER:
        assign(name, value)
    return "Updated"
