"""Remotes on real servers: smart HTTP with a password, TLS, a proxy, ssh with keys; and faulty servers."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from pushsalt.git import GitError
from tests.beds import sshd
from tests.beds.gitserver import Http, Repo, certificate, silent_port, wait_for

pytestmark = pytest.mark.slow

SECRET = "Corr3ct-H0rse"


@pytest.fixture
def sites(tmp_path):
    """A folder with the repository r.git, which a server serves."""
    folder = tmp_path / "sites"
    folder.mkdir()
    Repo(folder / "r.git", {"a": "1"})
    return folder


@pytest.fixture
def http(sites):
    with Http(sites, login=("me", SECRET)) as server:
        yield server


def test_http_with_a_password(http, serve):
    url = f"{http.url}/r.git"
    for entry, opts in (
        ({url: [{"user": "me"}, {"password": SECRET}, {"insecure_auth": True}]}, {}),
        (url, {"gitfs_user": "me", "gitfs_password": SECRET, "gitfs_insecure_auth": True}),
        (url.replace("//", f"//me:{SECRET}@"), {"gitfs_insecure_auth": True}),
    ):
        assert serve(entry, **opts).read("a") == b"1"
    assert http.logins[-1] == "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()


def test_a_wrong_password_is_said_and_not_shown(http, serve, caplog):
    url = f"{http.url}/r.git"
    with pytest.raises(GitError, match="check user and password") as caught:
        serve({url: [{"user": "me"}, {"password": "Wr0ng-horse"}, {"insecure_auth": True}]}).read("a")
    assert "Wr0ng-horse" not in caplog.text + str(caught.value)
    with pytest.raises(GitError, match="could not read Username"):
        serve(url, gitfs_refspecs=["+refs/heads/*:refs/remotes/origin/*"]).read("a")


def test_a_password_is_in_no_argument_list_no_environment_and_no_file(http, sites, serve, tmp_path, remotes):
    http.trouble = "silent"
    command = remotes()
    seen = {}

    def look():
        wait_for(lambda: http.requests)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                argv = Path(f"/proc/{pid}/cmdline").read_bytes()
                if b"git" in argv and http.url.encode() in argv:
                    seen[argv] = Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                continue
        command.stop()

    watcher = threading.Thread(target=look)
    watcher.start()
    with pytest.raises(GitError):
        serve({f"{http.url}/r.git": [{"user": "me"}, {"password": SECRET}, {"insecure_auth": True}]}, command=command)
    watcher.join()
    assert len(seen) >= 2  # git, git-remote-http
    assert not any(SECRET.encode() in text for pair in seen.items() for text in pair)
    http.trouble = ""
    serve({f"{http.url}/r.git": [{"user": "me"}, {"password": SECRET}, {"insecure_auth": True}]}).read("a")
    for path in (tmp_path / "cache").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def test_a_password_is_not_given_to_another_server(http, sites, serve):
    with Http(sites, login=("me", SECRET)) as other:
        http.trouble = other.url
        with pytest.raises(GitError):
            serve({f"{http.url}/r.git": [{"user": "me"}, {"password": SECRET}, {"insecure_auth": True}]}).read("a")
        assert other.requests
        assert not any(other.logins)


def test_https(sites, serve, tmp_path, monkeypatch):
    pem = certificate(tmp_path / "server.pem")
    with Http(sites, login=("me", SECRET), tls=pem) as server:
        url = f"{server.url}/r.git"
        login = [{"user": "me"}, {"password": SECRET}]
        with pytest.raises(GitError, match="certificate"):
            serve({url: login}).read("a")
        for entry, opts in (({url: [*login, {"ssl_verify": False}]}, {}), ({url: login}, {"gitfs_ssl_verify": False})):
            assert serve(entry, **opts).read("a") == b"1"
        for name in ("GIT_SSL_CAINFO", "CURL_CA_BUNDLE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        Repo(sites / "new.git", {"a": "2"})
        assert serve({f"{server.url}/new.git": login}).read("a") == b"2"


def test_proxy(sites, serve):
    with Http(sites) as proxy:
        for entry, opts in (
            ({"http://git.invalid/r.git": [{"proxy": proxy.url}]}, {}),
            ("http://other.invalid/r.git", {"gitfs_proxy": proxy.url}),
        ):
            assert serve(entry, **opts).read("a") == b"1"
        assert proxy.requests[0].startswith("http://git.invalid/r.git/info/refs")


def test_nothing_of_the_users_git_configuration_holds(sites, serve, tmp_path, monkeypatch):
    evil = tmp_path / "evil"
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        f'[core]\n\thooksPath = {tmp_path}\n[url "file:///nowhere/"]\n\tinsteadOf = http://\n'
        f'[credential]\n\thelper = "!touch {evil}"\n'
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {evil}")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.gitProxy")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"touch {evil}")
    with Http(sites) as server:
        assert serve(f"{server.url}/r.git").read("a") == b"1"
    assert not evil.exists()


@pytest.mark.parametrize("trouble", ["500", "garbage", "silent", "drip"])
def test_servers_that_are_no_good(sites, serve, remotes, caplog, trouble):
    with Http(sites) as server:
        url = f"{server.url}/r.git"
        assert serve(url).read("a") == b"1"
        server.trouble = trouble
        command = remotes()
        command._silence = 0.5 if trouble == "silent" else 3.0
        for mirror in command._mirrors.values():
            mirror._silence = command._silence
        stopper = threading.Timer(2.0, command.stop) if trouble == "drip" else None
        if stopper:  # curl's own limit is a minute: an interrupt ends it at once
            stopper.start()
            with pytest.raises(GitError, match="stopped"):
                serve(url, command=command)
            stopper.join()
            return
        caplog.clear()
        assert serve(url, command=command).read("a") == b"1"
        [said] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert "cannot be fetched" in said and "seconds ago is used, master at" in said


def test_a_server_that_never_answers(serve, remotes, caplog):
    with silent_port() as port:
        command = remotes()
        command._silence = 0.3
        began = time.monotonic()
        server = serve(f"git://127.0.0.1:{port}/r.git", command=command)
        assert time.monotonic() - began < 20
        with pytest.raises(GitError, match=r"it sent nothing for 0\.3 seconds"):
            server.read("a")


def test_several_are_fetched_at_once_and_tell_how_far_they_are(sites, serve, remotes):
    said = []
    with Http(sites) as server:
        urls = []
        for number in range(4):
            Repo(sites / f"n{number}.git", {f"f{number}": os.urandom(200_000)})
            urls.append(f"{server.url}/n{number}.git")
        command = remotes(say=lambda name, words: said.append((name, words)))
        files = serve(*urls, command=command)
        assert files.list_files() == ["f0", "f1", "f2", "f3"]
    for url in urls:
        words = [text for name, text in said if name == url]
        assert words[0] == "fetching" and words[-1] == "" and len(words) > 2
    assert any(text.startswith(("receiving", "counting", "resolving")) for _, text in said)


# --- ssh


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    if reason := sshd.missing():
        pytest.skip(reason)
    with sshd.sshd_bed(tmp_path_factory.mktemp("gitssh"), 1) as found:
        yield found


@pytest.fixture
def at_home(bed, tmp_path, monkeypatch):
    """A home whose known_hosts has the server; returns the URL of the repository there."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "known_hosts").write_bytes(bed.known_hosts.read_bytes())
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    Repo(tmp_path / "over.git", {"a": "ssh"})
    [target] = bed.targets.values()
    user = target.host()["user"]
    return f"ssh://{user}@127.0.0.1:{target.port}{tmp_path}/over.git"


