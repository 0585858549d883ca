"""``pushsalt serve`` as a process: Salt's shapes, limits, faults, pages."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pushsalt.journal.store import Journal
from tests.beds.project import Project
from tests.beds.serving import PASSWORD, SECRET, Served

HIDDEN = "s3cr3t-of-the-test"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    hosts = {
        "web1": {"transport": "local", "grains": {"role": "web"}, "pillar": {"password": HIDDEN}},
        "web2": {"transport": "local", "grains": {"role": "web"}},
        "db1": {"transport": "local", "grains": {"role": "db"}},
    }
    with Served(tmp_path_factory.mktemp("served"), hosts, state_events=True) as found:
        found.project.write("salt/note.sls", "note:\n  test.succeed_with_changes: []\n")
        found.project.write("salt/bad.sls", "bad:\n  test.fail_without_changes: []\n")
        found.project.write("salt/orch.sls", "one:\n  salt.function:\n    - name: test.ping\n    - tgt: db1\n")
        yield found


def test_a_login_has_salts_shape(served):
    answer = served.login("ben")
    [row] = answer.data["return"]
    assert set(row) == {"token", "expire", "start", "user", "eauth", "perms"}
    assert (row["user"], row["eauth"], row["perms"]) == ("ben", "file", ["test.*"])
    assert row["expire"] - row["start"] == pytest.approx(43200)
    assert answer.headers["x-auth-token"] == row["token"]
    assert served.get("/login").data == {"status": 200, "return": "Please log in"}
    assert served.get("/").data["return"] == "Welcome"


def test_the_clients(served):
    low = served.low
    assert low("anna", client="local", tgt="web*", fun="test.ping").data == {"return": [{"web1": True, "web2": True}]}
    found = low("anna", client="local", tgt="web1", fun="test.arg", arg=["x", "a=1"], full_return=True).data
    one = found["return"][0]["web1"]
    assert (one["ret"]["args"], one["ret"]["kwargs"]["a"]) == (["x"], 1)
    assert one["ret"]["kwargs"]["__pub_jid"] == one["jid"]
    assert (one["retcode"], len(one["jid"])) == (0, 20)
    found = low("anna", client="local", tgt="web1", fun="state.apply", arg=["bad"], full_return=True).data
    one = found["return"][0]["web1"]
    assert (one["out"], one["retcode"]) == ("highstate", 2)
    assert [state["result"] for state in one["ret"].values()] == [False]
    found = low("anna", client="local_batch", tgt="*", fun="test.ping", batch="1").data["return"]
    assert sorted(found, key=str) == [{"db1": True}, {"web1": True}, {"web2": True}]
    assert len(low("anna", client="local_subset", tgt="*", fun="test.ping", subset=2).data["return"][0]) == 2
    assert low("anna", client="local", tgt="none", fun="test.ping").data == {"return": [{}]}
    assert low("anna", client="runner", fun="manage.present").data == {"return": [["db1", "web1", "web2"]]}
    assert "no.such" in low("anna", client="runner", fun="no.such").data["return"][0]


def test_jobs_that_are_begun_and_looked_up(served):
    [row] = served.low("anna", client="local_async", tgt="web*", fun="test.ping").data["return"]
    assert row["minions"] == ["web1", "web2"]
    found = served.wait_job(row["jid"])
    assert found["return"] == [{"web1": True, "web2": True}]
    info = found["info"][0]
    assert (info["Function"], info["Target"], info["User"], info["jid"]) == ("test.ping", "web*", "anna", row["jid"])
    kwarg = {"jid": row["jid"]}
    assert served.low("anna", client="runner", fun="jobs.lookup_jid", kwarg=kwarg).data["return"] == found["return"]
    answer = served.post("/minions", [{"tgt": "web1", "fun": "test.ping"}], "anna")
    assert answer.status == 202
    [jid] = [each["jid"] for each in answer.data["return"]]
    assert answer.data["_links"] == {"jobs": [{"href": f"/jobs/{jid}"}]}


def test_a_runner_that_is_begun_has_the_jid_that_was_told(served):
    with served.stream("anna") as events:
        [row] = served.low("anna", client="runner_async", fun="state.orchestrate", arg=["orch"]).data["return"]
        assert row["tag"] == f"salt/run/{row['jid']}"
        end = next(event for event in events if event["tag"] == f"{row['tag']}/ret")
    assert end["data"]["success"] is True and end["data"]["user"] == "anna"
    document = json.loads(served.project.run("jobs", "show", row["jid"], "--out", "json").out)
    assert document["user"] == "anna" and document["state"] == "done"


def test_grains_of_targets(served):
    found = served.get("/minions/db1", "anna").data["return"][0]
    assert found["db1"]["role"] == "db"
    assert set(served.get("/minions", "anna").data["return"][0]) == {"web1", "web2", "db1"}


def test_a_form_and_yaml(served):
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    body = b"client=local&tgt=web1&fun=test.arg&arg=one%3D1&arg=two"
    found = served.request("POST", "/", body, "anna", kind).data["return"][0]["web1"]
    assert (found["args"], found["kwargs"]["one"]) == (["two"], 1)
    kind = {"Content-Type": "application/x-yaml", "Accept": "application/x-yaml"}
    answer = served.request("POST", "/", b"- {client: local, tgt: web1, fun: test.ping}\n", "anna", kind)
    assert answer.headers["content-type"] == "application/x-yaml"
    assert answer.body == b"return:\n- web1: true\n"


# bad input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body, kind, status, words",
    [
        (b"{", "application/json", 400, "Invalid JSON"),
        (b"[" * 5000, "application/json", 400, "Invalid JSON"),
        (b"[NaN]", "application/json", 400, "Invalid JSON"),
        (b"\xff\xfe", "application/json", 400, "UTF-8"),
        (b'"text"', "application/json", 400, "Lowstates must be a list"),
        (b"[1]", "application/json", 400, "Lowstates must be a list"),
        (b"[" + b",".join([b"{}"] * 101) + b"]", "application/json", 400, "at most 100"),
        (b"a: [", "application/x-yaml", 400, "Invalid YAML"),
        (b"!!python/object/apply:os.system [id]", "application/x-yaml", 400, "Invalid YAML"),
        (b"a=1&" * 2000, "application/x-www-form-urlencoded", 400, "at most 1000"),
        (b"<a/>", "application/xml", 406, "not supported"),
        (b"", "application/json", 400, "Lowstates must be a list"),
    ],
)
def test_bodies_that_cannot_be_read(served, body, kind, status, words):
    answer = served.request("POST", "/", body, "anna", {"Content-Type": kind})
    assert answer.status == status and words in answer.data["return"]


def test_expressions_that_are_wrong(served):
    answer = served.low("anna", client="local", tgt="( web1", tgt_type="compound", fun="test.ping")
    assert answer.status == 400 and answer.data["return"]
    answer = served.low("anna", client="local", tgt="x", tgt_type="nodegroup", fun="test.ping")
    assert answer.status in (200, 400)


def test_a_body_that_is_too_large(served):
    answer = served.request("POST", "/", b"x" * ((1 << 20) + 1), "anna")
    assert answer.status == 413
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:  # of unknown length
        head = f"POST /hook/x HTTP/1.1\r\nHost: x\r\nX-Auth-Token: {served.token('anna')}\r\nTransfer-Encoding: chunked"
        connection.sendall(head.encode() + b"\r\n\r\n")
        try:
            for _ in range(40):
                connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            connection.sendall(b"0\r\n\r\n")
        except OSError:
            pass
        assert connection.recv(20).startswith(b"HTTP/1.1 413")


def test_a_head_that_is_too_large(served):
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        try:
            connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000)
        except OSError:
            pass
        assert connection.recv(20).startswith(b"HTTP/1.1 400")


@pytest.mark.slow
def test_slow_clients_are_let_go(served):
    """A head, and a body, that come too slowly; others are served meanwhile."""
    begun = time.monotonic()
    with (
        socket.create_connection(("127.0.0.1", served.port), timeout=60) as silent,
        socket.create_connection(("127.0.0.1", served.port), timeout=60) as head,
        socket.create_connection(("127.0.0.1", served.port), timeout=60) as body,
    ):
        head.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        token = served.token("anna").encode()
        body.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nX-Auth-Token: " + token + b"\r\nContent-Length: 100\r\n\r\n[")
        assert served.get("/stats", "anna").status == 200
        assert head.recv(100) == b""  # closed
        assert silent.recv(100) == b""
        assert body.recv(20).startswith(b"HTTP/1.1 408")
    assert time.monotonic() - begun < 50


@pytest.mark.slow
def test_a_client_that_does_not_read(served):
    """Its stream of events is ended, and the server goes on."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        text = f"GET /events HTTP/1.1\r\nHost: x\r\nX-Auth-Token: {served.token('anna')}\r\nLast-Event-ID: 0\r\n\r\n"
        connection.sendall(text.encode())
        journal = Journal(served.project.cache)
        for _ in range(40):
            journal.put("app/large", {"text": "x" * 500_000})
        end = time.monotonic() + 60
        while served.get("/stats", "anna").data["pushsalt serve"]["event_streams"] and time.monotonic() < end:
            time.sleep(0.5)
        assert served.get("/stats", "anna").data["pushsalt serve"]["event_streams"] == 0


