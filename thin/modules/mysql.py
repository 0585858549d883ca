"""MySQL and MariaDB, with their command-line client: queries, plugins, status of the server.

Databases are in mysql_databases.py, users and grants in mysql_accounts.py.
Salt (until 3008): ``salt/modules/mysql.py``; then saltext-mysql.

Options (configuration or pillar): ``mysql.host``, ``mysql.port``, ``mysql.user``, ``mysql.pass``, ``mysql.db``,
``mysql.unix_socket``, ``mysql.ssl`` (a dict: ca, cert, key …), ``mysql.default_file`` (an option file) and
``mysql.default_group`` (a group of that file that is read in addition to ``client``). All functions also take them as
arguments ``connection_host`` and so on; with ``connection_default_file`` all of these options are ignored. Option files
of the system are not read.
"""

import os

from thin.log import getLogger
from thin.utils.formats.sqlwords import ident, text
from thin.utils.programs import mysqlrun

__reads__ = (
    "quote_identifier",
    "status",
    "version",
    "slave_lag",
    "processlist",
    "get_master_status",
    "get_slave_status",
    "showvariables",
    "showglobal",
    "verify_login",
    "plugins_list",
    "plugin_status",
)
__changes__ = ("query", "file_query", "free_slave", "plugin_add", "plugin_remove")

log = getLogger(__name__)

_SELECTS = ("SELECT", "SHOW", "DESC")


def __virtual__():
    return True if mysqlrun.client() else (False, "neither mariadb nor mysql, the command-line client, was found")


def _server(connection_args):
    return mysqlrun.Server(__salt__, __context__, connection_args)


def quote_identifier(identifier, for_grants=False):
    """
    Return a name of a database, table or column quoted for SQL; ``%`` is doubled, because ``mysql.query`` halves it

    identifier
        the name
    for_grants
        escape ``_``, too, as GRANT on a whole database needs it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.quote_identifier 'odd`name'
    """
    quoted = ident(identifier).replace("%", "%%")
    return quoted.replace("_", "\\_") if for_grants else quoted


def query(database, query, **connection_args):
    """
    Run a statement in a database; returns ``{"query time": {human, raw}}`` and ``rows affected``, or ``rows returned``,
    ``columns`` and ``results`` (rows of text) for SELECT, SHOW and DESC

    Returns {} if the connection fails, and False if the statement fails.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.query shop "SELECT day, total FROM orders"
    """
    import time

    query = query.replace("%%", "%").rstrip().rstrip(";").rstrip()
    server = _server(dict(connection_args, connection_db=database))
    start = time.time()
    try:
        results = server.results(query + "\n;\nSELECT ROW_COUNT();\n")
    except mysqlrun.Failure as exc:
        return False if exc.connected else {}
    ret = {"query time": _took(time.time() - start)}
    if not query.lstrip().upper().startswith(_SELECTS):
        return dict(ret, **{"rows affected": _affected(results)})
    columns, rows = results[0]
    if not rows:
        columns = _columns(server, query)
    return dict(ret, **{"rows returned": len(rows), "columns": columns, "results": rows})


def _affected(results):
    """The number of rows that a statement changed or returned, from its results that end with ROW_COUNT()."""
    count = int(results[-1][1][0][0])
    return count if count >= 0 else sum(len(rows) for _, rows in results[:-1])


def _took(seconds):
    human = "%sms" % round(seconds * 1000, 1) if seconds < 0.2 else "%ss" % round(seconds, 2)
    return {"human": human, "raw": str(round(seconds, 5))}


def _columns(server, query):
    """The names of the columns of a query without rows; the client does not print them."""
    if not query.lstrip().upper().startswith("SELECT"):
        return ()
    try:
        results = server.results("SELECT q.* FROM (SELECT 1) d LEFT JOIN (%s\n) q ON TRUE;\n" % query)
    except mysqlrun.Failure:
        mysqlrun.pop_error(__context__)
        return ()
    return results[0][0]


def file_query(database, file_name, **connection_args):
    """
    Run the statements of a file in a database, until one fails; returns what ``query`` returns, for all of them
    together

    file_name
        a path, ``salt://`` or a URL

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.file_query shop file_name=salt://app/schema.sql
    """
    import time

    if "://" in file_name:
        file_name = __salt__["cp.cache_file"](file_name)
    if not file_name or not os.path.exists(file_name):
        log.error('File "%s" does not exist', file_name)
        return False
    with open(file_name, "rb") as handle:
        todo = mysqlrun.statements(handle.read().decode("utf-8", "replace"))
    start = time.time()
    # one client for all statements: variables that one sets apply to the next
    mark = "//%s" % os.urandom(6).hex()  # a delimiter has at most 15 characters
    script = "delimiter %s\n" % mark
    script += "".join("%s\n%s\nSELECT ROW_COUNT(), '%s'\n%s\n" % (each, mark, mark, mark) for each in todo)
    try:
        results = _server(dict(connection_args, connection_db=database)).results(script) if todo else []
    except mysqlrun.Failure:
        return False
    seconds = time.time() - start
    ret = {
        "rows returned": 0,
        "columns": [],
        "results": [],
        "rows affected": 0,
        "query time": {"human": "%ss" % round(seconds, 2), "raw": round(seconds, 5)},
    }
    for columns, rows in results:
        if len(rows) == 1 and rows[0][-1] == mark:
            ret["rows affected"] += max(0, int(rows[0][0]))
        else:
            ret["rows returned"] += len(rows)
            ret["columns"].append(columns)
            ret["results"].append(rows)
    return {key: value for key, value in ret.items() if value}


