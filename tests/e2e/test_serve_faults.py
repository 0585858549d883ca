"""``pushsalt serve``: many clients, signals and kills."""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pushsalt.journal.store import Journal
from tests.beds.serving import Served

#: How often the server is killed: `PUSHSALT_KILLS=100` for a long run.
KILLS = int(os.environ.get("PUSHSALT_KILLS") or 6)


def test_fifty_clients_are_served_at_once(served):
    """Jobs on the same targets, runners and requests that fail, side by side."""
    token = served.token("anna")
    headers = {"X-Auth-Token": token}

    def send_request(number):
        if number % 5 == 0:
            return served.post("/", [{"client": "runner", "fun": "manage.present"}], headers=headers)
        if number % 5 == 1:
            return served.get("/jobs", headers={"X-Auth-Token": f"{number:064x}"})
        return served.post(
            "/", [{"client": "local", "tgt": "web*", "fun": "test.arg", "arg": [number]}], headers=headers
        )

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(send_request, range(50)))
    for number, answer in enumerate(answers):
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
        statuses = [served.low("anna", **entry).status for _ in range(3)]
        assert statuses == [200, 200, 503]


def test_sigterm_lets_jobs_end(tmp_path):
    with Served(tmp_path) as served:
        entry = {"client": "local", "tgt": "web1", "fun": "test.sleep", "arg": [2]}
        served.token("anna")
        [row] = served.low("anna", client="local_async", tgt="web2", fun="test.sleep", arg=[2]).data["return"]
        with ThreadPoolExecutor(1) as pool, served.stream("anna") as events:
            pending = pool.submit(served.post, "/", [entry], "anna")
            next(events)  # the job has started
            code, err = served.stop()
            assert (code, err) == (0, "")
            assert pending.result().data == {"return": [{"web1": True}]}
        document = json.loads(served.project.run("jobs", "show", row["jid"], "--out", "json").out)
        assert document["state"] == "done" and document["Result"]["web2"]["success"] is True


@pytest.mark.slow
def test_sigterm_stops_long_jobs(tmp_path):
    with Served(tmp_path) as served:
        [row] = served.low("anna", client="local_async", tgt="web1", fun="test.sleep", arg=[300]).data["return"]
        start = time.monotonic()
        code, _ = served.stop(timeout=60)
        assert code == 0 and time.monotonic() - start < 45
        [job] = json.loads(served.project.run("jobs", "list", "--out", "json").out)
        assert (job["jid"], job["state"]) == (row["jid"], "interrupted")


@pytest.mark.slow
@pytest.mark.timeout(300 + 20 * KILLS)
def test_sigkill_loses_no_event(tmp_path):
    """Every hook that was answered is in the journal once, and tokens are still valid."""
    sent = []
    with Served(tmp_path) as served:
        token = served.token("anna")
        for number in range(KILLS):
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
            time.sleep(0.3 + 0.1 * (number % 6))
            served.kill()
            done.set()
            thread.join()
            served.start()
        assert served.get("/stats", headers={"X-Auth-Token": token}).status == 200
    recorded = [event.data["post"]["n"] for event in Journal(tmp_path / "cache").after(0, 100_000)]
    assert len(sent) > KILLS and set(sent) <= set(recorded) and len(recorded) == len(set(recorded))


def test_a_job_of_a_killed_server_is_shown_as_lost(tmp_path):
    with Served(tmp_path) as served:
        [row] = served.low("ben", client="local_async", tgt="web1", fun="test.sleep", arg=[300]).data["return"]
        served.kill()
        served.start()
        data = served.get(f"/jobs/{row['jid']}", "ben").data  # it is still the account's own
        assert data["info"][0]["User"] == "ben" and data["return"] == [{}]
        [job] = json.loads(served.project.run("jobs", "list", "--out", "json").out)
        assert job["state"] == "lost"


def test_one_sigint_stops_the_server(tmp_path):
    with Served(tmp_path) as served:
        assert served.stop(signal.SIGINT) == (0, "")