def test_wrong_passwords_can_be_tried_a_few_times(tmp_path):
    with Served(tmp_path) as served:
        found = [served.login("ben", f"wrong{number}").status for number in range(7)]
        assert found == [401] * 5 + [429] * 2
        assert served.login("ben").status == 429
        assert int(served.login("ben").headers["retry-after"]) > 0
        assert served.login("anna").status == 200
        assert served.login("nobody").status == 401


def test_addresses_of_accounts(tmp_path):
    acl = {"users": {"anna": ["10.0.0.1"], "*": ["127.0.0.1"]}}
    with Served(tmp_path, rest_cherrypy={"api_acl": acl}) as served:
        assert served.login("anna").status == 401
        assert served.login("ben").status == 200
    with Served(tmp_path / "b", rest_cherrypy={"authorized_ips": ["10.0.0.1"]}) as served:
        assert served.get("/").status == 403


# many, and faults ----------------------------------------------------------------------------------------------------


def test_fifty_clients_at_a_time(served):
    """Jobs on the same targets, runners and requests that fail, side by side."""
    token = served.token("anna")
    headers = {"X-Auth-Token": token}

    def one(number):
        if number % 5 == 0:
            return served.post("/", [{"client": "runner", "fun": "manage.present"}], headers=headers)
        if number % 5 == 1:
            return served.get("/jobs", headers={"X-Auth-Token": f"{number:064x}"})
        return served.post(
            "/", [{"client": "local", "tgt": "web*", "fun": "test.arg", "arg": [number]}], headers=headers
        )

    with ThreadPoolExecutor(50) as pool:
        found = list(pool.map(one, range(50)))
    for number, answer in enumerate(found):
        if number % 5 == 1:
            assert answer.status == 401
            continue
        assert answer.status == 200, answer.body
        if number % 5:
            args = {id: ret["args"] for id, ret in answer.data["return"][0].items()}
            assert args == {"web1": [number], "web2": [number]}
    users = json.loads(served.project.run("jobs", "list", "--out", "json", "--limit", "20").out)
    assert {job["user"] for job in users} == {"anna"}


