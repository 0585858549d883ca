"""Runs SQL with ``psql``: without prompts, with CSV output, and without secrets in argument lists.

Modules make a ``Server`` per call. What a failed command said is kept in ``context[ERROR]`` until somebody takes it:
Salt's functions return only False, and a state's comment shall say why.
"""

import os

from thin import process
from thin.log import getLogger

log = getLogger(__name__)

#: where the last failure's words are kept
ERROR = "postgres.error"

#: nothing for people in the output: no tags of commands, errors in one line and without the text of the statement
_TERSE = ["--quiet", "--set", "VERBOSITY=terse", "--set", "ON_ERROR_STOP=1"]


def binary(salt, name):
    """Full path of one of PostgreSQL's programs, in ``postgres.bins_dir`` first; None without it."""
    folder = salt["config.option"]("postgres.bins_dir")
    return (process.which(os.path.join(folder, name)) if folder else None) or process.which(name)


def system_user(grains):
    """The account that servers run as, which is their superuser too."""
    return "_postgresql" if grains.get("os_family") == "OpenBSD" else "postgres"


def ident(name):
    """A name of an object as SQL wants it."""
    return '"%s"' % str(name).replace('"', '""')


def text(value):
    """A value as SQL wants it."""
    return "'%s'" % str(value).replace("'", "''")


def role(name):
    """A role's name for GRANT and REVOKE; ``public`` means all roles."""
    return "PUBLIC" if str(name).lower() == "public" else ident(name)


def last_error(context):
    """ ": " and the error of psql, once; empty text without one."""
    said = context.pop(ERROR, "")
    return ": " + said if said else ""


class Server(object):
    """How to reach a server: ``user``, ``host``, ``port``, ``database`` and ``password`` default to the options
    ``postgres.user`` and so on; ``runas`` is the account to run psql as, the server's own for a local socket.
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
        """``[{column: text}]`` of a query; None when it failed. ``write``: it changes something, too."""
        import csv
        import io

        sql = "COPY (%s\n) TO STDOUT WITH CSV HEADER;" % query.strip().rstrip(";")
        if write:
            sql = "START TRANSACTION READ WRITE;\n%s\nCOMMIT TRANSACTION;" % sql
        sql = "SET datestyle TO 'ISO, MDY';\n" + sql
        # what comes by stdin may have commands of psql's own, which begin with a backslash and can do anything
        done = self._psql(_TERSE + ["-c", sql]) if "\\" in query else self._psql(_TERSE, sql)
        if done["retcode"] != 0:
            return None
        lines = csv.reader(io.StringIO(done["stdout"]))
        header = next((line for line in lines if line), [])
        return [dict(zip(header, line)) for line in lines if line]

    def execute(self, sql):
        """The cmd.run_all return of statements, executed one by one, or together if one call has several."""
        return self._psql(["-c", sql])

    def secretly(self, sql):
        """The same in one transaction, for statements with a secret, which are passed on stdin."""
        return self._psql(_TERSE + ["--single-transaction"], sql + ";\n")

    def script(self, sql):
        """The same for many statements, which see to their transaction themselves."""
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


def _brief(said):
    """The error lines without the statement, which may contain a secret."""
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith("LINE ")]
    return " ".join(line.strip() for line in lines if line.strip() != "^")
