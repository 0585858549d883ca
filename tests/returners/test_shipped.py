"""Each returner that writes no tables, by the real server."""

from __future__ import annotations

import email
import email.policy
import json
import os
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse

import pytest

from pushsalt.returners import Trouble
from tests.beds.returnservers import PASSWORD, hook_server, mail_server
from tests.beds.sshd import free_port

pytestmark = pytest.mark.slow

STATES = {
    "test_|-one_|-x_|-nop": {"result": True, "changes": {}, "__run_num__": 0, "__sls__": "a", "duration": 1.5},
    "test_|-<!channel>_|-x_|-nop": {
        "result": True,
        "changes": {"a": 1},
        "__run_num__": 1,
        "__sls__": "a",
        "duration": 2,
    },
    "test_|-bad_|-x_|-nop": {"result": False, "changes": {}, "__run_num__": 2, "__sls__": "a", "duration": "?"},
}
EVIL = "one\r\nBcc: victim@example.org\r\n\r\n<b>\x00\x1b[2J\u2028 é \ud800"


def until(condition):
    """Wait for a condition, since servers write a moment after their answer."""
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """The files of a certificate of 127.0.0.1, and of its key."""
    folder = tmp_path_factory.mktemp("certificate")
    made = [str(folder / name) for name in ("cert.pem", "key.pem")]
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", made[0], "-keyout", made[1]]
    subprocess.run(words, check=True, capture_output=True)
    return made


@pytest.fixture
def tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


# redis


def test_redis_has_salts_keys(redis_port, load, ret):
    redis = pytest.importorskip("redis")
    module, outside = load("redis", host="127.0.0.1", port=redis_port, password=PASSWORD, ttl=100)
    module.save_load(ret["jid"], {"fun": ret["fun"]}, ["web1"], outside=outside)
    for again in (False, True):
        outside.again = again
        module.returner(ret, outside=outside)
        module.event_return([{"tag": ret["jid"], "data": {}}], outside=outside)
    outside.context["client"].close()
    with redis.Redis(port=redis_port, password=PASSWORD, decode_responses=True) as server:
        assert json.loads(server.hget(f"ret:{ret['jid']}", "web1")) == ret
        assert 0 < server.ttl(f"ret:{ret['jid']}") <= 100 and 0 < server.ttl(f"load:{ret['jid']}") <= 100
        assert json.loads(server.get(f"load:{ret['jid']}")) == {"fun": ret["fun"]}
        assert server.get("web1:test.arg") == ret["jid"] and server.sismember("minions", "web1")
        events = [json.loads(row) for row in server.lrange("salt_events", 0, -1)]
    assert [each for each in events if each["tag"] == ret["jid"]] == [{"tag": ret["jid"], "data": {}}]


def test_redis_that_is_down_or_refuses(redis_port, load, ret):
    pytest.importorskip("redis")
    for options in ({"port": free_port()}, {"port": redis_port, "password": "wrong-one"}):
        module, outside = load("redis", host="127.0.0.1", **options)
        with pytest.raises(Trouble, match="redis") as caught:
            module.returner(ret, outside=outside)
        outside.context["client"].close()
        assert "wrong-one" not in caught.value.message and not caught.value.refused


# smtp


def test_a_mail_for_each_return(mails, load, ret):
    options = {"from": "a@example.org", "to": "b@example.org, c@example.org", "host": "127.0.0.1", "port": mails.port}
    module, outside = load("smtp", **options, subject="pushsalt:", fields="id,fun")
    module.returner(ret, outside=outside)
    [mail] = [email.message_from_bytes(data, policy=email.policy.default) for data in mails.mails]
    assert mail["Subject"] == "pushsalt: web1 test.arg" and mail["To"] == "b@example.org, c@example.org"
    assert mail["Message-ID"] == "<key-of-it@pushsalt.invalid>"
    text = mail.get_content()
    assert "id: web1" in text and "DROP TABLE jids" in text and "é" in text


@pytest.mark.parametrize("field", ["id", "fun", "jid", "return"])
def test_no_text_of_a_target_becomes_a_header(mails, load, ret, field):
    options = {"from": "a@example.org", "to": ["b@example.org"], "host": "127.0.0.1", "port": mails.port}
    module, outside = load("smtp", **options, fields=[field])
    module.returner({**ret, field: EVIL}, outside=outside)
    [data] = mails.mails
    mail = email.message_from_bytes(data, policy=email.policy.default)
    assert mail["Bcc"] is None and mail["To"] == "b@example.org"
    assert "one" in mail["Subject"] and all(char.isprintable() for char in mail["Subject"])


