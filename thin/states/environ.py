"""Environment variables of this run and of the programs that it starts. Salt: states/environ.py"""

import os

__usual__ = True


def __virtual__():
    return True


def setenv(name, value, false_unsets=False, clear_all=False, update_minion=False, permanent=False):
    """The variable has this value until the run ends; ``value`` may be a dict of several variables.

    False as a value means "", or with ``false_unsets`` that the variable is removed. ``clear_all``: the same for all
    others. changes: ``{variable: value}``.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    if isinstance(value, dict):
        wanted = value
    elif isinstance(value, str) or value is False:
        wanted = {name: value}
    else:
        return dict(ret, result=False, comment="Environ value must be string, dict or False")
    off = None if false_unsets is True else ""
    changes = {key: off for key in os.environ if key not in wanted} if clear_all is True else {}
    for key, one in wanted.items():
        one = off if one is False else one
        if os.environ.get(key) != one:
            changes[key] = one
    if __opts__["test"]:
        words = (
            "Environ values will be changed" if changes else ("Environ values are already set with the correct values")
        )
        return dict(ret, changes=changes, comment=words)
    if not changes:
        return dict(ret, comment="Environ values were already set with the correct values")
    done = __salt__["environ.setenv"](wanted, false_unsets, clear_all, update_minion, permanent)
    if not done:
        return dict(ret, result=False, comment="Failed to set environ variables")
    return dict(ret, changes=done, comment="Environ values were set")
