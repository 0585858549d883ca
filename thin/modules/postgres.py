"""PostgreSQL through psql: queries, databases, tablespaces, owners and data directories. Salt: modules/postgres.py

Roles are in postgres_roles.py, objects of a database in postgres_objects.py, privileges in postgres_privileges.py,
Debian's clusters in postgres_clusters.py.

Options (configuration or pillar): ``postgres.host``, ``postgres.port``, ``postgres.user``, ``postgres.pass``,
``postgres.maintenance_db``, ``postgres.timeout`` (seconds) and ``postgres.bins_dir``. Arguments of all functions:

user            the server's user to connect as
host, port      the server; a path for the directory of its socket
maintenance_db  the database for queries that belong to no other one (postgres)
password        that user's password; psql reads it from its environment
runas           the account to run psql as: that of the server for a socket
"""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger
from thin.utils.programs import psql
from thin.utils.programs.psql import ident, text

__reads__ = ("version", "db_list", "db_exists", "tablespace_list", "tablespace_exists", "datadir_exists")
__changes__ = (
    "psql_query",
    "db_create",
    "db_alter",
    "db_remove",
    "tablespace_create",
    "tablespace_alter",
    "tablespace_remove",
    "owner_to",
    "datadir_init",
)

log = getLogger(__name__)


def __virtual__():
    return True if psql.binary(__salt__, "psql") else (False, "psql was not found")


def _server(user, host, port, maintenance_db, password, runas):
    return psql.Server(__salt__, __grains__, __context__, user, host, port, maintenance_db, password, runas)


