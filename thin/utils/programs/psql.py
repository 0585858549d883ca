"""Runs SQL with ``psql``: without prompts, with CSV output, and without secrets in arguments.

Modules make a ``Server`` for each call. The error of a failed command is stored in ``context[ERROR]`` until it is
taken: Salt's functions only return False, and the state's comment needs the reason.
"""

import os

from thin import process
from thin.log import getLogger

log = getLogger(__name__)

#: The key of the last error in ``__context__``.
ERROR = "postgres.error"

#: Output without command tags; errors in one line and without the text of the statement.
_TERSE = ["--quiet", "--set", "VERBOSITY=terse", "--set", "ON_ERROR_STOP=1"]


def binary(salt, name):
    """The full path of a PostgreSQL program, searched in ``postgres.bins_dir`` first; None if it is missing."""
    folder = salt["config.option"]("postgres.bins_dir")
    return (process.which(os.path.join(folder, name)) if folder else None) or process.which(name)


def system_user(grains):
    """The account that servers run as; its role is their superuser."""
    return "_postgresql" if grains.get("os_family") == "OpenBSD" else "postgres"


def ident(name):
    """A quoted identifier."""
    return '"%s"' % str(name).replace('"', '""')


def text(value):
    """A quoted string."""
    return "'%s'" % str(value).replace("'", "''")


def role(name):
    """A role for GRANT and REVOKE, quoted; ``public`` means all roles and is not."""
    return "PUBLIC" if str(name).lower() == "public" else ident(name)


def last_error(context):
    """ ": " and the last error of psql, which is cleared; "" if there is none."""
    error = context.pop(ERROR, "")
    return ": " + error if error else ""


class Server(object):
    """The connection to a server. ``user``, ``host``, ``port``, ``database`` and ``password`` default to the options
    ``postgres.user`` and so on; ``runas``: the account to run psql as, by default the server's for a local socket.
    """

    def __init__(
        self, salt, grains, context, user=None, host=None, port=None, database=None, password=None, runas=None
    ):
        option = salt["config.option"]
        self._salt, self._context = salt, context
        host = host or option("postgres.host")
        if runas is None and (not host or str(host).startswith("/")):
            runas = system_user(grains)
        self._runas = runas
        self._argv = [binary(salt, "psql") or "psql", "--no-align", "--no-readline", "--no-psqlrc", "--no-password"]
        for word, value in (
            ("--username", user or option("postgres.user")),
            ("--host", host),
            ("--port", port or option("postgres.port")),
        ):
            if value:
                self._argv += [word, str(value)]
        self._argv += ["--dbname", str(database or option("postgres.maintenance_db") or "postgres")]
        self._env = {"LC_ALL": "C", "PGCLIENTENCODING": "UTF8"}
        password = option("postgres.pass") if password is None else password
        if password:
            self._env["PGPASSWORD"] = str(password)
        if not runas:
            self._env["PATH"] = os.environ.get("PATH", os.defpath)

    def rows(self, query, write=False):
        """``[{column: text}]`` of a query; None on failure. ``write``: it changes data, too."""
        import csv
        import io

        sql = "COPY (%s\n) TO STDOUT WITH CSV HEADER;" % query.strip().rstrip(";")
        if write:
            sql = "START TRANSACTION READ WRITE;\n%s\nCOMMIT TRANSACTION;" % sql
        sql = "SET datestyle TO 'ISO, MDY';\n" + sql
        # On stdin, psql would execute a backslash as the beginning of one of its own commands.
        done = self._psql(_TERSE + ["-c", sql]) if "\\" in query else self._psql(_TERSE, sql)
        if done["retcode"] != 0:
            return None
        lines = csv.reader(io.StringIO(done["stdout"]))
        header = next((line for line in lines if line), [])
        return [dict(zip(header, line)) for line in lines if line]

    def execute(self, sql):
        """The return of cmd.run_all for SQL statements. Each is a transaction of its own, unless one argument has
        several."""
        return self._psql(["-c", sql])

    def secretly(self, sql):
        """As ``execute``, in one transaction, for statements with a secret: they are passed on stdin."""
        return self._psql(_TERSE + ["--single-transaction"], sql + ";\n")

    def script(self, sql):
        """As ``secretly``, for many statements that contain their own transactions."""
        return self._psql(_TERSE, sql)

    def _psql(self, arguments, stdin=None):
        self._context.pop(ERROR, None)
        timeout = self._salt["config.option"]("postgres.timeout", default=0)
        done = self._salt["cmd.run_all"](
            self._argv + arguments,
            python_shell=False,
            reset_system_locale=False,
            clean_env=True,
            env=self._env,
            timeout=timeout,
            runas=self._runas,
            stdin=stdin,
            stdin_raw_newlines=True,
            output_loglevel="quiet",  # rows may be secret
        )
        if done["retcode"] != 0:
            self._context[ERROR] = _brief(done["stderr"] or done["stdout"])
            log.error("psql: %s", self._context[ERROR])
        return done


def _brief(error):
    """The error lines without the statement, which may contain a secret."""
    lines = [line for line in error.splitlines() if line.strip() and not line.startswith("LINE ")]
    return " ".join(line.strip() for line in lines if line.strip() != "^")
