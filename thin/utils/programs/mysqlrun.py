"""Runs SQL with MySQL's or MariaDB's command-line client: SQL on stdin, results as XML.

The password is in the client's environment. Only the requested option file is read, and it is parsed here, because
clients and libraries differ in which groups they use and which value takes precedence. The error of a failed statement
is stored in ``context[ERROR]`` in Salt's format until it is taken: ``MySQL Error 1045: Access denied …``.
"""

import os
import re

from thin import process
from thin.log import getLogger
from thin.utils.formats.sqlwords import text

log = getLogger(__name__)

#: The key of the last error in ``__context__``.
ERROR = "mysql.error"

#: Errors of connecting to the server, not of a statement.
_NO_WAY = {1040, 1044, 1045, 1049, 1129, 1130, 1203, 1226, 1698}

_GROUPS = ("client", "client-server", "client-mariadb")
_MAX_INCLUDES = 10

#: Names in option files -> our names.
_OPTIONS = {
    "host": "host",
    "user": "user",
    "password": "pass",
    "pass": "pass",
    "port": "port",
    "socket": "unix_socket",
    "database": "db",
    "ssl-ca": "ssl-ca",
    "ssl-cert": "ssl-cert",
    "ssl-key": "ssl-key",
    "ssl-capath": "ssl-capath",
    "ssl-cipher": "ssl-cipher",
}

#: Names after ``connection_``. use_unicode and conv are for Salt's Python driver; the client does not need them.
_CONNECTION = ("host", "user", "pass", "port", "db", "unix_socket", "default_file", "default_group", "ssl", "charset")
_CONNECTION += ("use_unicode", "conv")

#: Flags of a connection that the client has options for; it implies the others.
_FLAGS = {"compress": "--compress", "local_files": "--local-infile=1", "ssl": "--ssl"}


def client():
    """The full path of the client, or None."""
    return process.which("mariadb") or process.which("mysql")


def pop_error(context):
    """The last error, or None; it is cleared."""
    return context.pop(ERROR, None)


class Failure(Exception):
    """A statement failed. ``connected``: whether the login succeeded."""

    def __init__(self, words, connected):
        super(Failure, self).__init__(words)
        self.connected = connected


class Server(object):
    """The connection to a server: ``connection_*`` of a call's arguments, by default the options ``mysql.*``.

    If the call has ``connection_default_file``, no options are used.
    """

    def __init__(self, salt, context, given):
        self._salt, self._context = salt, context
        named = given.get("connection_default_file")
        result = {}
        for name in _CONNECTION:
            value = given.get("connection_" + name)
            if "connection_" + name not in given and not named:
                value = salt["config.option"]("mysql." + name)
            if value:
                result[name] = value
        options = _from_file(result["default_file"], result.get("default_group")) if "default_file" in result else {}
        ssl = result.pop("ssl", None)
        if isinstance(ssl, dict):
            options.update(("ssl-%s" % str(key).replace("_", "-"), value) for key, value in ssl.items())
        options.update(result)
        self._password = options.get("pass")
        words = [("host", "host"), ("user", "user"), ("port", "port"), ("unix_socket", "socket"), ("db", "database")]
        words.append(("charset", "default-character-set"))
        words += [(key, key) for key in sorted(options) if key.startswith("ssl-")]
        self.argv = ["--%s=%s" % (word, options[key]) for key, word in words if options.get(key)]
        for flag in given.get("client_flags") or ():
            if str(flag).lower() in _FLAGS:
                self.argv.append(_FLAGS[str(flag).lower()])

    def results(self, sql, hide=()):
        """``[(columns, rows)]`` of all statements that have rows. Raises Failure. Rows are tuples of text and None.

        ``hide``: secrets in the statements, to remove from error texts.
        """
        self._context.pop(ERROR, None)
        env = {"LC_ALL": "C"}
        if self._password:
            env["MYSQL_PWD"] = str(self._password)
        argv = [
            client() or "mysql",
            "--no-defaults",
            "--batch",
            "--xml",
            "--binary-mode",
            "--default-character-set=utf8mb4",
        ] + self.argv
        # without logging: rows may be secret
        done = self._salt["cmd.run_all"](
            argv, python_shell=False, env=env, stdin=sql, stdin_raw_newlines=True, output_loglevel="quiet", rstrip=False
        )
        if done["retcode"] != 0:
            words, connected = _brief(done["stderr"])
            for secret in filter(None, hide):
                words = words.replace(text(secret)[1:-1], "…").replace(str(secret), "…")
            self._context[ERROR] = words
            log.error("%s", words)
            raise Failure(words, connected)
        return _parsed(done["stdout"])

    def rows(self, sql, hide=()):
        """The rows of one query; None on failure."""
        try:
            results = self.results(sql.rstrip(";") + ";\n", hide)
        except Failure:
            return None
        return results[-1][1] if results else ()

    def dicts(self, sql):
        """The rows as ``[{column: text}]``; None on failure."""
        try:
            results = self.results(sql.rstrip(";") + ";\n")
        except Failure:
            return None
        return [dict(zip(columns, row)) for columns, rows in results for row in rows]

    def execute(self, sql, hide=()):
        """Whether a statement without rows succeeded."""
        return self.rows(sql, hide) is not None


