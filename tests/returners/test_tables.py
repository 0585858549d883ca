"""Salt's tables, by the real databases: a row for each return, job and event, whatever is in it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import stat

import pytest

from pushsalt.api import Client, JobOptions, Selection, Settings
from pushsalt.returners import Trouble
from tests.beds.returnservers import PASSWORD
from tests.beds.sshd import free_port

STATES = {"test_|-a_|-a_|-nop": {"result": True, "changes": {}, "comment": "c", "__run_num__": 0}}


class Database:
    """One kind: the options of its returner, and how its tables are read."""

    def __init__(self, name, options, connect):
        self.name, self.options, self._connect = name, options, connect

    def rows(self, columns, table, jid=None):
        quote = "`" if self.name == "mysql" else '"'
        names = ", ".join(f"{quote}{column}{quote}" for column in columns.split())
        with contextlib.closing(self._connect()) as made, contextlib.closing(made.cursor()) as cursor:
            cursor.execute(f"SELECT {names} FROM {table}" + (f" WHERE jid = '{jid}'" if jid else ""))
            return [tuple(row) for row in cursor.fetchall()]


def _sqlite3(request):
    path = request.getfixturevalue("tmp_path") / "returns.db"
    return Database("sqlite3", {"database": str(path)}, lambda: sqlite3.connect(path))


def _postgres(request):
    psycopg = pytest.importorskip("psycopg")
    port = request.getfixturevalue("postgres_port")
    to = {"host": "127.0.0.1", "port": port, "user": "salt", "password": PASSWORD, "dbname": "salt"}
    options = {"host": "127.0.0.1", "port": port, "passwd": PASSWORD}
    return Database("postgres", options, lambda: psycopg.connect(**to))


def _mysql(request):
    pymysql = pytest.importorskip("pymysql")
    port = request.getfixturevalue("mysql_port")
    to = {"host": "127.0.0.1", "port": port, "user": "salt", "password": PASSWORD, "database": "salt"}
    options = {"host": "127.0.0.1", "port": port, "pass": PASSWORD}
    return Database("mysql", options, lambda: pymysql.connect(**to))


BEDS = {"sqlite3": _sqlite3, "postgres": _postgres, "mysql": _mysql}


@pytest.fixture(params=BEDS)
def database(request):
    return BEDS[request.param](request)


@pytest.fixture
def opened(database, load):
    module, outside = load(database.name, **database.options)
    yield module, outside
    outside.context["connection"].close()


def test_a_return_is_a_row(database, opened, ret):
    module, outside = opened
    module.returner(ret, outside=outside)
    [(fun, id, full, success)] = database.rows("fun id full_ret success", "salt_returns", ret["jid"])
    assert (fun, id, str(success).lower() in ("1", "true")) == ("test.arg", "web1", True)
    expected = ret["return"] if database.name == "sqlite3" else ret
    assert json.loads(full) == expected
    if database.name != "sqlite3":
        [(returned,)] = database.rows("return", "salt_returns", ret["jid"])
        assert json.loads(returned) == ret["return"]


def test_names_of_a_foreign_job_are_only_values(database, opened, ret):
    """Ids, functions and JIDs with quotes, zero bytes and great length."""
    module, outside = opened
    for id in ("x'); DROP TABLE jids; --", 'y"`; \\', "z\0\n", "l" * 400, "\ud800"):
        module.returner({**ret, "id": id, "fun": f"{id}.f" * 3}, outside=outside)
    module.save_load(ret["jid"], {"fun": "x'); DROP TABLE jids; --"}, ["web1"], outside=outside)
    assert len(database.rows("id", "salt_returns", ret["jid"])) == 5
    assert len(database.rows("jid", "jids", ret["jid"])) == 1


def test_a_job_is_kept_once(database, opened, ret):
    module, outside = opened
    for tgt in ("*", "other"):
        module.save_load(ret["jid"], {"fun": "test.ping", "tgt": tgt}, outside=outside)
    [(kept,)] = database.rows("load", "jids", ret["jid"])
    assert json.loads(kept)["tgt"] == "*"


def test_a_return_that_may_have_arrived_is_stored_once(database, opened, ret):
    module, outside = opened
    events = [{"tag": f"salt/{ret['jid']}", "data": {"n": n}} for n in range(3)]
    for again in (False, True):
        outside.again = again
        module.returner(ret, outside=outside)
        module.event_return(events, outside=outside)
    assert len(database.rows("id", "salt_returns", ret["jid"])) == 1
    found = [row for row in database.rows("tag data master_id", "salt_events") if row[0] == events[0]["tag"]]
    assert found == [(each["tag"], json.dumps(each["data"]), "here_master") for each in events]


def test_the_next_return_uses_a_new_connection_after_trouble(database, opened, ret):
    module, outside = opened
    module.returner(ret, outside=outside)
    outside.context["connection"].close()
    with pytest.raises(Trouble):
        module.returner({**ret, "id": "web2"}, outside=outside)
    module.returner({**ret, "id": "web2"}, outside=outside)
    assert len(database.rows("id", "salt_returns", ret["jid"])) == 2


WRONG = {
    "sqlite3": [{"database": "/nothing/here.db"}],
    "postgres": [{"passwd": "wrong-one"}, {"db": "nothing"}],
    "mysql": [{"pass": "wrong-one"}, {"db": "nothing"}],
}


def test_errors_give_the_reason_without_passwords(database, load, ret):
    for wrong in WRONG[database.name]:
        module, outside = load(database.name, **{**database.options, **wrong})
        with pytest.raises(Trouble) as caught:
            module.returner(ret, outside=outside)
        said = f"{caught.value.message} {caught.value.hint}"
        assert database.name in said and caught.value.hint
        assert "wrong-one" not in said and PASSWORD not in said


def test_a_missing_table_is_named(postgres_port, load, ret):
    options = {"host": "127.0.0.1", "port": postgres_port, "passwd": PASSWORD, "db": "postgres"}
    module, outside = load("postgres", **options)
    with pytest.raises(Trouble, match="salt_returns") as caught:
        module.returner(ret, outside=outside)
    assert "docs/returners.md" in caught.value.hint


@pytest.mark.parametrize("name", ["postgres", "mysql"])
def test_no_server(load, ret, name):
    pytest.importorskip("psycopg" if name == "postgres" else "pymysql")
    module, outside = load(name, host="127.0.0.1", port=free_port())
    with pytest.raises(Trouble, match="onnect") as caught:
        module.returner(ret, outside=outside)
    assert not caught.value.refused and "up" in caught.value.hint


def test_what_was_stored_is_read(database, tmp_path):
    """By ``ret.*``, of jobs that a command has stored."""
    hosts = {id: {"transport": "offline", "grains": {"os": "Debian"}} for id in ("read1", "read2")}
    (tmp_path / "inventory.yaml").write_text(json.dumps({"hosts": hosts}))
    (tmp_path / "pushsalt.yaml").write_text(json.dumps({f"returner.{database.name}": database.options}))
    settings = Settings([tmp_path / "inventory.yaml"], tmp_path / "pushsalt.yaml", cache_dir=tmp_path / "cache")
    client = Client(settings)

    def stored(ids, *args):
        client.run(Selection(ids), "grains.get", list(args), options=JobOptions(returners=(database.name,)))
        return client.jobs.list()[0].jid

    def read(fun, *args):
        return client.run(Selection("read1"), f"ret.{fun}", [database.name, *args])["read1"].ret

    def returned(found):
        return {id: ret if database.name == "sqlite3" else ret["return"] for id, ret in found.items()}

    first, last = stored("read*", "os"), stored("read2", "id")
    assert returned(read("get_jid", first)) == {"read1": "Debian", "read2": "Debian"}
    assert returned(read("get_jid", last)) == {"read2": "read2"}
    assert returned(read("get_fun", "grains.get")) == {"read1": "Debian", "read2": "read2"}
    jobs = read("get_jids")
    assert (jobs[first]["fun"], jobs[first]["arg"], jobs[last]["arg"]) == ("grains.get", ["os"], ["id"])
    assert {"read1", "read2"} <= set(read("get_minions"))
    assert read("get_jid", "1' OR '1'='1") == {}


def test_an_sqlite_file_is_for_its_owner(tmp_path, load, ret):
    module, outside = load("sqlite3", database=str(tmp_path / "x.db"))
    module.returner({**ret, "return": STATES}, outside=outside)
    outside.context["connection"].close()
    assert stat.S_IMODE((tmp_path / "x.db").stat().st_mode) == 0o600


def test_a_file_that_is_no_database(tmp_path, load, ret):
    (tmp_path / "x.db").write_text("some text, long enough to be read as the head of a database" * 20)
    module, outside = load("sqlite3", database=str(tmp_path / "x.db"))
    with pytest.raises(Trouble, match="not a database"):
        module.returner(ret, outside=outside)
