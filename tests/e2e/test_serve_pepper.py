"""``pushsalt serve`` with salt-pepper, unmodified: its command and its library."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

import pytest

from tests.beds.serving import PASSWORD


@pytest.fixture
def pepper(served, tmp_path):
    """A function that runs the command ``pepper`` of the package salt-pepper as an account, and returns its output."""
    pytest.importorskip("pepper")
    home = tmp_path / "home"
    home.mkdir()

    def run(*arguments, user="anna", code=0):
        names = {"SALTAPI_URL": served.url, "SALTAPI_USER": user, "SALTAPI_PASS": PASSWORD, "SALTAPI_EAUTH": "file"}
        environment = {**names, "HOME": str(home), "PATH": os.environ["PATH"]}
        program = "from pepper.script import Pepper; raise SystemExit(Pepper()())"
        argv = [sys.executable, "-W", "ignore", "-c", program, *arguments]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    run.home = home
    return run


def rets(text):
    return {id: result["ret"] for id, result in json.loads(text)["return"][0].items()}


def test_pepper_runs_functions_on_targets(pepper):
    assert rets(pepper("*", "test.ping")) == {"web1": True, "web2": True, "db1": True}
    assert rets(pepper("web1", "test.kwarg", "hello=dolly"))["web1"]["hello"] == "dolly"
    assert rets(pepper("-L", "web1,db1", "test.ping")) == {"web1": True, "db1": True}
    assert rets(pepper("-E", "web[12]", "test.ping")) == {"web1": True, "web2": True}
    assert rets(pepper("-G", "role:db", "test.ping")) == {"db1": True}
    assert rets(pepper("--grain-pcre", "role:(w|x).*", "test.ping")) == {"web1": True, "web2": True}
    assert rets(pepper("-C", "G@role:web and not web2", "test.ping")) == {"web1": True}
    assert "Authentication denied" in pepper_error(pepper, "web1", "cmd.run", "id", user="ben")


def pepper_error(pepper, *arguments, **kwargs):
    with pytest.raises(AssertionError) as error:
        pepper(*arguments, **kwargs)
    return str(error.value)


def test_pepper_uses_other_clients(pepper):
    [result] = json.loads(pepper("--client=runner", "manage.present"))["return"]
    assert result["data"]["return"] == ["db1", "web1", "web2"] and result["data"]["user"] == "anna"
    assert result["tag"] == f"salt/run/{result['data']['jid']}/ret"
    [row] = json.loads(pepper("--client=local_async", "web*", "test.ping"))["return"]
    [result] = json.loads(pepper("--client=runner", "jobs.lookup_jid", f"jid={row['jid']}"))["return"]
    assert set(result["data"]["return"]) <= {"web1", "web2"}
    [row] = json.loads(pepper("--client=runner_async", "manage.present"))["return"]
    assert row["tag"] == f"salt/run/{row['jid']}"
    batch = json.loads(pepper("--batch", "1", "web*", "test.ping"))["return"]
    assert {id for returned in batch for id in returned} == {"web1", "web2"}
    low = json.dumps([{"client": "local", "tgt": "db1", "fun": "test.ping"}])
    assert rets(pepper("--json", low)) == {"db1": True}


def test_pepper_reuses_its_token(pepper):
    pepper("-T", "web1", "test.ping")
    cached = (pepper.home / ".peppercache").read_text()
    assert json.loads(cached)["user"] == "anna"
    pepper("-T", "web1", "test.ping")
    assert (pepper.home / ".peppercache").read_text() == cached
    assert rets(pepper("-r", "web1", "test.ping")) == {"web1": True}


@pytest.mark.parametrize(
    "flag, bad, good",
    [("--fail-any", 3, 0), ("--fail-any-none", 3, 0), ("--fail-all", 0, 0), ("--fail-all-none", 0, 0)],
)
def test_return_codes_suit_pepper(pepper, flag, bad, good):
    """By pepper's rule for return codes, which its command applies if Salt is installed, too."""
    from pepper.retcode import PepperRetcode

    options = argparse.Namespace(**dict.fromkeys(("fail_any", "fail_any_none", "fail_all", "fail_all_none"), False))
    setattr(options, flag[2:].replace("-", "_"), True)
    returns = json.loads(pepper("*", "test.ping"))["return"]
    assert PepperRetcode().validate(options, returns) == good
    returns[0]["web1"] = json.loads(pepper("web1", "cmd.run", "exit 3"))["return"][0]["web1"]
    assert returns[0]["web1"]["retcode"] == 3
    assert PepperRetcode().validate(options, returns) == bad


def test_pepper_waits_for_all_targets(pepper):
    text = pepper("--fail-if-incomplete", "web*", "test.ping")
    assert "web1" in text and "web2" in text and "Failed" not in text


def test_the_library_of_pepper_runs_functions(served):
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
