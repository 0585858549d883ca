"""Users and groups of PostgreSQL, which are both roles: a part of ``postgres``. Salt: modules/postgres.py

``user``, ``host``, ``port``, ``maintenance_db``, ``password`` and ``runas`` are those of ``postgres.psql_query``. Many
functions take these properties of a role; those that are None are not changed:

createdb, createroles, superuser, replication, login, inherit
                true or false; a new user can log in, a new group cannot, both inherit
connlimit       connections at a time
rolepassword    the role's password, or its stored form; False for none
encrypted       how it is stored: md5 (the default), scram-sha-256, or False
valid_until     until when the password is good
groups          list, or text with commas, of the roles that it becomes a member of
"""

from thin.log import getLogger
from thin.utils.formats import pgpass
from thin.utils.programs import psql
from thin.utils.programs.psql import ident, text

__virtualname__ = "postgres"
__reads__ = ("user_list", "role_get", "user_exists")
__changes__ = ("user_create", "user_update", "user_remove", "group_create", "group_update", "group_remove")

log = getLogger(__name__)

_FLAGS = (
    "superuser",
    "inherits privileges",
    "can create roles",
    "can create databases",
    "can login",
    "replication",
    "connections",
)


def __virtual__():
    return __virtualname__ if psql.binary(__salt__, "psql") else (False, "psql was not found")


def _server(user, host, port, maintenance_db, password, runas):
    return psql.Server(__salt__, __grains__, __context__, user, host, port, maintenance_db, password, runas)


def user_list(user=None, host=None, port=None, maintenance_db=None, password=None, runas=None, return_password=False):
    """
    Return ``{role: {superuser, inherits privileges, can create roles, can create databases, can login, replication,
    expiry time, groups, defaults variables, …}}``; False when the server does not answer

    return_password
        with the stored form of the password

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.user_list
    """
    stored = ', COALESCE(s.passwd, a.rolpassword) AS "password"' if return_password else ""
    joins = (
        " LEFT JOIN pg_authid a ON r.oid = a.oid LEFT JOIN pg_shadow s ON r.oid = s.usesysid" if return_password else ""
    )
    rows = _server(user, host, port, maintenance_db, password, runas).rows(
        'SELECT r.rolname AS "name", r.rolsuper AS "superuser", r.rolinherit AS "inherits privileges", '
        'r.rolcreaterole AS "can create roles", r.rolcreatedb AS "can create databases", r.rolcanlogin AS "can login", '
        'r.rolreplication AS "replication", r.rolconnlimit AS "connections", '
        "(SELECT array_agg(g.rolname) FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles g ON m.roleid = g.oid "
        'WHERE m.member = r.oid) AS "groups", r.rolvaliduntil::timestamp(0) AS "expiry time", '
        'r.rolconfig AS "defaults variables"' + stored + " FROM pg_roles r" + joins
    )
    if rows is None:
        log.error("the server does not report its version; it may not be running")
        return False
    return {row["name"]: _role(row) for row in rows}


def _role(row):
    import csv
    import datetime

    # as in Salt, "connections" is always None
    ret = {key: {"t": True, "f": False}.get(row[key]) for key in _FLAGS}
    ret["can update system catalogs"] = None
    try:
        ret["expiry time"] = datetime.datetime.strptime(row["expiry time"], "%Y-%m-%d %H:%M:%S")
    except ValueError:
        ret["expiry time"] = None
    ret["defaults variables"] = row["defaults variables"]
    if "password" in row:
        ret["password"] = row["password"]
    ret["groups"] = next(csv.reader([row["groups"].strip("{}")]), [])
    return ret


def role_get(
    name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None, return_password=False
):
    """
    Return the entry of a role in ``user_list``; None if there is none, or the server does not answer

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.role_get app
    """
    roles = user_list(user, host, port, maintenance_db, password, runas, return_password)
    if roles is False:
        log.error("the roles cannot be listed; the server may not be running")
        return None
    return roles.get(name)


