"""Password hashes of a BSD, and the expiry of passwords and accounts. Salt: the module bsd_shadow of Salt 3007

A hash is passed on the standard input of pw(8), never on a command line. usermod of OpenBSD and NetBSD takes a hash
only on its command line, so setting one is refused there. ``change`` and ``expire`` are seconds since 1970 as text, "0"
for never.
"""

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import textfile
from thin.utils.formats import shacrypt

__virtualname__ = "shadow"
__fits__ = {"kernel": ("FreeBSD", "DragonFly", "OpenBSD", "NetBSD")}
__usual__ = True
__reads__ = ("default_hash", "gen_password", "info")
__changes__ = ("set_password", "del_password", "lock_password", "unlock_password", "set_change", "set_expire")


def __virtual__():
    if __grains__.get("kernel") in ("FreeBSD", "DragonFly", "OpenBSD", "NetBSD"):
        return __virtualname__
    return False, "The bsd_shadow execution module cannot be loaded: only available on BSD family systems."


def default_hash():
    """
    Return the placeholder for the hash of an account without a password

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.default_hash
    """
    return "*" if _has_pw() else "*************"


def gen_password(password, crypt_salt=None, algorithm="sha512"):
    """
    Return the hash of a password

    password
        the password
    crypt_salt
        the salt; random unless given
    algorithm
        ``sha512`` or ``sha256``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.gen_password secret
    """
    try:
        return shacrypt.hash_password(str(password), crypt_salt or shacrypt.random_salt(), algorithm)
    except ValueError as exc:
        raise SaltInvocationError(str(exc))


def info(name):
    """
    Return ``{"name", "passwd", "change", "expire"}``; all "" for no such user

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.info app
    """
    row = _row(str(name))
    if len(row) < 7:
        return {"name": "", "passwd": "", "change": "", "expire": ""}
    return {"name": row[0], "passwd": row[1], "change": row[5], "expire": row[6]}


def set_password(name, password):
    """
    Set the hash of the user's password; returns whether it worked

    name
        the user's name
    password
        the hash

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_password ada '$6$salt$hash'
    """
    if any(char in password for char in ":\n\r"):
        raise SaltInvocationError("The hash of %s's password has characters that no hash can have" % name)
    if not _has_pw():
        raise CommandExecutionError("The hash of a password cannot be set here without showing it to all users")
    _pw(["usermod", "-n", str(name), "-H", "0"], stdin=password + "\n")
    return info(name)["passwd"] == password


def del_password(name):
    """
    Let the user log in without a password; returns whether it worked

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.del_password ada
    """
    return _pw(["usermod", "-n", str(name), "-w", "none"]) and not info(name)["passwd"]


def lock_password(name):
    """
    Lock the account; returns whether it worked

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.lock_password ada
    """
    return _pw(["lock", str(name)])


def unlock_password(name):
    """
    Unlock the account; returns whether it worked

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.unlock_password ada
    """
    return _pw(["unlock", str(name)])


def set_change(name, change):
    """
    Set the time at which the password must be changed; returns whether it worked

    name
        the user's name
    change
        seconds since 1970; 0: never

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_change ada 1893456000
    """
    return _set(name, "change", change, "-p")


def set_expire(name, expire):
    """
    Set the time at which the account expires; returns whether it worked

    name
        the user's name
    expire
        seconds since 1970; 0: never

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' shadow.set_expire ada 1893456000
    """
    return _set(name, "expire", expire, "-e")


# Private functions


def _has_pw():
    return __grains__.get("kernel") in ("FreeBSD", "DragonFly")


def _row(name):
    """The fields of the user's line in master.passwd."""
    if _has_pw():
        command = ["pw", "usershow", "-n", name]
        done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, output_loglevel="quiet")
        return done["stdout"].strip().split(":") if done["retcode"] == 0 else []
    rows = [line.split(":") for line in textfile.read("/etc/master.passwd", "").splitlines()]
    return next((row for row in rows if row[0] == name), [])


def _set(name, key, value, option):
    value = str(value)
    if info(name)[key] == value:
        return True
    if _has_pw():
        done = _pw(["usermod", "-n", str(name), option, value])
    else:
        done = _run(["usermod", {"-p": "-f"}.get(option, option), value, str(name)])
    return done and info(name)[key] == value


def _pw(words, **options):
    return _run(["pw"] + words, **options)


def _run(command, **options):
    done = __salt__["cmd.run_all"](
        command, python_shell=False, ignore_retcode=True, output_loglevel="quiet", env={"LC_ALL": "C"}, **options
    )
    if done["retcode"] != 0:
        __context__["user.complaint"] = (done["stderr"] or done["stdout"]).strip()
    return done["retcode"] == 0
