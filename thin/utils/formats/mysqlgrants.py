"""Builds and parses MySQL's GRANT statements. Pure."""

import re

from thin.utils.formats.sqlwords import ident, text

SSL_WITH_VALUE = ("CIPHER", "ISSUER", "SUBJECT")
SSL_WORDS = SSL_WITH_VALUE + ("SSL", "X509")

#: The privileges that MySQL 8 shows for ALL PRIVILEGES on ``*.*``.
ALL_OF_MYSQL8 = frozenset(
    (
        "ALTER",
        "ALTER ROUTINE",
        "BACKUP_ADMIN",
        "BINLOG_ADMIN",
        "CONNECTION_ADMIN",
        "CREATE",
        "CREATE ROLE",
        "CREATE ROUTINE",
        "CREATE TABLESPACE",
        "CREATE TEMPORARY TABLES",
        "CREATE USER",
        "CREATE VIEW",
        "DELETE",
        "DROP",
        "DROP ROLE",
        "ENCRYPTION_KEY_ADMIN",
        "EVENT",
        "EXECUTE",
        "FILE",
        "GROUP_REPLICATION_ADMIN",
        "INDEX",
        "INSERT",
        "LOCK TABLES",
        "PERSIST_RO_VARIABLES_ADMIN",
        "PROCESS",
        "REFERENCES",
        "RELOAD",
        "REPLICATION CLIENT",
        "REPLICATION SLAVE",
        "REPLICATION_SLAVE_ADMIN",
        "RESOURCE_GROUP_ADMIN",
        "RESOURCE_GROUP_USER",
        "ROLE_ADMIN",
        "SELECT",
        "SET_USER_ID",
        "SHOW DATABASES",
        "SHOW VIEW",
        "SHUTDOWN",
        "SUPER",
        "SYSTEM_VARIABLES_ADMIN",
        "TRIGGER",
        "UPDATE",
        "XA_RECOVER_ADMIN",
    )
)

#: (since which version of MariaDB, alias, the privilege that the server shows)
_ALIASES = (
    ((10, 5, 1), "REPLICATION REPLICA", "REPLICATION SLAVE"),
    ((10, 5, 2), "REPLICATION CLIENT", "BINLOG MONITOR"),
    ((10, 5, 9), "REPLICA MONITOR", "SLAVE MONITOR"),
)

_TOKEN = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`(?:[^`]|``)*`|[\w*%$-]+|\S")


def version_tuple(version):
    """(major, minor, patch) from a server's version text."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def unquote(word):
    """A name or string without its quotes and escapes."""
    quote = word[:1]
    if quote not in ("'", '"', "`") or len(word) < 2:
        return word
    word = word[1:-1].replace(quote * 2, quote)
    return word if quote == "`" else re.sub(r"\\(.)", r"\1", word)


def tokens(grant):
    """``{user, host, grant: [privilege], database}`` of ``GRANT … ON … TO …``; ``database`` is as it is written.

    A privilege on columns is listed by itself and once for each column: ``SELECT``, ``SELECT.name``.
    """
    words = _TOKEN.findall(grant)
    upper = [word.upper() for word in words]
    ret = {"user": "", "host": "", "grant": [], "database": ""}
    if "TO" not in upper:
        return ret
    to = upper.index("TO", upper.index("ON") if "ON" in upper else 0)
    on = upper.index("ON") if "ON" in upper[:to] else to
    ret["grant"] = _privileges(words[1:on])
    ret["database"] = "".join(words[on + 1 : to])
    rest = words[to + 1 :]
    ret["user"] = unquote(rest[0]) if rest else ""
    if len(rest) > 2 and rest[1] == "@":
        ret["host"] = unquote(rest[2])
    return ret