def test_the_number_of_jobs_is_limited(tmp_path):
    with Served(tmp_path, rest_cherrypy={"thread_pool": 2}) as served:
        entry = {"client": "local_async", "tgt": "web1", "fun": "test.sleep", "arg": [20]}
        found = [served.low("anna", **entry).status for _ in range(3)]
        assert found == [200, 200, 503]


def test_no_secret_in_events_returns_and_records(served):
    with served.stream("anna") as events:
        found = served.low("anna", client="local", tgt="web1", fun="pillar.get", arg=["password", "unmask=True"])
        assert found.status == 200 and HIDDEN not in found.body.decode()
        found = served.low("anna", client="local", tgt="web1", fun="test.arg", kwarg={"password": "kw-s3cr3t-0815"})
        assert found.status == 200 and "kw-s3cr3t-0815" not in found.body.decode()
        assert served.post("/hook/x", {"password": "hook-s3cr3t", "text": HIDDEN}, "anna").status == 200
        assert served.low("anna", client="runner", fun="event.send", arg=["app/end"]).status == 200
        seen = []
        for event in events:
            seen.append(json.dumps(event))
            if event["tag"] == "app/end":
                break
    text = "".join(seen)
    assert "test.arg" in text and "salt/netapi/hook/x" in text
    for secret in (HIDDEN, "kw-s3cr3t-0815", PASSWORD, SECRET, served.token("anna")):
        assert secret not in text
    kept = b"".join(path.read_bytes() for path in served.project.cache.rglob("*") if path.is_file())
    for secret in (PASSWORD, SECRET, served.token("anna"), "kw-s3cr3t-0815"):
        assert secret.encode() not in kept


