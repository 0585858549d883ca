"""Quotas of file systems. Salt: states/quota.py

.. code-block:: yaml

    /media/data:
      quota.mode:
        - mode: true
        - quotatype: user
"""


def __virtual__():
    return "quota" if "quota.report" in __salt__ else (False, "quota module could not be loaded")


def mode(name, mode, quotatype):
    """Quotas of the file system are on, or off. changes: ``{quota: name}``.

    name
        The mount point
    mode
        true for on, anything else for off
    quotatype
        user or group: the kind to check
    """
    ret = {"name": name, "changes": {}, "result": None, "comment": ""}
    word = "on" if mode is True else "off"
    current = __salt__["quota.get_mode"](name).get(name)
    if not isinstance(current, dict):
        return dict(ret, result=False, comment="Quota for %s cannot be set: %s" % (name, current or "not found"))
    if current.get(quotatype) == word:
        return dict(ret, result=True, comment="Quota for %s already set to %s" % (name, word))
    if __opts__["test"]:
        return dict(ret, comment="Quota for %s needs to be set to %s" % (name, word))
    if __salt__["quota.%s" % word](name):
        return dict(ret, changes={"quota": name}, result=True, comment="Set quota for %s to %s" % (name, word))
    return dict(ret, result=False, comment="Failed to set quota for %s to %s" % (name, word))
