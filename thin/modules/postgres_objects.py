"""Schemas, extensions and languages of a database of PostgreSQL: a part of ``postgres``. Salt: modules/postgres.py

The arguments that tell how to connect are those of ``postgres.psql_query``; in the functions for schemas they are
named ``db_user``, ``db_password``, ``db_host`` and ``db_port``, and ``user`` is the account to run psql as.
"""

from thin.log import getLogger
from thin.utils.packages.debversion import compare
from thin.utils.programs import psql
from thin.utils.programs.psql import ident

__virtualname__ = "postgres"
__reads__ = (
    "available_extensions",
    "installed_extensions",
    "get_available_extension",
    "get_installed_extension",
    "is_available_extension",
    "is_installed_extension",
    "create_metadata",
    "schema_list",
    "schema_get",
    "schema_exists",
    "language_list",
    "language_exists",
)
__changes__ = (
    "create_extension",
    "drop_extension",
    "schema_create",
    "schema_remove",
    "language_create",
    "language_remove",
)

log = getLogger(__name__)

#: the results of ``create_metadata``
NOT_INSTALLED = "EXTENSION NOT INSTALLED"
INSTALLED = "EXTENSION INSTALLED"
TO_UPGRADE = "EXTENSION TO UPGRADE"
TO_MOVE = "EXTENSION TO MOVE"


def __virtual__():
    return __virtualname__ if psql.binary(__salt__, "psql") else (False, "psql was not found")


def _server(user, host, port, maintenance_db, password, runas):
    return psql.Server(__salt__, __grains__, __context__, user, host, port, maintenance_db, password, runas)


