"""Profiles of AppArmor and their modes. Salt has no such states.

A profile is named as the kernel names it, or by its file in ``/etc/apparmor.d``, which may hold several.

.. code-block:: yaml

    usr.sbin.tcpdump:
      apparmor.enforced

    /etc/apparmor.d/usr.bin.mine:
      file.managed:
        - source: salt://mine/profile
      apparmor.loaded:
        - watch:
          - file: /etc/apparmor.d/usr.bin.mine
"""

from thin.exceptions import CommandExecutionError


def __virtual__():
    return True if "apparmor.modes" in __salt__ else (False, "apparmor_parser is not in the path")


def enforced(name):
    """The profiles are in enforce mode. changes: ``{profile: {old, new}}``; None for one that is not loaded.

    name
        A profile, or the path or name of a file
    """
    return _mode(name, "enforce", "enforce")


def complaining(name):
    """The profiles are in complain mode: breaches are logged, not refused. changes: as of ``enforced``.

    name
        A profile, or the path or name of a file
    """
    return _mode(name, "complain", "complain")


def disabled(name):
    """The profiles are not loaded, now and after the next boot. changes: as of ``enforced``.

    name
        A profile, or the path or name of a file
    """
    return _mode(name, "disable", None)


def loaded(name):
    """The profiles of a file are loaded, in any mode; they are reloaded if a watched state changed.

    name
        The path or name of a file
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    try:
        before = __salt__["apparmor.modes"](name)
        due = [profile for profile in before if before[profile] is None]
        if not due:
            return dict(ret, comment="The profiles of %s are loaded" % name)
        if __opts__["test"]:
            return dict(ret, result=None, comment="The profiles of %s are set to be loaded" % name)
        __salt__["apparmor.reload"](name)
        return _with_changes(
            ret, before, __salt__["apparmor.modes"](name), "The profiles of %s have been loaded" % name
        )
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment=str(exc))


def mod_watch(name, sfun=None, **kwargs):
    """A watched state changed: the profiles are reloaded."""
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if sfun == "disabled":
        return disabled(name)
    if __opts__["test"]:
        return dict(ret, result=None, comment="The profiles of %s are set to be loaded anew" % name)
    try:
        __salt__["apparmor.reload"](name)
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment=str(exc))
    return dict(ret, changes={name: "reloaded"}, comment="The profiles of %s have been loaded anew" % name)


def _mode(name, act, wanted):
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    words = {"enforce": "in enforce mode", "complain": "in complain mode", "disable": "disabled"}[act]
    try:
        before = __salt__["apparmor.modes"](name)
        if all(mode == wanted for mode in before.values()):
            return dict(ret, comment="%s is %s" % (name, words))
        if __opts__["test"]:
            changes = {each: {"old": before[each], "new": wanted} for each in before if before[each] != wanted}
            return dict(ret, result=None, changes=changes, comment="%s is set to be %s" % (name, words))
        __salt__["apparmor.%s" % act](name)
        after = __salt__["apparmor.modes"](name)
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment=str(exc))
    ret = _with_changes(ret, before, after, "%s is now %s" % (name, words))
    wrong = [profile for profile in after if after[profile] != wanted]
    if wrong:
        return dict(ret, result=False, comment="These profiles could not be set: %s" % ", ".join(sorted(wrong)))
    return ret


def _with_changes(ret, before, after, comment):
    changes = {each: {"old": before.get(each), "new": after[each]} for each in after if before.get(each) != after[each]}
    return dict(ret, changes=changes, comment=comment)
