"""Privileges on objects of PostgreSQL, and membership in groups: a part of ``postgres``. Salt: modules/postgres.py

Arguments in addition to those for the connection (as in ``postgres.psql_query``):

name            the role; ``public`` for all
object_name     the object; for a function with its arguments' types, ``ALL`` for all tables, sequences or functions
                of the schema
object_type     table (views too), sequence, function, schema, tablespace, language, database, or group: then the
                object is a group, and the privilege to be a member of it
privileges      text with commas: SELECT, INSERT … or ALL; none for a group
grant_option    the role may pass the privilege on
prepend         the schema of a table, sequence or function
"""

import re

from thin.exceptions import SaltInvocationError
from thin.log import getLogger
from thin.utils.programs import psql
from thin.utils.programs.psql import ident, role, text

__virtualname__ = "postgres"
__reads__ = ("privileges_list", "has_privileges")
__changes__ = ("privileges_grant", "privileges_revoke")

log = getLogger(__name__)

_LETTERS = {
    "a": "INSERT",
    "C": "CREATE",
    "D": "TRUNCATE",
    "c": "CONNECT",
    "t": "TRIGGER",
    "r": "SELECT",
    "U": "USAGE",
    "T": "TEMPORARY",
    "w": "UPDATE",
    "X": "EXECUTE",
    "x": "REFERENCES",
    "d": "DELETE",
    "m": "MAINTAIN",
    "s": "SET",
    "A": "ALTER SYSTEM",
}

#: meaning of ALL for each kind of object; MAINTAIN since PostgreSQL 17
_ALL = {
    "table": "arwdDxtm",
    "tablespace": "C",
    "language": "U",
    "sequence": "rwU",
    "schema": "UC",
    "database": "CTc",
    "function": "X",
}
_MAINTAIN_SINCE = 170000

#: kind -> (columns of the list and the owner, tables, condition); %(name)s and %(schema)s are SQL literals
_CATALOG = {
    "table": (
        "relacl",
        "relowner",
        "pg_class o JOIN pg_catalog.pg_namespace n ON n.oid = o.relnamespace",
        "nspname = %(schema)s AND relkind IN ('r', 'v', 'm', 'f', 'p')",
        "relname",
    ),
    "sequence": (
        "relacl",
        "relowner",
        "pg_class o JOIN pg_catalog.pg_namespace n ON n.oid = o.relnamespace",
        "nspname = %(schema)s AND relkind = 'S'",
        "relname",
    ),
    "function": (
        "proacl",
        "proowner",
        "pg_proc o JOIN pg_catalog.pg_namespace n ON n.oid = o.pronamespace",
        "nspname = %(schema)s",
        "o.oid::regprocedure::text",
    ),
    "schema": ("nspacl", "nspowner", "pg_namespace o", "true", "nspname"),
    "tablespace": ("spcacl", "spcowner", "pg_tablespace o", "true", "spcname"),
    "language": ("lanacl", "lanowner", "pg_language o", "true", "lanname"),
    "database": ("datacl", "datdba", "pg_database o", "true", "datname"),
}
_IN_SCHEMA = ("table", "sequence", "function")


def __virtual__():
    return __virtualname__ if psql.binary(__salt__, "psql") else (False, "psql was not found")


def _server(user, host, port, maintenance_db, password, runas):
    return psql.Server(__salt__, __grains__, __context__, user, host, port, maintenance_db, password, runas)


def privileges_list(
    name, object_type, prepend="public", maintenance_db=None, user=None, host=None, port=None, password=None, runas=None
):
    """
    Return ``{role: {privilege: with grant option}}`` of an object; for a group ``{member: with admin option}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.privileges_list orders table maintenance_db=shop
    """
    server = _server(user, host, port, maintenance_db, password, runas)
    kind = _kind(object_type)
    if kind == "group":
        return _members(server, name)
    ret = {}
    for item in _objects(server, name, kind, prepend):
        ret.update(item["roles"])
    return ret


def has_privileges(
    name,
    object_name,
    object_type,
    privileges=None,
    grant_option=None,
    prepend="public",
    maintenance_db=None,
    user=None,
    host=None,
    port=None,
    password=None,
    runas=None,
):
    """
    Whether a role has all these privileges on an object; owners have all, and members of a group have those of the
    group

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.has_privileges app orders table SELECT maintenance_db=shop
    """
    kind, wanted = _checked(object_type, privileges)
    server = _server(user, host, port, maintenance_db, password, runas)
    return _has(server, name, object_name, kind, wanted, grant_option, prepend)


def privileges_grant(
    name,
    object_name,
    object_type,
    privileges=None,
    grant_option=None,
    prepend="public",
    maintenance_db=None,
    user=None,
    host=None,
    port=None,
    password=None,
    runas=None,
):
    """
    Grant privileges on an object; False if the role has them already, or after an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.privileges_grant app orders table INSERT maintenance_db=shop
    """
    kind, wanted = _checked(object_type, privileges)
    server = _server(user, host, port, maintenance_db, password, runas)
    if _has(server, name, object_name, kind, wanted, grant_option, prepend):
        log.info("%s (%s) has the privileges %s already", object_name, kind, privileges)
        return False
    if kind == "group":
        words = ["GRANT", ident(object_name), "TO", role(name)] + (["WITH ADMIN OPTION"] if grant_option else [])
    else:
        words = ["GRANT", ", ".join(wanted), "ON", _on(object_name, kind, prepend), "TO", role(name)]
        words += ["WITH GRANT OPTION"] if grant_option else []
    return server.execute(" ".join(words))["retcode"] == 0


