"""Databases of MySQL and MariaDB. Salt (until 3007): states/mysql_database.py; then saltext-mysql

``connection_host``, ``connection_user``, ``connection_pass`` and so on are for the connection; see the module
``mysql``.
"""

from thin.utils.programs.mysqlrun import pop_error


def __virtual__():
    return True if "mysql.db_exists" in __salt__ else (False, "mysql module could not be loaded")


def present(name, character_set=None, collate=None, **connection_args):
    """The database exists, with this character set and collation. changes: ``{name: Present}``, or
    ``{character_set: {before, now}, collate: {before, now}}``.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": "Database %s is already present" % name}
    before = __salt__["mysql.db_get"](name, **connection_args)
    error = pop_error(__context__)
    if error is not None:
        return dict(ret, result=False, comment=error)
    if not before:
        return _create(ret, name, character_set, collate, connection_args)
    wanted = (("character_set", "character set", character_set), ("collate", "collate", collate))
    due = [
        "Database %s %s != %s needs to be updated" % (words, value, before[key])
        for key, words, value in wanted
        if value and value != before[key]
    ]
    if not due:
        return ret
    ret["comment"] = "\n".join(due)
    if __opts__["test"]:
        return dict(ret, result=None, comment="%s\nDatabase %s is going to be updated" % (ret["comment"], name))
    if not __salt__["mysql.alter_db"](name, character_set=character_set, collate=collate, **connection_args):
        error = pop_error(__context__)
        return dict(ret, result=False, comment="Failed to update database %s (%s)" % (name, error))
    now = __salt__["mysql.db_get"](name, **connection_args)
    for key in ("collate", "character_set"):
        if before[key] != now[key]:
            ret["changes"][key] = {"before": before[key], "now": now[key]}
    return ret


def _create(ret, name, character_set, collate, connection_args):
    if __opts__["test"]:
        return dict(ret, result=None, comment="Database %s is not present and needs to be created" % name)
    if __salt__["mysql.db_create"](name, character_set=character_set, collate=collate, **connection_args):
        return dict(ret, changes={name: "Present"}, comment="The database %s has been created" % name)
    error = pop_error(__context__)
    comment = "Failed to create database %s%s" % (name, "" if error is None else " (%s)" % error)
    return dict(ret, result=False, comment=comment)


def absent(name, **connection_args):
    """The database does not exist. changes: ``{name: Absent}``."""
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    if not __salt__["mysql.db_exists"](name, **connection_args):
        error = pop_error(__context__)
        if error is not None:
            return dict(ret, result=False, comment=error)
        return dict(ret, comment="Database %s is not present, so it cannot be removed" % name)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Database %s is present and needs to be removed" % name)
    if __salt__["mysql.db_remove"](name, **connection_args):
        return dict(ret, changes={name: "Absent"}, comment="Database %s has been removed" % name)
    error = pop_error(__context__) or "it is the server's own"
    return dict(ret, result=False, comment="Unable to remove database %s (%s)" % (name, error))
