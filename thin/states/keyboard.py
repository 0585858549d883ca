"""The layout of the keyboard, on the console and under X. Salt: states/keyboard.py

.. code-block:: yaml

    us:
      keyboard.system
"""

from thin.exceptions import CommandExecutionError


def __virtual__():
    return True if "keyboard.get_sys" in __salt__ else (False, "keyboard module could not be loaded")


def system(name):
    """The console has this layout. changes: ``{layout: name}``.

    name
        Such as us
    """
    return _layout(name, "System layout", "system keyboard layout", "sys")


def xorg(name):
    """X has this layout. changes: ``{layout: name}``.

    name
        Such as us
    """
    return _layout(name, "XOrg layout", "XOrg keyboard layout", "x")


def _layout(name, short, long, which):
    ret = {"name": name, "changes": {}, "result": None, "comment": ""}
    try:
        if __salt__["keyboard.get_%s" % which]() == name:
            return dict(ret, result=True, comment="%s %s already set" % (short, name))
        if __opts__["test"]:
            return dict(ret, comment="%s %s needs to be set" % (short, name))
        if __salt__["keyboard.set_%s" % which](name):
            return dict(ret, changes={"layout": name}, result=True, comment="Set %s %s" % (long, name))
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment="Failed to set %s: %s" % (long, exc))
    return dict(ret, result=False, comment="Failed to set %s" % long)