def test_ssh_with_a_key(bed, at_home, serve):
    assert serve({at_home: [{"privkey": str(bed.key)}, {"pubkey": f"{bed.key}.pub"}]}).read("a") == b"ssh"
    assert serve(at_home, gitfs_privkey=str(bed.key), gitfs_pubkey=f"{bed.key}.pub").read("a") == b"ssh"


def test_ssh_without_a_key_of_its_own(bed, at_home, serve):
    with pytest.raises(GitError, match="privkey"):
        serve(at_home).read("a")


def test_ssh_with_a_passphrase(bed, at_home, serve, tmp_path):
    key = tmp_path / "locked"
    sshd.keygen(key, passphrase=SECRET)
    with (bed.root / "authorized_keys").open("a") as stream:
        stream.write((tmp_path / "locked.pub").read_text())
    with pytest.raises(GitError, match="passphrase") as caught:
        serve({at_home: [{"privkey": str(key)}, {"passphrase": "Wr0ng-one"}]}).read("a")
    assert "Wr0ng-one" not in str(caught.value)
    assert serve({at_home: [{"privkey": str(key)}, {"passphrase": SECRET}]}).read("a") == b"ssh"
    assert serve(at_home, gitfs_privkey=str(key), gitfs_passphrase=SECRET).read("a") == b"ssh"
    for path in (tmp_path / "cache").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def test_an_unknown_host_key_is_refused_before_anything_is_sent(bed, at_home, serve, tmp_path, remotes):
    known_hosts = tmp_path / "home" / ".ssh" / "known_hosts"
    known_hosts.write_text("")
    entry = {at_home: [{"privkey": str(bed.key)}]}
    with pytest.raises(GitError, match="known_hosts"):
        serve(entry).read("a")
    assert serve(entry, command=remotes(accept_new_host_keys=True)).read("a") == b"ssh"
    assert "127.0.0.1" in known_hosts.read_text()
    other = subprocess.run(["ssh-keygen", "-lf", str(known_hosts)], capture_output=True, check=True)
    assert b"ED25519" in other.stdout


