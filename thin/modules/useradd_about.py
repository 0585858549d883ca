"""Comment fields of users: full name, room and telephone numbers. Login classes are not supported.

A part of ``user`` beside useradd.py. Salt: modules/useradd.py
"""

from thin.utils.system import accounts

__virtualname__ = "user"
__usual__ = True
__reads__ = ("get_loginclass",)
__changes__ = ("chfullname", "chroomnumber", "chworkphone", "chhomephone", "chother", "chloginclass")


def __virtual__():
    if __grains__.get("kernel") in ("Linux", "OpenBSD", "NetBSD"):
        return __virtualname__
    return False, (
        "useradd execution module not loaded: either pwd python library not available"
        " or system not one of Linux, OpenBSD, NetBSD or AIX"
    )


def chfullname(name, fullname, root=None):
    """
    Set the user's full name; returns whether it worked.

    name
        the user's name
    fullname
        the full name
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chfullname ada 'Ada Lovelace'
    """
    return _set_gecos(name, "fullname", fullname, root)


def chroomnumber(name, roomnumber, root=None):
    """
    Set the room number of the user; returns whether it worked.

    name
        the user's name
    roomnumber
        the room number
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chroomnumber ada B-204
    """
    return _set_gecos(name, "roomnumber", roomnumber, root)


def chworkphone(name, workphone, root=None):
    """
    Set the work phone number of the user; returns whether it worked.

    name
        the user's name
    workphone
        the phone number at work
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chworkphone ada 555-0131
    """
    return _set_gecos(name, "workphone", workphone, root)


def chhomephone(name, homephone, root=None):
    """
    Set the home phone number of the user; returns whether it worked.

    name
        the user's name
    homephone
        the phone number at home
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chhomephone ada 555-0199
    """
    return _set_gecos(name, "homephone", homephone, root)


def chother(name, other, root=None):
    """
    Set the rest of the user's comment field; returns whether it worked.

    name
        the user's name
    other
        what else the comment field says
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chother ada analyst
    """
    return _set_gecos(name, "other", other, root)


def chloginclass(name, loginclass, root=None):
    """
    False: login classes are not supported.

    name
        the user's name
    loginclass
        the login class
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chloginclass ada webdev
    """
    return False


def get_loginclass(name):
    """
    False: login classes are not supported.

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.get_loginclass ada
    """
    return False


def _set_gecos(name, key, value, root):
    before = __salt__["user.info"](name, root)
    value = "" if value is None else str(value)
    if not before or value == before[key]:
        return bool(before)
    command = ["usermod"] + accounts.root_option(root) + ["-c", accounts.gecos_text(dict(before, **{key: value}))]
    return accounts.change(__salt__, __context__, command, name)
