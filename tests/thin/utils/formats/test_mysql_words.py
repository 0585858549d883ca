"""Output of MySQL's client, GRANT statements, scripts and option files: pure functions."""

import pytest

from thin.utils.formats import mysqlgrants
from thin.utils.programs import mysqlrun

XML = """<?xml version="1.0"?>

<resultset statement="select 1 &lt; 2" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <row>
\t<field name="a&amp;b">1</field>
\t<field name="b" xsi:nil="true" />
\t<field name="c">x&lt;row&gt;&amp;lt;&quot;
two</field>
\t<field name="d"></field>
  </row>
  <row>
\t<field name="a&amp;b">2</field>
\t<field name="b">NULL</field>
\t<field name="c">y</field>
\t<field name="d">z</field>
  </row>
</resultset>
<?xml version="1.0"?>

<resultset statement="select 1 from dual where 1=0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"></resultset>
"""


def test_results_of_several_statements_are_parsed():
    rows = (("1", None, 'x<row>&lt;"\ntwo', ""), ("2", "NULL", "y", "z"))
    assert mysqlrun._parsed(XML) == [(("a&b", "b", "c", "d"), rows), ((), ())]
    assert mysqlrun._parsed("") == []


@pytest.mark.parametrize(
    "output, message, connected",
    [
        ("ERROR 1045 (28000): Access denied\n", "MySQL Error 1045: Access denied", False),
        ("ERROR 2002 (HY000): Can't connect (115)\n", "MySQL Error 2002: Can't connect (115)", False),
        ("--\nselec\n--\n\nERROR 1064 (42000) at line 3: You have\n", "MySQL Error 1064: You have", True),
        ("mariadb: unknown\n option", "MySQL Error: mariadb: unknown option", False),
    ],
)
def test_errors_of_the_client_are_parsed(output, message, connected):
    assert mysqlrun._brief(output) == (message, connected)


@pytest.mark.parametrize(
    "grant, expected",
    [
        (
            "GRANT SELECT, LOCK TABLES ON `my``db`.* TO 'o''x'@'localhost' WITH GRANT OPTION",
            {"user": "o'x", "host": "localhost", "grant": ["SELECT", "LOCK TABLES"], "database": "`my``db`.*"},
        ),
        (
            "GRANT SELECT (`a`, `b`), UPDATE ON `d`.`TO` TO `u`@`%`",
            {
                "user": "u",
                "host": "%",
                "grant": ["SELECT", "SELECT.a", "SELECT.b", "UPDATE"],
                "database": "`d`.`TO`",
            },
        ),
        (
            "GRANT ALL PRIVILEGES ON *.* TO 'u'@'10.%' IDENTIFIED BY PASSWORD '*AB' REQUIRE SSL",
            {"user": "u", "host": "10.%", "grant": ["ALL PRIVILEGES"], "database": "*.*"},
        ),
        ("GRANT `role` TO `u`@`%`", {"user": "u", "host": "%", "grant": ["`role`"], "database": ""}),
        ("nonsense", {"user": "", "host": "", "grant": [], "database": ""}),
    ],
)
def test_grants_are_parsed(grant, expected):
    assert mysqlgrants.tokens(grant) == expected


@pytest.mark.parametrize(
    "args, sql",
    [
        (("select ,insert", "my_db.*", "u", "h"), r"GRANT SELECT, INSERT ON `my\_db`.* TO 'u'@'h'"),
        (("SELECT (a,B)", "my_db.t`x", "o'x", "%"), "GRANT SELECT (a, B) ON `my_db`.`t``x` TO 'o''x'@'%'"),
        (("all", "*.*", "u", "h", True), "GRANT ALL PRIVILEGES ON *.* TO 'u'@'h' WITH GRANT OPTION"),
        (("usage", "d.*", "u", "h", False, False), "GRANT USAGE ON d.* TO 'u'@'h'"),
        (
            ("usage", "*.*", "u", "h", False, True, [{"ssl": True}, {"x509": False}, {"Cipher": "a'b"}]),
            "GRANT USAGE ON *.* TO 'u'@'h' REQUIRE SSL AND CIPHER 'a''b'",
        ),
    ],
)
def test_grants_are_written(args, sql):
    assert mysqlgrants.statement(*args) == sql


