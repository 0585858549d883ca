"""Files of SQLite, by Python's own library. Salt: modules/sqlite3.py"""

import os

try:
    import sqlite3
except ImportError:  # a minimal Python lacks it
    sqlite3 = None

__reads__ = ("version", "sqlite_version", "tables", "indices", "indexes")
__changes__ = ("modify", "fetch")


def __virtual__():
    if sqlite3 is None:
        return False, "The sqlite3 execution module failed to load: the sqlite3 python library is not available."
    return True


def _rows(db, sql):
    """The rows of a statement as tuples; False if the file does not exist."""
    if db is None:
        return False
    connection = sqlite3.connect(db, isolation_level=None)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def _listed(db, kind):
    """Names in a database. For a missing file the list is empty, and the file is not created."""
    if db is not None and not os.path.exists(db):
        return []
    return _rows(db, "SELECT name FROM sqlite_master WHERE type='%s' ORDER BY name;" % kind)


def version():
    """
    Return the version of Python's library, which no longer changes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sqlite3.version
    """
    return "2.6.0"


def sqlite_version():
    """
    Return the version of SQLite

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sqlite3.sqlite_version
    """
    return sqlite3.sqlite_version


def modify(db=None, sql=None):
    """
    Run a statement that changes something; returns True

    db
        the file, which is made if it is missing
    sql
        the statement

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sqlite3.modify /srv/app.db 'CREATE INDEX by_day ON orders(day);'
    """
    return _rows(db, sql) is not False


def fetch(db=None, sql=None):
    """
    Return all rows of a query

    db, sql
        the file, and the query

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sqlite3.fetch /srv/app.db 'SELECT * FROM books;'
    """
    return _rows(db, sql)


def tables(db=None):
    """
    Return a row with the name of each table

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sqlite3.tables /srv/app.db
    """
    return _listed(db, "table")


def indices(db=None):
    """
    Return a row with the name of each index

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sqlite3.indices /srv/app.db
    """
    return _listed(db, "index")


def indexes(db=None):
    """
    Another name of ``indices``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sqlite3.indexes /srv/app.db
    """
    return indices(db)
