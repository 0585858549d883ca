"""Every endpoint for every account: who is let in, who is refused."""

from __future__ import annotations

import hashlib
import hmac
import json

import pytest

from tests.beds.serving import ACCOUNTS, SECRET, Served

#: nobody, a wrong token, and accounts: see ``tests.beds.serving.ACCOUNTS``
WHO = ("", "wrong", *ACCOUNTS)
PING = {"client": "local", "tgt": "*", "fun": "test.ping"}
WEB1 = {"client": "local", "tgt": "web1", "fun": "test.ping"}
ECHO = {"client": "local", "tgt": "web1", "fun": "cmd.run", "arg": ["echo x"]}
ID = {"client": "local", "tgt": "web1", "fun": "cmd.run", "arg": ["id"]}
JOBS = {"client": "runner", "fun": "jobs.list_jobs"}
PRESENT = {"client": "runner", "fun": "manage.present"}
SEND = {"client": "runner", "fun": "event.send", "arg": ["app/x"]}
WHEEL = {"client": "wheel", "fun": "key.list_all"}
#: a form without a name and password is refused by itself
LOGIN = {"username": "anna", "password": "wrong", "eauth": "file"}

#: method, path, data, and the statuses for nobody, a wrong token, anna (all), ben (test.*), carl (web1), dora (runners)
TABLE = [
    ("GET", "/", None, (200, 200, 200, 200, 200, 200)),
    ("POST", "/", [PING], (401, 401, 200, 200, 401, 401)),
    ("POST", "/", [WEB1], (401, 401, 200, 200, 200, 401)),
    ("POST", "/", [ECHO], (401, 401, 200, 401, 200, 401)),
    ("POST", "/", [ID], (401, 401, 200, 401, 401, 401)),
    ("POST", "/", [WEB1, ID], (401, 401, 200, 401, 401, 401)),
    ("POST", "/", [{**PING, "client": "local_async"}], (401, 401, 200, 200, 401, 401)),
    ("POST", "/", [{**PING, "client": "local_batch"}], (401, 401, 200, 200, 401, 401)),
    ("POST", "/", [{**PING, "client": "local_subset"}], (401, 401, 200, 200, 401, 401)),
    ("POST", "/", [{**PING, "tgt": "none*"}], (401, 401, 200, 200, 200, 401)),
    ("POST", "/", [JOBS], (401, 401, 200, 401, 401, 200)),
    ("POST", "/", [PRESENT], (401, 401, 200, 401, 401, 200)),
    ("POST", "/", [{**PRESENT, "client": "runner_async"}], (401, 401, 200, 401, 401, 200)),
    ("POST", "/", [SEND], (401, 401, 200, 401, 401, 200)),
    ("POST", "/", [{"client": "runner", "fun": "salt.cmd", "arg": ["test.ping"]}], (401, 401, 200, 401, 401, 401)),
    ("POST", "/", [WHEEL], (401, 401, 400, 400, 400, 400)),
    ("POST", "/run", [PING], (401, 401, 401, 401, 401, 401)),
    ("GET", "/login", None, (200, 200, 200, 200, 200, 200)),
    ("POST", "/token", {"username": "anna"}, (400, 400, 400, 400, 400, 400)),
    ("GET", "/minions", None, (401, 401, 200, 401, 401, 401)),
    ("GET", "/minions/web1", None, (401, 401, 200, 401, 401, 401)),
    ("POST", "/minions", [PING], (401, 401, 202, 202, 401, 401)),
    ("GET", "/jobs", None, (401, 401, 200, 200, 200, 200)),
    ("GET", "/jobs/{anna}", None, (401, 401, 200, 401, 401, 200)),
    ("GET", "/jobs/{ben}", None, (401, 401, 200, 200, 401, 200)),
    ("GET", "/jobs/{cli}", None, (401, 401, 200, 401, 401, 200)),
    ("GET", "/jobs/20010101000000000000", None, (401, 401, 200, 401, 401, 200)),
    ("GET", "/jobs/last", None, (401, 401, 400, 400, 400, 400)),
    ("GET", "/keys", None, (401, 401, 200, 401, 401, 401)),
    ("GET", "/keys/web1", None, (401, 401, 200, 401, 401, 401)),
    ("POST", "/keys", {"mid": "x"}, (401, 401, 400, 400, 400, 400)),
    ("GET", "/stats", None, (401, 401, 200, 200, 200, 200)),
    ("GET", "/events?token=x", None, (400, 400, 400, 400, 400, 400)),
    ("POST", "/hook/app/x", {"a": 1}, (401, 401, 200, 200, 200, 200)),
    ("GET", "/hook/app/x", None, (405, 405, 405, 405, 405, 405)),
    ("DELETE", "/jobs", None, (405, 405, 405, 405, 405, 405)),
    ("OPTIONS", "/", None, (405, 405, 405, 405, 405, 405)),
    ("GET", "/nothing", None, (404, 404, 404, 404, 404, 404)),
    ("GET", "/../etc/passwd", None, (404, 404, 404, 404, 404, 404)),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture(scope="module")
def jids(served):
    """A job of each of two accounts, and one of the command line."""
    done = served.project.run("run", "web1", "test.ping", "--jid-file", "jid")
    assert done.code == 0, done.err
    found = {"cli": (served.project.folder / "jid").read_text().strip()}
    for user in ("anna", "ben"):
        [row] = served.low(user, **{**PING, "client": "local_async"}).data["return"]
        found[user] = row["jid"]
        served.wait_job(row["jid"])
    return found


@pytest.mark.parametrize("method, path, data, wanted", TABLE, ids=[f"{row[0]} {row[1]} {row[2]}"[:70] for row in TABLE])
def test_who_may_use_it(served, jids, method, path, data, wanted):
    path = path.format(**jids)
    found = []
    for who in WHO:
        headers = {"X-Auth-Token": "0" * 64} if who == "wrong" else {}
        answer = served.request(method, path, data, "" if who == "wrong" else who, headers=headers)
        assert answer.headers["content-type"] == "application/json"
        assert json.loads(answer.body) is not None
        found.append(answer.status)
    assert tuple(found) == wanted


def test_logout_of_each(served):
    assert served.post("/logout", None).status == 401
    token = served.login("ben").data["return"][0]["token"]
    headers = {"X-Auth-Token": token}
    assert served.get("/stats", headers=headers).status == 200
    assert served.post("/logout", None, headers=headers).data == {"return": "Your token has been cleared"}
    assert served.get("/stats", headers=headers).status == 401


def test_the_cookie_of_a_login(served):
    answer = served.login("ben")
    cookie = answer.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"))
    headers = {"Cookie": cookie.partition(";")[0]}
    assert served.get("/stats", headers=headers).status == 200
    assert served.post("/", [PING], headers=headers).status == 200


def test_a_page_of_another_site_cannot_use_a_login(served):
    headers = {"Cookie": served.login("ben").headers["set-cookie"].partition(";")[0], "Origin": "https://evil.example"}
    assert served.post("/", [PING], headers=headers).status == 403
    headers["Origin"] = f"http://127.0.0.1:{served.port}"
    assert served.post("/", [PING], headers=headers).status == 200


def test_run_by_password_and_by_token(served):
    creds = {"username": "ben", "password": "open-sesame-4711", "eauth": "file"}
    assert served.post("/run", [{**PING, **creds}]).data == {"return": [{"web1": True, "web2": True}]}
    assert served.post("/run", [{**PING, **creds, "eauth": "pam"}]).status == 401
    [row] = served.post("/token", creds).data
    assert row["name"] == row["user"] == "ben"
    assert served.post("/run", [{**WEB1, "token": row["token"]}]).data == {"return": [{"web1": True}]}
    assert served.post("/run", [{**WEB1, "token": "0" * 64}]).status == 401
    assert served.post("/run", [{**WEB1, "token": {"a": 1}}]).status == 401
    assert served.post("/run", [{**ID, "token": row["token"]}]).status == 401


def test_own_jobs_are_listed_and_all_with_the_permission(served, jids):
    own = served.get("/jobs", "ben").data["return"][0]
    assert jids["ben"] in own and not {jids["anna"], jids["cli"]} & set(own)
    assert {job["User"] for job in own.values()} == {"ben"}
    every = served.get("/jobs", "dora").data["return"][0]
    assert set(jids.values()) <= set(every)


def test_an_account_of_the_same_name_is_another_one(tmp_path, served, jids):
    """The record has the eauth module of the account: jobs of the command line belong to nobody."""
    document = json.loads(served.project.run("jobs", "show", jids["ben"], "--out", "json").out)
    assert document["user"] == "ben"
    from pushsalt.jobs.jobs import Jobs

    jobs = Jobs(served.project.cache)
    assert jobs.get(jids["ben"]).detail["origin"]["eauth"] == "file"
    assert "eauth" not in jobs.get(jids["cli"]).detail["origin"]


def sign(body, secret=SECRET):
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


@pytest.mark.parametrize("name", ["X-Pushsalt-Signature", "X-Hub-Signature-256"])
def test_a_signed_hook_needs_no_token(served, name):
    body = b'{"ref": "main"}'
    assert served.post("/hook/git/push", body, headers={name: sign(body)}).data == {"success": True}
    for wrong in (sign(body, "another secret"), sign(b"{}"), sign(body)[:-1], "", "sha256=", "sha1=x", "\xe9"):
        assert served.post("/hook/git/push", body, headers={name: wrong}).status == 401
    event = events(served, "salt/netapi/hook/git/push")[-1]
    assert event["data"]["post"] == {"ref": "main"}
    assert event["data"]["body"] == '{"ref": "main"}'
    assert not {"x-auth-token", "cookie", name.lower()} & set(event["data"]["headers"])


def events(served, glob):
    done = served.project.run("events", glob, "--out", "ndjson")
    return [json.loads(line) for line in done.out.splitlines()]


def test_each_path_of_hooks_can_have_its_secret(tmp_path):
    secrets = {"git/*": "secret-of-git-0123", "ci/*": "secret-of-ci-01234"}
    with Served(tmp_path, rest_cherrypy={"webhook_secret": secrets, "webhook_url": "/in/hooks"}) as served:
        body, header = b"{}", "X-Pushsalt-Signature"
        assert served.post("/in/hooks/git/x", body, headers={header: sign(body, secrets["git/*"])}).status == 200
        assert served.post("/in/hooks/ci/x", body, headers={header: sign(body, secrets["git/*"])}).status == 401
        assert served.post("/in/hooks/other", body, headers={header: sign(body, secrets["git/*"])}).status == 401
        assert served.post("/hook/git/x", body, headers={header: sign(body, secrets["git/*"])}).status == 404
