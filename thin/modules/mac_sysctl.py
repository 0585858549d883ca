"""Kernel parameters of macOS: their current values, and those in /etc/sysctl.conf. Salt: modules/mac_sysctl.py"""

from thin.utils.files import sysctlconf, textfile

__virtualname__ = "sysctl"
__fits__ = {"kernel": ("Darwin",)}
__usual__ = True
__reads__ = ("default_config", "show", "get")
__changes__ = ("assign", "persist")

ROOTS = (
    "audit.",
    "debug.",
    "hw.",
    "kern.",
    "machdep.",
    "net.",
    "security.",
    "user.",
    "vfs.",
    "vm.",
)


def __virtual__():
    if __grains__.get("kernel") == "Darwin":
        return __virtualname__
    return False, "The darwin_sysctl execution module cannot be loaded: Only available on macOS systems."


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
        text = __salt__["cmd.run"](["sysctl", "-a"], python_shell=False, output_loglevel="trace")
        return sysctlconf.pairs(text.replace(" = ", ": "), ": ", ROOTS)
    return sysctlconf.read(config_file)


def get(name):
    """
    Return the current value; sysctl's message if there is none

    name
        the parameter

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.get kern.maxfiles
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

        pushsalt run '*' sysctl.assign kern.maxfiles 65536
    """
    command = ["sysctl", "-w", "%s=%s" % (name, value)]
    return sysctlconf.assigned(__salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True))


def persist(name, value, config="/etc/sysctl.conf", apply_change=False):
    """
    Write a value to a file; ``Updated``, ``Updated and applied`` or ``Already set``. Raises CommandExecutionError

    name
        the parameter
    value
        the value
    config
        the file
    apply_change
        set the current value, too

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysctl.persist kern.maxfiles 65536 apply_change=True
    """
    value = str(value)
    changed = sysctlconf.persisted(textfile.split(textfile.read(config, sysctlconf.HEADER)), name, value, value)
    if changed is None:
        return "Already set"
    textfile.write(config, "".join(changed))
    if not apply_change:
        return "Updated"
    assign(name, value)
    return "Updated and applied"
