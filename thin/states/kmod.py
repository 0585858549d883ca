"""Modules of the Linux kernel. Salt: states/kmod.py

``mods`` is a list of them; without it, ``name`` is the module.
"""

import functools

from thin.exceptions import CommandExecutionError


def __virtual__():
    return True if "kmod.available" in __salt__ else (False, "kmod module could not be loaded")


def _failing(state):
    """An error, for example a missing program, becomes the state's comment."""

    @functools.wraps(state)
    def failing(name, *args, **kwargs):
        try:
            return state(name, *args, **kwargs)
        except CommandExecutionError as exc:
            return {"name": name, "result": False, "changes": {}, "comment": str(exc)}

    return failing


@_failing
def present(name, persist=False, mods=None):
    """The modules are loaded, with ``persist`` also at boot. changes: ``{module: loaded}``."""
    mods = _wanted(name, mods)
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    loaded = set(__salt__["kmod.mod_list"]())
    if persist:
        loaded &= set(__salt__["kmod.mod_list"](True))
    _say(
        ret,
        [mod for mod in mods if mod in loaded],
        "Kernel module %s is already present",
        "Kernel modules %s are already present",
    )
    due = [mod for mod in mods if mod not in loaded]
    if not due:
        return ret
    if __opts__["test"]:
        ret["result"] = None
        return _say(ret, due, "Kernel module %s is set to be loaded", "Kernel modules %s are set to be loaded")
    available = set(__salt__["kmod.available"]())
    unknown = [mod for mod in due if mod not in available]
    if unknown:
        ret["result"] = False
        _say(ret, unknown, "Kernel module %s is unavailable", "Kernel modules %s are unavailable")
    _do(
        ret, [mod for mod in due if mod in available], lambda mod: __salt__["kmod.load"](mod, persist), "load", "loaded"
    )
    return ret


@_failing
def absent(name, persist=False, comment=True, mods=None):
    """The modules are not loaded, with ``persist`` also not at boot. changes: ``{module: removed}``."""
    mods = _wanted(name, mods)
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    loaded = set(__salt__["kmod.mod_list"]())
    if persist:
        loaded |= set(__salt__["kmod.mod_list"](True))
    due = [mod for mod in mods if mod in loaded]
    if not due:
        return _say(ret, mods, "Kernel module %s is already removed", "Kernel modules %s are already removed")
    if __opts__["test"]:
        ret["result"] = None
        return _say(ret, due, "Kernel module %s is set to be removed", "Kernel modules %s are set to be removed")
    _do(ret, due, lambda mod: __salt__["kmod.remove"](mod, persist, comment), "remove", "removed")
    return ret


def _wanted(name, mods):
    result = []
    for mod in mods if isinstance(mods, (list, tuple)) else [name]:
        if mod not in result:
            result.append(mod)
    return result


def _do(ret, mods, act, verb, past):
    """Process each module, except those that were loaded or unloaded together with another."""
    good, bad, failed = [], [], []
    for mod in mods:
        done = [mod] if mod in ret["changes"] else act(mod)
        if not isinstance(done, (list, tuple)):
            failed.append("Failed to %s kernel module %s: %s" % (verb, mod, done))
            continue
        (good if done else bad).append(mod)
        ret["changes"].update(dict.fromkeys(done, past))
    _say(ret, good, past.capitalize() + " kernel module %s", past.capitalize() + " kernel modules %s")
    _say(ret, bad, "Failed to %s kernel module %%s" % verb, "Failed to %s kernel modules %%s" % verb)
    ret["comment"] = "\n".join(filter(None, [ret["comment"]] + failed))
    if bad or failed:
        ret["result"] = False


def _say(ret, mods, one, many):
    if mods:
        words = (one if len(mods) == 1 else many) % ", ".join(mods)
        ret["comment"] = "\n".join(filter(None, [ret["comment"], words]))
    return ret
