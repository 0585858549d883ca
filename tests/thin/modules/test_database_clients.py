"""Calls of psql and MySQL's client, by scripts that record them: for servers that a test cannot start."""

from __future__ import annotations

import json
import sys

import pytest

from thin.utils.formats import pgpass

CLIENT = """#!{python} -IS
import json, os, sys
statement = sys.stdin.read()
with open({log!r}, "a") as log:
    log.write(json.dumps([sys.argv[1:], dict(os.environ), statement]) + "\\n")
for part, rows in json.loads({answers!r}):
    if part in statement:
        if isinstance(rows, str):
            sys.stderr.write(rows)
            sys.exit(1)
        sys.stdout.write({head!r})
        for row in rows:
            sys.stdout.write({row!r}.format(row=row))
        sys.stdout.write({tail!r})
        break
"""
MYSQL = {"head": '<resultset statement="x">', "row": '<row><field name="a">{row}</field></row>', "tail": "</resultset>"}
PSQL = {"head": "rolsuper\n", "row": "{row}\n", "tail": ""}


@pytest.fixture
def client(tmp_path, monkeypatch, make_loaders):
    """A function that replaces a client by a script with these rows: the modules, and a function for its calls."""

    def install(name, shape, answers, pillar=None):
        folder = tmp_path / "bin"
        folder.mkdir()
        log = tmp_path / "log"
        log.write_text("")
        text = CLIENT.format(python=sys.executable, log=str(log), answers=json.dumps(answers), **shape)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))  # without other folders: a real client in PATH would be preferred
        loaders = make_loaders(pillar=pillar or {})
        return loaders.modules, lambda: [json.loads(line) for line in log.read_text().splitlines()]

    return install


@pytest.mark.parametrize(
    "version, args, sql",
    [
        ("8.0.36", {"password": "o'x"}, "IDENTIFIED WITH mysql_native_password BY 'o''x'"),
        (
            "8.4.2",
            {"password": "x", "auth_plugin": "caching_sha2_password"},
            "IDENTIFIED WITH caching_sha2_password BY 'x'",
        ),
        ("8.0.36", {"password_hash": "*AB"}, "IDENTIFIED WITH mysql_native_password AS '*AB'"),
        ("5.7.40", {"password": "x"}, "IDENTIFIED BY 'x'"),
        ("5.7.40", {"password_hash": "*AB"}, "IDENTIFIED BY PASSWORD '*AB'"),
        ("8.0.36", {"allow_passwordless": True, "unix_socket": True}, "IDENTIFIED WITH auth_socket"),
        ("10.11.6-MariaDB", {"allow_passwordless": True, "unix_socket": True}, "IDENTIFIED VIA unix_socket"),
        ("8.0.36", {"allow_passwordless": True}, ""),
    ],
)
def test_the_statement_for_a_new_account(client, version, args, sql):
    answers = [["VERSION()", [version]], ["FROM mysql.user", []], ["PLUGIN_STATUS", ["ACTIVE"]]]
    functions, calls = client("mysql", MYSQL, answers)
    assert functions["mysql.user_create"]("frank", "localhost", **args) is True
    assert calls()[-1][2] == f"CREATE USER 'frank'@'localhost' {sql}".rstrip() + ";\n"


@pytest.mark.parametrize(
    "version, plugin, args, sql",
    [
        (
            "8.0.36",
            "caching_sha2_password",
            {"password": "x"},
            "ALTER USER 'frank'@'localhost' IDENTIFIED WITH caching_sha2_password BY 'x'",
        ),
        (
            "8.0.36",
            "mysql_native_password",
            {"allow_passwordless": True},
            "ALTER USER 'frank'@'localhost' IDENTIFIED WITH mysql_native_password BY ''",
        ),
        (
            "10.11.6-MariaDB",
            "ed25519",
            {"password": "x"},
            "ALTER USER 'frank'@'localhost' IDENTIFIED VIA ed25519 USING PASSWORD('x')",
        ),
        (
            "10.3.1-MariaDB",
            "",
            {"password_hash": "*AB"},
            "UPDATE mysql.user SET authentication_string = '*AB' WHERE User = 'frank' AND Host = 'localhost';\n"
            "FLUSH PRIVILEGES",
        ),
    ],
)
def test_the_statement_for_a_changed_password(client, version, plugin, args, sql):
    answers = [["VERSION()", [version]], ["SELECT plugin", [plugin]], ["SELECT User", ["frank"]], ["column_name", []]]
    functions, calls = client("mysql", MYSQL, answers)
    assert functions["mysql.user_chpass"]("frank", "localhost", **args) is True
    assert calls()[-1][2] == sql + ";\n"