def test_a_line_break_in_an_address_of_the_configuration(mails, load, ret):
    options = {"from": "a@example.org\nBcc: x@y", "to": ["b@example.org"], "host": "127.0.0.1", "port": mails.port}
    module, outside = load("smtp", **options)
    with pytest.raises(Trouble, match="line break"):
        module.returner(ret, outside=outside)
    assert not mails.mails


def test_a_password_travels_by_tls_alone(tls, certificate, load, ret):
    with mail_server(tls) as mails:
        to = {"from": "a@example.org", "to": ["b@example.org"], "host": "127.0.0.1", "port": mails.port}
        login = {"username": "me", "password": PASSWORD}
        module, outside = load("smtp", **to, **login, tls=True, cafile=certificate[0])
        module.returner(ret, outside=outside)
        assert len(mails.mails) == 1 and mails.logins == [(b"me", PASSWORD.encode())]
        for options, said in (
            ({**to, **login, "tls": True}, "cannot be verified"),
            ({**to, "username": "me", "password": "wrong-one", "tls": True, "cafile": certificate[0]}, "login"),
            ({**to, **login, "tls": True, "cafile": "/nope"}, "/nope"),
        ):
            module, outside = load("smtp", **options)
            with pytest.raises(Trouble, match=said) as caught:
                module.returner(ret, outside=outside)
            assert "wrong-one" not in caught.value.message and PASSWORD not in caught.value.message
        assert len(mails.mails) == 1


def test_a_mail_that_is_refused(mails, load, ret):
    mails.refuse = "452 no room here"
    options = {"from": "a@example.org", "to": ["b@example.org"], "host": "127.0.0.1", "port": mails.port}
    module, outside = load("smtp", **options)
    with pytest.raises(Trouble, match="452 no room here"):
        module.returner(ret, outside=outside)


# slack_webhook


def sent(hook):
    [(path, headers, body)] = hook.posts
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    return path, json.loads(urllib.parse.parse_qs(body.decode())["payload"][0])


def test_slack_gets_counts_and_tasks(hook, load, ret):
    module, outside = load(
        "slack_webhook", webhook=f"{hook.url}/services/T/B/X", show_tasks=True, failure_title="{id}!"
    )
    module.returner({**ret, "return": STATES, "success": False}, outside=outside)
    path, payload = sent(hook)
    head, unchanged, changed, failed = payload["attachments"]
    assert path == "/services/T/B/X" and head["fallback"] == "web1!" and head["title"] == "Success: False"
    assert (unchanged["title"], changed["title"], failed["title"]) == ("Unchanged: 1", "Changed: 1", "Failed: 1")
    assert changed["fields"] == [{"value": "a.sls | &lt;!channel&gt;", "short": False}]
    assert "Total: 3" in head["text"] and "Duration: 0.00 secs" in head["text"]


def test_slack_gets_no_markup_of_a_target(hook, load, ret):
    module, outside = load("slack_webhook", webhook=f"{hook.url}/x")
    evil = "<!channel> <https://evil|good> & {jid}"
    module.returner({**ret, "id": evil, "fun": evil, "fun_args": [evil], "return": evil}, outside=outside)
    _, payload = sent(hook)
    assert "<" not in json.dumps(payload) and "&lt;!channel&gt;" in json.dumps(payload)


def test_slack_that_is_gone_shows_no_webhook(hook, load, ret):
    hook.answers[:] = [404]
    module, outside = load("slack_webhook", webhook=f"{hook.url}/services/T/B/secret-part")
    with pytest.raises(Trouble, match="answers 404") as caught:
        module.returner(ret, outside=outside)
    assert "secret-part" not in caught.value.message + caught.value.hint


# syslog