@pytest.mark.parametrize("grant", ["SELECT; DROP", "SELECT ON *.* TO x --", "", "SELECT (a;b)", "SELECT,"])
def test_unknown_privileges_are_refused(grant):
    with pytest.raises(ValueError, match="Invalid grant"):
        mysqlgrants.statement(grant, "*.*", "u", "h")


GRANTS = [
    "GRANT USAGE ON *.* TO `u`@`h`",
    r"GRANT SELECT, INSERT ON `my\_db`.* TO `u`@`h` WITH GRANT OPTION",
    "GRANT SELECT (`a`), UPDATE ON `my_db`.`t` TO `u`@`h`",
    "GRANT ALL PRIVILEGES ON `all`.* TO `u`@`h`",
    "GRANT BINLOG MONITOR ON *.* TO `u`@`h`",
]


@pytest.mark.parametrize(
    "grant, database, option, expected",
    [
        ("select", "my_db.*", False, True),
        ("insert,select", "my_db.*", True, True),
        ("delete", "my_db.*", False, False),
        ("all", "my_db.*", False, False),
        ("update", "my_db.t", False, True),
        ("update", "my_db.t", True, False),
        ("select (A)", "my_db.t", False, True),
        ("select (a, b)", "my_db.t", False, False),
        ("all privileges", "all.*", False, True),
        ("trigger", "all.*", False, True),
        ("replication client", "*.*", False, True),
        ("usage", "other.*", False, False),
    ],
)
def test_granted_privileges_include_the_requested_ones(grant, database, option, expected):
    version = "10.11.6-MariaDB-0+deb12u1"
    assert mysqlgrants.holds(GRANTS, grant, database, "u", "h", option, version) is expected
    assert not mysqlgrants.holds(GRANTS, grant, database, "u", "other", option, version)


def test_all_is_every_privilege_of_mysql_8():
    line = "GRANT %s ON *.* TO `u`@`h`"
    grants = [line % ", ".join(sorted(mysqlgrants.ALL_OF_MYSQL8))]
    assert mysqlgrants.holds(grants, "ALL", "*.*", "u", "h", False, "8.0.36")
    assert not mysqlgrants.holds([line % "SELECT, UPDATE"], "ALL", "*.*", "u", "h", False, "8.0.36")


@pytest.mark.parametrize(
    "script, expected",
    [
        ("select 1; select ';' ;\n", ["select 1", "select ';'"]),
        ("-- a; b\nselect 1 # c;\n, 2", ["select 1  \n, 2"]),
        ('/* a; */ select `x;y`, "a\\";"; /*! keep; */;', ['select `x;y`, "a\\";"', "/*! keep; */"]),
        ("delimiter //\nbegin a; b; end//\nDELIMITER ;\nselect 'delimiter'", ["begin a; b; end", "select 'delimiter'"]),
        ("select 5--1", ["select 5--1"]),
        (";;\n", []),
    ],
)
def test_a_script_is_split_into_statements(script, expected):
    assert mysqlrun.statements(script) == expected


def test_option_files_are_parsed(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.cnf").write_text("[client]\nport=3307\n")
    (tmp_path / "more" / "a.txt").write_text("[client]\nport=1\n")
    path = tmp_path / "my.cnf"
    path.write_text(
        f"# c\n[client]\nuser = frank # who\npassword = 'a#b'\nssl_ca=/ca\n!includedir {tmp_path}/more\n"
        "[mysqld]\nuser=mysql\n[mine]\nhost=h\npassword=x\\sy\n"
    )
    expected = {"user": "frank", "pass": "a#b", "ssl-ca": "/ca", "port": "3307"}
    assert mysqlrun._from_file(path, None) == expected
    assert mysqlrun._from_file(path, "mine") == dict(expected, host="h", **{"pass": "x y"})
    assert mysqlrun._from_file(tmp_path / "missing", None) == {}


def test_quoted_names_are_not_quoted_again():
    database = r"`foo\_%%`.*"
    sql = mysqlgrants.statement("all", database, "u", "h", False, False)
    assert sql == r"GRANT ALL PRIVILEGES ON `foo\_%`.* TO 'u'@'h'"
    grants = [r"GRANT ALL PRIVILEGES ON `foo\_%`.* TO `u`@`h`"]
    assert mysqlgrants.holds(grants, "all", database, "u", "h", False, "10.11.6-MariaDB", False)
