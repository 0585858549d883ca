"""Accounts of MySQL and MariaDB. Salt (until 3007): states/mysql_user.py; then saltext-mysql

``connection_host``, ``connection_user``, ``connection_pass`` and so on are for the connection; see the module
``mysql``.
"""

from thin.utils.data import is_true
from thin.utils.programs.mysqlrun import pop_error


def __virtual__():
    return True if "mysql.user_create" in __salt__ else (False, "mysql module could not be loaded")


def present(
    name,
    host="localhost",
    password=None,
    password_hash=None,
    allow_passwordless=False,
    unix_socket=False,
    password_column=None,
    auth_plugin="mysql_native_password",
    **connection_args,
):
    """The account exists, with this password. changes: ``{name: Present}`` or ``{name: Updated}``.

    ``password_hash`` is the stored form. Without both, ``allow_passwordless`` must be true: the account then has no
    password, or with ``unix_socket`` it is authenticated by the user's name on the system. ``password_column``: the
    column of mysql.user with the stored form; ``auth_plugin``: the authentication plugin of MySQL 8.
    """
    who = "%s@%s" % (name, host)
    ret = {"name": name, "changes": {}, "result": True, "comment": "User %s is already present" % who}
    passwordless = not any((password, password_hash))
    allowed = is_true(allow_passwordless)
    if passwordless and not allowed and not unix_socket:
        comment = "Either password or password_hash must be specified, unless allow_passwordless is True"
        return dict(ret, result=False, comment=comment)
    if __salt__["mysql.user_exists"](
        name,
        host,
        password,
        password_hash,
        passwordless=passwordless,
        unix_socket=unix_socket,
        password_column=password_column,
        **connection_args,
    ):
        if passwordless:
            ret["comment"] += " with passwordless login" if allowed else ""
        elif auth_plugin == "mysql_native_password":
            ret["comment"] += " with the desired password" + ("" if password else " hash")
        else:
            ret["comment"] += ". Unable to verify password."
        return ret
    exists = False
    error = pop_error(__context__)
    if error is None:
        exists = __salt__["mysql.user_exists"](name, host, **connection_args)
        error = pop_error(__context__)
    if error is not None:
        return dict(ret, result=False, comment=error)
    secret = {
        "password": password,
        "password_hash": password_hash,
        "allow_passwordless": allow_passwordless,
        "unix_socket": unix_socket,
        "password_column": password_column,
    }
    if exists:
        verb, past = ("clear", "cleared") if passwordless else ("change", "changed")
        if __opts__["test"]:
            return dict(ret, result=None, comment="Password for user %s is set to be %s" % (who, past))
        if passwordless and unix_socket:
            secret["allow_passwordless"] = True
        if __salt__["mysql.user_chpass"](name, host, **dict(secret, **connection_args)):
            return dict(ret, changes={name: "Updated"}, comment="Password for user %s has been %s" % (who, past))
        return _failed(ret, "Failed to %s password for user %s" % (verb, who))
    how = " with passwordless login" if allowed and passwordless else ""
    how += " using unix_socket" if unix_socket else ""
    if __opts__["test"]:
        return dict(ret, result=None, comment="User %s is set to be added%s" % (who, how))
    if __salt__["mysql.user_create"](name, host, auth_plugin=auth_plugin, **dict(secret, **connection_args)):
        return dict(ret, changes={name: "Present"}, comment="The user %s has been added%s" % (who, how))
    return _failed(ret, "Failed to create user %s" % who)


def _failed(ret, comment):
    error = pop_error(__context__)
    return dict(ret, result=False, comment=comment + ("" if error is None else " (%s)" % error))


def absent(name, host="localhost", **connection_args):
    """There is no account of this name and host. changes: ``{name: Absent}``."""
    who = "%s@%s" % (name, host)
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    if not __salt__["mysql.user_exists"](name, host, **connection_args):
        error = pop_error(__context__)
        if error is not None:
            return dict(ret, result=False, comment=error)
        return dict(ret, comment="User %s is not present, so it cannot be removed" % who)
    if __opts__["test"]:
        return dict(ret, result=None, comment="User %s is set to be removed" % who)
    if __salt__["mysql.user_remove"](name, host, **connection_args):
        return dict(ret, changes={name: "Absent"}, comment="User %s has been removed" % who)
    return dict(ret, result=False, comment=pop_error(__context__) or "User %s has not been removed" % who)
