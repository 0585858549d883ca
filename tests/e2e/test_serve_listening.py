"""``pushsalt serve``: addresses, TLS, and invalid configurations."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import subprocess

import pytest

from tests.beds.project import Project
from tests.beds.serving import PASSWORD, Served


def certificate(folder):
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    argv += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([*argv, "-keyout", folder / "key.pem", "-out", folder / "crt.pem"], check=True, capture_output=True)
    (folder / "key.pem").chmod(0o600)
    return {"ssl_crt": str(folder / "crt.pem"), "ssl_key": str(folder / "key.pem")}


def test_serve_uses_tls(tmp_path):
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
    "arguments, settings, message",
    [
        (["--listen", "0.0.0.0:0"], {}, "need TLS"),
        (["--listen", "0.0.0.0:0"], {"disable_ssl": True}, "need TLS"),
        ([], {"host": "192.0.2.1"}, "need TLS"),
        (["--listen", "here"], {}, "is not an address"),
        (["--listen", ":99999"], {}, "is not an address"),
        (["--listen", ":0"], {"webhook_disable_auth": True}, "cannot be allowed"),
        (["--listen", ":0"], {"ssl_crt": "gone"}, "must be set together"),
        (["--listen", ":0"], {"ssl_crt": "gone", "ssl_key": "gone"}, "gone"),
        (["--listen", ":0"], {"webhook_secret": "short"}, "too short"),
        (["--listen", ":0"], {"max_request_body_size": "much"}, "max_request_body_size"),
        (["--listen", ":0"], {"api_acl": ["x"]}, "api_acl"),
    ],
)
def test_invalid_settings_are_refused(tmp_path, arguments, settings, message):
    served = Served(tmp_path, rest_cherrypy=settings)
    done = served.project.run("serve", *arguments)
    assert (done.code, done.out) == (1, "") and message in done.err


def test_serve_needs_accounts(tmp_path):
    done = Project(tmp_path, {"web1": {"transport": "local"}}).run("serve", "--listen", ":0")
    assert done.code == 1 and "no accounts" in done.err and "external_auth" in done.err


def test_an_address_in_use_is_an_error(served, tmp_path):
    done = Served(tmp_path).project.run("serve", "--listen", f"127.0.0.1:{served.port}")
    assert done.code == 1 and "--listen" in done.err


def test_a_missing_package_is_an_error(tmp_path):
    """The error names the package to install."""
    served = Served(tmp_path)
    served.project.write("hidden/starlette.py", "raise ImportError('no starlette here')\n")
    path = f"{served.project.folder}/hidden{os.pathsep}{served.project.environment['PYTHONPATH']}"
    served.project.variables["PYTHONPATH"] = path
    done = served.project.run("serve", "--listen", ":0")
    assert done.code == 1 and "pip install 'pushsalt[serve]'" in done.err


def test_unit_prints_a_unit_file(served):
    done = served.project.run("serve", "--listen", ":8001", "--unit")
    assert done.code == 0 and "ExecStart=" in done.out and "serve --listen :8001" in done.out
