"""Users of MySQL and MariaDB, and their grants: a part of ``mysql``. Salt (until 3008): modules/mysql.py

All functions take ``connection_host`` and so on, like those of mysql.py. Other arguments of many:

user, host          an account is both (localhost)
password            text; ``password_hash`` its stored form (``*6C89…``); ``password`` outweighs it
allow_passwordless  none of them is needed
unix_socket         the login's name on the system counts, instead of a password
password_column     the column of mysql.user with the stored form; found out unless given
auth_plugin         how MySQL 8 stores the password (mysql_native_password)
"""

from thin.exceptions import SaltInvocationError
from thin.log import getLogger
from thin.utils.data import is_true
from thin.utils.formats import mysqlgrants
from thin.utils.formats.mysqlgrants import account
from thin.utils.formats.sqlwords import text
from thin.utils.programs import mysqlrun

__virtualname__ = "mysql"
__reads__ = ("user_list", "user_exists", "user_info", "tokenize_grant", "user_grants", "grant_exists")
__changes__ = ("user_create", "user_chpass", "user_remove", "grant_add", "grant_revoke")

log = getLogger(__name__)

NATIVE = "mysql_native_password"

#: from these versions on, passwords of MySQL have plugins, and users of MariaDB are a view
_MYSQL_PLUGINS = (8, 0, 11)
_MARIADB_VIEW = (10, 4)


def __virtual__():
    if mysqlrun.client():
        return __virtualname__
    return False, "neither mariadb nor mysql, the command-line client, was found"


class _Server(object):
    """A connection with properties of the server: ``sql``, ``mariadb``, ``modern`` and ``version``."""

    def __init__(self, connection_args, password=None, user=None):
        """``password`` of ``user``: it is tried if the connection uses this account, whose password has just been
        changed."""
        self.sql = mysqlrun.Server(__salt__, __context__, connection_args)
        rows = self.sql.rows("SELECT VERSION()")
        if rows is None and password and "Access denied for user '%s'@" % user in __context__[mysqlrun.ERROR]:
            before = __context__[mysqlrun.ERROR]
            self.sql = mysqlrun.Server(__salt__, __context__, dict(connection_args, connection_pass=password))
            rows = self.sql.rows("SELECT VERSION()")
            if rows is None:
                __context__[mysqlrun.ERROR] = before
        self.version = rows[0][0] if rows else ""
        self.mariadb = "MariaDB" in self.version
        self.number = mysqlgrants.version_tuple(self.version)

    @property
    def socket_plugin(self):
        return "unix_socket" if self.mariadb else "auth_socket"

    def password_column(self):
        rows = self.sql.rows(
            "SELECT column_name FROM information_schema.COLUMNS WHERE table_schema = 'mysql' "
            "AND table_name = 'user' AND column_name = 'Password'"
        )
        return "Password" if rows else "authentication_string"

    def plugin(self, user, host):
        """The authentication plugin of the account; native if it is unknown."""
        rows = self.sql.rows("SELECT plugin FROM mysql.user WHERE %s" % _is(user, host))
        return rows[0][0] or NATIVE if rows else NATIVE

    def has_user(self, user, host):
        return bool(self.sql.rows("SELECT User FROM mysql.user WHERE %s" % _is(user, host)))

    def has_plugin(self, name):
        sql = "SELECT PLUGIN_STATUS FROM INFORMATION_SCHEMA.PLUGINS WHERE PLUGIN_NAME = %s"
        return bool(self.sql.rows(sql % text(name)))


def _is(user, host):
    return "User = %s AND Host = %s" % (text(user), text(host))


def _native(password):
    """The result of PASSWORD()."""
    import hashlib

    return "*" + hashlib.sha1(hashlib.sha1(str(password).encode("utf-8")).digest()).hexdigest().upper()  # noqa: S324


def user_list(**connection_args):
    """
    Return ``[{User, Host}]``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.user_list
    """
    return tuple(
        mysqlrun.Server(__salt__, __context__, connection_args).dicts("SELECT User, Host FROM mysql.user") or ()
    )


