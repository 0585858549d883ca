"""``pushsalt serve``: answers have Salt's shapes."""

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


def test_answers_of_clients_have_salts_shape(served):
    low = served.low
    assert low("anna", client="local", tgt="web*", fun="test.ping").data == {"return": [{"web1": True, "web2": True}]}
    data = low("anna", client="local", tgt="web1", fun="test.arg", arg=["x", "a=1"], full_return=True).data
    result = data["return"][0]["web1"]
    assert (result["ret"]["args"], result["ret"]["kwargs"]["a"]) == (["x"], 1)
    assert result["ret"]["kwargs"]["__pub_jid"] == result["jid"]
    assert (result["retcode"], len(result["jid"])) == (0, 20)
    data = low("anna", client="local", tgt="web1", fun="state.apply", arg=["bad"], full_return=True).data
    result = data["return"][0]["web1"]
    assert (result["out"], result["retcode"]) == ("highstate", 2)
    assert [state["result"] for state in result["ret"].values()] == [False]
    data = low("anna", client="local_batch", tgt="*", fun="test.ping", batch="1").data["return"]
    assert sorted(data, key=str) == [{"db1": True}, {"web1": True}, {"web2": True}]
    assert len(low("anna", client="local_subset", tgt="*", fun="test.ping", subset=2).data["return"][0]) == 2
    assert low("anna", client="local", tgt="none", fun="test.ping").data == {"return": [{}]}
    assert low("anna", client="runner", fun="manage.present").data == {"return": [["db1", "web1", "web2"]]}
    data = low("anna", client="runner", fun="test.arg", arg=[1], kwarg={"a": "b"}, full_return=True).data
    [result] = data["return"]
    assert result["tag"] == f"salt/run/{result['data']['jid']}/ret" and result["data"]["_stamp"].endswith("+00:00")
    assert (result["data"]["fun"], result["data"]["fun_args"]) == ("runner.test.arg", [1, {"a": "b"}])
    assert result["data"]["return"] == {"args": [1], "kwargs": {"a": "b"}} and result["data"]["success"] is True
    assert "no.such" in low("anna", client="runner", fun="no.such").data["return"][0]


def test_a_job_is_started_and_looked_up(served):
    [row] = served.low("anna", client="local_async", tgt="web*", fun="test.ping").data["return"]
    assert row["minions"] == ["web1", "web2"]
    job = served.wait_job(row["jid"])
    assert job["return"] == [{"web1": True, "web2": True}]
    info = job["info"][0]
    assert (info["Function"], info["Target"], info["User"], info["jid"]) == ("test.ping", "web*", "anna", row["jid"])
    kwarg = {"jid": row["jid"]}
    assert served.low("anna", client="runner", fun="jobs.lookup_jid", kwarg=kwarg).data["return"] == job["return"]
    answer = served.post("/minions", [{"tgt": "web1", "fun": "test.ping"}], "anna")
    assert answer.status == 202
    [jid] = [entry["jid"] for entry in answer.data["return"]]
    assert answer.data["_links"] == {"jobs": [{"href": f"/jobs/{jid}"}]}


def test_a_started_runner_has_the_returned_jid(served):
    with served.stream("anna") as events:
        [row] = served.low("anna", client="runner_async", fun="state.orchestrate", arg=["orch"]).data["return"]
        assert row["tag"] == f"salt/run/{row['jid']}"
        end = next(event for event in events if event["tag"] == f"{row['tag']}/ret")
    assert end["data"]["success"] is True and end["data"]["user"] == "anna"
    document = json.loads(served.project.run("jobs", "show", row["jid"], "--out", "json").out)
    assert document["user"] == "anna" and document["state"] == "done"


def test_grains_are_returned_per_target(served):
    minions = served.get("/minions/db1", "anna").data["return"][0]
    assert minions["db1"]["role"] == "db"
    assert set(served.get("/minions", "anna").data["return"][0]) == {"web1", "web2", "db1"}


def test_forms_and_yaml_are_accepted(served):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    body = b"client=local&tgt=web1&fun=test.arg&arg=one%3D1&arg=two"
    result = served.request("POST", "/", body, "anna", headers).data["return"][0]["web1"]
    assert (result["args"], result["kwargs"]["one"]) == (["two"], 1)
    headers = {"Content-Type": "application/x-yaml", "Accept": "application/x-yaml"}
    answer = served.request("POST", "/", b"- {client: local, tgt: web1, fun: test.ping}\n", "anna", headers)
    assert answer.headers["content-type"] == "application/x-yaml"
    assert answer.body == b"return:\n- web1: true\n"
