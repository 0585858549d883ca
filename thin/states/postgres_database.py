"""Databases of PostgreSQL. Salt: states/postgres_database.py

``user`` is the account to run psql as; ``db_user``, ``db_password``, ``db_host``, ``db_port`` and
``maintenance_db`` tell how to connect, and default to the options ``postgres.user`` and so on.
"""

from thin.exceptions import CommandExecutionError
from thin.utils.programs.psql import last_error


def __virtual__():
    if "postgres.user_exists" in __salt__:
        return True
    return False, "Unable to load postgres module.  Make sure `postgres.bins_dir` is set."


def present(
    name,
    tablespace=None,
    encoding=None,
    lc_collate=None,
    lc_ctype=None,
    owner=None,
    owner_recurse=False,
    template=None,
    user=None,
    maintenance_db=None,
    db_password=None,
    db_host=None,
    db_port=None,
    db_user=None,
):
    """The database exists. changes: ``{name: Present}`` or ``{name: Parameters changed}``.

    ``tablespace`` and ``owner`` can be changed later (``owner_recurse``: of all its objects); ``encoding``,
    ``lc_collate`` and ``lc_ctype`` cannot: a difference is a failure. ``template``: the template of a new database.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": "Database %s is already present" % name}
    connection = {
        "maintenance_db": maintenance_db,
        "runas": user,
        "host": db_host,
        "user": db_user,
        "port": db_port,
        "password": db_password,
    }
    database = __salt__["postgres.db_list"](**connection).get(name)
    if database is not None:
        fixed = (
            encoding and database["Encoding"].lower() != encoding.lower(),
            lc_collate and database["Collate"] != lc_collate,
            lc_ctype and database["Ctype"] != lc_ctype,
        )
        if any(fixed):
            comment = "Database %s has wrong parameters which couldn't be changed on fly." % name
            return dict(ret, result=False, comment=comment)
        if (not tablespace or database["Tablespace"] == tablespace) and (not owner or database["Owner"] == owner):
            return ret
        if __opts__["test"]:
            return dict(ret, result=None, comment="Database %s exists, but parameters need to be changed" % name)
        if __salt__["postgres.db_alter"](
            name, tablespace=tablespace, owner=owner, owner_recurse=owner_recurse, **connection
        ):
            comment = "Parameters for database %s have been changed" % name
            return dict(ret, changes={name: "Parameters changed"}, comment=comment)
        comment = "Failed to change parameters for database %s%s" % (name, last_error(__context__))
        return dict(ret, result=False, comment=comment)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Database %s is set to be created" % name)
    if __salt__["postgres.db_create"](
        name,
        tablespace=tablespace,
        encoding=encoding,
        lc_collate=lc_collate,
        lc_ctype=lc_ctype,
        owner=owner,
        template=template,
        **connection,
    ):
        return dict(ret, changes={name: "Present"}, comment="The database %s has been created" % name)
    return dict(ret, result=False, comment="Failed to create database %s%s" % (name, last_error(__context__)))


def absent(name, user=None, maintenance_db=None, db_password=None, db_host=None, db_port=None, db_user=None):
    """The database does not exist; connections to it are ended. changes: ``{name: Absent}``."""
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    connection = {
        "maintenance_db": maintenance_db,
        "runas": user,
        "host": db_host,
        "user": db_user,
        "port": db_port,
        "password": db_password,
    }
    if not __salt__["postgres.db_exists"](name, **connection):
        return dict(ret, comment="Database %s is not present, so it cannot be removed" % name)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Database %s is set to be removed" % name)
    try:
        __salt__["postgres.db_remove"](name, **connection)
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment="Database %s failed to be removed: %s" % (name, exc))
    return dict(ret, changes={name: "Absent"}, comment="Database %s has been removed" % name)
