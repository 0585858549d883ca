"""Statements run on MySQL and MariaDB, each time. Salt (until 3007): states/mysql_query.py; then saltext-mysql

``output`` is the destination of the result: ``grain`` for the grain ``grain`` (below ``key``, if given), or a file's
path; the default is the comment. ``overwrite: false``: nothing is run if the grain or the file exists.
``check_db_exists``: nothing is run if the database is missing. ``client_flags``: flags of the connection, such as
``local_files``. ``connection_host``, ``connection_user``, ``connection_pass`` and so on are for the connection.
"""

import os

from thin.utils.files import atomic, owner, safepath
from thin.utils.programs.mysqlrun import pop_error


def __virtual__():
    return True if "mysql.query" in __salt__ else (False, "mysql module could not be loaded")


def run(
    name,
    database,
    query,
    output=None,
    grain=None,
    key=None,
    overwrite=True,
    check_db_exists=True,
    client_flags=None,
    **connection_args,
):
    """The statement was run. changes: ``{query: where its result went}``."""
    ret, connection = _start(name, database, client_flags, check_db_exists, connection_args)
    ret = ret if connection is None else _due(ret, output, grain, key, overwrite)
    if connection is None or ret.pop("done", False):
        return ret
    return _finish(ret, __salt__["mysql.query"](database, query, **connection), output, grain, key)


def run_file(
    name,
    database,
    query_file=None,
    output=None,
    grain=None,
    key=None,
    overwrite=True,
    saltenv=None,
    check_db_exists=True,
    client_flags=None,
    **connection_args,
):
    """The statements of a file were run: a path, ``salt://`` (of ``saltenv``) or a URL. changes: those of ``run``."""
    ret = {"name": name, "changes": {}, "result": True, "comment": "Database %s is already present" % database}
    if client_flags is not None and not isinstance(client_flags, list):
        return dict(ret, result=False, comment="Error: client_flags must be a list.")
    path = query_file
    if "://" in str(query_file):
        path = __salt__["cp.cache_file"](query_file, saltenv=saltenv or __env__)
    if not path or not os.path.exists(path):
        return dict(ret, result=False, comment="File %s does not exist" % query_file)
    ret, connection = _start(name, database, client_flags, check_db_exists, connection_args)
    ret = ret if connection is None else _due(ret, output, grain, key, overwrite)
    if connection is None or ret.pop("done", False):
        return ret
    results = __salt__["mysql.file_query"](database, path, **connection)
    if isinstance(results, dict) and "results" in results:
        # the result of each query
        tables = zip(results["columns"], results["results"])
        results["results"] = [dict(zip(columns, row)) for columns, rows in tables for row in rows]
        results["columns"] = list(results["columns"])
    return _finish(ret, results, output, grain, key)


def _start(name, database, client_flags, check_db_exists, connection_args):
    """(return, arguments of the connection); the arguments are None if the return is final."""
    ret = {"name": name, "changes": {}, "result": True, "comment": "Database %s is already present" % database}
    flags = [] if client_flags is None else client_flags
    if not isinstance(flags, list):
        return dict(ret, result=False, comment="Error: client_flags must be a list."), None
    connection = dict(connection_args, client_flags=flags)
    if check_db_exists and not __salt__["mysql.db_exists"](database, **connection):
        error = pop_error(__context__)
        if error is not None:
            return dict(ret, result=False, comment=error), None
        return dict(ret, result=None, comment="Database %s is not present" % database), None
    return ret, connection


def _due(ret, output, grain, key, overwrite):
    """The return; ``done`` is set if the query must not be run."""
    if output == "grain":
        if grain is None:
            return dict(ret, result=False, comment="Error: output type 'grain' needs the grain parameter\n", done=True)
        exists, where = _grain_there(grain, key), grain if key is None else "%s:%s" % (grain, key)
        already, place = "Grain " + where, "storing result in grain: " + where
    elif output is not None:
        exists, already, place = os.path.isfile(output), "File " + output, "storing result in file: " + output
    else:
        exists, already, place = False, "", "not storing result"
    if exists and not overwrite:
        return dict(ret, comment="No execution needed. %s already set" % already, done=True)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Query would execute, " + place, done=True)
    return ret


def _grain_there(grain, key):
    if grain not in __salt__["grains.ls"]():
        return False
    return key is None or key in (__salt__["grains.get"](grain) or {})


def _finish(ret, results, output, grain, key):
    error = pop_error(__context__)
    if not results or error:
        return dict(ret, result=False, comment=error or "The query failed")
    if "results" in results and not all(isinstance(row, dict) for row in results["results"]):
        results["results"] = [dict(zip(results["columns"], row)) for row in results["results"]]
    ret["comment"] = str(results)
    if output == "grain":
        value, where = results, grain
        if key is not None:
            value = __salt__["grains.get"](grain) if grain in __salt__["grains.ls"]() else {}
            value, where = dict(value or {}, **{key: results}), "%s:%s" % (grain, key)
        __salt__["grains.setval"](grain, value)
        ret["changes"]["query"] = "Executed. Output into grain: " + where
    elif output is not None:
        rows = results["results"] if "results" in results else [results]
        text = "".join("%s:%s\n" % item for row in rows for item in row.items())
        mode = None if os.path.exists(output) else owner.mode_bits(owner.default_mode())
        atomic.write(safepath.real(output), text.encode("utf-8"), mode=mode)
        ret["changes"]["query"] = "Executed. Output into " + output
    else:
        ret["changes"]["query"] = "Executed"
    return ret
