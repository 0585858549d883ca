"""Extensions in databases of PostgreSQL. Salt: states/postgres_extension.py

``maintenance_db`` is the database that has it. ``user`` is the account to run psql as; ``db_user``, ``db_password``,
``db_host`` and ``db_port`` tell how to connect.
"""

from thin.utils.programs.psql import last_error


def __virtual__():
    if "postgres.create_extension" in __salt__:
        return True
    return False, "Unable to load postgres module.  Make sure `postgres.bins_dir` is set."


def present(
    name,
    if_not_exists=None,
    schema=None,
    ext_version=None,
    from_version=None,
    user=None,
    maintenance_db=None,
    db_user=None,
    db_password=None,
    db_host=None,
    db_port=None,
):
    """The extension is installed, in this schema if it can be moved, not older than ``ext_version``.

    changes: ``{name: Installed}`` or ``{name: Upgraded}``. ``if_not_exists`` and ``from_version`` are those of CREATE
    EXTENSION. Its files must be installed by a package.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": "Extension %s is already present" % name}
    connection = {
        "maintenance_db": maintenance_db,
        "runas": user,
        "user": db_user,
        "password": db_password,
        "host": db_host,
        "port": db_port,
    }
    due = __salt__["postgres.create_metadata"](name, schema=schema, ext_version=ext_version, **connection)
    if due == ["EXTENSION INSTALLED"]:
        return ret
    verb, past = ("upgrade", "upgraded") if "EXTENSION INSTALLED" in due else ("install", "installed")
    if __opts__["test"]:
        return dict(ret, result=None, comment="Extension %s is set to be %s" % (name, past))
    if __salt__["postgres.create_extension"](
        name,
        if_not_exists=if_not_exists,
        schema=schema,
        ext_version=ext_version,
        from_version=from_version,
        **connection,
    ):
        comment = "The extension %s has been %s" % (name, past)
        return dict(ret, changes={name: past.capitalize()}, comment=comment)
    return dict(ret, result=False, comment="Failed to %s extension %s%s" % (verb, name, last_error(__context__)))


def absent(
    name,
    if_exists=None,
    restrict=None,
    cascade=None,
    user=None,
    maintenance_db=None,
    db_user=None,
    db_password=None,
    db_host=None,
    db_port=None,
):
    """The extension is not installed. changes: ``{name: Absent}``.

    Objects that depend on it are dropped, too, unless ``cascade`` is false or ``restrict`` is true. ``if_exists`` is
    that of DROP EXTENSION.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    connection = {
        "maintenance_db": maintenance_db,
        "runas": user,
        "host": db_host,
        "user": db_user,
        "port": db_port,
        "password": db_password,
    }
    if not __salt__["postgres.is_installed_extension"](name, **connection):
        return dict(ret, comment="Extension %s is not present, so it cannot be removed" % name)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Extension %s is set to be removed" % name)
    if __salt__["postgres.drop_extension"](name, if_exists=if_exists, restrict=restrict, cascade=cascade, **connection):
        return dict(ret, changes={name: "Absent"}, comment="Extension %s has been removed" % name)
    return dict(ret, result=False, comment="Extension %s failed to be removed%s" % (name, last_error(__context__)))
