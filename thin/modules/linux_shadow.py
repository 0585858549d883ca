"""Passwords (as hashes) and their ages, by chpasswd, chage and passwd. Salt: modules/linux_shadow.py

Hashes go to chpasswd's standard input, never on a command line. ``root`` is the root folder of another system.
"""

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.formats import shacrypt
from thin.utils.system import accounts

__virtualname__ = "shadow"
__usual__ = True
__reads__ = ("default_hash", "info", "list_users", "gen_password")
__changes__ = (
    "set_password",
    "del_password",
    "lock_password",
    "unlock_password",
    "set_inactdays",
    "set_maxdays",
    "set_mindays",
    "set_warndays",
    "set_date",
    "set_expire",
)

_EMPTY = {"name": "", "passwd": "", "lstchg": "", "min": "", "max": "", "warn": "", "inact": "", "expire": ""}


def __virtual__():
    if __grains__.get("kernel") == "Linux":
        return __virtualname__
    return False, "The shadow module is only available on Linux."


def default_hash():
    """
    The placeholder for the hash of an account without a password.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.default_hash
    """
    return "!"


def info(name, root=None):
    """
    ``{"name", "passwd", "lstchg", "min", "max", "warn", "inact", "expire"}`` in days; all "" for no such entry.

    name
        the user's name
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.info ada
    """
    try:
        return accounts.shadow(root or "/").get(str(name)) or dict(_EMPTY)
    except OSError:
        return dict(_EMPTY)


def list_users(root=None):
    """
    The sorted names of all entries.

    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.list_users
    """
    return sorted(accounts.shadow(root or "/"))


def gen_password(password, crypt_salt=None, algorithm="sha512"):
    """
    Return the hash of a password

    password
        the password
    crypt_salt
        the salt; random unless given
    algorithm
        sha512, sha256, md5, or others that the C library supports: blowfish, crypt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.gen_password secret
    """
    if algorithm is not None and algorithm not in shacrypt.ALGORITHMS:
        raise SaltInvocationError(
            "Cannot hash using '%s' hash algorithm. Supported algorithms are: %s"
            % (algorithm, ", ".join(shacrypt.ALGORITHMS))
        )
    try:
        if algorithm in ("blowfish", "crypt"):
            return _crypt(str(password), crypt_salt, algorithm)
        return shacrypt.hash_password(str(password), crypt_salt or shacrypt.random_salt(), algorithm or "sha512")
    except ValueError as exc:
        raise SaltInvocationError(str(exc))


def _crypt(password, salt, algorithm):
    """The result of crypt(3), computed by Perl, which most systems have; the password is passed on stdin."""
    salt = salt or shacrypt.random_salt(22 if algorithm == "blowfish" else 2)
    setting = salt if algorithm == "crypt" or salt.startswith("$") else "$2b$12$" + salt
    words = "$s = <STDIN>; chomp $s; $p = <STDIN>; chomp $p; print crypt($p, $s) // ''"
    done = _run(["perl", "-e", words], stdin="%s\n%s\n" % (setting, password))
    hashed = done["stdout"].strip()
    if done["retcode"] != 0 or not hashed or hashed.startswith("*"):
        raise CommandExecutionError("The C library here does not make %s hashes" % algorithm)
    return hashed


def set_password(name, password, use_usermod=False, root=None):
    """
    Set the hash of the user's password; returns whether it worked. Raises SaltInvocationError for an invalid hash.

    name
        the user's name
    password
        the hash
    use_usermod
        accepted for compatibility with Salt: the hash is never shown, so usermod is not used
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_password ada '$6$salt$hash'
    """
    if any(char in password for char in ":\n\r\\"):
        raise SaltInvocationError("The hash of %s's password has characters that no hash can have" % name)
    if not info(name, root)["name"] and not _user_exists(name):
        return False
    _run(["chpasswd", "-e"] + _root(root), stdin="%s:%s\n" % (name, password))
    return info(name, root)["passwd"] == password


def del_password(name, root=None):
    """
    Delete the user's password, which allows logins without one; returns whether it worked.

    name
        the user's name
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.del_password ada
    """
    _run(["passwd"] + _root(root) + ["-d", "--", str(name)])
    data = info(name, root)
    return data["name"] == name and not data["passwd"]


def lock_password(name, root=None):
    """
    Put a "!" before the hash, so that no password matches; returns whether the account is locked.

    name
        the user's name
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.lock_password ada
    """
    if not info(name, root)["name"]:
        return False
    if not info(name, root)["passwd"].startswith("!"):
        _run(["passwd"] + _root(root) + ["-l", "--", str(name)])
    return info(name, root)["passwd"].startswith("!")


def unlock_password(name, root=None):
    """
    Remove the "!" before the hash; returns whether the account is unlocked. An account without a password stays locked.

    name
        the user's name
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.unlock_password ada
    """
    if not info(name, root)["name"]:
        return False
    if info(name, root)["passwd"].startswith("!"):
        _run(["passwd"] + _root(root) + ["-u", "--", str(name)])
    return not info(name, root)["passwd"].startswith("!")


def set_inactdays(name, inactdays, root=None):
    """
    Set the number of days after which an expired password locks the account (-1: never); returns whether it worked.

    name
        the user's name
    inactdays
        days; -1: never
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_inactdays ada 7
    """
    return _set(name, "inact", inactdays, "-I", root)


def set_maxdays(name, maxdays, root=None):
    """
    Set the number of days after which the password must be changed; returns whether it worked.

    name
        the user's name
    maxdays
        days; 99999: never
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_maxdays ada 90
    """
    return _set(name, "max", maxdays, "-M", root)


def set_mindays(name, mindays, root=None):
    """
    Set the number of days before which the password cannot be changed; returns whether it worked.

    name
        the user's name
    mindays
        days
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_mindays ada 7
    """
    return _set(name, "min", mindays, "-m", root)


def set_warndays(name, warndays, root=None):
    """
    Set the number of days of warning before the password must be changed; returns whether it worked.

    name
        the user's name
    warndays
        days
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_warndays ada 7
    """
    return _set(name, "warn", warndays, "-W", root)


def set_date(name, date, root=None):
    """
    Set the day of the last change: days since 1970 or YYYY-MM-DD; returns whether it worked.

    name
        the user's name
    date
        days since 1970, or YYYY-MM-DD
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_date ada 0
    """
    return _set(name, "lstchg", date, "-d", root)


def set_expire(name, expire, root=None):
    """
    Set the day on which the account expires (-1: never): days since 1970 or YYYY-MM-DD; returns whether it worked.

    name
        the user's name
    expire
        days since 1970, or YYYY-MM-DD; -1: never
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_expire ada 2030-01-01
    """
    return _set(name, "expire", expire, "-E", root)


def _set(name, key, value, option, root):
    before = info(name, root)
    if not before["name"]:
        return False
    value = accounts.days(value)
    if value != before[key]:
        _run(["chage"] + _root(root) + [option, str(value), "--", str(name)])
    return info(name, root)[key] == value


def _user_exists(name):
    import pwd

    try:
        return bool(pwd.getpwnam(str(name)))
    except KeyError:
        return False


def _root(root):
    return ["-R", root] if root else []


def _run(command, stdin=None):
    options = {} if stdin is None else {"stdin": stdin}
    done = __salt__["cmd.run_all"](
        command, python_shell=False, ignore_retcode=True, output_loglevel="quiet", env={"LC_ALL": "C"}, **options
    )
    if done["retcode"] != 0:
        __context__["user.complaint"] = (done["stderr"] or done["stdout"]).strip()
    return done
