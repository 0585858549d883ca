"""Available locales, and the system's locale. Salt: states/locale.py"""

from thin.exceptions import CommandExecutionError


def __virtual__():
    return True if "locale.get_locale" in __salt__ else (False, "locale module could not be loaded")


def system(name):
    """The system's locale is this one, as ``en_US.UTF-8``."""
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    try:
        if __salt__["locale.get_locale"]() == name:
            ret["comment"] = "System locale %s already set" % name
        elif __opts__["test"]:
            ret["result"], ret["comment"] = None, "System locale %s needs to be set" % name
        elif __salt__["locale.set_locale"](name):
            ret["changes"], ret["comment"] = {"locale": name}, "Set system locale %s" % name
        else:
            ret["result"], ret["comment"] = False, "Failed to set system locale to %s" % name
    except CommandExecutionError as exc:
        ret["result"], ret["comment"] = False, "Failed to set system locale: %s" % exc
    return ret


def present(name):
    """The locale is available; a missing one is generated.

    On Debian the name may have its character map: ``en_IE.UTF-8 UTF-8``.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    try:
        if __salt__["locale.avail"](name):
            ret["comment"] = "Locale %s is already present" % name
        elif __opts__["test"]:
            ret["result"], ret["comment"] = None, "Locale %s needs to be generated" % name
        elif __salt__["locale.gen_locale"](name):
            ret["changes"], ret["comment"] = {"locale": name}, "Generated locale %s" % name
        else:
            ret["result"], ret["comment"] = False, "Failed to generate locale %s" % name
    except CommandExecutionError as exc:
        ret["result"], ret["comment"] = False, "Failed to generate locale %s: %s" % (name, exc)
    return ret