def user_exists(
    user,
    host="localhost",
    password=None,
    password_hash=None,
    passwordless=False,
    unix_socket=False,
    password_column=None,
    **connection_args,
):
    """
    Whether the account exists, with this password or stored form, or without a password (``passwordless``)

    A password that is not stored in the native form cannot be compared; it is assumed to be equal.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.user_exists app web01 password_hash='*hash'
    """
    server = _Server(connection_args, password, user)
    if not server.version:
        return False
    sql = "SELECT User FROM mysql.user WHERE " + _is(user, host)
    stored = None
    if is_true(passwordless):
        if is_true(unix_socket):
            return bool(server.sql.rows(sql + " AND plugin = " + text(server.socket_plugin)))
        stored = ""
    elif password:
        stored = _native(password)
        modern = not server.mariadb and server.number >= _MYSQL_PLUGINS
        if modern and server.plugin(user, host) != NATIVE:
            stored = None
    elif password_hash:
        stored = password_hash
    if stored is not None:
        sql += " AND %s = %s" % (password_column or server.password_column(), text(stored))
    return bool(server.sql.rows(sql, hide=[stored]))


def user_info(user, host="localhost", **connection_args):
    """
    Return all columns of an account in mysql.user; None if there is none, False if the server does not answer

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.user_info app web01
    """
    server = mysqlrun.Server(__salt__, __context__, connection_args)
    rows = server.dicts("SELECT * FROM mysql.user WHERE " + _is(user, host))
    if rows is None:
        return False
    for row in rows:
        return {
            key: int(value) if key.startswith("max_") and value and value.isdigit() else value
            for key, value in row.items()
        }
    return None


def user_create(
    user,
    host="localhost",
    password=None,
    password_hash=None,
    allow_passwordless=False,
    unix_socket=False,
    password_column=None,
    auth_plugin="mysql_native_password",
    **connection_args,
):
    """
    Create an account; False if it exists already, or after an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.user_create app web01 allow_passwordless=True
    """
    server = _Server(connection_args, password, user)
    if not server.version:
        return False
    if server.has_user(user, host):
        log.info("User '%s'@'%s' already exists", user, host)
        return False
    how = _identified(server, host, password, password_hash, allow_passwordless, unix_socket, auth_plugin, new=True)
    if how is None:
        return False
    return server.sql.execute("CREATE USER %s%s" % (account(user, host), how), hide=[password, password_hash])


def _identified(server, host, password, password_hash, allow_passwordless, unix_socket, auth_plugin, new):
    """`` IDENTIFIED …`` of a statement; None, with an error message, if it is not possible."""
    if is_true(unix_socket) and (new or is_true(allow_passwordless)):
        if host != "localhost":
            return _refused("Auth via unix_socket can be set only for host=localhost")
        if not server.has_plugin(server.socket_plugin):
            return _refused("The %s plugin is not enabled." % server.socket_plugin)
        return " IDENTIFIED %s %s" % ("VIA" if server.mariadb else "WITH", server.socket_plugin)
    if password is None and password_hash is None:
        if not is_true(allow_passwordless):
            return _refused("password or password_hash must be specified, unless allow_passwordless=True")
        if new:
            return ""
        password = ""
    if not _plain(auth_plugin):
        raise SaltInvocationError("auth_plugin: %r is not the name of a plugin" % auth_plugin)
    if not server.mariadb and server.number >= _MYSQL_PLUGINS:
        if password is not None:
            return " IDENTIFIED WITH %s BY %s" % (auth_plugin, text(password))
        return " IDENTIFIED WITH %s AS %s" % (auth_plugin, text(password_hash))
    if not new and server.mariadb and auth_plugin != NATIVE:
        using = "PASSWORD(%s)" % text(password) if password is not None else text(password_hash)
        return " IDENTIFIED VIA %s USING %s" % (auth_plugin, using)
    if password is not None:
        return " IDENTIFIED BY %s" % text(password)
    return " IDENTIFIED BY PASSWORD %s" % text(password_hash)


def _plain(name):
    return str(name).replace("_", "").isalnum()


def _refused(words):
    log.error("%s", words)
    __context__[mysqlrun.ERROR] = words