def status(**connection_args):
    """
    Return ``{variable: text}`` of SHOW STATUS

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.status
    """
    return dict(_server(connection_args).rows("SHOW STATUS") or ())


def version(**connection_args):
    """
    Return the version of the server; an empty text if it does not answer

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.version
    """
    rows = _server(connection_args).rows("SELECT VERSION()")
    return rows[0][0] if rows else ""


def slave_lag(**connection_args):
    """
    Return the lag of a replica in seconds; -1: not a replica, -2: not replicating, -3: no answer

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.slave_lag
    """
    rows = _server(connection_args).dicts("SHOW SLAVE STATUS")
    if rows is None:
        return -3
    if not rows:
        return -1
    return _typed(rows[0])["Seconds_Behind_Master"] if rows[0]["Slave_IO_Running"] == "Yes" else -2


def free_slave(**connection_args):
    """
    Promote a replica; returns ``promoted`` or ``failed``; an empty text if the server does not answer

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.free_slave
    """
    server = _server(connection_args)
    rows = server.dicts("SHOW SLAVE STATUS")
    if not rows:
        return ""
    master = _server(dict(connection_args, connection_host=rows[0]["Master_Host"]))
    master.execute("FLUSH LOGS")  # the process may have ended
    for statement in ("STOP SLAVE", "RESET MASTER", "RESET SLAVE ALL"):
        server.execute(statement)
    return "failed" if server.dicts("SHOW SLAVE STATUS") else "promoted"


def processlist(**connection_args):
    """
    Return ``[{Id, User, Host, db, Command, Time, State, Info, …}]`` of SHOW FULL PROCESSLIST

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.processlist
    """
    return [_typed(row) for row in _server(connection_args).dicts("SHOW FULL PROCESSLIST") or ()]


#: columns with numbers
_NUMBERS = (
    "Id",
    "Time",
    "Rows_",
    "Position",
    "Seconds_Behind",
    "Connect_Retry",
    "Skip_Counter",
    "Until_Log_Pos",
    "Master_Port",
    "Master_Server_Id",
    "Relay_Log_Pos",
    "Relay_Log_Space",
    "Read_Master_Log_Pos",
    "Exec_Master_Log_Pos",
    "Last_Errno",
    "Last_IO_Errno",
    "Last_SQL_Errno",
    "max_",
)


def _typed(row):
    return {
        key: int(value) if value and value.isdigit() and key.startswith(_NUMBERS) else value
        for key, value in row.items()
    }


def get_master_status(**connection_args):
    """
    Return ``{File, Position, Binlog_Do_DB, Binlog_Ignore_DB}``; [] if the server has no binary log

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.get_master_status
    """
    rows = _server(connection_args).dicts("SHOW MASTER STATUS")
    return _typed(rows[0]) if rows else []


def get_slave_status(**connection_args):
    """
    Return the result of SHOW SLAVE STATUS; [] if the server is no replica

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.get_slave_status
    """
    rows = _server(connection_args).dicts("SHOW SLAVE STATUS")
    return _typed(rows[0]) if rows else []


def showvariables(**connection_args):
    """
    Return ``[{Variable_name, Value}]`` of this connection

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.showvariables
    """
    return _server(connection_args).dicts("SHOW VARIABLES") or []


def showglobal(**connection_args):
    """
    Return ``[{Variable_name, Value}]`` of the server

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.showglobal
    """
    return _server(connection_args).dicts("SHOW GLOBAL VARIABLES") or []


def verify_login(user, password=None, **connection_args):
    """
    Whether a user can log in with a password

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.verify_login app 'correct horse'
    """
    given = dict(connection_args, connection_user=user, connection_pass=password)
    good = _server(given).rows("SELECT 1") is not None
    mysqlrun.pop_error(__context__)
    return good


def plugins_list(**connection_args):
    """
    Return ``[{name, status}]`` of SHOW PLUGINS

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.plugins_list
    """
    return [{"name": row[0], "status": row[1]} for row in _server(connection_args).rows("SHOW PLUGINS") or ()]


def plugin_add(name, soname=None, **connection_args):
    """
    Install a plugin; returns whether it is installed

    soname
        its file, by default ``name.so``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.plugin_add simple_password_check
    """
    sql = "INSTALL PLUGIN %s SONAME %s" % (ident(name or ""), text(soname or "%s.so" % name))
    return _plugin(name, True, sql, connection_args)


def plugin_remove(name, **connection_args):
    """
    Remove a plugin; returns whether it was removed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.plugin_remove simple_password_check
    """
    return _plugin(name, False, "UNINSTALL PLUGIN " + ident(name or ""), connection_args)


def _plugin(name, exists, sql, connection_args):
    """Install or remove a plugin with ``sql``, unless it is already in that state; returns whether it is."""
    if not name:
        log.error("mysql: a plugin without a name")
    elif bool(plugin_status(name, **connection_args)) != exists:
        return _server(connection_args).execute(sql)
    else:
        log.error("mysql: the plugin %s is %s already", name, "there" if exists else "gone")
    return bool(name)


def plugin_status(name, **connection_args):
    """
    Return the status of a plugin, such as ACTIVE; an empty text if it does not exist or the server does not answer

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.plugin_status unix_socket
    """
    if not name:
        log.error("no name of a plugin was given")
        return False
    sql = "SELECT PLUGIN_STATUS FROM INFORMATION_SCHEMA.PLUGINS WHERE PLUGIN_NAME = %s" % text(name)
    rows = _server(connection_args).rows(sql)
    return rows[0][0] if rows else ""
