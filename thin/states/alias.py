"""Aliases of local mail. Salt: ``salt/states/alias.py``."""


def present(name, target):
    """
    An alias that points to a target

    name
        The alias.
    target
        The target of its mail; several are one comma-separated text.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' state.single alias.present root target=admin@example.org
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    if __salt__["aliases.has_target"](name, target):
        return dict(ret, comment="Alias %s already present" % name)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Alias %s -> %s is set to be added" % (name, target))
    if __salt__["aliases.set_target"](name, target):
        return dict(ret, changes={"alias": name}, comment="Set email alias %s -> %s" % (name, target))
    return dict(ret, result=False, comment="Failed to set alias %s -> %s" % (name, target))


def absent(name):
    """
    No alias of this name

    name
        The alias.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' state.single alias.absent root
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    if not __salt__["aliases.get_target"](name):
        return dict(ret, comment="Alias %s already absent" % name)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Alias %s is set to be removed" % name)
    if __salt__["aliases.rm_alias"](name):
        return dict(ret, changes={"alias": name}, comment="Removed alias %s" % name)
    return dict(ret, result=False, comment="Failed to remove alias %s" % name)
