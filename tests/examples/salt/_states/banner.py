"""The text that is shown before a login."""


def present(name, text=None):
    """
    The text that is shown before a login is this one

    name
        The text, unless ``text`` has it.
    text
        The text, where ``name`` is only a name.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' state.single banner.present 'for members only'
    """
    wanted = (name if text is None else text).rstrip("\n") + "\n"
    ret = {"name": name, "changes": {}, "result": True, "comment": "The banner is as it should be"}
    old = __salt__["banner.get"]()
    if old == wanted:
        return ret
    ret["changes"] = {"old": old, "new": wanted}
    if __opts__["test"]:
        return dict(ret, result=None, comment="The banner would be written")
    __salt__["banner.set"](wanted.rstrip("\n"))
    return dict(ret, comment="The banner was written")
