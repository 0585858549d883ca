"""Tablespaces of PostgreSQL. Salt: states/postgres_tablespace.py

``user`` is the account to run psql as; ``db_user``, ``db_password``, ``db_host``, ``db_port`` and
``maintenance_db`` tell how to connect.
"""

from thin.utils.programs.psql import last_error


def __virtual__():
    if "postgres.tablespace_exists" in __salt__:
        return True
    return False, "Unable to load postgres module.  Make sure `postgres.bins_dir` is set."


def present(
    name,
    directory,
    options=None,
    owner=None,
    user=None,
    maintenance_db=None,
    db_password=None,
    db_host=None,
    db_port=None,
    db_user=None,
):
    """The tablespace exists, in this directory, which must exist and belong to the server's user.

    ``options``: ``{seq_page_cost: 1.1}`` and the like. changes: ``{name: Present}``, or ``{name: {owner, options}}``.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": "Tablespace %s is already present" % name}
    connection = {
        "maintenance_db": maintenance_db,
        "runas": user,
        "host": db_host,
        "user": db_user,
        "port": db_port,
        "password": db_password,
    }
    tablespace = __salt__["postgres.tablespace_list"](**connection).get(name)
    if tablespace is None:
        if __opts__["test"]:
            return dict(ret, result=None, comment="Tablespace %s is set to be created" % name)
        if __salt__["postgres.tablespace_create"](name, directory, options, owner, **connection):
            return dict(ret, changes={name: "Present"}, comment="The tablespace %s has been created" % name)
        return dict(ret, result=False, comment="Failed to create tablespace %s%s" % (name, last_error(__context__)))
    if tablespace["Location"] != directory:
        comment = (
            "Tablespace %s is not at the right location. This is unfixable without dropping and recreating the "
            "tablespace." % name
        )
        return dict(ret, result=False, comment=comment)
    set_already = tablespace["Opts"].strip("{}").split(",")
    todo = [("owner", {"new_owner": owner}, owner)] if owner and tablespace["Owner"] != owner else []
    todo += [
        ("options", {"set_option": {key: value}}, {key: value})
        for key, value in (options or {}).items()
        if "%s=%s" % (key, value) not in set_already
    ]
    for what, change, value in todo:
        if __opts__["test"]:
            comment = "Tablespace %s %s to be altered" % (name, what)
            ret.update(result=None, comment=comment)
        elif __salt__["postgres.tablespace_alter"](name, **dict(change, **connection)):
            changes = ret["changes"].setdefault(name, {})
            if what == "owner":
                changes["owner"] = value
            else:
                changes.setdefault("options", {}).update(value)
            ret["comment"] = "Tablespace %s %s changed" % (name, {"options": "opts"}.get(what, what))
        else:
            error = last_error(__context__)
            return dict(ret, result=False, comment="Failed to alter the %s of tablespace %s%s" % (what, name, error))
    return ret


def absent(name, user=None, maintenance_db=None, db_user=None, db_password=None, db_host=None, db_port=None):
    """The tablespace does not exist; one with objects is not dropped. changes: ``{name: Absent}``."""
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    connection = {
        "maintenance_db": maintenance_db,
        "runas": user,
        "host": db_host,
        "user": db_user,
        "port": db_port,
        "password": db_password,
    }
    if not __salt__["postgres.tablespace_exists"](name, **connection):
        return dict(ret, comment="Tablespace %s is not present, so it cannot be removed" % name)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Tablespace %s is set to be removed" % name)
    if __salt__["postgres.tablespace_remove"](name, **connection):
        return dict(ret, changes={name: "Absent"}, comment="Tablespace %s has been removed" % name)
    return dict(ret, result=False, comment="Tablespace %s failed to be removed%s" % (name, last_error(__context__)))
