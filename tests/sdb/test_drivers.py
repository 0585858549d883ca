"""Properties of single drivers: merged files, fields of entries, versions of Vault, hostile servers."""

import socket
import threading
import time

import pytest

from pushsalt.errors import TargetError
from pushsalt.programs import run_program
from pushsalt.sdb import Outside
from pushsalt.sdb.store import Sdb
from tests.beds import secretservers
from tests.beds.processes import Watch
from tests.beds.secretservers import need
from tests.beds.sshd import free_port


def store(profile, **opts):
    return Sdb({"it": profile, **opts}, Outside(run_program))


def trouble(sdb, uri):
    with pytest.raises(TargetError) as caught:
        sdb.get(uri)
    assert caught.value.kind == "secret_unavailable"
    return caught.value


# files -------------------------------------------------------------------------------------------------------------


def test_yaml_files_are_merged_as_salt_does(tmp_path, caplog):
    (tmp_path / "a.yaml").write_text("db: {user: app, password: old-secret}\nlist: [1]\n")
    (tmp_path / "b.yaml").write_text("db: {password: new-secret}\nlist: [2]\n")
    files = [str(tmp_path / name) for name in ("a.yaml", "b.yaml", "nope.yaml")]
    sdb = store({"driver": "yaml", "files": files, "merge": {"strategy": "smart", "merge_list": True}})
    assert sdb.get("sdb://it/db:password") == "new-secret"
    assert sdb.get("sdb://it/db") == {"user": "app", "password": "new-secret"}
    assert sdb.get("sdb://it/list") == [1, 2]
    assert "nope.yaml cannot be read" in caplog.text