def available_extensions(user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Return ``{extension: {name, default_version, comment}}`` of the extensions that can be installed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.available_extensions
    """
    server = _server(user, host, port, maintenance_db, password, runas)
    return {row["name"]: row for row in server.rows("SELECT * FROM pg_available_extensions()") or ()}


def installed_extensions(user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Return ``{extension: {extname, extversion, schema_name, …}}`` of the database

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.installed_extensions maintenance_db=shop
    """
    server = _server(user, host, port, maintenance_db, password, runas)
    query = "SELECT a.*, b.nspname AS schema_name FROM pg_extension a, pg_namespace b WHERE a.extnamespace = b.oid"
    return {row["extname"]: row for row in server.rows(query) or ()}


def get_available_extension(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Return the entry of an extension in ``available_extensions``, or None

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.get_available_extension hstore
    """
    return available_extensions(user, host, port, maintenance_db, password, runas).get(name)


def get_installed_extension(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Return the entry of an extension in ``installed_extensions``, or None

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.get_installed_extension hstore
    """
    return installed_extensions(user, host, port, maintenance_db, password, runas).get(name)


def is_available_extension(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Whether an extension can be installed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.is_available_extension hstore
    """
    available = available_extensions(user, host, port, maintenance_db, password, runas)
    return name.lower() in [each.lower() for each in available]


def is_installed_extension(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None):
    """
    Whether an extension is installed in the database

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.is_installed_extension hstore
    """
    return bool(get_installed_extension(name, user, host, port, maintenance_db, password, runas))


def create_metadata(
    name, ext_version=None, schema=None, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None
):
    """
    Return what must be done for an extension: EXTENSION NOT INSTALLED alone; or EXTENSION INSTALLED, with EXTENSION TO
    UPGRADE (this version is newer) and EXTENSION TO MOVE (to this schema) if necessary

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.create_metadata hstore
    """
    extension = get_installed_extension(name, user, host, port, maintenance_db, password, runas)
    if not extension:
        return [NOT_INSTALLED]
    ret = [INSTALLED]
    if ext_version is not None and compare(extension["extversion"], str(ext_version).strip("'\"")) < 0:
        ret.append(TO_UPGRADE)
    if schema is not None and extension["extrelocatable"] == "t" and extension["schema_name"] != schema:
        ret.append(TO_MOVE)
    return ret


def create_extension(
    name,
    if_not_exists=None,
    schema=None,
    ext_version=None,
    from_version=None,
    user=None,
    host=None,
    port=None,
    maintenance_db=None,
    password=None,
    runas=None,
):
    """
    Install an extension, or upgrade or move it; returns whether it is as wanted afterwards

    if_not_exists
        an existing extension is no error (True)
    schema, ext_version
        the schema to install it in, and the version
    from_version
        the version of what was installed without CREATE EXTENSION (before PostgreSQL 13)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.create_extension hstore
    """
    connection = (user, host, port, maintenance_db, password, runas)
    due = create_metadata(name, ext_version, schema, *connection)
    statements = []
    if is_available_extension(name, *connection):
        if NOT_INSTALLED in due:
            words = ["CREATE EXTENSION"] + ([] if if_not_exists is False else ["IF NOT EXISTS"]) + [ident(name)]
            words += ["SCHEMA " + ident(schema)] if schema else []
            words += ["VERSION " + _version(ext_version)] if ext_version else []
            words += ["FROM " + _version(from_version)] if from_version else []
            statements.append(" ".join(words))
        if TO_MOVE in due:
            statements.append("ALTER EXTENSION %s SET SCHEMA %s" % (ident(name), ident(schema)))
        if TO_UPGRADE in due:
            statements.append("ALTER EXTENSION %s UPDATE TO %s" % (ident(name), _version(ext_version)))
    error = None
    if statements:
        _server(*connection).execute("; ".join(statements))
        error = __context__.get(psql.ERROR)
    elif NOT_INSTALLED in due:
        error = "the extension is not available"
    good = create_metadata(name, ext_version, schema, *connection) == [INSTALLED]
    if not good:
        if error:
            __context__[psql.ERROR] = error
        log.info("the extension %s was not created", name)
    return good


def _version(value):
    """Quote a version for SQL, unless it has quotes already."""
    value = str(value)
    return value if value[:1] in "'\"" else ident(value)


def drop_extension(
    name,
    if_exists=None,
    restrict=None,
    cascade=None,
    user=None,
    host=None,
    port=None,
    maintenance_db=None,
    password=None,
    runas=None,
):
    """
    Remove an extension; returns whether it was removed

    if_exists
        a missing extension is no error
    cascade
        also drop objects that depend on it (True)
    restrict
        keep it if an object depends on it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.drop_extension hstore
    """
    connection = (user, host, port, maintenance_db, password, runas)
    if not is_installed_extension(name, *connection):
        return True
    words = ["DROP EXTENSION"] + (["IF EXISTS"] if if_exists else []) + [ident(name)]
    words += ["RESTRICT"] if restrict else ["CASCADE"] if cascade is None or cascade else []
    _server(*connection).execute(" ".join(words))
    error = __context__.get(psql.ERROR)
    if not is_installed_extension(name, *connection):
        return True
    if error:
        __context__[psql.ERROR] = error
    log.info("the extension %s was not dropped", name)
    return False


def schema_list(dbname, user=None, db_user=None, db_password=None, db_host=None, db_port=None):
    """
    Return ``{schema: {owner, acl}}`` of a database

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.schema_list shop
    """
    rows = _server(db_user, db_host, db_port, dbname, db_password, user).rows(
        'SELECT nspname AS "name", nspacl AS "acl", rolname AS "owner" '
        "FROM pg_namespace LEFT JOIN pg_roles ON pg_roles.oid = nspowner"
    )
    return {row["name"]: {"owner": row["owner"], "acl": row["acl"]} for row in rows or ()}


def schema_get(dbname, name, user=None, db_user=None, db_password=None, db_host=None, db_port=None):
    """
    Return the entry of a schema in ``schema_list``, or None

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.schema_get shop reports
    """
    return schema_list(dbname, user, db_user, db_password, db_host, db_port).get(name)


def schema_exists(dbname, name, user=None, db_user=None, db_password=None, db_host=None, db_port=None):
    """
    Whether a database has a schema

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.schema_exists shop reports
    """
    return bool(schema_get(dbname, name, user, db_user, db_password, db_host, db_port))


def schema_create(dbname, name, owner=None, user=None, db_user=None, db_password=None, db_host=None, db_port=None):
    """
    Create a schema; False if it exists already, or after an error

    owner
        the role that it belongs to

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.schema_create shop reports owner=app
    """
    if schema_exists(dbname, name, user, db_user, db_password, db_host, db_port):
        log.info("'%s' already exists in '%s'", name, dbname)
        return False
    statement = "CREATE SCHEMA " + ident(name)
    if owner is not None:
        statement += " AUTHORIZATION " + ident(owner)
    return _server(db_user, db_host, db_port, dbname, db_password, user).execute(statement)["retcode"] == 0


def schema_remove(dbname, name, user=None, db_user=None, db_password=None, db_host=None, db_port=None):
    """
    Remove an empty schema; False if there is none, or after an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.schema_remove shop reports
    """
    if not schema_exists(dbname, name, user, db_user, db_password, db_host, db_port):
        log.info("Schema '%s' does not exist in '%s'", name, dbname)
        return False
    server = _server(db_user, db_host, db_port, dbname, db_password, user)
    return server.execute("DROP SCHEMA " + ident(name))["retcode"] == 0


def language_list(maintenance_db, user=None, host=None, port=None, password=None, runas=None):
    """
    Return ``{language: language}`` of a database

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.language_list shop
    """
    rows = _server(user, host, port, maintenance_db, password, runas).rows("SELECT lanname FROM pg_language")
    return {row["lanname"]: row["lanname"] for row in rows or ()}


def language_exists(name, maintenance_db, user=None, host=None, port=None, password=None, runas=None):
    """
    Whether a database has a language

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.language_exists plperl shop
    """
    return name in language_list(maintenance_db, user, host, port, password, runas)


def language_create(name, maintenance_db, user=None, host=None, port=None, password=None, runas=None):
    """
    Install a language in a database; False when it is there already, or when it fails

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.language_create plperl shop
    """
    if language_exists(name, maintenance_db, user, host, port, password, runas):
        log.info("Language %s already exists in %s", name, maintenance_db)
        return False
    server = _server(user, host, port, maintenance_db, password, runas)
    return server.execute("CREATE LANGUAGE %s" % ident(name))["retcode"] == 0


def language_remove(name, maintenance_db, user=None, host=None, port=None, password=None, runas=None):
    """
    Drop a language of a database; False if the database does not have it, or after an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' postgres.language_remove plperl shop
    """
    if not language_exists(name, maintenance_db, user, host, port, password, runas):
        log.info("Language %s does not exist in %s", name, maintenance_db)
        return False
    server = _server(user, host, port, maintenance_db, password, runas)
    return server.execute("DROP LANGUAGE %s" % ident(name))["retcode"] == 0
