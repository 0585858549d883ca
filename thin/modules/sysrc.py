"""Variables of rc.conf, by FreeBSD's sysrc(8). Salt: the module sysrc of Salt 3007

``file`` is another file than /etc/rc.conf, ``jail`` the name or number of a jail.
"""

from thin.exceptions import CommandExecutionError

__virtualname__ = "sysrc"

__func_alias__ = {"set_": "set"}
__reads__ = ("get",)
__changes__ = ("set", "remove")


def __virtual__():
    from thin.process import which

    if which("sysrc"):
        return True
    return False, "The sysrc execution module failed to load: the sysrc binary is not in the path."


def get(**kwargs):
    """
    Return ``{file: {variable: value}}``: of one variable, or of all; None when there is no such variable

    name
        the variable
    file
        another file
    jail
        in this jail
    includeDefaults
        Include variables with default values

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysrc.get includeDefaults=True
    """
    if "name" in kwargs:
        done = _sysrc(kwargs, "--", str(kwargs["name"]))
    else:
        done = _sysrc(kwargs, "-A" if kwargs.get("includeDefaults") else "-a")
    if "unknown variable" in done["stdout"] + done["stderr"]:
        return None
    if done["retcode"] != 0:
        raise CommandExecutionError("sysrc failed: %s" % (done["stderr"] or done["stdout"]))
    return _values(done["stdout"])


def set_(name, value, **kwargs):
    """
    Set a variable; returns ``{file: {variable: value}}`` with the new value. Raises CommandExecutionError

    name
        the variable
    value
        the value; True and False are YES and NO
    file
        another file
    jail
        in this jail

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysrc.set name=hostname value=web01.example.org
    """
    if isinstance(value, bool):
        value = "YES" if value else "NO"
    done = _sysrc(kwargs, "--", "%s=%s" % (name, value))
    if done["retcode"] != 0:
        raise CommandExecutionError("sysrc failed: %s" % (done["stderr"] or done["stdout"]))
    values = _values(done["stdout"])
    for pairs in values.values():
        pairs.update([(key, text.partition("->")[2].strip()) for key, text in pairs.items()])
    return values


def remove(name, **kwargs):
    """
    Remove a variable: ``NAME removed``. Raises CommandExecutionError if there is none

    name
        the variable
    file
        another file
    jail
        in this jail

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysrc.remove name=inetd_flags
    """
    done = _sysrc(kwargs, "-x", "--", str(name))
    if done["retcode"] != 0 or "unknown variable" in done["stdout"] + done["stderr"]:
        raise CommandExecutionError(done["stderr"] or done["stdout"])
    return "%s removed" % name


def _sysrc(options, *words):
    command = ["sysrc", "-v"]
    command += ["-f", str(options["file"])] if options.get("file") else []
    command += ["-j", str(options["jail"])] if options.get("jail") else []
    return __salt__["cmd.run_all"](
        command + list(words), python_shell=False, ignore_retcode=True, output_loglevel="quiet", env={"LC_ALL": "C"}
    )


def _values(text):
    """``{file: {variable: value}}`` of lines ``/etc/rc.conf: sshd_enable: YES``."""
    values = {}
    for line in text.splitlines():
        path, sign, rest = line.partition(": ")
        if sign:
            name, _, value = rest.partition(":")
            values.setdefault(path, {})[name.strip()] = value.strip()
    return values
