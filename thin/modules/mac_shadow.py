"""Passwords of macOS, and the policies of accounts, by dscl(1) and pwpolicy(8). Salt: modules/mac_shadow.py

macOS takes a password as it is, not as a hash. It goes to dscl's standard input, never on a command line.
"""

import pwd

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.programs import macos

__virtualname__ = "shadow"
__fits__ = {"kernel": ("Darwin",)}
__usual__ = True
__reads__ = (
    "info",
    "get_account_created",
    "get_last_change",
    "get_login_failed_count",
    "get_login_failed_last",
    "get_maxdays",
    "get_change",
    "get_expire",
)
__changes__ = (
    "set_maxdays",
    "set_mindays",
    "set_inactdays",
    "set_warndays",
    "set_change",
    "set_expire",
    "set_password",
    "del_password",
)

UNSET = "Value not set"
_KEYS = (
    "name",
    "passwd",
    "account_created",
    "login_failed_count",
    "login_failed_last",
    "lstchg",
    "max",
    "expire",
    "change",
    "min",
    "warn",
    "inact",
)


def __virtual__():
    if __grains__.get("kernel") == "Darwin":
        return __virtualname__
    return False, "Not macOS"


# Queries


def info(name):
    """
    Return data about the user's password and account; all "" for a missing user

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.info ada
    """
    try:
        entry = pwd.getpwnam(str(name))
    except KeyError:
        return dict.fromkeys(_KEYS, "")
    fields = dict.fromkeys(_KEYS, "Unavailable")
    fields.update(
        name=entry.pw_name,
        passwd=entry.pw_passwd,
        account_created=get_account_created(name),
        login_failed_count=get_login_failed_count(name),
        login_failed_last=get_login_failed_last(name),
        lstchg=get_last_change(name),
        max=get_maxdays(name),
        expire=get_expire(name),
        change=get_change(name),
    )
    return fields


def get_account_created(name):
    """
    Return the creation time of the account, as ``YYYY-MM-DD HH:MM:SS``; "0" if it is unknown

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.get_account_created ada
    """
    return _time_of(name, "creationTime")


def get_last_change(name):
    """
    Return the time of the last password change, as ``YYYY-MM-DD HH:MM:SS``; "0" if it is unknown

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.get_last_change ada
    """
    return _time_of(name, "passwordLastSetTime")


def get_login_failed_count(name):
    """
    Return how often the user failed to log in, as text

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.get_login_failed_count ada
    """
    count = _account(name, "failedLoginCount")
    return "0" if count is None else macos.value(count)


def get_login_failed_last(name):
    """
    Return when the user last failed to log in, as ``YYYY-MM-DD HH:MM:SS``; "0" for never

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.get_login_failed_last ada
    """
    return _time_of(name, "failedLoginTimestamp")


def get_maxdays(name):
    """
    Return the number of days after which the password must be changed; 0 for never

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.get_maxdays ada
    """
    minutes = _policy(name).get("maxMinutesUntilChangePassword")
    return 0 if minutes is None else int(minutes) / 24 / 60


def get_change(name):
    """
    Return the date before which the password must be changed

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.get_change ada
    """
    return _policy(name).get("expirationDateGMT", UNSET)


def get_expire(name):
    """
    Return the date at which the account expires

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.get_expire ada
    """
    return _policy(name).get("hardExpireDateGMT", UNSET)


# Changes


def set_maxdays(name, days):
    """
    Set the number of days after which the password must be changed; returns whether it worked

    name
        the user's name
    days
        days

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_maxdays ada 90
    """
    _set_policy(name, "maxMinutesUntilChangePassword=%d" % (int(days) * 24 * 60))
    return get_maxdays(name) == days


def set_mindays(name, days):
    """
    Return False: not supported by macOS

    name
        the user's name
    days
        days

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_mindays ada 1
    """
    return False


def set_inactdays(name, days):
    """
    Return False: not supported by macOS

    name
        the user's name
    days
        days

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_inactdays ada 1
    """
    return False


def set_warndays(name, days):
    """
    Return False: not supported by macOS

    name
        the user's name
    days
        days

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_warndays ada 1
    """
    return False


def set_change(name, date):
    """
    Set the date before which the password must be changed; returns whether it worked

    name
        the user's name
    date
        ``MM/DD/YYYY``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_change ada 09/21/2030
    """
    _set_policy(name, "usingExpirationDate=1 expirationDateGMT=%s" % date)
    return get_change(name) == date


def set_expire(name, date):
    """
    Set the date at which the account expires; returns whether it worked

    name
        the user's name
    date
        ``MM/DD/YYYY``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_expire ada 07/23/2030
    """
    _set_policy(name, "usingHardExpirationDate=1 hardExpireDateGMT=%s" % date)
    return get_expire(name) == date


def set_password(name, password):
    """
    Set the user's password; returns True. Raises CommandExecutionError

    name
        the user's name
    password
        the password itself, not a hash

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_password ada secret
    """
    return _passwd(name, password)


def del_password(name):
    """
    Remove the user's password, which disables logins with one; returns whether it worked

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.del_password ada
    """
    _passwd(name, "")
    _ask(name, ["dscl", ".", "-create", "/Users/%s" % name, "Password", "*"])
    return info(name)["passwd"] in ("*",)


# Private functions


def _passwd(name, password):
    if "\n" in password or "\r" in password:
        raise SaltInvocationError("A password of macOS has no line ends")
    quoted = '"%s"' % password.replace("\\", "\\\\").replace('"', '\\"')
    _ask(name, ["dscl", "."], stdin="passwd /Users/%s %s\nquit\n" % (name, quoted), output_loglevel="quiet")
    return True


def _ask(name, command, **options):
    """The output of a command. Raises CommandExecutionError, also for a missing user."""
    try:
        answer = macos.ask(__salt__, command, **options)
    except CommandExecutionError as exc:
        text = str(exc)
        if "eDSUnknownNodeName" in text or "Error: user <%s> not found" % name in text:
            raise CommandExecutionError("User not found: %s" % name)
        raise CommandExecutionError("Unknown error: %s" % text)
    if "eDSAuthFailed" in answer or "eDSUnknown" in answer:  # the prompt of dscl, which exits with 0
        raise CommandExecutionError("Unknown error: %s" % answer)
    return answer


def _account(name, key):
    """The accountPolicyData of the user; None if there is none."""
    try:
        return _ask(name, ["dscl", ".", "-readpl", "/Users/%s" % name, "accountPolicyData", key])
    except CommandExecutionError as exc:
        if "eDSUnknownMatchType" in str(exc):
            return None
        raise


def _time_of(name, key):
    import time

    seconds = _account(name, key)
    if seconds is None:
        return "0"
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(macos.value(seconds))))
    except ValueError:
        return "Invalid Timestamp"


def _policy(name):
    """``{key: text}`` of the second line of the output of pwpolicy."""
    lines = _ask(name, ["pwpolicy", "-u", name, "-getpolicy"]).split("\n")
    return dict(word.split("=", 1) for word in lines[1].split(" ") if "=" in word) if len(lines) > 1 else {}


def _set_policy(name, policy):
    _ask(name, ["pwpolicy", "-u", name, "-setpolicy", policy])
