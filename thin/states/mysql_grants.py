"""Privileges of accounts of MySQL and MariaDB. Salt (until 3007): states/mysql_grants.py; then saltext-mysql

``name`` is only a name. ``grant`` is text such as ``SELECT,INSERT`` or ``ALL PRIVILEGES``; ``database`` is ``db.*``,
``db.table`` or ``*.*``; ``user`` and ``host`` are the account. ``connection_host``, ``connection_user``,
``connection_pass`` and so on are for the connection; see the module ``mysql``.
"""

from thin.utils.programs.mysqlrun import pop_error


def __virtual__():
    return True if "mysql.grant_exists" in __salt__ else (False, "mysql module could not be loaded")


def present(
    name,
    grant=None,
    database=None,
    user=None,
    host="localhost",
    grant_option=False,
    escape=True,
    revoke_first=False,
    ssl_option=False,
    **connection_args,
):
    """The account has these privileges. changes: ``{name: Present}``.

    ``grant_option``: with the right to grant them to others. ``escape``: names in ``database`` are quoted.
    ``revoke_first``: all other privileges on this database are revoked first. ``ssl_option``: ``[{SSL: true}, {CIPHER:
    …}]``, the required security of its connections.
    """
    what = "%s on %s to %s@%s" % (grant, database, user, host)
    ret = {"name": name, "changes": {}, "result": True, "comment": "Grant %s is already present" % what}
    if __salt__["mysql.grant_exists"](grant, database, user, host, grant_option, escape, **connection_args):
        return ret
    error = pop_error(__context__)
    if error is not None:
        return dict(ret, result=False, comment=error)
    if __opts__["test"]:
        return dict(ret, result=None, comment="MySQL grant %s is set to be created" % name)
    if revoke_first:
        _revoke_all(database, user, host, grant_option, escape, connection_args)
    if __salt__["mysql.grant_add"](grant, database, user, host, grant_option, escape, ssl_option, **connection_args):
        return dict(ret, changes={name: "Present"}, comment="Grant %s has been added" % what)
    error = pop_error(__context__)
    comment = 'Failed to execute: "GRANT %s ON %s TO %s@%s"' % (grant, database, user, host)
    return dict(ret, result=False, comment=comment + ("" if error is None else " (%s)" % error))


def _revoke_all(database, user, host, grant_option, escape, connection_args):
    """Revoke all privileges of the account on exactly this database or table."""
    for line in __salt__["mysql.user_grants"](user, host, **connection_args) or ():
        grant = __salt__["mysql.tokenize_grant"](line)
        if grant["database"].replace("`", "").replace("\\", "") == database:
            privileges = ",".join(each for each in grant["grant"] if "." not in each)
            __salt__["mysql.grant_revoke"](privileges, database, user, host, grant_option, escape, **connection_args)


def absent(
    name, grant=None, database=None, user=None, host="localhost", grant_option=False, escape=True, **connection_args
):
    """The account does not have these privileges. changes: ``{name: Absent}``."""
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    who = (grant, database, user, host)
    if not __salt__["mysql.grant_exists"](grant, database, user, host, grant_option, escape, **connection_args):
        error = pop_error(__context__)
        if error is not None:
            comment = "Unable to determine if grant %s on %s for %s@%s exists (%s)" % (who + (error,))
            return dict(ret, result=False, comment=comment)
        return dict(ret, comment="Grant %s on %s to %s@%s is not present, so it cannot be revoked" % who)
    if __opts__["test"]:
        return dict(ret, result=None, comment="MySQL grant %s is set to be revoked" % name)
    if __salt__["mysql.grant_revoke"](grant, database, user, host, grant_option, escape, **connection_args):
        return dict(ret, changes={name: "Absent"}, comment="Grant %s on %s for %s@%s has been revoked" % who)
    error = pop_error(__context__) or "it is still there"
    return dict(ret, result=False, comment="Unable to revoke grant %s on %s for %s@%s (%s)" % (who + (error,)))
