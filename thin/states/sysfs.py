"""Attributes of the kernel's objects in /sys. Salt: ``salt/states/sysfs.py``."""

import re


def present(name, value, config=None):
    """
    This attribute has this value, until the next boot

    name
        Its path in /sys
    config
        Without effect

    .. code-block:: yaml

        block/vda/queue/scheduler:
          sysfs.present:
            - value: none
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    current = __salt__["sysfs.read"](name)
    if current is False:
        return dict(ret, result=False, comment="SysFS attribute %s doesn't exist." % name)
    if isinstance(current, dict):
        return dict(ret, result=False, comment="%s is not a SysFS attribute." % name)
    if isinstance(current, str):  # of several words, that in brackets is the one
        current = re.sub(r"(.*\[|\].*)", "", current)
    if value == current:
        return dict(ret, comment="SysFS attribute %s is already set." % name)
    if __opts__["test"]:
        return dict(ret, result=None, comment="SysFS attribute %s set to be changed." % name)
    if not __salt__["sysfs.write"](name, value):
        return dict(ret, result=False, comment="Failed to set %s to %s" % (name, value))
    return dict(ret, changes={name: value}, comment="Updated SysFS attribute %s to %s" % (name, value))
