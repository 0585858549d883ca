"""``pushsalt serve``: the stream of events, which accounts see an event, and secrets."""

from __future__ import annotations

import http.client
import json

from pushsalt.journal.store import Journal
from tests.beds.serving import HIDDEN, PASSWORD, SECRET


def test_events_returns_and_records_have_no_secrets(served):
    with served.stream("anna") as events:
        answer = served.low("anna", client="local", tgt="web1", fun="pillar.get", arg=["password", "unmask=True"])
        assert answer.status == 200 and HIDDEN not in answer.body.decode()
        answer = served.low("anna", client="local", tgt="web1", fun="test.arg", kwarg={"password": "kw-s3cr3t-0815"})
        assert answer.status == 200 and "kw-s3cr3t-0815" not in answer.body.decode()
        assert served.post("/hook/x", {"password": "hook-s3cr3t", "text": HIDDEN}, "anna").status == 200
        assert served.low("anna", client="runner", fun="event.send", arg=["app/end"]).status == 200
        received = []
        for event in events:
            received.append(json.dumps(event))
            if event["tag"] == "app/end":
                break
    text = "".join(received)
    assert "test.arg" in text and "salt/netapi/hook/x" in text
    for secret in (HIDDEN, "kw-s3cr3t-0815", PASSWORD, SECRET, served.token("anna")):
        assert secret not in text
    stored = b"".join(path.read_bytes() for path in served.project.cache.rglob("*") if path.is_file())
    for secret in (PASSWORD, SECRET, served.token("anna"), "kw-s3cr3t-0815"):
        assert secret.encode() not in stored


def test_an_account_sees_the_events_of_its_own_jobs(served):
    with served.stream("ben") as events:
        assert served.low("anna", client="local", tgt="web1", fun="test.ping").status == 200
        assert served.low("anna", client="runner", fun="event.send", arg=["app/secret"]).status == 200
        [row] = served.low("ben", client="local_async", tgt="web1", fun="test.ping").data["return"]
        received = [next(events), next(events)]
    assert [event["tag"] for event in received] == [f"salt/job/{row['jid']}/new", f"salt/job/{row['jid']}/ret/web1"]
    assert received[0]["data"]["user"] == "ben" and received[0]["data"]["_stamp"]


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