def test_yaml_that_is_broken_names_the_line_and_shows_nothing(tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\nb: [hidden-word\n")
    error = trouble(store({"driver": "yaml", "files": [str(tmp_path / "a.yaml")]}), "sdb://it/a")
    assert f"{tmp_path}/a.yaml:" in error.message and "hidden-word" not in error.message


def test_a_caller_cannot_change_a_stored_value(tmp_path):
    (tmp_path / "a.yaml").write_text("db: {password: one-secret}\n")
    sdb = store({"driver": "yaml", "files": [str(tmp_path / "a.yaml")]})
    sdb.get("sdb://it/db")["password"] = "changed"
    assert sdb.get("sdb://it/db") == {"password": "one-secret"}


def test_sqlite_of_ones_own_tables(tmp_path):
    import sqlite3

    path = tmp_path / "own.sqlite"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE secrets (name text, secret text)")
        made.execute("INSERT INTO secrets VALUES ('a\"b', 'text-as-it-is')")
    made.close()
    query = "SELECT secret FROM secrets WHERE name=:key"
    sdb = store({"driver": "sqlite3", "database": str(path), "create_table": False, "get_query": query})
    assert sdb.get('sdb://it/a"b') == "text-as-it-is"
    new = store({"driver": "sqlite3", "database": str(tmp_path / "new.sqlite"), "table": 'odd "name'})
    assert new.set("sdb://it/a", {"deep": ["x"]}) is True
    assert new.get("sdb://it/a") == {"deep": ["x"]}
    assert (tmp_path / "new.sqlite").stat().st_mode & 0o777 == 0o600


# pass --------------------------------------------------------------------------------------------------------------


def test_pass_has_lines_and_fields(password_store):
    password_store.put("web/db", "the-password\nlogin: admin\nurl: https://db.example:5432\n")
    sdb = store(password_store.profile)
    assert sdb.get("sdb://it/web/db") == "the-password"
    assert sdb.get("sdb://it/web/db?login") == "admin"
    assert sdb.get("sdb://it/web/db?field=URL") == "https://db.example:5432"
    assert sdb.get("sdb://it/web/db?nope") is None
    assert sdb.get("sdb://it/web/db?*") == "the-password\nlogin: admin\nurl: https://db.example:5432"
    sdb.set("sdb://it/web/db", "another-password")
    sdb.set("sdb://it/web/db?login", "root")
    assert sdb.get("sdb://it/web/db?*") == "another-password\nurl: https://db.example:5432\nlogin: root"


def test_a_folder_of_pass_is_no_entry(password_store, tmp_path):
    password_store.put("folder/entry", "x")
    assert store(password_store.profile).get("sdb://it/folder") is None
    missing = store({**password_store.profile, "store": str(tmp_path / "none")})
    assert "there is no password store" in trouble(missing, "sdb://it/a").message


@pytest.mark.parametrize("name", ["--version", "../x", "/etc/passwd", "a/../../b", "folder/"])
def test_pass_takes_no_other_names(password_store, name):
    assert "is no name of an entry" in trouble(store(password_store.profile), f"sdb://it/{name}").message


def test_no_value_of_pass_is_an_argument_of_a_program(password_store):
    password_store.put("quiet", "never-seen-in-arguments")
    sdb = store(password_store.profile)
    with Watch({"old": b"never-seen-in-arguments", "new": b"set-and-never-seen"}) as watch:
        assert sdb.get("sdb://it/quiet") == "never-seen-in-arguments"
        sdb.set("sdb://it/quiet", "set-and-never-seen")
        time.sleep(0.2)
    assert not watch.seen


# redis -------------------------------------------------------------------------------------------------------------


def test_redis_with_a_wrong_password_says_so(redis_port):
    profile = {"driver": "redis", "host": "127.0.0.1", "port": redis_port, "password": "wrong-password"}
    error = trouble(store(profile), "sdb://it/x")
    assert "WRONGPASS" in error.message and "wrong-password" not in error.message


@pytest.mark.parametrize(
    "answer, words",
    [(b"$2000000\r\n", "more than"), (b"$9\r\nab", "does not answer"), (b"HTTP/1.1 400\r\n", "protocol")],
)
def test_a_server_that_is_no_redis(answer, words):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        profile = {"driver": "redis", "host": "127.0.0.1", "port": server.getsockname()[1], "timeout": 3}
        assert words in trouble(store(profile), "sdb://it/x").message
        thread.join()


# web servers -------------------------------------------------------------------------------------------------------


def test_rest_replaces_names_and_sends_the_configured_request(web):
    web.json("/users/a%2Fb%20c/keys?page=2", {"keys": ["k1", "k2"]})
    entry = {
        "url": web.url.replace("//", "//me:my%20word@") + "/users/{{ user }}/keys",
        "params": {"page": "{{page}}"},
        "header_dict": {"X-Of": "mine"},
        "method": "POST",
        "data": {"who": "{{user}}"},
    }
    sdb = store({"driver": "rest", "keys": entry})
    assert sdb.get("sdb://it/keys?user=a%2Fb%20c&page=2") == {"keys": ["k1", "k2"]}
    ((method, _, headers, body),) = web.asked
    assert (method, headers["X-Of"], body) == ("POST", "mine", b'{"who": "a/b c"}')
    assert headers["Authorization"] == "Basic bWU6bXkgd29yZA=="
    assert "is not allowed in a URL" in trouble(sdb, "sdb://it/keys?user=..&page=2").message
    sdb.get('sdb://it/keys?user="}&page=2')
    assert web.asked[-1][3] == b'{"who": "\\"}"}'
    assert "gives no 'user'" in trouble(sdb, "sdb://it/keys?page=2").message
    assert "no entry 'other'" in trouble(sdb, "sdb://it/other").message


def test_a_redirect_to_another_host_gets_nothing(web, vault_stand_in):
    other = f"http://localhost:{free_port()}"
    web.answers["/a"] = (302, {"Location": f"{other}/steal"}, b"")
    web.answers["/b"] = (307, {"Location": "/c"}, b"")
    web.json("/c", {"x": "followed"})
    entry = {"url": f"{web.url}/{{{{p}}}}", "header_dict": {"Authorization": "Bearer my-token"}}
    sdb = store({"driver": "rest", "e": entry})
    assert "redirects to another host, localhost" in trouble(sdb, "sdb://it/e?p=a").message
    assert sdb.get("sdb://it/e?p=b") == {"x": "followed"}
    web.answers["/v1/sys/internal/ui/mounts/secret/a"] = (307, {"Location": f"{other}/v1/x"}, b"")
    sdb = store({"driver": "vault", "url": web.url, "auth": {"token": "my-token"}})
    assert "redirects to another host" in trouble(sdb, "sdb://it/secret/a?b").message


def test_a_server_that_sends_too_much_or_a_byte_now_and_then(web):
    def drip(request):
        request.send_response(200)
        request.send_header("Content-Length", "100000")
        request.end_headers()
        try:
            for _ in range(100):
                request.wfile.write(b" ")
                request.wfile.flush()
                time.sleep(0.1)
        except OSError:
            pass

    web.answers["/big"] = (200, {}, b" " * 1024 * 1025)
    web.answers["/drip"] = drip
    web.answers["/no"] = (200, {}, b"<html>my-secret")
    entry = {"url": f"{web.url}/{{{{p}}}}", "timeout": 1}
    sdb = store({"driver": "rest", "e": entry})
    assert "more than 1024 KiB" in trouble(sdb, "sdb://it/e?p=big").message
    assert "no JSON" in trouble(sdb, "sdb://it/e?p=no").message.replace("does not answer with JSON", "no JSON")
    began = time.monotonic()
    assert "gave no answer within 1 s" in trouble(sdb, "sdb://it/e?p=drip").message
    assert time.monotonic() - began < 3


def test_certificates_are_checked(tmp_path):
    import ssl
    import subprocess

    need("openssl")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            str(key),
            "-out",
            str(cert),
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with secretservers.web_server(context) as web:
        web.json("/x", "tls-value")
        error = trouble(store({"driver": "rest", "e": {"url": f"{web.url}/x"}}), "sdb://it/e")
        assert "certificate cannot be verified" in error.message and not web.asked
        assert store({"driver": "rest", "e": {"url": f"{web.url}/x", "ca_bundle": str(cert)}}).get("sdb://it/e")
        assert store({"driver": "rest", "e": {"url": f"{web.url}/x", "verify_ssl": False}}).get("sdb://it/e")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/y", "//x", "http://", "https://a b/"])
def test_other_urls_are_not_asked(url):
    assert "is no http or https URL" in trouble(store({"driver": "rest", "e": {"url": url}}), "sdb://it/e").message


# vault -------------------------------------------------------------------------------------------------------------

POLICY = 'path "secret/data/app/*" { capabilities = ["read", "create", "update", "patch"] }'


@pytest.fixture
def vault_stand_in(web):
    """Not Vault: a web server with the answers of a test."""
    return web


def test_vault_by_path_as_salts_driver(vault):
    vault.ask("POST", "secret/data/app/db", {"data": {"password": "kv2-password", "user": "app"}})
    vault.ask("POST", "old/app/db", {"password": "kv1-password"})
    sdb = store({"driver": "vault"}, vault={"server": {"url": vault.url}, "auth": {"token": vault.token}})
    assert sdb.get("sdb://it/secret/app/db/password") == "kv2-password"
    assert sdb.get("sdb://it/secret/app/db?user") == "app"
    assert sdb.get("sdb://it/secret/app/db") == {"password": "kv2-password", "user": "app"}
    assert sdb.get("sdb://it/old/app/db?password") == "kv1-password"
    assert sdb.get("sdb://it/secret/app/db?nope") is None
    assert sdb.get("sdb://it/secret/app/none?nope") is None
    assert "is no path and key" in trouble(sdb, "sdb://it/secret").message
    assert "is no path and key" in trouble(sdb, "sdb://it/secret/../sys/mounts?x").message


def test_vault_by_approle_and_its_policy(vault):
    vault.ask("POST", "secret/data/app/web", {"data": {"key": "role-value"}})
    vault.ask("POST", "secret/data/other/web", {"data": {"key": "not-for-it"}})
    auth = vault.approle(POLICY)
    sdb = store({"driver": "vault", "url": vault.url, "auth": auth})
    assert sdb.get("sdb://it/secret/app/web?key") == "role-value"
    error = trouble(sdb, "sdb://it/secret/other/web?key")
    assert "HTTP 403" in error.message and "policy" in error.hint
    wrong = store({"driver": "vault", "url": vault.url, "auth": {**auth, "secret_id": "0000-not-it"}})
    error = trouble(wrong, "sdb://it/secret/app/web?key")
    assert "the login fails" in error.message and "0000-not-it" not in error.message


def test_vault_logs_in_anew_when_a_token_has_ended(vault):
    from pushsalt.sdb.drivers import vault as driver

    vault.ask("POST", "secret/data/app/web", {"data": {"key": "still-there"}})
    sdb = store({"driver": "vault", "url": vault.url, "auth": vault.approle(POLICY)})
    assert sdb.get("sdb://it/secret/app/web?key") == "still-there"
    for token, _ in driver._tokens.values():
        if token:
            try:
                vault.ask("POST", "auth/token/revoke", {"token": token})
            except OSError:  # of another server
                continue
    sdb.forget()
    assert sdb.get("sdb://it/secret/app/web?key") == "still-there"


def test_vault_namespaces(vault):
    vault.ask("POST", "sys/namespaces/team")
    vault.ask("POST", "sys/mounts/kv", {"type": "kv", "options": {"version": "2"}}, "team")
    time.sleep(0.5)  # a new mount of version 2 reports an upgrade for a moment
    vault.ask("POST", "kv/data/app/db", {"data": {"password": "of-the-team"}}, "team")
    auth = vault.approle('path "kv/data/app/*" { capabilities = ["read"] }', namespace="team")
    sdb = store({"driver": "vault"}, vault={"server": {"url": vault.url, "namespace": "team"}, "auth": auth})
    assert sdb.get("sdb://it/kv/app/db?password") == "of-the-team"
    sdb = store({"driver": "vault", "namespace": "other"}, vault={"server": {"url": vault.url}, "auth": auth})
    assert "namespace other" in trouble(sdb, "sdb://it/kv/app/db?password").message


def test_vault_patches_where_it_is_told_to(vault):
    vault.ask("POST", "secret/data/app/two", {"data": {"one": "1-value", "two": "2-value"}})
    options = {"driver": "vault", "url": vault.url, "auth": {"token": vault.token}}
    sdb = store({**options, "patch": True})
    sdb.set("sdb://it/secret/app/two?one", "new-value")
    assert sdb.get("sdb://it/secret/app/two") == {"one": "new-value", "two": "2-value"}
    assert sdb.delete("sdb://it/secret/app/two?one")
    assert sdb.get("sdb://it/secret/app/two") == {"two": "2-value"}
    store(options).set("sdb://it/secret/app/two?three", "3-value")
    sdb.forget()
    assert sdb.get("sdb://it/secret/app/two") == {"three": "3-value"}


@pytest.mark.parametrize(
    "status, body, words",
    [
        (503, {"errors": ["Vault is sealed"]}, "Vault is sealed"),
        (200, "no mapping", "HTTP 200"),
        (500, {"errors": "text"}, "no reason given"),
    ],
)
def test_a_vault_that_is_not_well(vault_stand_in, status, body, words):
    vault_stand_in.json("/v1/sys/internal/ui/mounts/secret/a", {}, 403)
    vault_stand_in.json("/v1/secret/a", body, status)
    sdb = store({"driver": "vault", "url": vault_stand_in.url, "auth": {"token": "a-token"}})
    assert words in trouble(sdb, "sdb://it/secret/a?b").message


@pytest.mark.parametrize(
    "options, words",
    [
        ({}, "there is no `auth`"),
        ({"auth": {"method": "ldap"}, "url": "http://127.0.0.1:1"}, "is not supported"),
        ({"auth": {"token": ""}, "url": "http://127.0.0.1:1"}, "has no `token`"),
        ({"auth": {"token": "a\nb"}, "url": "http://127.0.0.1:1"}, "control character"),
        ({"auth": {"method": "approle"}, "url": "http://127.0.0.1:1"}, "no `role_id`"),
        ({"auth": {"token": "x"}}, "`url` of vault is no http"),
        ({"auth": {"token": "x"}, "url": "http://127.0.0.1:1", "timeout": "soon"}, "must be a number"),
    ],
)
def test_what_a_vault_profile_lacks_is_said(options, words):
    assert words in trouble(store({"driver": "vault", **options}), "sdb://it/secret/a?b").message


# profiles ----------------------------------------------------------------------------------------------------------


def test_options_of_a_profile_are_uris_of_others(tmp_path, monkeypatch):
    monkeypatch.setenv("WHERE", str(tmp_path / "v.yaml"))
    (tmp_path / "v.yaml").write_text("a: from-the-file\n")
    sdb = store({"driver": "yaml", "files": ["sdb://env/WHERE"]}, env={"driver": "env"})
    assert sdb.get("sdb://it/a") == "from-the-file"


def test_profiles_that_need_each_other():
    sdb = store({"driver": "yaml", "files": ["sdb://two/a"]}, two={"driver": "yaml", "files": ["sdb://it/a"]})
    assert "it -> two -> it" in trouble(sdb, "sdb://it/a").message


def test_an_unknown_driver_names_the_nearest():
    error = trouble(store({"driver": "vaults"}), "sdb://it/a")
    assert "vault" in error.hint


def test_a_dead_server_is_waited_for_once_for_all_its_values():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        profile = {"driver": "redis", "host": "127.0.0.1", "port": silent.getsockname()[1], "timeout": 0.5}
        sdb, began = store(profile), time.monotonic()
        for at in range(20):
            trouble(sdb, f"sdb://it/key{at}")
        assert time.monotonic() - began < 2


def test_users_drivers_find_salts_names(tmp_path):
    (tmp_path / "shown.py").write_text(
        "def get(key, service=None, profile=None):\n"
        "    return [__salt__['cmd.run']('echo ' + key), sorted(__opts__), profile['x']]\n"
    )
    opts = {"it": {"driver": "shown", "x": 1}}
    from pushsalt.plugincommands import commands

    sdb = Sdb(opts, Outside(run_program, opts=opts, salt=commands(run_program)), folders=[tmp_path])
    assert sdb.get("sdb://it/word") == ["word", ["it"], 1]
