"""Groups of PostgreSQL: roles that cannot log in. Salt: states/postgres_group.py

``user`` is the account to run psql as; ``db_user``, ``db_password``, ``db_host``, ``db_port`` and
``maintenance_db`` tell how to connect, and default to the options ``postgres.user`` and so on.
"""

from thin.utils.programs import pgroles


def __virtual__():
    if "postgres.group_create" in __salt__:
        return True
    return False, "Unable to load postgres module.  Make sure `postgres.bins_dir` is set."


def present(
    name,
    createdb=None,
    createroles=None,
    encrypted=None,
    superuser=None,
    inherit=None,
    login=None,
    replication=None,
    password=None,
    refresh_password=None,
    groups=None,
    user=None,
    maintenance_db=None,
    db_password=None,
    db_host=None,
    db_port=None,
    db_user=None,
):
    """The group exists. changes: ``{name: Present}``, or ``{name: {argument: value}}`` of what changed.

    The arguments are those of ``postgres_user.present``.
    """
    wanted = {
        "createdb": createdb,
        "createroles": createroles,
        "encrypted": encrypted,
        "superuser": superuser,
        "inherit": inherit,
        "login": login,
        "replication": replication,
        "rolepassword": password,
        "groups": groups,
    }
    connection = {
        "maintenance_db": maintenance_db,
        "runas": user,
        "host": db_host,
        "user": db_user,
        "port": db_port,
        "password": db_password,
    }
    return pgroles.present(__salt__, __opts__, __context__, "group", name, wanted, connection, refresh_password)


def absent(name, user=None, maintenance_db=None, db_password=None, db_host=None, db_port=None, db_user=None):
    """The group does not exist. changes: ``{name: Absent}``."""
    connection = {
        "maintenance_db": maintenance_db,
        "runas": user,
        "host": db_host,
        "user": db_user,
        "port": db_port,
        "password": db_password,
    }
    return pgroles.absent(__salt__, __opts__, __context__, "group", name, connection)