@pytest.mark.parametrize("way", ["socket", "udp", "tcp"])
def test_a_return_is_one_line_of_the_log(system_log, load, ret, way):
    address = system_log.socket if way == "socket" else f"{way}://127.0.0.1:{system_log.port}"
    options = {"level": "LOG_ERR", "facility": "LOG_DAEMON", "tag": f"tag-{way}", "options": ["LOG_PID"]}
    module, outside = load("syslog", address=address, **options)
    before = len(system_log.rows())
    forged = "x\n<0>Jan  1 00:00:00 kernel: panic\x00"
    module.returner({**ret, "id": forged, "return": forged}, outside=outside)
    [row] = until(lambda: system_log.rows()[before:])
    head, _, text = row.partition(":")
    assert head.split() == ["daemon.err", f"tag-{way}"]
    assert json.loads(text)["id"] == json.loads(text)["return"] == forged


def test_a_return_too_long_for_a_datagram_is_left_out(system_log, load, ret):
    module, outside = load("syslog", address=system_log.socket)
    before = len(system_log.rows())
    module.returner({**ret, "return": "x" * 300_000}, outside=outside)
    [row] = until(lambda: system_log.rows()[before:])
    assert "left out: 300" in json.loads(row.partition(":")[2])["return"]


# rawfile_json


def test_lines_of_a_file_do_not_mix(tmp_path, load, ret):
    module, outside = load("rawfile_json", filename=str(tmp_path / "file"))
    long = {**ret, "return": "y" * 100_000}
    work = [threading.Thread(target=module.returner, args=(long,), kwargs={"outside": outside}) for _ in range(8)]
    for each in work:
        each.start()
    for each in work:
        each.join()
    rows = [json.loads(line) for line in (tmp_path / "file").read_text().splitlines()]
    assert rows == [long] * 8


def test_a_line_that_was_cut_does_not_spoil_the_next(tmp_path, load, ret):
    (tmp_path / "file").write_text('{"cut": ')
    module, outside = load("rawfile_json", filename=str(tmp_path / "file"))
    module.returner(ret, outside=outside)
    assert json.loads((tmp_path / "file").read_text().splitlines()[1]) == ret


def test_a_full_disk_leaves_whole_lines(tmp_path, load, ret, monkeypatch):
    module, outside = load("rawfile_json", filename=str(tmp_path / "file"))
    module.returner(ret, outside=outside)
    whole = (tmp_path / "file").read_text()
    real = os.write

    def write(descriptor, data):
        if len(data) > 10:
            return real(descriptor, bytes(data)[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "write", write)
    with pytest.raises(Trouble, match="No space left"):
        module.returner({**ret, "return": ""}, outside=outside)
    assert (tmp_path / "file").read_text() == whole


@pytest.mark.parametrize("kind", ["link", "pipe", "socket"])
def test_only_regular_files_are_written(tmp_path, load, ret, kind):
    path, target = tmp_path / "file", tmp_path / "target"
    target.write_text("mine")
    if kind == "link":
        path.symlink_to(target)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    module, outside = load("rawfile_json", filename=str(path))
    with pytest.raises(Trouble):
        module.returner(ret, outside=outside)
    assert target.read_text() == "mine"


# http


def test_certificates_are_verified(tls, certificate, load, ret):
    with hook_server(tls=tls) as hook:
        module, outside = load("http", url=hook.url)
        with pytest.raises(Trouble, match="cannot be verified"):
            module.returner(ret, outside=outside)
        assert not hook.posts
        module, outside = load("http", url=hook.url, verify=certificate[0])
        module.returner(ret, outside=outside)
        assert json.loads(hook.posts[0][2]) == ret and hook.posts[0][1]["X-Pushsalt-Delivery"] == "key-of-it"


@pytest.mark.parametrize(
    "status, attempts, refused", [(500, 3, False), (503, 3, False), (401, 1, False), (404, 1, False), (413, 1, True)]
)
def test_which_answers_are_asked_for_again(hook, load, ret, status, attempts, refused):
    hook.answers[:] = [status] * 9
    module, outside = load("http", url=hook.url, retries=2)
    with pytest.raises(Trouble, match=str(status)) as caught:
        module.returner(ret, outside=outside)
    assert (len(hook.posts), caught.value.refused) == (attempts, refused)


def test_events_are_posted_together(hook, load):
    module, outside = load("http", url=hook.url)
    module.event_return([{"tag": "a", "data": 1}], outside=outside)
    assert json.loads(hook.posts[0][2]) == {"events": [{"tag": "a", "data": 1}]}