def user_exists(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Whether the server has a role

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.user_exists app
    """
    return bool(role_get(name, user, host, port, maintenance_db, password, runas))


def user_create(
    username,
    user=None,
    host=None,
    port=None,
    maintenance_db=None,
    password=None,
    createdb=None,
    createroles=None,
    inherit=None,
    login=None,
    connlimit=None,
    encrypted=None,
    superuser=None,
    replication=None,
    rolepassword=None,
    valid_until=None,
    groups=None,
    runas=None,
):
    """
    Create a user; False if it exists already, or after an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.user_create app createdb=True groups=analysts
    """
    return _create(
        _server(user, host, port, maintenance_db, password, runas),
        username,
        {
            "inherit": True if inherit is None else inherit,
            "login": True if login is None else login,
            "createdb": createdb,
            "createroles": createroles,
            "superuser": superuser,
            "replication": replication,
            "connlimit": connlimit,
            "encrypted": encrypted,
            "rolepassword": rolepassword,
            "valid_until": valid_until,
            "groups": groups,
        },
    )


def user_update(
    username,
    user=None,
    host=None,
    port=None,
    maintenance_db=None,
    password=None,
    createdb=None,
    createroles=None,
    encrypted=None,
    superuser=None,
    inherit=None,
    login=None,
    connlimit=None,
    replication=None,
    rolepassword=None,
    valid_until=None,
    groups=None,
    runas=None,
):
    """
    Change the given properties of a user; False if it does not exist, or on failure

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.user_update app createdb=True
    """
    return _update(
        _server(user, host, port, maintenance_db, password, runas),
        username,
        {
            "inherit": inherit,
            "login": login,
            "createdb": createdb,
            "createroles": createroles,
            "superuser": superuser,
            "replication": replication,
            "connlimit": connlimit,
            "encrypted": encrypted,
            "rolepassword": rolepassword,
            "valid_until": valid_until,
            "groups": groups,
        },
    )


def user_remove(username, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Remove a user; False if there is none, or after an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.user_remove app
    """
    server = _server(user, host, port, maintenance_db, password, runas)
    if not _exists(server, username):
        log.info("User '%s' does not exist", username)
        return False
    return server.execute("DROP ROLE " + ident(username))["retcode"] == 0


def group_create(
    groupname,
    user=None,
    host=None,
    port=None,
    maintenance_db=None,
    password=None,
    createdb=None,
    createroles=None,
    encrypted=None,
    login=None,
    inherit=None,
    superuser=None,
    replication=None,
    rolepassword=None,
    groups=None,
    runas=None,
):
    """
    Create a group, a role that cannot log in; False if it exists already, or after an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.group_create analysts
    """
    return _create(
        _server(user, host, port, maintenance_db, password, runas),
        groupname,
        {
            "inherit": True if inherit is None else inherit,
            "login": bool(login),
            "createdb": createdb,
            "createroles": createroles,
            "superuser": superuser,
            "replication": replication,
            "encrypted": encrypted,
            "rolepassword": rolepassword,
            "groups": groups,
        },
    )


def group_update(
    groupname,
    user=None,
    host=None,
    port=None,
    maintenance_db=None,
    password=None,
    createdb=None,
    createroles=None,
    encrypted=None,
    inherit=None,
    login=None,
    superuser=None,
    replication=None,
    rolepassword=None,
    groups=None,
    runas=None,
):
    """
    Change the given properties of a group; False if it does not exist, or on failure

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.group_update groupname createdb=True
    """
    return _update(
        _server(user, host, port, maintenance_db, password, runas),
        groupname,
        {
            "inherit": inherit,
            "login": login,
            "createdb": createdb,
            "createroles": createroles,
            "superuser": superuser,
            "replication": replication,
            "encrypted": encrypted,
            "rolepassword": rolepassword,
            "groups": groups,
        },
    )


def group_remove(groupname, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Remove a group; False if there is none, or after an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.group_remove analysts
    """
    return user_remove(groupname, user, host, port, maintenance_db, password, runas)


def _exists(server, name):
    """Whether the role exists."""
    return bool(server.rows("SELECT rolsuper FROM pg_roles WHERE rolname = " + text(name)))


def _create(server, name, wanted):
    if _exists(server, name):
        log.info("'%s' already exists", name)
        return False
    return server.secretly("CREATE ROLE " + _statement(name, wanted))["retcode"] == 0


def _update(server, name, wanted):
    rows = server.rows("SELECT rolsuper FROM pg_roles WHERE rolname = " + text(name))
    if not rows:
        log.info("'%s' could not be found", name)
        return False
    if wanted["superuser"] is not None and bool(wanted["superuser"]) == (rows[0]["rolsuper"] == "t"):
        wanted["superuser"] = None  # users without it may not set this property, even to its present value
    return server.secretly("ALTER ROLE " + _statement(name, wanted))["retcode"] == 0


def _statement(name, wanted):
    """``"name" WITH …``, and the grants of its groups."""
    words = []
    for key, word in (
        ("inherit", "INHERIT"),
        ("createdb", "CREATEDB"),
        ("createroles", "CREATEROLE"),
        ("superuser", "SUPERUSER"),
        ("replication", "REPLICATION"),
        ("login", "LOGIN"),
    ):
        if wanted[key] is not None:
            words.append(word if wanted[key] else "NO" + word)
    if wanted.get("connlimit") is not None:
        words.append("CONNECTION LIMIT %d" % int(wanted["connlimit"]))
    secret = wanted["rolepassword"]
    if secret is False:
        words.append("PASSWORD NULL")
    elif secret and isinstance(secret, str):
        encrypted = pgpass.DEFAULT if wanted["encrypted"] is None else wanted["encrypted"]
        unencrypted = "UNENCRYPTED " if encrypted is False else ""
        words.append("%sPASSWORD %s" % (unencrypted, text(pgpass.stored(name, secret, encrypted))))
    if wanted.get("valid_until"):
        words.append("VALID UNTIL " + text(wanted["valid_until"]))
    statement = "%s%s%s" % (ident(name), " WITH " if words else "", " ".join(words))
    groups = wanted["groups"] or ()
    for group in groups.split(",") if isinstance(groups, str) else groups:
        statement += ";\nGRANT %s TO %s" % (ident(group), ident(name))
    return statement
