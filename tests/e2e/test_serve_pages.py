"""``pushsalt serve``: the pages for browsers."""

from __future__ import annotations

from pushsalt.journal.store import Journal
from tests.beds.serving import PASSWORD, Served

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
