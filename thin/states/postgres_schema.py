"""Schemas of databases of PostgreSQL. Salt: states/postgres_schema.py

``user`` is the account to run psql as; ``db_user``, ``db_password``, ``db_host`` and ``db_port`` tell how to connect.
"""

from thin.utils.programs.psql import last_error


def __virtual__():
    if "postgres.schema_exists" in __salt__:
        return True
    return False, "Unable to load postgres module.  Make sure `postgres.bins_dir` is set."


def present(dbname, name, owner=None, user=None, db_user=None, db_password=None, db_host=None, db_port=None):
    """The database ``dbname`` has such a schema; a new one belongs to ``owner``. changes: ``{name: Present}``."""
    ret = {
        "dbname": dbname,
        "name": name,
        "changes": {},
        "result": True,
        "comment": "Schema %s already exists in database %s" % (name, dbname),
    }
    connection = {"user": user, "db_user": db_user, "db_password": db_password, "db_host": db_host, "db_port": db_port}
    if __salt__["postgres.schema_get"](dbname, name, **connection) is not None:
        return ret
    if __opts__["test"]:
        return dict(ret, result=None, comment="Schema %s is set to be created in database %s." % (name, dbname))
    if __salt__["postgres.schema_create"](dbname, name, owner=owner, **connection):
        comment = "Schema %s has been created in database %s" % (name, dbname)
        return dict(ret, changes={name: "Present"}, comment=comment)
    comment = "Failed to create schema %s in database %s%s" % (name, dbname, last_error(__context__))
    return dict(ret, result=False, comment=comment)


def absent(dbname, name, user=None, db_user=None, db_password=None, db_host=None, db_port=None):
    """The database ``dbname`` has no such schema; one with objects is not dropped. changes: ``{name: Absent}``."""
    ret = {"name": name, "dbname": dbname, "changes": {}, "result": True, "comment": ""}
    connection = {"user": user, "db_user": db_user, "db_password": db_password, "db_host": db_host, "db_port": db_port}
    if not __salt__["postgres.schema_exists"](dbname, name, **connection):
        comment = "Schema %s is not present in database %s, so it cannot be removed" % (name, dbname)
        return dict(ret, comment=comment)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Schema %s is set to be removed from database %s" % (name, dbname))
    if __salt__["postgres.schema_remove"](dbname, name, **connection):
        comment = "Schema %s has been removed from database %s" % (name, dbname)
        return dict(ret, changes={name: "Absent"}, comment=comment)
    return dict(ret, result=False, comment="Schema %s failed to be removed%s" % (name, last_error(__context__)))
