"""Kernel parameters. Salt: states/sysctl.py"""

import re

from thin.exceptions import CommandExecutionError

__usual__ = True


def __virtual__():
    return True if "sysctl.show" in __salt__ else (False, "sysctl module could not be loaded")


def present(name, value, config=None):
    """The parameter has this value in the kernel and in the configuration file, by default the one read at boot.

    ``value`` must be in the kernel's notation, otherwise each run changes it again.
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if config is None:
        config = __salt__["sysctl.default_config"]() if "sysctl.default_config" in __salt__ else "/etc/sysctl.conf"
    if __opts__["test"]:
        ret["result"], ret["comment"] = _foreseen(name, value, config)
        return ret
    try:
        done = __salt__["sysctl.persist"](name, value, config)
    except CommandExecutionError as exc:
        ret["result"] = False
        ret["comment"] = "Failed to set %s to %s: %s" % (name, value, exc)
        return ret
    if done == "Updated":
        ret["changes"] = {name: value}
        ret["comment"] = "Updated sysctl value %s = %s" % (name, value)
    elif done == "Already set":
        ret["comment"] = "Sysctl value %s = %s is already set" % (name, value)
    return ret


def _foreseen(name, value, config):
    """``(result, comment)`` of a dry run."""
    configured = __salt__["sysctl.show"](config_file=config)
    if configured is None:
        return None, (
            "Sysctl option %s might be changed, we failed to check config file at %s. "
            "The file is either unreadable, or missing." % (name, config)
        )
    current, is_configured = __salt__["sysctl.get"](name), name in configured
    if not current and is_configured:
        return None, (
            "Sysctl value %s is present in configuration file but is not present in the running config. "
            "The value %s is set to be changed to %s" % (name, name, value)
        )
    if current and is_configured and str(value).split() == current.split():
        return True, "Sysctl value %s = %s is already set" % (name, value)
    if current and not is_configured:
        if _spaced(current) == _spaced(str(value)):
            return None, (
                "Sysctl value is currently set on the running system but not in a config file. "
                "Sysctl option %s set to be changed to %s in config file." % (name, value)
            )
        return None, "Sysctl option %s set to be changed to %s" % (name, value)
    return None, "Sysctl option %s would be changed to %s" % (name, value)


def _spaced(text):
    return re.sub(" +|\t+", " ", text)
