"""Databases of MySQL and MariaDB, and maintenance of their tables: a part of ``mysql``. Salt (until 3008):
modules/mysql.py

All functions take ``connection_host`` and so on, like those of mysql.py.
"""

from thin.log import getLogger
from thin.utils.formats.sqlwords import ident, text
from thin.utils.programs import mysqlrun

__virtualname__ = "mysql"
__reads__ = ("db_list", "db_get", "db_tables", "db_exists", "db_check")
__changes__ = ("alter_db", "db_create", "db_remove", "db_repair", "db_optimize")

log = getLogger(__name__)


def __virtual__():
    if mysqlrun.client():
        return __virtualname__
    return False, "neither mariadb nor mysql, the command-line client, was found"


def _server(connection_args):
    return mysqlrun.Server(__salt__, __context__, connection_args)


def db_list(**connection_args):
    """
    Return the names of the databases

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.db_list
    """
    return [row[0] for row in _server(connection_args).rows("SHOW DATABASES") or ()]


def db_get(name, **connection_args):
    """
    Return ``{character_set, collate}`` of a database; {} if there is none, [] if the server does not answer

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.db_get shop
    """
    rows = _server(connection_args).rows(
        "SELECT DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM INFORMATION_SCHEMA.SCHEMATA "
        "WHERE SCHEMA_NAME = %s" % text(name)
    )
    if rows is None:
        return []
    return {"character_set": rows[0][0], "collate": rows[0][1]} if rows else {}


def alter_db(name, character_set=None, collate=None, **connection_args):
    """
    Change the character set or collation of a database; returns whether it worked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.alter_db shop character_set=utf8mb4
    """
    words = "".join(
        " %s %s" % (word, text(value))
        for word, value in (("CHARACTER SET", character_set), ("COLLATE", collate))
        if value
    )
    return _server(connection_args).execute("ALTER DATABASE %s%s" % (ident(name), words))


def db_tables(name, **connection_args):
    """
    Return the names of the tables of a database; False if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.db_tables shop
    """
    if not db_exists(name, **connection_args):
        log.info("Database '%s' does not exist", name)
        return False
    return [row[0] for row in _server(connection_args).rows("SHOW TABLES IN " + ident(name)) or ()]


def db_exists(name, **connection_args):
    """
    Whether the server has a database

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.db_exists shop
    """
    sql = "SELECT SCHEMA_NAME FROM INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME = %s" % text(name)
    return bool(_server(connection_args).rows(sql))


def db_create(name, character_set=None, collate=None, **connection_args):
    """
    Create a database; False if it exists already, or after an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.db_create shop utf8mb4 utf8mb4_general_ci
    """
    if db_exists(name, **connection_args):
        log.info("DB '%s' already exists", name)
        return False
    sql = "CREATE DATABASE IF NOT EXISTS " + ident(name)
    if character_set is not None:
        sql += " CHARACTER SET " + text(character_set)
    if collate is not None:
        sql += " COLLATE " + text(collate)
    # nothing may be created if the server does not answer
    return mysqlrun.ERROR not in __context__ and _server(connection_args).execute(sql)


def db_remove(name, **connection_args):
    """
    Remove a database; False if there is none, if it belongs to the server itself, or after an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.db_remove shop_old
    """
    if not db_exists(name, **connection_args):
        log.info("DB '%s' does not exist", name)
        return False
    if name in ("mysql", "information_schema", "performance_schema", "sys"):
        log.info("the database %s belongs to the server and is not removed", name)
        return False
    return _server(connection_args).execute("DROP DATABASE " + ident(name))


def db_check(name, table=None, **connection_args):
    """
    Check a table, or all of a database; returns the rows of CHECK TABLE, or a list of them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.db_check shop
    """
    return _maintain("CHECK", name, table, connection_args)


def db_repair(name, table=None, **connection_args):
    """
    Repair a table, or all of a database; returns the rows of REPAIR TABLE, or a list of them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.db_repair shop
    """
    return _maintain("REPAIR", name, table, connection_args)


def db_optimize(name, table=None, **connection_args):
    """
    Optimize a table, or all of a database; returns the rows of OPTIMIZE TABLE, or a list of them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.db_optimize shop
    """
    return _maintain("OPTIMIZE", name, table, connection_args)


def _maintain(verb, name, table, connection_args):
    server = _server(connection_args)
    if table is not None:
        rows = server.dicts("%s TABLE %s.%s" % (verb, ident(name), ident(table)))
        return {} if rows is None else tuple(rows)
    return [_maintain(verb, name, each, connection_args) for each in db_tables(name, **connection_args) or ()]