def test_connection_options_come_from_arguments_and_pillar(client):
    pillar = {"mysql.host": "db1", "mysql.user": "root", "mysql.pass": "pillars", "mysql.ssl": {"ca": "/ca.pem"}}
    functions, calls = client("mysql", MYSQL, [["SHOW DATABASES", ["a", "b"]]], pillar)
    assert functions["mysql.db_list"](connection_port=3307, connection_pass="given") == ["a", "b"]
    argv, env, _ = calls()[0]
    assert argv[0] == "--no-defaults"
    assert {"--host=db1", "--user=root", "--port=3307", "--ssl-ca=/ca.pem"} <= set(argv)
    assert env["MYSQL_PWD"] == "given"
    assert not any("given" in argument or "pillars" in argument for argument in argv)


def test_secrets_are_not_in_messages(client, lines):
    error = "ERROR 1064 (42000) at line 1: near 'BY 'gehe''im'' at line 1\n"
    answers = [["VERSION()", ["8.0.36"]], ["FROM mysql.user", []], ["CREATE USER", error]]
    functions, _ = client("mysql", MYSQL, answers)
    assert functions["mysql.user_create"]("frank", password="gehe'im") is False
    messages = "\n".join(text for _, text in lines)
    assert "MySQL Error 1064: near 'BY '…''" in messages
    assert "gehe" not in messages


@pytest.mark.parametrize("encrypted", ["md5", "scram-sha-256"])
def test_the_statement_for_a_changed_role(client, lines, encrypted):
    pillar = {"postgres.host": "db1", "postgres.pass": "way-in"}
    functions, calls = client("psql", PSQL, [["SELECT rolsuper", ["f"]]], pillar)
    options = {"createdb": False, "rolepassword": "geheim", "encrypted": encrypted, "groups": ["a", 'b"c']}
    assert functions["postgres.user_update"]("fr'ank", superuser=False, **options) is True
    argv, env, sql = calls()[-1]
    assert env["PGPASSWORD"] == "way-in"
    assert not any(secret in argument for argument in argv for secret in ("geheim", "way-in", "SCRAM", "md5"))
    first, *groups = sql.split(";\n")
    assert first.startswith("ALTER ROLE \"fr'ank\" WITH NOCREATEDB PASSWORD '")
    assert pgpass.verified("fr'ank", "geheim", first.rpartition("PASSWORD ")[2].strip("'"), encrypted)
    assert groups == ['GRANT "a" TO "fr\'ank"', 'GRANT "b""c" TO "fr\'ank"', ""]
    assert "geheim" not in "\n".join(text for _, text in lines)


def test_errors_of_psql_are_stored_without_the_statement(client):
    error = (
        "ERROR:  role \"x\" does not exist\nLINE 1: ALTER ROLE x PASSWORD 'geheim'\n                ^\nHINT:  none\n"
    )
    functions, _ = client("psql", PSQL, [["SELECT", []], ["CREATE ROLE", error]], {"postgres.host": "db1"})
    assert functions["postgres.user_create"]("x", rolepassword="geheim") is False
    context = functions.module("postgres.user_create")["__context__"]
    assert context["postgres.error"] == 'ERROR:  role "x" does not exist HINT:  none'


@pytest.mark.parametrize("old", [False, True])
def test_passwords_of_rabbitmq_go_to_stdin(client, old):
    answers = [["geheim", "Error: wrong arguments\nUsage:\nadd_user <username> <password>\n"]] if old else []
    functions, calls = client("rabbitmqctl", PSQL, answers)
    if old:
        functions["rabbitmq.check_password"]("anna", "geheim")
    else:
        assert functions["rabbitmq.add_user"]("anna", "geheim") == {"Added": ""}
    argv, _, stdin = calls()[0]
    assert argv == ["authenticate_user" if old else "add_user", "anna"]
    assert stdin == "geheim\n"
    assert [argv for argv, _, _ in calls()[1:]] == ([["authenticate_user", "anna", "geheim"]] if old else [])