def test_an_account_sees_the_events_of_its_own_jobs(served):
    with served.stream("ben") as events:
        assert served.low("anna", client="local", tgt="web1", fun="test.ping").status == 200
        assert served.low("anna", client="runner", fun="event.send", arg=["app/secret"]).status == 200
        [row] = served.low("ben", client="local_async", tgt="web1", fun="test.ping").data["return"]
        seen = [next(events), next(events)]
    assert [event["tag"] for event in seen] == [f"salt/job/{row['jid']}/new", f"salt/job/{row['jid']}/ret/web1"]
    assert seen[0]["data"]["user"] == "ben" and seen[0]["data"]["_stamp"]


def test_a_stream_continues_after_the_last_event(served):
    journal = Journal(served.project.cache)
    first = journal.put("app/one", {"n": 1})
    journal.put("app/two\nid: 1\ndata: {}", {"n": "2\n\ndata: x"})
    with served.stream("anna", **{"Last-Event-ID": str(first.number)}) as events:
        event = next(events)
    assert event["data"]["n"] == "2\n\ndata: x" and event["number"] == first.number + 1


def test_a_stream_ends_with_its_login(served):
    token = served.login("anna").data["return"][0]["token"]
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.request("GET", "/events", headers={"X-Auth-Token": token})
    answer = connection.getresponse()
    assert answer.status == 200
    assert served.post("/logout", None, headers={"X-Auth-Token": token}).status == 200
    assert answer.read().startswith(b"retry: 400")  # to its end
    connection.close()


def test_sigterm_lets_jobs_end(tmp_path):
    with Served(tmp_path) as served:
        entry = {"client": "local", "tgt": "web1", "fun": "test.sleep", "arg": [2]}
        served.token("anna")
        [row] = served.low("anna", client="local_async", tgt="web2", fun="test.sleep", arg=[2]).data["return"]
        with ThreadPoolExecutor(1) as pool, served.stream("anna") as events:
            waiting = pool.submit(served.post, "/", [entry], "anna")
            next(events)  # it has begun
            code, err = served.stop()
            assert (code, err) == (0, "")
            assert waiting.result().data == {"return": [{"web1": True}]}
        document = json.loads(served.project.run("jobs", "show", row["jid"], "--out", "json").out)
        assert document["state"] == "done" and document["Result"]["web2"]["success"] is True


@pytest.mark.slow
def test_sigterm_stops_long_jobs(tmp_path):
    with Served(tmp_path) as served:
        [row] = served.low("anna", client="local_async", tgt="web1", fun="test.sleep", arg=[300]).data["return"]
        begun = time.monotonic()
        code, _ = served.stop(timeout=60)
        assert code == 0 and time.monotonic() - begun < 45
        [job] = json.loads(served.project.run("jobs", "list", "--out", "json").out)
        assert (job["jid"], job["state"]) == (row["jid"], "interrupted")


@pytest.mark.slow
def test_sigkill_loses_no_event(tmp_path):
    """Every hook that was answered is in the journal once, and tokens are still valid."""
    sent = []
    with Served(tmp_path) as served:
        token = served.token("anna")
        for number in range(6):
            done = threading.Event()

            def send(number=number, done=done):
                at = 0
                while not done.is_set():
                    try:
                        answer = served.post("/hook/n", {"n": f"{number}-{at}"}, headers={"X-Auth-Token": token})
                    except (OSError, http.client.HTTPException):
                        return
                    assert answer.status == 200
                    sent.append(f"{number}-{at}")
                    at += 1

            thread = threading.Thread(target=send)
            thread.start()
            time.sleep(0.3 + 0.1 * number)
            served.kill()
            done.set()
            thread.join()
            served.start()
        assert served.get("/stats", headers={"X-Auth-Token": token}).status == 200
    kept = [event.data["post"]["n"] for event in Journal(tmp_path / "cache").after(0, 100_000)]
    assert len(sent) > 6 and set(sent) <= set(kept) and len(kept) == len(set(kept))


