"""The text that is shown before a login, in the message of the day: the provider of ``banner`` for other systems."""

__virtualname__ = "banner"
__reads__ = ("get",)
__changes__ = ("set_",)
__func_alias__ = {"set_": "set"}


def __virtual__():
    if __grains__.get("os_family") != "Debian":
        return __virtualname__
    return False, "banner_motd is not for Debian's family"


def get():
    """
    Return the text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' banner.get
    """
    path = _path()
    return __salt__["file.read"](path) if __salt__["file.file_exists"](path) else ""


def set_(text):
    """
    Write the text

    text
        What is shown; it replaces all that was there.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' banner.set 'for members only'
    """
    __salt__["file.write"](_path(), args=[text])
    return True


def _path():
    return __opts__.get("banner.file", "/etc/motd")
