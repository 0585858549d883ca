"""Kernel parameters of FreeBSD: their current values, and those in /etc/sysctl.conf. Salt: the module freebsd_sysctl of
Salt 3007

/boot/loader.conf has parameters, too, with values in quotes; they take effect at the next boot.
"""

from thin.utils.files import sysctlconf, textfile

__virtualname__ = "sysctl"
__fits__ = {"kernel": ("FreeBSD", "DragonFly")}
__usual__ = True
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
    Return the default file for persistent parameters

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.default_config
    """
    return "/etc/sysctl.conf"


def show(config_file=False):
    """
    Return ``{name: value}`` of the current parameters, or of those in a file

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
    Return the current value; sysctl's message if there is none

    name
        the parameter

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.get kern.hostname
    """
    return __salt__["cmd.run"](["sysctl", "-n", str(name)], python_shell=False, ignore_retcode=True)


def assign(name, value):
    """
    Set the current value; ``{name: value}``. Raises CommandExecutionError

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
    Set the current value and that in a file; ``Updated`` or ``Already set``. Raises CommandExecutionError

    name
        the parameter
    value
        the value
    config
        the file; /boot/loader.conf takes effect at the next boot

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
