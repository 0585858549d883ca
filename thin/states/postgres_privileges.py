"""Privileges on objects of PostgreSQL, and membership in groups. Salt: states/postgres_privileges.py

``name`` is the role (``public``: all roles), ``object_name`` and ``object_type`` the object: table (views, too),
sequence, function (with the types of its arguments), schema, tablespace, language, database, group.
``object_name: ALL`` is all tables, sequences or functions of a schema, which ``prepend`` names. ``privileges`` is a
list (SELECT, INSERT … ALL), left out for a group. ``maintenance_db`` is the database that has the object. ``user`` is
the account to run psql as; ``db_user``, ``db_password``, ``db_host`` and ``db_port`` tell how to connect.
"""

from thin.utils.programs.psql import last_error


def __virtual__():
    if "postgres.privileges_grant" in __salt__:
        return True
    return False, "Unable to load postgres module.  Make sure `postgres.bins_dir` is set."


def present(
    name,
    object_name,
    object_type,
    privileges=None,
    grant_option=None,
    prepend="public",
    maintenance_db=None,
    user=None,
    db_password=None,
    db_host=None,
    db_port=None,
    db_user=None,
):
    """The role has these privileges, or is a member of the group. changes: ``{name: Present}``.

    ``grant_option``: with the right to grant them to others.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": "The requested privilege(s) are already set"}
    privileges = _text(privileges)
    asked = {
        "privileges": privileges,
        "grant_option": grant_option,
        "prepend": prepend,
        "maintenance_db": maintenance_db,
        "runas": user,
        "host": db_host,
        "user": db_user,
        "port": db_port,
        "password": db_password,
    }
    if __salt__["postgres.has_privileges"](name, object_name, object_type, **asked):
        return ret
    shown = object_name if object_type == "group" else privileges
    if __opts__["test"]:
        return dict(ret, result=None, comment="The privilege(s): %s are set to be granted to %s" % (shown, name))
    if __salt__["postgres.privileges_grant"](name, object_name, object_type, **asked):
        comment = "The privilege(s): %s have been granted to %s" % (shown, name)
        return dict(ret, changes={name: "Present"}, comment=comment)
    comment = "Failed to grant privilege(s): %s to %s%s" % (shown, name, last_error(__context__))
    return dict(ret, result=False, comment=comment)


def absent(
    name,
    object_name,
    object_type,
    privileges=None,
    prepend="public",
    maintenance_db=None,
    user=None,
    db_password=None,
    db_host=None,
    db_port=None,
    db_user=None,
):
    """The role does not have all of these privileges, or is no member of the group. changes: ``{name: Absent}``."""
    comment = "The requested privilege(s) are not set so cannot be revoked"
    ret = {"name": name, "changes": {}, "result": True, "comment": comment}
    privileges = _text(privileges)
    asked = {
        "privileges": privileges,
        "prepend": prepend,
        "maintenance_db": maintenance_db,
        "runas": user,
        "host": db_host,
        "user": db_user,
        "port": db_port,
        "password": db_password,
    }
    if not __salt__["postgres.has_privileges"](name, object_name, object_type, **asked):
        return ret
    shown = object_name if object_type == "group" else privileges
    if __opts__["test"]:
        return dict(ret, result=None, comment="The privilege(s): %s are set to be revoked from %s" % (shown, name))
    if __salt__["postgres.privileges_revoke"](name, object_name, object_type, **asked):
        comment = "The privilege(s): %s have been revoked from %s" % (shown, name)
        return dict(ret, changes={name: "Absent"}, comment=comment)
    comment = "Failed to revoke privilege(s): %s from %s%s" % (shown, name, last_error(__context__))
    return dict(ret, result=False, comment=comment)


def _text(privileges):
    return ",".join(privileges) if isinstance(privileges, (list, tuple)) else privileges or None