def privileges_revoke(
    name,
    object_name,
    object_type,
    privileges=None,
    prepend="public",
    maintenance_db=None,
    user=None,
    host=None,
    port=None,
    password=None,
    runas=None,
):
    """
    Revoke privileges on an object; False if the role does not have all of them, or after an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.privileges_revoke app orders table INSERT maintenance_db=shop
    """
    kind, wanted = _checked(object_type, privileges)
    server = _server(user, host, port, maintenance_db, password, runas)
    if not _has(server, name, object_name, kind, wanted, None, prepend):
        log.info("%s (%s) has none of the privileges %s", object_name, kind, privileges)
        return False
    if kind == "group":
        words = ["REVOKE", ident(object_name), "FROM", role(name)]
    else:
        words = ["REVOKE", ", ".join(wanted), "ON", _on(object_name, kind, prepend), "FROM", role(name)]
    return server.execute(" ".join(words))["retcode"] == 0


def _kind(object_type):
    kind = str(object_type).lower()
    if kind != "group" and kind not in _ALL:
        raise SaltInvocationError("Invalid object_type: %s provided" % kind)
    return kind


def _checked(object_type, privileges):
    """(kind, [privileges]). Raises SaltInvocationError for arguments that do not fit together."""
    kind = _kind(object_type)
    if kind == "group":
        if privileges:
            raise SaltInvocationError("The privileges option should not be set for object_type group")
        return kind, []
    wanted = re.split(r"\s*,\s*", (privileges or "").strip().upper())
    valid = [_LETTERS[letter] for letter in _ALL[kind]] + ["ALL"]
    if not set(wanted) <= set(valid):
        raise SaltInvocationError("Invalid privilege(s): %s provided for object %s" % (privileges or "", kind))
    return kind, wanted


def _all_of(name, kind):
    return kind in _IN_SCHEMA and str(name).upper() == "ALL"


def _on(name, kind, schema):
    if _all_of(name, kind):
        return "ALL %sS IN SCHEMA %s" % (kind.upper(), ident(schema))
    if kind == "function":  # its name includes the types of its arguments
        return "FUNCTION %s.%s" % (ident(schema), name)
    return "%s %s%s" % (kind.upper(), ident(schema) + "." if kind in _IN_SCHEMA else "", ident(name))


def _members(server, group):
    rows = server.rows(
        "SELECT rolname, admin_option FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles r ON m.member = r.oid "
        "WHERE m.roleid IN (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = %s) ORDER BY rolname" % text(group)
    )
    return {row["rolname"]: row["admin_option"] == "t" for row in rows or ()}


def _objects(server, name, kind, schema):
    """``[{roles, owner, all}]`` of the object, or of all objects: privileges by role, owner, and the meaning of ALL on
    this server."""
    acl, owner, tables, condition, column = _CATALOG[kind]
    where = condition % {"schema": text(schema)}
    if not _all_of(name, kind):
        where += " AND %s = %s" % (column, text(name))
    rows = server.rows(
        "SELECT r.rolname AS owner, array_to_string(%s, E'\\n') AS acl, "
        "current_setting('server_version_num') AS version "
        "FROM pg_catalog.%s JOIN pg_catalog.pg_roles r ON r.oid = o.%s WHERE %s" % (acl, tables, owner, where)
    )
    return [
        {"owner": row["owner"], "roles": _parsed(row["acl"]), "all": _every(kind, int(row["version"]))}
        for row in rows or ()
    ]


def _every(kind, version):
    return {_LETTERS[letter] for letter in _ALL[kind] if letter != "m" or version >= _MAINTAIN_SINCE}


def _parsed(acl):
    """``{role: {privilege: with grant option}}`` of a list with lines such as ``alice=arw*/postgres``."""
    parsed = {}
    for line in acl.splitlines():
        entry = re.match(r'("(?:[^"]|"")*"|[^=]*)=([A-Za-z*]*)/', line)
        if entry is None:
            log.debug("an entry of the ACL cannot be read and is left out: %s", line)
            continue
        name = entry.group(1)
        if name.startswith('"'):
            name = name[1:-1].replace('""', '"')
        given = parsed.setdefault(name or "public", {})
        last = None
        for letter in entry.group(2):
            if letter == "*":
                given[last] = True
            else:
                last = _LETTERS.get(letter, letter)
                given[last] = False
    return parsed


def _has(server, name, object_name, kind, wanted, grant_option, schema):
    if kind == "group":
        members = _members(server, object_name)
        return name in members and (members[name] or not grant_option)
    objects = _objects(server, object_name, kind, schema)
    if not objects:
        # without objects nothing can be granted: True for ALL, False for a single object, which does not exist
        return _all_of(object_name, kind)
    who = "public" if str(name).lower() == "public" else name
    for item in objects:
        needed = item["all"] if "ALL" in wanted else set(wanted)
        given = item["roles"].get(who, {})
        if item["owner"] != name and not all(each in given and (given[each] or not grant_option) for each in needed):
            return False
    return True