def _brief(error):
    """(error in Salt's format, whether the login succeeded) from the output of the client."""
    match = re.search(r"ERROR (\d+) \([0-9A-Z]+\)(?: at line \d+)?(?: in file: '[^']*')?: (.*)", error, re.S)
    if not match:
        return "MySQL Error: %s" % " ".join(error.split()), False
    number = int(match.group(1))
    # errors from 2000 on are the client's own
    return "MySQL Error %d: %s" % (number, match.group(2).strip()), number not in _NO_WAY and number < 2000


_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_FIELD = re.compile(r'<field name="([^"]*)"(?: xsi:nil="true" />|>(.*?)</field>)', re.S)


def _plain(value):
    return re.sub("&([a-z]+);", lambda found: _ENTITIES.get(found.group(1), found.group(0)), value)


def _parsed(xml):
    """``[(columns, rows)]`` from the client's output with ``--xml``, which escapes ``<`` and ``&`` in all values."""
    parsed = []
    for result in re.split(r"<resultset\b[^>]*>", xml)[1:]:
        columns, rows = (), []
        for row in result.split("<row>")[1:]:
            fields = [(_plain(each.group(1)), each.group(2)) for each in _FIELD.finditer(row)]
            columns = tuple(name for name, _ in fields)
            rows.append(tuple(None if value is None else _plain(value) for _, value in fields))
        parsed.append((columns, tuple(rows)))
    return parsed


def _from_file(path, group):
    """The options in an option file, by our names: of the groups for all clients, then of ``group``."""
    groups = _read_options(str(path), {}, 0)
    options = {}
    for name in _GROUPS + ((group,) if group else ()):
        for key, value in groups.get(name, ()):
            if key in _OPTIONS:
                options[_OPTIONS[key]] = value
    return options


def _read_options(path, groups, depth):
    """{group: [(name, value)]} of an option file and of those that it includes."""
    try:
        with open(os.path.expanduser(path), "rb") as handle:
            lines = handle.read().decode("utf-8", "replace").splitlines()
    except OSError as exc:
        log.error("option file %s: %s", path, exc.strerror)
        return groups
    current = None
    for line in map(str.strip, lines):
        if line.startswith("[") and "]" in line:
            current = groups.setdefault(line[1 : line.index("]")].strip(), [])
        elif line.startswith("!include") and depth < _MAX_INCLUDES:
            word, _, place = line.partition(" ")
            for each in _included(word, place.strip()):
                _read_options(each, groups, depth + 1)
        elif line[:1] not in ("", "#", ";") and current is not None:
            name, _, value = line.partition("=")
            current.append((name.strip().replace("_", "-"), _value(value.strip())))
    return groups


def _included(word, place):
    if word == "!include":
        return [place]
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return []
    return [os.path.join(place, name) for name in names if name.endswith(".cnf")]


def _value(value):
    """A value without quotes and without a trailing comment."""
    if value[:1] in ("'", '"') and value[0] in value[1:]:
        value = value[1 : value.rindex(value[0])]
    else:
        value = value.partition("#")[0].rstrip()
    escapes = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "s": " "}
    return re.sub(r"\\(.)", lambda found: escapes.get(found.group(1), found.group(1)), value)


def statements(script):
    """The statements of a script, separated as the client does: by ``;`` outside of strings, or by the DELIMITER."""
    statements, current, at, end, mark = [], [], 0, len(script), ";"
    word = re.compile(
        r"(?:'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`(?:[^`]|``)*`|/\*.*?\*/"
        r"|(?:--(?=\s|$)|#)[^\n]*)",
        re.S,
    )
    delimiter = re.compile(r"[ \t]*delimiter[ \t]+(\S+)[^\n]*(?:\n|$)", re.I)
    while at < end:
        if at == 0 or script[at - 1] == "\n":
            order = delimiter.match(script, at)
            if order and not "".join(current).strip():
                mark, at = order.group(1), order.end()
                continue
        if script.startswith(mark, at):
            statements.append("".join(current).strip())
            current, at = [], at + len(mark)
            continue
        piece = word.match(script, at)
        if piece and piece.group()[:1] in ("/", "-", "#") and not piece.group().startswith(("/*!", "/*+", "/*M!")):
            current.append(" ")
            at = piece.end()
        else:
            step = piece.group() if piece else script[at]
            current.append(step)
            at += len(step)
    statements.append("".join(current).strip())
    return [each for each in statements if each]
