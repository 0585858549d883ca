"""``pushsalt serve``: answers in Salt's shapes."""

from __future__ import annotations

import json

import pytest


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
    found = low("anna", client="runner", fun="test.arg", arg=[1], kwarg={"a": "b"}, full_return=True).data
    [one] = found["return"]
    assert one["tag"] == f"salt/run/{one['data']['jid']}/ret" and one["data"]["_stamp"].endswith("+00:00")
    assert (one["data"]["fun"], one["data"]["fun_args"]) == ("runner.test.arg", [1, {"a": "b"}])
    assert one["data"]["return"] == {"args": [1], "kwargs": {"a": "b"}} and one["data"]["success"] is True
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