def user_chpass(
    user,
    host="localhost",
    password=None,
    password_hash=None,
    allow_passwordless=False,
    unix_socket=None,
    password_column=None,
    **connection_args,
):
    """
    Change an account's password; False if there is no such account, or after an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.user_chpass app web01 password_hash='*hash'
    """
    server = _Server(connection_args, password, user)
    if not server.version:
        return False
    if not server.has_user(user, host):
        log.info("User '%s'@'%s' does not exists", user, host)
        return False
    plugin = server.plugin(user, host)
    if plugin in ("unix_socket", "auth_socket"):
        plugin = NATIVE
    how = _identified(server, host, password, password_hash, allow_passwordless, unix_socket, plugin, new=False)
    if how is None:
        return False
    hide = [password, password_hash]
    if server.number >= (_MARIADB_VIEW if server.mariadb else (5, 7, 6)):
        return server.sql.execute("ALTER USER %s%s" % (account(user, host), how), hide=hide)
    stored = _native(password) if password else password_hash or ""
    column = password_column or server.password_column()
    if is_true(unix_socket) and is_true(allow_passwordless):
        stored, column = server.socket_plugin, "plugin"
    sql = "UPDATE mysql.user SET %s = %s WHERE %s;\nFLUSH PRIVILEGES" % (column, text(stored), _is(user, host))
    return server.sql.execute(sql, hide=hide)


def user_remove(user, host="localhost", **connection_args):
    """
    Remove an account; False if there is none, or after an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.user_remove app web01
    """
    server = mysqlrun.Server(__salt__, __context__, connection_args)
    rows = server.rows("SELECT User FROM mysql.user WHERE " + _is(user, host))
    if not rows:
        if rows is not None:
            _refused("User '%s'@'%s' does not exists" % (user, host))
        return False
    return server.execute("DROP USER " + account(user, host))


def tokenize_grant(grant):
    """
    Return ``{user, host, grant: [privilege], database}`` of a GRANT statement

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.tokenize_grant "GRANT SELECT, UPDATE ON shop.orders TO 'app'@'web01'"
    """
    return mysqlgrants.tokens(grant)


def user_grants(user, host="localhost", **connection_args):
    """
    Return the GRANT statements of an account, without passwords; False if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.user_grants app web01
    """
    server = _Server(connection_args)
    if not server.version or not server.has_user(user, host):
        log.info("User '%s'@'%s' does not exist", user, host)
        return False
    rows = server.sql.rows("SHOW GRANTS FOR " + account(user, host))
    if rows is None:
        return False
    ret = []
    for (line,) in rows:
        short = line.split(" IDENTIFIED ")[0]
        ret.append(short + " WITH GRANT OPTION" if "WITH GRANT OPTION" in line and short != line else short)
    return ret


def grant_exists(grant, database, user, host="localhost", grant_option=False, escape=True, **connection_args):
    """
    Whether an account has these privileges (``SELECT,INSERT``) on a database (``db.*``), a table or all (``*.*``)

    grant_option
        it may grant them, too

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.grant_exists SELECT,DELETE 'shop.*' app web01
    """
    server = _Server(connection_args)
    if not server.version:
        return False
    grants = user_grants(user, host, **connection_args)
    if grants is False:
        return False
    try:
        return mysqlgrants.holds(grants, grant, database, user, host, is_true(grant_option), server.version, escape)
    except ValueError as exc:
        log.error("GRANT cannot be written: %s", exc)
        return False


def grant_add(
    grant, database, user, host="localhost", grant_option=False, escape=True, ssl_option=False, **connection_args
):
    """
    Grant privileges to an account; returns whether it has them afterwards

    escape
        quote the names in ``database``
    ssl_option
        ``[{SSL: true}, {CIPHER: …}]``: how the account must connect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.grant_add SELECT,DELETE 'shop.*' app web01
    """
    try:
        sql = mysqlgrants.statement(grant, database, user, host, is_true(grant_option), escape, ssl_option)
    except ValueError as exc:
        _refused(str(exc))
        return False
    if not mysqlrun.Server(__salt__, __context__, connection_args).execute(sql):
        return False
    return grant_exists(grant, database, user, host, grant_option, escape, **connection_args)


def grant_revoke(grant, database, user, host="localhost", grant_option=False, escape=True, **connection_args):
    """
    Revoke privileges of an account; returns whether it does not have them afterwards

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mysql.grant_revoke DELETE 'shop.*' app web01
    """
    try:
        words = mysqlgrants.normalized(grant)
    except ValueError as exc:
        _refused(str(exc))
        return False
    words += ", GRANT OPTION" if is_true(grant_option) else ""
    sql = "REVOKE %s ON %s FROM %s" % (words, mysqlgrants.level(database, escape), account(user, host))
    if not mysqlrun.Server(__salt__, __context__, connection_args).execute(sql):
        return False
    return not grant_exists(grant, database, user, host, grant_option, escape, **connection_args)