def test_a_job_of_a_killed_server_is_lost_and_said_to_be(tmp_path):
    with Served(tmp_path) as served:
        [row] = served.low("ben", client="local_async", tgt="web1", fun="test.sleep", arg=[300]).data["return"]
        served.kill()
        served.start()
        found = served.get(f"/jobs/{row['jid']}", "ben").data  # it is still the account's own
        assert found["info"][0]["User"] == "ben" and found["return"] == [{}]
        [job] = json.loads(served.project.run("jobs", "list", "--out", "json").out)
        assert job["state"] == "lost"


# where it listens ----------------------------------------------------------------------------------------------------


def certificate(folder):
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    words += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([*words, "-keyout", folder / "key.pem", "-out", folder / "crt.pem"], check=True, capture_output=True)
    (folder / "key.pem").chmod(0o600)
    return {"ssl_crt": str(folder / "crt.pem"), "ssl_key": str(folder / "key.pem")}


def test_tls(tmp_path):
    files = certificate(tmp_path / "tls")
    with Served(tmp_path, rest_cherrypy=files) as served:
        assert served.url.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=files["ssl_crt"])
        connection = http.client.HTTPSConnection("127.0.0.1", served.port, context=context, timeout=30)
        body = json.dumps({"username": "ben", "password": PASSWORD, "eauth": "file"})
        connection.request("POST", "/login", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200 and "; Secure" in answer.headers["Set-Cookie"]
        connection.close()
        with pytest.raises((OSError, http.client.HTTPException)):
            served.get("/")


@pytest.mark.parametrize(
    "words, settings, said",
    [
        (["--listen", "0.0.0.0:0"], {}, "without TLS"),
        (["--listen", "0.0.0.0:0"], {"disable_ssl": True}, "without TLS"),
        ([], {"host": "192.0.2.1"}, "without TLS"),
        (["--listen", "here"], {}, "is not an address"),
        (["--listen", ":99999"], {}, "is not an address"),
        (["--listen", ":0"], {"webhook_disable_auth": True}, "nobody is let in"),
        (["--listen", ":0"], {"ssl_crt": "gone"}, "belong together"),
        (["--listen", ":0"], {"ssl_crt": "gone", "ssl_key": "gone"}, "gone"),
        (["--listen", ":0"], {"webhook_secret": "short"}, "too short"),
        (["--listen", ":0"], {"max_request_body_size": "much"}, "max_request_body_size"),
        (["--listen", ":0"], {"api_acl": ["x"]}, "api_acl"),
    ],
)
def test_settings_that_are_refused(tmp_path, words, settings, said):
    served = Served(tmp_path, rest_cherrypy=settings)
    done = served.project.run("serve", *words)
    assert (done.code, done.out) == (1, "") and said in done.err


def test_without_accounts_nothing_is_served(tmp_path):
    done = Project(tmp_path, {"web1": {"transport": "local"}}).run("serve", "--listen", ":0")
    assert done.code == 1 and "no accounts" in done.err and "external_auth" in done.err


def test_an_address_that_is_taken(served, tmp_path):
    done = Served(tmp_path).project.run("serve", "--listen", f"127.0.0.1:{served.port}")
    assert done.code == 1 and "--listen" in done.err


def test_without_the_extra(tmp_path):
    """The command says what to install."""
    served = Served(tmp_path)
    served.project.write("hidden/starlette.py", "raise ImportError('no starlette here')\n")
    path = f"{served.project.folder}/hidden{os.pathsep}{served.project.environment['PYTHONPATH']}"
    served.project.variables["PYTHONPATH"] = path
    done = served.project.run("serve", "--listen", ":0")
    assert done.code == 1 and "pip install 'pushsalt[serve]'" in done.err


def test_the_unit_file(served):
    done = served.project.run("serve", "--listen", ":8001", "--unit")
    assert done.code == 0 and "ExecStart=" in done.out and "serve --listen :8001" in done.out


# pages ---------------------------------------------------------------------------------------------------------------

PAGE = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def test_the_page_needs_a_login(served):
    answer = served.get("/", headers=PAGE)
    text = answer.body.decode()
    assert answer.status == 401 and "type='password'" in text and "<script" not in text
    kind = {**PAGE, "Content-Type": "application/x-www-form-urlencoded"}
    answer = served.request("POST", "/login", b"username=anna&password=wrong&eauth=file", headers=kind)
    assert answer.status == 401 and "Could not authenticate" in answer.body.decode()
    body = f"username=anna&password={PASSWORD}&eauth=file".encode()
    answer = served.request("POST", "/login", body, headers=kind)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
    text = served.get("/", headers={**PAGE, **cookie}).body.decode()
    assert "anna (file)" in text and "id='jobs'" in text
    assert served.request("POST", "/logout", b"", headers={**PAGE, **cookie}).status == 303
    assert served.get("/", headers={**PAGE, **cookie}).status == 401


def test_the_tables_need_no_script_and_are_escaped(served):
    nasty = "<script>alert(1)</script>'\"\x1b[31m"
    served.low("anna", client="local", tgt="web1", fun="test.arg", arg=[nasty])
    Journal(served.project.cache).put("app/<b>x</b>", {"text": "<img src=x onerror=alert(1)>"})
    answer = served.get("/", "anna", headers=PAGE)
    text = answer.body.decode()
    assert "&lt;script&gt;alert(1)" in text and "app/&lt;b&gt;x" in text
    assert "<script>alert" not in text and "<img" not in text and "\x1b" not in text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "connect-src 'self'" in policy
    assert "http://" not in text and "https://" not in text


def test_the_page_of_a_job_is_its_report(served):
    [row] = served.low("anna", client="local_async", tgt="web*", fun="state.apply", arg=["note"]).data["return"]
    served.wait_job(row["jid"])
    answer = served.get(f"/jobs/{row['jid']}", "anna", headers=PAGE)
    text = answer.body.decode()
    assert answer.status == 200 and "test.succeed_with_changes" in text and "web2" in text
    assert served.get(f"/jobs/{row['jid']}", "ben", headers=PAGE).status == 401


def test_the_page_shows_what_the_account_may_see(served):
    served.low("anna", client="local", tgt="web1", fun="test.arg", arg=["of-anna-only"])
    served.low("ben", client="local", tgt="web1", fun="test.arg", arg=["of-ben"])
    text = served.get("/", "ben", headers=PAGE).body.decode()
    assert "of-ben" in text and "of-anna-only" not in text and "no permission for all events" in text


def test_drift_is_shown(tmp_path):
    with Served(tmp_path) as served:
        served.project.write("salt/note.sls", f"{tmp_path}/drifted:\n  file.managed:\n    - contents: x\n")
        assert "No target had drifted" in served.get("/", "anna", headers=PAGE).body.decode()
        done = served.project.run("watch", "web1", "note", "--once")
        assert done.code == 0, done.err
        assert f"file.managed {tmp_path}/drifted" in served.get("/", "anna", headers=PAGE).body.decode()


# salt-pepper ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def pepper(served, tmp_path):
    """The command ``pepper`` of the package salt-pepper, as an account."""
    pytest.importorskip("pepper")
    home = tmp_path / "home"
    home.mkdir()

    def run(*words, user="anna", code=0):
        names = {"SALTAPI_URL": served.url, "SALTAPI_USER": user, "SALTAPI_PASS": PASSWORD, "SALTAPI_EAUTH": "file"}
        environment = {**names, "HOME": str(home), "PATH": os.environ["PATH"]}
        program = "from pepper.script import Pepper; raise SystemExit(Pepper()())"
        argv = [sys.executable, "-W", "ignore", "-c", program, *words]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    run.home = home
    return run


def rets(text):
    return {id: one["ret"] for id, one in json.loads(text)["return"][0].items()}


def test_pepper_on_targets(pepper):
    assert rets(pepper("*", "test.ping")) == {"web1": True, "web2": True, "db1": True}
    assert rets(pepper("web1", "test.kwarg", "hello=dolly"))["web1"]["hello"] == "dolly"
    assert rets(pepper("-L", "web1,db1", "test.ping")) == {"web1": True, "db1": True}
    assert rets(pepper("-E", "web[12]", "test.ping")) == {"web1": True, "web2": True}
    assert rets(pepper("-G", "role:db", "test.ping")) == {"db1": True}
    assert rets(pepper("--grain-pcre", "role:(w|x).*", "test.ping")) == {"web1": True, "web2": True}
    assert rets(pepper("-C", "G@role:web and not web2", "test.ping")) == {"web1": True}
    assert "Authentication denied" in pepper_error(pepper, "web1", "cmd.run", "id", user="ben")


def pepper_error(pepper, *words, **more):
    with pytest.raises(AssertionError) as found:
        pepper(*words, **more)
    return str(found.value)


def test_pepper_with_other_clients(pepper):
    [found] = json.loads(pepper("--client=runner", "manage.present"))["return"]
    assert found["data"]["return"] == ["db1", "web1", "web2"] and found["data"]["user"] == "anna"
    assert found["tag"] == f"salt/run/{found['data']['jid']}/ret"
    [row] = json.loads(pepper("--client=local_async", "web*", "test.ping"))["return"]
    [found] = json.loads(pepper("--client=runner", "jobs.lookup_jid", f"jid={row['jid']}"))["return"]
    assert set(found["data"]["return"]) <= {"web1", "web2"}
    [row] = json.loads(pepper("--client=runner_async", "manage.present"))["return"]
    assert row["tag"] == f"salt/run/{row['jid']}"
    batch = json.loads(pepper("--batch", "1", "web*", "test.ping"))["return"]
    assert {id for one in batch for id in one} == {"web1", "web2"}
    low = json.dumps([{"client": "local", "tgt": "db1", "fun": "test.ping"}])
    assert rets(pepper("--json", low)) == {"db1": True}


def test_pepper_keeps_its_token(pepper):
    pepper("-T", "web1", "test.ping")
    kept = (pepper.home / ".peppercache").read_text()
    assert json.loads(kept)["user"] == "anna"
    pepper("-T", "web1", "test.ping")
    assert (pepper.home / ".peppercache").read_text() == kept
    assert rets(pepper("-r", "web1", "test.ping")) == {"web1": True}


@pytest.mark.parametrize(
    "flag, bad, good",
    [("--fail-any", 3, 0), ("--fail-any-none", 3, 0), ("--fail-all", 0, 0), ("--fail-all-none", 0, 0)],
)
def test_exit_codes_of_pepper(pepper, flag, bad, good):
    """By pepper's own rule for return codes, which its command heeds where Salt is installed beside it."""
    from pepper.retcode import PepperRetcode

    options = argparse.Namespace(**dict.fromkeys(("fail_any", "fail_any_none", "fail_all", "fail_all_none"), False))
    setattr(options, flag[2:].replace("-", "_"), True)
    found = json.loads(pepper("*", "test.ping"))["return"]
    assert PepperRetcode().validate(options, found) == good
    found[0]["web1"] = json.loads(pepper("web1", "cmd.run", "exit 3"))["return"][0]["web1"]
    assert found[0]["web1"]["retcode"] == 3
    assert PepperRetcode().validate(options, found) == bad


def test_pepper_waits_for_all_targets(pepper):
    text = pepper("--fail-if-incomplete", "web*", "test.ping")
    assert "web1" in text and "web2" in text and "Failed" not in text


def test_the_library_of_pepper(served):
    pepper = pytest.importorskip("pepper")
    api = pepper.Pepper(served.url)
    assert api.login("anna", PASSWORD, "file")["user"] == "anna"
    assert api.local("web1", "test.ping") == {"return": [{"web1": True}]}
    jid = api.local_async("web1", "test.ping")["return"][0]["jid"]
    served.wait_job(jid)
    assert api.lookup_jid(jid) == {"return": [{"web1": True}]}
    assert api.runner("manage.present") == {"return": [["db1", "web1", "web2"]]}
    with pytest.raises(pepper.PepperException, match="Authentication denied"):
        pepper.Pepper(served.url).login("anna", "wrong", "file")


def test_one_signal_is_enough(tmp_path):
    with Served(tmp_path) as served:
        assert served.stop(signal.SIGINT) == (0, "")
