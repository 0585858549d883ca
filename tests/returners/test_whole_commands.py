"""``--return`` and the configuration, by whole commands: returns arrive; a returner in trouble is a warning."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import sqlite3
import stat

import pytest

from tests.beds.project import Project
from tests.beds.returnservers import hook_server
from tests.beds.sshd import free_port

pytestmark = pytest.mark.slow

SECRET = "the-secret-of-the-hook"


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path, {"here": {"transport": "local"}, "gone": {"transport": "offline"}})
    made.write("salt/one.sls", "a: {test.succeed_with_changes: [{name: x}]}\n")
    return made


def configure(project, **options):
    roots = {"file_roots": {"base": ["salt"]}, "pillar_roots": {"base": ["pillar"]}}
    project.write("pushsalt.yaml", json.dumps({**roots, **options}))


def kept(project, name):
    folder = project.cache / "returns" / name
    return sorted(path for path in folder.glob("*.json")) if folder.is_dir() else []


def test_a_hook_gets_each_return_signed(project, hook):
    configure(project, **{"returner.http": {"url": f"{hook.url}/in?x=1", "secret": SECRET}})
    done = project.json("run", "here", "test.arg", "a", "b=1", "--return", "http")
    assert done.code == 0 and not done.err, done.err
    [(path, headers, body)] = hook.posts
    assert path == "/in?x=1" and SECRET not in done.out + done.err
    expected = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert headers["X-Pushsalt-Signature"] == f"sha256={expected}"
    sent = json.loads(body)
    assert sent["return"] == done.data["here"] and sent["id"] == "here" and sent["fun"] == "test.arg"
    assert sent["success"] is True and sent["retcode"] == 0 and len(sent["jid"]) == 20 and "phases" in sent


def test_a_hook_that_answers_500_is_asked_again(project, hook):
    configure(project, **{"returner.http": {"url": hook.url}, "return": ["http"]})
    hook.answers[:] = [500, 503]
    done = project.run("run", "here", "test.ping")
    assert done.code == 0 and "http" not in done.err, done.err
    assert len(hook.posts) == 3 and len({body for _, _, body in hook.posts}) == 1
    assert "X-Pushsalt-Signature" not in hook.posts[0][1] and not kept(project, "http")


def test_a_hook_that_is_down_is_said_once_and_gets_it_later_once(project):
    port = free_port()
    options = {"url": f"http://127.0.0.1:{port}/", "secret": SECRET, "retries": 1}
    configure(project, **{"returner.http": options, "return": "http"})
    done = project.json("run", "*", "test.ping")
    assert done.code == 3 and done.data["here"] is True
    assert done.err.count("returner http") == 1 and "sent by a later command" in done.err, done.err
    assert SECRET not in done.err
    files = kept(project, "http")
    assert len(files) == 2
    for path in (*files, files[0].parent, files[0].parent.parent):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    with hook_server(port) as hook:
        configure(project, **{"returner.http": options})  # a command without --return sends spooled returns, too
        done = project.json("run", "here", "test.ping")
        assert done.code == 0 and "http" not in done.err, done.err
        assert sorted(json.loads(body)["id"] for _, _, body in hook.posts) == ["gone", "here"]
        project.json("run", "here", "test.ping")
        assert len(hook.posts) == 2
    assert not kept(project, "http")


def test_a_redirect_is_not_followed(project, hook):
    with hook_server() as other:
        configure(project, **{"returner.http": {"url": hook.url, "secret": SECRET}})
        hook.answers[:], hook.location = [307] * 9, other.url
        done = project.run("run", "here", "test.ping", "--return", "http")
        assert done.code == 0 and "redirects to" in done.err and not other.posts, done.err


def test_a_refused_return_is_not_sent_again(project, hook):
    configure(project, **{"returner.http": {"url": hook.url}})
    hook.answers[:] = [422]
    done = project.run("run", "here", "test.ping", "--return", "http")
    assert done.code == 0 and "answers 422" in done.err and "not sent again" in done.err, done.err
    assert not kept(project, "http") and len(hook.posts) == 1


def test_states_and_jobs_and_events_in_sqlite(project, tmp_path):
    path = tmp_path / "returns.db"
    configure(
        project, **{"returner.sqlite3.database": str(path), "ext_job_cache": "sqlite3", "event_return": "sqlite3"}
    )
    done = project.json("apply", "here", "one")
    assert done.code == 0 and "sqlite3" not in done.err, done.err
    with contextlib.closing(sqlite3.connect(path)) as made:
        [(jid, load)] = made.execute("SELECT jid, load FROM jids")
        [(fun, id, full, args)] = made.execute(
            "SELECT fun, id, full_ret, fun_args FROM salt_returns WHERE jid = ?", [jid]
        )
        tags = [tag for (tag,) in made.execute("SELECT tag FROM salt_events ORDER BY id")]
    assert (fun, id, json.loads(args)) == ("state.apply", "here", ["one"])
    assert json.loads(full) == done.data["here"]
    assert json.loads(load)["tgt"] == "here" and json.loads(load)["fun"] == "state.apply"
    assert tags == [f"salt/job/{jid}/new", f"salt/job/{jid}/ret/here"]


def test_events_by_tag(project, tmp_path):
    file = tmp_path / "events"
    options = {
        "event_return": ["rawfile_json"],
        "event_return_whitelist": ["salt/job/*"],
        "event_return_blacklist": [".*/new"],
    }
    configure(project, **{"rawfile_json.filename": str(file), **options})
    done = project.run("run", "here", "test.ping")
    assert done.code == 0 and not done.err, done.err
    [row] = [json.loads(line) for line in file.read_text().splitlines()]
    assert row["tag"].endswith("/ret/here") and row["data"]["return"] is True and "_stamp" in row["data"]


def test_secrets_are_hidden_before(project, tmp_path):
    file = tmp_path / "returns"
    configure(project, **{"returner.rawfile_json": {"filename": str(file)}})
    project.write("pillar/top.sls", "base: {'*': [p]}\n")
    project.write("pillar/p.sls", "db_password: wonderful-word-77\n")
    done = project.run("run", "here", "test.arg", "password=another-word-88", "--return", "rawfile_json")
    assert done.code == 0, done.err
    assert "another-word-88" not in file.read_text() and stat.S_IMODE(file.stat().st_mode) == 0o600
    done = project.run("run", "here", "pillar.items", "unmask=True", "--return", "rawfile_json")
    assert "wonderful-word-77" in done.out and "wonderful-word-77" not in file.read_text()


OWN = """
import time
import salt.returners

