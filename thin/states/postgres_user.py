"""Users of PostgreSQL: roles that can log in. Salt: states/postgres_user.py

``user`` is the account to run psql as; ``db_user``, ``db_password``, ``db_host``, ``db_port`` and
``maintenance_db`` tell how to connect, and default to the options ``postgres.user`` and so on.
"""

from thin.utils.programs import pgroles


def __virtual__():
    if "postgres.user_exists" in __salt__:
        return True
    return False, "Unable to load postgres module.  Make sure `postgres.bins_dir` is set."


def present(
    name,
    createdb=None,
    createroles=None,
    encrypted=None,
    superuser=None,
    replication=None,
    inherit=None,
    login=None,
    password=None,
    default_password=None,
    refresh_password=None,
    valid_until=None,
    groups=None,
    user=None,
    maintenance_db=None,
    db_password=None,
    db_host=None,
    db_port=None,
    db_user=None,
):
    """The user exists. changes: ``{name: Present}``, or ``{name: {argument: value}}`` of what changed.

    Arguments that are not given are not changed: ``createdb``, ``createroles``, ``superuser``, ``replication``,
    ``inherit``, ``login``, ``valid_until``. ``groups``, a list or text with commas, are those of which it is a member;
    other memberships are kept. ``password`` is the password or its stored form; it is compared with the stored one;
    with ``refresh_password`` it is set each time. ``default_password`` is for a new user. ``encrypted``: md5 (the
    default), scram-sha-256, false.
    """
    wanted = {
        "createdb": createdb,
        "createroles": createroles,
        "encrypted": encrypted,
        "superuser": superuser,
        "replication": replication,
        "inherit": inherit,
        "login": login,
        "rolepassword": password,
        "valid_until": valid_until,
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
    return pgroles.present(
        __salt__, __opts__, __context__, "user", name, wanted, connection, refresh_password, default_password
    )


def absent(name, user=None, maintenance_db=None, db_password=None, db_host=None, db_port=None, db_user=None):
    """The user does not exist. changes: ``{name: Absent}``."""
    connection = {
        "maintenance_db": maintenance_db,
        "runas": user,
        "host": db_host,
        "user": db_user,
        "port": db_port,
        "password": db_password,
    }
    return pgroles.absent(__salt__, __opts__, __context__, "user", name, connection)