def _privileges(words):
    privileges, current, columns = [], [], False
    for word in words + [","]:
        if word == "(":
            columns = True
            privileges.append(" ".join(current))
        elif word == ")":
            columns, current = False, []
        elif word == ",":
            if current and not columns:
                privileges.append(" ".join(current))
                current = []
        elif columns:
            privileges.append("%s.%s" % (" ".join(current), unquote(word)))
        else:
            current.append(word)
    return privileges


def resolved(privileges, version):
    """The privileges with the names that this server shows."""
    if "MariaDB" not in version:
        return list(privileges)
    now = version_tuple(version)
    names = {alias: name for since, alias, name in _ALIASES if now >= since}
    return [names.get(each, each) for each in privileges]


def normalized(grant):
    """A list of privileges, ``SELECT, INSERT (a, b)``, in SQL's form. Raises ValueError for an invalid one."""
    grant = re.sub(r"\s*,\s*", ", ", re.sub(r"\s+", " ", str(grant).strip()))
    grant = "".join(part if part[:1] == "(" else part.upper() for part in re.split(r"(\([^)]*\))", grant))
    if grant == "ALL":
        return "ALL PRIVILEGES"
    one = r"[A-Z_]+(?: [A-Z_]+)*(?: ?\([^()';]+\))?"
    if not re.match("%s(?:, %s)*$" % (one, one), grant):
        raise ValueError("Invalid grant : '%s'" % grant)
    return grant


def level(database, escape=True):
    """``db.table``, quoted. In ``db.*``, ``_`` and ``%`` are escaped, because MySQL takes them as wildcards there."""
    if not escape:  # as a library that formats statements: ``%%`` is ``%``
        return str(database).replace("%%", "%")
    db, _, table = str(database).rpartition(".")
    if db != "*":
        db = ident(db.replace("_", "\\_").replace("%", "\\%") if table == "*" else db)
    return "%s.%s" % (db, table if table == "*" else ident(table))


def account(user, host):
    return "%s@%s" % (text(user), text(host))


def statement(grant, database, user, host, grant_option=False, escape=True, ssl_option=False):
    """The GRANT statement. Raises ValueError for an invalid privilege or SSL option."""
    sql = "GRANT %s ON %s TO %s" % (normalized(grant), level(database, escape), account(user, host))
    if ssl_option and isinstance(ssl_option, list):
        sql += " REQUIRE " + " AND ".join(_ssl(ssl_option))
    return sql + (" WITH GRANT OPTION" if grant_option else "")


def _ssl(options):
    words = []
    for option in options:
        for key, value in option.items():
            word = str(key).strip().upper()
            if word not in SSL_WORDS:
                raise ValueError("Invalid SSL option : '%s'" % key)
            if word in SSL_WITH_VALUE:
                words.append("%s %s" % (word, text(value)))
            elif value:
                words.append(word)
    return words


def holds(shown, grant, database, user, host, grant_option, version, escape=True):
    """Whether the lines of SHOW GRANTS contain these privileges. Raises ValueError for an invalid list of them."""
    wanted = tokens("GRANT %s ON %s TO %s" % (normalized(grant), level(database, escape), account(user, host)))
    mysql8 = "MariaDB" not in version and version_tuple(version) >= (8,)
    place = _place(wanted["database"])
    have, may_grant = set(), False
    for line in shown:
        words = tokens(line)
        if _place(words["database"]) == place and (words["user"], words["host"]) == (wanted["user"], wanted["host"]):
            have.update(each.lower() for each in resolved(words["grant"], version))
            may_grant = may_grant or "WITH GRANT OPTION" in line.upper()
    if grant_option and not may_grant:
        return False
    if "all privileges" in have or (mysql8 and place == "*.*" and have >= set(map(str.lower, ALL_OF_MYSQL8))):
        return True
    return all(each.lower() in have for each in resolved(wanted["grant"], version))


def _place(written):
    """``db.table`` without quotes and escapes."""
    return "".join(map(unquote, _TOKEN.findall(written))).replace("\\", "")
