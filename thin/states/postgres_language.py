"""Procedural languages of databases of PostgreSQL. Salt: states/postgres_language.py

``user`` is the account to run psql as; ``db_user``, ``db_password``, ``db_host`` and ``db_port`` tell how to connect.
"""

from thin.utils.programs.psql import last_error


def __virtual__():
    if "postgres.language_create" in __salt__:
        return True
    return False, "Unable to load postgres module.  Make sure `postgres.bins_dir` is set."


def present(name, maintenance_db, user=None, db_password=None, db_host=None, db_port=None, db_user=None):
    """The database ``maintenance_db`` has this language. changes: ``{name: Present}``."""
    ret = {"name": name, "changes": {}, "result": True, "comment": "Language %s is already installed" % name}
    connection = {"runas": user, "host": db_host, "user": db_user, "port": db_port, "password": db_password}
    if name in __salt__["postgres.language_list"](maintenance_db, **connection):
        return ret
    if __opts__["test"]:
        return dict(ret, result=None, comment="Language %s is set to be installed" % name)
    if __salt__["postgres.language_create"](name, maintenance_db, **connection):
        return dict(ret, changes={name: "Present"}, comment="Language %s has been installed" % name)
    return dict(ret, result=False, comment="Failed to install language %s%s" % (name, last_error(__context__)))


def absent(name, maintenance_db, user=None, db_password=None, db_host=None, db_port=None, db_user=None):
    """The database ``maintenance_db`` does not have this language. changes: ``{name: Absent}``."""
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    connection = {"runas": user, "host": db_host, "user": db_user, "port": db_port, "password": db_password}
    if not __salt__["postgres.language_exists"](name, maintenance_db, **connection):
        return dict(ret, comment="Language %s is not present so it cannot be removed" % name)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Language %s is set to be removed" % name)
    if __salt__["postgres.language_remove"](name, maintenance_db, **connection):
        return dict(ret, changes={name: "Absent"}, comment="Language %s has been removed" % name)
    return dict(ret, result=False, comment="Failed to remove language %s%s" % (name, last_error(__context__)))