def test_configured_known_hosts(bed, at_home, serve, tmp_path, remotes):
    known_hosts = tmp_path / "home" / ".ssh" / "known_hosts"
    known_hosts.rename(tmp_path / "hosts of mine")
    entry = {at_home: [{"privkey": str(bed.key)}]}
    command = remotes(ssh_files=("", str(tmp_path / "hosts of mine")))
    assert serve(entry, command=command).read("a") == b"ssh"


def test_the_users_ssh_config_holds(bed, at_home, serve, tmp_path):
    [target] = bed.targets.values()
    config = tmp_path / "home" / ".ssh" / "config"
    config.write_text(f"Host forge\n  HostName 127.0.0.1\n  Port {target.port}\n  IdentityFile {bed.key}\n")
    (tmp_path / "home" / ".ssh" / "known_hosts").write_bytes(bed.known_hosts.read_bytes())
    user = target.host()["user"]
    assert serve(f"{user}@forge:{tmp_path}/over.git").read("a") == b"ssh"


def test_a_server_that_only_has_files(sites, serve):
    """The dumb protocol has no depth and no filter, so everything is fetched."""
    import functools
    import http.server

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    one = Repo.__new__(Repo)
    one.path = sites / "r.git"
    one.git("update-server-info")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(sites))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/r.git"
        try:
            assert serve(url).read("a") == b"1"
            assert serve({url: [{"filter": "blob:none"}]}).read("a") == b"1"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("allowed", ["true", "false"])
def test_partial_clones_over_http(http, sites, serve, allowed):
    Repo(sites / "p.git", {"a": "1", "d/b": "2"}).git("config", "uploadpack.allowFilter", allowed)
    login = [{"user": "me"}, {"password": SECRET}, {"insecure_auth": True}, {"filter": "blob:none"}]
    server = serve({f"{http.url}/p.git": login})
    assert (server.read("d/b"), server.read("a")) == (b"2", b"1")