def version(user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Return the version of the server as text, None if it does not answer

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.version
    """
    server = _server(user, host, port, maintenance_db, password, runas)
    rows = server.rows("SELECT setting FROM pg_catalog.pg_settings WHERE name = 'server_version'")
    return rows[0]["setting"] if rows else None


def psql_query(query, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None, write=False):
    """
    Return the rows of a query as a list of ``{column: text}``; an empty list when it fails

    query
        a query that COPY accepts: SELECT, or INSERT, UPDATE and DELETE with RETURNING
    write
        the query changes data, in a transaction of its own

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.psql_query 'SELECT count(*) FROM orders' maintenance_db=shop
    """
    return _server(user, host, port, maintenance_db, password, runas).rows(query, write) or []


def db_list(user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Return ``{database: {Owner, Encoding, Collate, Ctype, Access privileges, Tablespace}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.db_list
    """
    rows = psql_query(
        'SELECT datname AS "Name", rolname AS "Owner", pg_encoding_to_char(encoding) AS "Encoding", '
        'datcollate AS "Collate", datctype AS "Ctype", datacl AS "Access privileges", spcname AS "Tablespace" '
        "FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba JOIN pg_tablespace t ON t.oid = d.dattablespace",
        user,
        host,
        port,
        maintenance_db,
        password,
        runas,
    )
    return {row.pop("Name"): row for row in rows}


def db_exists(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Whether the server has a database

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.db_exists shop
    """
    return name in db_list(user, host, port, maintenance_db, password, runas)


def db_create(
    name,
    user=None,
    host=None,
    port=None,
    maintenance_db=None,
    password=None,
    tablespace=None,
    encoding=None,
    lc_collate=None,
    lc_ctype=None,
    owner=None,
    template=None,
    runas=None,
):
    """
    Create a database; returns whether it worked

    tablespace, owner, template
        names of existing ones
    encoding, lc_collate, lc_ctype
        as CREATE DATABASE takes them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.db_create shop template=template0
    """
    for value, quote in ((tablespace, '"'), (owner, '"'), (encoding, "'"), (lc_collate, "'"), (lc_ctype, "'")):
        if value is not None and quote in str(value):
            raise SaltInvocationError("Unsupported character %s in value: %s" % (quote, value))
    settings = [
        ("TABLESPACE", ident, tablespace),
        ("OWNER", ident, owner),
        ("TEMPLATE", ident, template),
        ("ENCODING", text, encoding),
        ("LC_COLLATE", text, lc_collate),
        ("LC_CTYPE", text, lc_ctype),
    ]
    words = ["%s = %s" % (word, quoted(value)) for word, quoted, value in settings if value is not None]
    query = "CREATE DATABASE %s%s%s" % (ident(name), " WITH " if words else "", " ".join(words))
    return _server(user, host, port, maintenance_db, password, runas).execute(query)["retcode"] == 0


def db_alter(
    name,
    user=None,
    host=None,
    port=None,
    maintenance_db=None,
    password=None,
    tablespace=None,
    owner=None,
    owner_recurse=False,
    runas=None,
):
    """
    Change the owner or tablespace of a database; returns whether it worked

    owner_recurse
        also change the owner of everything in the database

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.db_alter shop owner=app
    """
    server = _server(user, host, port, maintenance_db, password, runas)
    if owner and owner_recurse:
        if owner_to(name, owner, user, host, port, password, runas)["retcode"] != 0:
            return False
    elif owner and server.execute("ALTER DATABASE %s OWNER TO %s" % (ident(name), ident(owner)))["retcode"] != 0:
        return False
    if not tablespace:
        return True
    return server.execute("ALTER DATABASE %s SET TABLESPACE %s" % (ident(name), ident(tablespace)))["retcode"] == 0


def db_remove(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Remove a database, after ending all connections to it; raises when that fails

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.db_remove shop_old
    """
    server = _server(user, host, port, maintenance_db, password, runas)
    for query in (
        "REVOKE CONNECT ON DATABASE %s FROM public" % ident(name),
        "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
        % text(name),
        "DROP DATABASE %s" % ident(name),
    ):
        done = server.execute(query)
        if done["retcode"] != 0:
            raise CommandExecutionError("Failed: %s%s" % (query, psql.last_error(__context__)))
    return True


def tablespace_list(user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Return ``{tablespace: {Owner, ACL, Opts, Location}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.tablespace_list
    """
    rows = psql_query(
        'SELECT spcname AS "Name", rolname AS "Owner", spcacl AS "ACL", spcoptions AS "Opts", '
        'pg_tablespace_location(t.oid) AS "Location" FROM pg_tablespace t JOIN pg_roles r ON r.oid = t.spcowner',
        user,
        host,
        port,
        maintenance_db,
        password,
        runas,
    )
    return {row.pop("Name"): row for row in rows}


def tablespace_exists(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Whether the server has a tablespace

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.tablespace_exists fast
    """
    return name in tablespace_list(user, host, port, maintenance_db, password, runas)


def tablespace_create(
    name,
    location,
    options=None,
    owner=None,
    user=None,
    host=None,
    port=None,
    maintenance_db=None,
    password=None,
    runas=None,
):
    """
    Create a tablespace in a directory that is there and belongs to the server; returns whether it worked

    options
        ``{option: value}`` such as ``seq_page_cost``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.tablespace_create fast /srv/fast
    """
    words = ["CREATE TABLESPACE", ident(name)]
    if owner:
        words += ["OWNER", ident(owner)]
    words += ["LOCATION", text(location)]
    if options:
        words += ["WITH ( %s )" % ", ".join("%s = %s" % item for item in options.items())]
    server = _server(user, host, port, maintenance_db, password, runas)
    return server.execute(" ".join(words))["retcode"] == 0


def tablespace_alter(
    name,
    user=None,
    host=None,
    port=None,
    maintenance_db=None,
    password=None,
    new_name=None,
    new_owner=None,
    set_option=None,
    reset_option=None,
    runas=None,
):
    """
    Rename a tablespace, change its owner, or set its options; returns whether it worked

    set_option
        ``{option: value}``
    reset_option
        the option's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.tablespace_alter fast set_option="{'random_page_cost': '1.3'}"
    """
    parts = ["RENAME TO " + ident(new_name)] if new_name else []
    if new_owner:
        parts.append("OWNER TO " + ident(new_owner))
    for item in (set_option or {}).items():
        parts.append("SET (%s = %s)" % item)
    if reset_option:
        parts.append("RESET (%s)" % reset_option)
    server = _server(user, host, port, maintenance_db, password, runas)
    now = name
    for part in parts:
        if server.execute("ALTER TABLESPACE %s %s" % (ident(now), part))["retcode"] != 0:
            return False
        now = new_name or name
    return True


def tablespace_remove(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Remove an empty tablespace; returns whether it worked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.tablespace_remove fast
    """
    server = _server(user, host, port, maintenance_db, password, runas)
    return server.execute("DROP TABLESPACE " + ident(name))["retcode"] == 0


#: queries of (kind, name) of all objects that get a new owner; sequences that belong to a table change with it, earlier
_OWNED = (
    "SELECT 'SCHEMA' AS kind, quote_ident(nspname) AS name FROM pg_catalog.pg_namespace "
    "WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'",
    "SELECT 'TABLE' AS kind, quote_ident(table_schema) || '.' || quote_ident(table_name) AS name "
    "FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema')",
    "SELECT CASE WHEN current_setting('server_version_num')::int >= 110000 THEN 'ROUTINE' "
    "WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_aggregate a WHERE a.aggfnoid = p.oid) THEN 'AGGREGATE' "
    "ELSE 'FUNCTION' END AS kind, p.oid::regprocedure::text AS name FROM pg_catalog.pg_proc p "
    "JOIN pg_catalog.pg_namespace n ON p.pronamespace = n.oid "
    "WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')",
    "SELECT 'SEQUENCE' AS kind, quote_ident(sequence_schema) || '.' || quote_ident(sequence_name) AS name "
    "FROM information_schema.sequences",
)


def owner_to(dbname, ownername, user=None, host=None, port=None, password=None, runas=None):
    """
    Give a database, its schemas, tables, views, functions and sequences to a role; returns what cmd.run_all returns

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.owner_to shop app
    """
    server = _server(user, host, port, dbname, password, runas)
    lines = ["ALTER DATABASE %s OWNER TO %s;" % (ident(dbname), ident(ownername))]
    for query in _OWNED:
        for row in server.rows(query) or ():
            lines.append("ALTER %s %s OWNER TO %s;" % (row["kind"], row["name"], ident(ownername)))
    return server.script("\n".join(["BEGIN;"] + lines + ["COMMIT;"]) + "\n")


def datadir_init(
    name,
    auth="password",
    user=None,
    password=None,
    encoding="UTF8",
    locale=None,
    waldir=None,
    checksums=False,
    runas=None,
):
    """
    Make a data directory with initdb; False when there is one, or when it fails

    name
        the directory
    auth
        how local connections are let in
    user, password
        the superuser of the new server and its password
    encoding, locale
        of new databases
    waldir
        another directory for the log of writes
    checksums
        enable checksums of pages
    runas
        the account that runs initdb and will run the server

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.datadir_init /srv/pgdata
    """
    if datadir_exists(name):
        log.info("%s already exists", name)
        return False
    runas = runas or psql.system_user(__grains__)
    initdb = psql.binary(__salt__, "initdb")
    if not initdb:
        raise CommandExecutionError("initdb executable not found.")
    argv = [
        initdb,
        "--pgdata=%s" % name,
        "--username=%s" % (user or runas),
        "--auth=%s" % auth,
        "--encoding=%s" % encoding,
    ]
    if locale is not None:
        argv.append("--locale=%s" % locale)
    if waldir is not None:
        argv += ["-X", str(waldir)]  # the name of its long option depends on the version
    if checksums:
        argv.append("--data-checksums")
    if password is not None:
        # a pipe that belongs to this user, because initdb opens it by name
        argv = ["/bin/sh", "-c", 'cat | "$@"', "sh"] + argv + ["--pwfile=/dev/stdin"]
    env = {"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath)}
    done = __salt__["cmd.run_all"](
        argv,
        runas=runas,
        python_shell=False,
        clean_env=True,
        env=env,
        timeout=__salt__["config.option"]("postgres.timeout", default=0),
        stdin=None if password is None else "%s\n" % password,
        stdin_raw_newlines=True,
    )
    if done["retcode"] != 0:
        __context__[psql.ERROR] = done["stderr"].strip()
        log.error("initdb did not make the data directory")
    return done["retcode"] == 0


def datadir_exists(name):
    """
    Whether a directory holds the data of a server

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.datadir_exists /srv/pgdata
    """
    return all(os.path.isfile(os.path.join(name, file)) for file in ("PG_VERSION", "postgresql.conf"))
