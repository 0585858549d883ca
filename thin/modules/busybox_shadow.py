"""Password ages with busybox, which has no chage: they are written to /etc/shadow directly.

The other functions of ``shadow`` are those of linux_shadow.py, which also works with busybox's chpasswd and passwd.
"""

from thin.utils.system import accountfiles, accounts

__virtualname__ = "shadow"
__usual__ = True
__fits__ = {"init": ("sysvinit", "unknown", "upstart", "runit", "supervisord", "dumb-init", "tini")}  # any but systemd
__changes__ = ("set_inactdays", "set_maxdays", "set_mindays", "set_warndays", "set_date", "set_expire")

LAST_CHANGE, MIN, MAX, WARN, INACTIVE, EXPIRE = range(2, 8)


def __virtual__():
    if accounts.has_busybox_tools(__grains__):
        return __virtualname__
    return False, "The busybox_shadow module is for systems whose accounts are made by busybox's adduser"


def set_inactdays(name, inactdays, root=None):
    """
    Set the number of days after which an expired password locks the account; returns whether it worked

    name
        the user's name
    inactdays
        days; -1: never
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_inactdays ada 7
    """
    return _set(name, INACTIVE, "inact", inactdays)


def set_maxdays(name, maxdays, root=None):
    """
    Set the number of days after which the password must be changed; returns whether it worked

    name
        the user's name
    maxdays
        days
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_maxdays ada 90
    """
    return _set(name, MAX, "max", maxdays)


def set_mindays(name, mindays, root=None):
    """
    Set the number of days before which the password cannot be changed again; returns whether it worked

    name
        the user's name
    mindays
        days
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_mindays ada 7
    """
    return _set(name, MIN, "min", mindays)


def set_warndays(name, warndays, root=None):
    """
    Set the number of days before expiry with a warning; returns whether it worked

    name
        the user's name
    warndays
        days
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_warndays ada 7
    """
    return _set(name, WARN, "warn", warndays)


def set_date(name, date, root=None):
    """
    Set the day of the last change of the password; returns whether it worked

    name
        the user's name
    date
        days since 1970, or YYYY-MM-DD
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_date ada 0
    """
    return _set(name, LAST_CHANGE, "lstchg", date)


def set_expire(name, expire, root=None):
    """
    Set the day on which the account expires; returns whether it worked

    name
        the user's name
    expire
        days since 1970, or YYYY-MM-DD; -1: never
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_expire ada 2030-01-01
    """
    return _set(name, EXPIRE, "expire", expire)


def _set(name, column, key, value):
    days = accounts.days(value)
    if not isinstance(days, int):
        return False
    accountfiles.edit(accountfiles.SHADOW, str(name), {column: "" if days < 0 else str(days)})
    return __salt__["shadow.info"](name)[key] == days