__virtualname__ = "mine"


def __virtual__():
    return __virtualname__


def returner(ret):
    options = salt.returners.get_returner_options(
        "returner.mine",
        ret,
        {"file": "file", "mode": "mode"},
        __salt__=__salt__,
        __opts__=__opts__,
        defaults={"mode": "w"},
    )
    if options["mode"] == "raise":
        raise ValueError("not today\\nnor tomorrow")
    if options["mode"] == "hang":
        time.sleep(60)
    if options["mode"] == "exit":
        raise SystemExit(3)
    with open(options["file"], "a") as file:
        file.write(ret["id"] + " " + ret["fun"] + " " + __opts__["id"] + "\\n")
"""


@pytest.mark.parametrize("salt", [True, False], ids=["dunder salt", "opts"])
def test_ones_own_with_a_profile(project, tmp_path, salt):
    text = OWN if salt else OWN.replace("        __salt__=__salt__,\n", "")
    project.write("salt/_returners/of_mine.py", text)
    options = {"returner.mine": {"file": str(tmp_path / "a")}, "other.returner.mine": {"file": str(tmp_path / "b")}}
    configure(project, **options)
    done = project.run("run", "here", "test.ping", "--return", "mine")
    assert done.code == 0 and not done.err, done.err
    done = project.run("run", "here", "test.ping", "--return", "mine", "--return_config", "other")
    assert done.code == 0 and not done.err, done.err
    for name in "ab":
        words = (tmp_path / name).read_text().split()
        assert words[:2] == ["here", "test.ping"] and words[2].endswith("_master") and len(words) == 3


def test_what_ones_own_prints_is_not_in_the_output(project):
    text = "import os, sys\n\n\ndef returner(ret):\n    print('by print')\n    os.system('echo by a program')\n"
    project.write("salt/_returners/loud.py", text)
    for words in (("gone", "grains.items", "--out", "json"), ("gone", "grains.items", "--out", "ndjson")):
        done = project.run("run", *words, "--return", "loud")
        assert list(json.loads(done.out)) == ["gone"]
        assert "by print" in done.err and "by a program" in done.err


@pytest.mark.parametrize("mode, said", [("raise", "ValueError: not today nor tomorrow"), ("exit", "SystemExit: 3")])
def test_ones_own_that_raises(project, tmp_path, mode, said):
    project.write("salt/_returners/mine.py", OWN)
    configure(project, **{"returner.mine": {"file": str(tmp_path / "a"), "mode": mode}, "return": "mine"})
    done = project.json("run", "here", "test.ping")
    assert done.code == 0 and done.data == {"here": True}
    assert said in done.err and "mine.py:" in done.err and done.err.count("returner mine") == 1, done.err
    assert len(kept(project, "mine")) == 1


def test_ones_own_that_hangs(project, tmp_path):
    project.write("salt/_returners/mine.py", OWN)
    options = {"file": str(tmp_path / "a"), "mode": "hang"}
    configure(project, **{"returner.mine": options, "return": "mine", "return_timeout": 0.5})
    done = project.json("run", "*", "test.ping", timeout=30)
    assert done.data["here"] is True and "gave no answer" in done.err, done.err
    assert len(kept(project, "mine")) == 2 and not (tmp_path / "a").exists()


@pytest.mark.parametrize("asked", [True, False], ids=["asked", "configured"])
@pytest.mark.parametrize("name, said", [("htpt", "http"), ("broken", "broken.py:1")])
def test_one_that_is_not_there_or_broken(project, asked, name, said):
    project.write("salt/_returners/broken.py", "this is no Python\n")
    configure(project, **({} if asked else {"return": [name]}))
    done = project.run("run", "here", "test.ping", *(["--return", name] if asked else []))
    assert done.code == (1 if asked else 0) and said in done.err, done.err
    assert ("here" in done.out) is not asked


@pytest.mark.parametrize("value", ["", "a,,b", "../x", "a b", "-x"])
def test_invalid_names(project, value):
    done = project.run("run", "here", "test.ping", f"--return={value}")
    assert done.code == 1 and "--return" in done.err, done.err


BAD = {
    "no url": ("http", {"returner.http": {"secret": "x"}}, "`returner.http.url` is missing"),
    "no mapping": ("http", {"returner.http": "http://x"}, "`returner.http.url` is missing"),
    "an url of files": ("http", {"returner.http": {"url": "file:///etc/passwd"}}, "no http or https URL"),
    "a login": ("http", {"returner.http": {"url": "https://me:word-of-mine@x/"}}, "login in it"),
    "a number": ("http", {"returner.http": {"url": "http://x", "retries": "many"}}, "not a whole number"),
    "an authority": ("http", {"returner.http": {"url": "https://x", "verify": "/nope"}}, "/nope cannot be read"),
    "a level": ("syslog", {"syslog.level": "LOUD"}, "no 'LOUD' for `level`"),
    "a tag": ("syslog", {"returner.syslog": {"tag": "a\nb"}}, "is not usable"),
    "an address": ("syslog", {"returner.syslog": {"address": "gopher://x"}}, "is no address"),
    "no socket": ("syslog", {"returner.syslog": {"address": "/nope/log"}}, "/nope/log"),
    "nobody to write to": ("smtp", {"returner.smtp": {"from": "a@b"}}, "`returner.smtp.to` is missing"),
    "in the clear": (
        "smtp",
        {"returner.smtp": {"from": "a@b", "to": "c@d", "host": "mail.invalid", "username": "u", "password": "p-p-p-p"}},
        "in the clear",
    ),
    "encrypted": (
        "smtp",
        {"returner.smtp": {"from": "a@b", "to": "c@d", "host": "mail.invalid", "gpgowner": "me"}},
        "`gpgowner` is not done",
    ),
    "a folder": ("rawfile_json", {"returner.rawfile_json": {"filename": "/"}}, "/ cannot be written"),
    "a device": ("rawfile_json", {"returner.rawfile_json": {"filename": "/dev/null"}}, "no regular file"),
    "no secret": (
        "http",
        {"returner.http": {"url": "http://x", "secret": "sdb://own/x"}, "own": {"driver": "env"}},
        "own/x",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_an_invalid_configuration_is_reported_and_the_job_continues(project, case):
    name, options, said = BAD[case]
    configure(project, **options)
    done = project.json("run", "here", "test.ping", "--return", name)
    assert done.code == 0 and done.data == {"here": True}
    assert said in done.err and f"returner {name}" in done.err, done.err
    assert "word-of-mine" not in done.err and len(kept(project, name)) == 1


def test_an_unknown_option_is_named_with_the_nearest(project, hook):
    configure(project, **{"returner.http": {"url": hook.url, "secert": "x"}})
    done = project.run("run", "here", "test.ping", "--return", "http")
    assert done.code == 0 and "no option `secert`" in done.err and "`secret`" in done.err, done.err
    assert len(hook.posts) == 1


def test_a_spool_that_others_may_write_is_not_used(project):
    configure(project, **{"returner.http": {"url": f"http://127.0.0.1:{free_port()}", "retries": 0}})
    folder = project.cache / "returns" / "http"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    done = project.run("run", "here", "test.ping", "--return", "http")
    assert done.code == 0 and "lost" in done.err and "others can write to" in done.err, done.err
    assert not kept(project, "http")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a folder of another user")
def test_a_spool_of_another_user_is_not_used(project):
    configure(project, **{"returner.http": {"url": f"http://127.0.0.1:{free_port()}", "retries": 0}})
    folder = project.cache / "returns"
    folder.mkdir(parents=True, mode=0o700)
    os.chown(folder, 65534, 65534)
    done = project.run("run", "here", "test.ping", "--return", "http")
    assert done.code == 0 and "lost" in done.err and "another user" in done.err, done.err


def test_the_secret_comes_from_sdb(project, hook):
    project.variables["HOOK_SECRET"] = SECRET
    options = {"url": hook.url, "secret": "sdb://own/HOOK_SECRET"}
    configure(project, **{"returner.http": options, "own": {"driver": "env"}})
    done = project.run("-l", "debug", "run", "here", "test.ping", "--return", "http")
    assert done.code == 0 and SECRET not in done.out + done.err
    [(_, headers, body)] = hook.posts
    assert headers["X-Pushsalt-Signature"].endswith(hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest())
