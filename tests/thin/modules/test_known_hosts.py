"""Known hosts of ssh, with the real ssh-keygen, and ssh-keyscan on local servers."""

import re
import shutil

import pytest

from tests.beds import sshd
from tests.thin import filebed
from thin import link
from thin.utils.formats import authkeys

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
OTHER = "AAAAC3NzaC1lZDI1NTE5AAAAIJgbhpgLQzxMxlQRMqVTSfMLCKjbg/jrlvn47bYcKcLf"
RSA = "AAAAB3NzaC1yc2EAAAADAQABAAAAQQC6"

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen is not installed")


@pytest.fixture
def bed(tmp_path):
    bed = filebed.Bed(tmp_path / "bed")
    before = link.connect(bed.link)
    yield bed
    link.connect(before)


@pytest.fixture
def config(bed):
    return bed.path("etc/known_hosts")


@pytest.fixture
def run(bed, config):
    def run(state, name="h.example", test=False, **kwargs):
        bed.opts["test"] = test
        ret = bed.loaders.states["ssh_known_hosts." + state](name, **{"config": config, **kwargs})
        assert ret["name"] == name
        return ret["result"], ret["changes"], ret["comment"]

    return run


def entry(key, enc="ssh-ed25519", host="h.example"):
    return {"hostname": host, "key": key, "enc": enc, "fingerprint": authkeys.fingerprint(key)}


def content(path):
    with open(path) as source:
        return source.read()


def test_a_key_is_added_replaced_and_removed(bed, run, config):
    arguments = {"key": KEY, "enc": "ed25519", "hash_known_hosts": False}
    assert run("present", test=True, **arguments) == (None, {}, f"Key for h.example is set to be added to {config}")
    assert bed.snapshot() == {}
    new = {"hostname": "h.example", "enc": "ssh-ed25519", "key": KEY}
    assert run("present", **arguments) == (
        True,
        {"old": None, "new": [new]},
        f"h.example's key saved to {config} (key: {KEY})",
    )
    assert content(config) == f"h.example ssh-ed25519 {KEY}\n"
    assert bed.snapshot()["etc/known_hosts"][0] == "100600"
    assert run("present", **arguments) == (True, {}, f"h.example already exists in {config}")
    assert run("present", test=True, **arguments) == (True, {}, f"Host h.example is already in {config}")

    # another key of the type replaces it; keys of other types and hosts remain
    bed.file("etc/known_hosts", f"# ours\nx,y ssh-ed25519 {KEY}\n{content(config)}h.example ssh-rsa {RSA}", 0o644)
    arguments["key"] = OTHER
    assert run("present", test=True, **arguments)[::2] == (None, f"Key for h.example is set to be updated in {config}")
    assert run("present", **arguments)[1]["old"] == [entry(KEY), entry(RSA, "ssh-rsa")]
    assert content(config) == (
        f"# ours\nx,y ssh-ed25519 {KEY}\nh.example ssh-rsa {RSA}\nh.example ssh-ed25519 {OTHER}\n"
    )
    assert bed.snapshot()["etc/known_hosts"][0] == "100644"

    old = [entry(RSA, "ssh-rsa"), entry(OTHER)]
    assert run("absent", test=True) == (None, {}, f"Key for h.example is set to be removed from {config}")
    result, changes, comment = run("absent")
    assert (result, changes) == (True, {"old": old, "new": None})
    assert f"{config} updated." in comment
    assert content(config) == f"# ours\nx,y ssh-ed25519 {KEY}\n"
    assert bed.snapshot()["etc/known_hosts"][0] == "100644"
    assert run("absent") == (True, {}, "Host is already absent")


def test_names_are_hashed(bed, run, config):
    assert run("present", key=KEY, enc="ssh-ed25519")[0]
    assert re.fullmatch(rf"\|1\|\S+ ssh-ed25519 {KEY}\n", content(config))
    assert run("present", key=KEY, enc="ssh-ed25519")[1] == {}
    assert run("present", key=OTHER, enc="ssh-ed25519")[1]["old"][0]["key"] == KEY
    assert content(config).count("\n") == 1
    assert run("absent")[1]["old"][0]["key"] == OTHER
    assert content(config) == ""


@pytest.mark.parametrize(
    "arguments, comment",
    [
        ({"config": "known"}, 'If not specifying a "user", specify an absolute "config".'),
        ({"config": "known", "user": "no-such-user"}, "User no-such-user does not exist"),
        ({"key": KEY}, 'Required argument "enc" if using "key" argument.'),
        (
            {"key": KEY, "enc": "ed25519", "port": 23},
            "argument port can not be used in conjunction with argument hash_known_hosts",
        ),
        ({"fingerprint": "00", "fingerprint_hash_type": "junk"}, "The fingerprint_hash_type junk is not supported."),
    ],
)
@pytest.mark.parametrize("test", [True, False])
def test_invalid_arguments_are_failures(bed, run, test, arguments, comment):
    bed.file("etc/known_hosts", f"h.example ssh-ed25519 {KEY}\n")
    if "user" in arguments:
        bed.loaders.modules._functions["user.info"] = lambda name: {}
    assert run("present", test=test, **arguments) == (False, {}, comment)
    assert content(bed.path("etc/known_hosts")) == f"h.example ssh-ed25519 {KEY}\n"


@pytest.mark.skipif(bool(sshd.missing()), reason="no sshd")
def test_the_key_of_a_server_is_added(bed, run, tmp_path, config):
    with sshd.sshd_bed(tmp_path / "sshd", 1) as servers:
        [port] = [target.port for target in servers.targets.values()]
        key = (tmp_path / "sshd/host_key.pub").read_text().split()[1]
        fingerprint, host = authkeys.fingerprint(key), f"[127.0.0.1]:{port}"
        arguments = {"name": "127.0.0.1", "port": port, "hash_known_hosts": False, "timeout": 2}
        result, changes, comment = run("present", fingerprint="00:11", **arguments)
        assert (result, changes) == (False, {})
        assert "none of their fingerprints match" in comment
        assert bed.snapshot() == {}
        assert run("present", fingerprint=fingerprint, **arguments) == (
            True,
            {"old": None, "new": [entry(key, host=host)]},
            f"127.0.0.1's key saved to {config} (fingerprint: {fingerprint})",
        )
        assert content(config) == f"{host} ssh-ed25519 {key}\n"
        assert run("present", **arguments) == (True, {}, f"127.0.0.1 already exists in {config}")
        assert run("present", fingerprint=fingerprint, test=True, **arguments)[0] is True
    unreachable = {**arguments, "name": "127.0.0.2"}
    assert run("present", **unreachable) == (False, {}, "Unable to receive remote host keys")
    assert bed.call("ssh.check_known_host", None, "127.0.0.1", config=config, port=port) == "exists"
    assert bed.call("ssh.rm_known_host", None, "127.0.0.1", config=config, port=port)["status"] == "removed"
    assert bed.call("ssh.check_known_host", None, "127.0.0.1", config=config, port=port) == "add"


def test_a_dry_run_accepts_a_user_that_does_not_exist_yet(run):
    comment = "Key for h.example is set to be removed from .ssh/known_hosts"
    assert run("absent", user="nobody-yet", config=None, test=True) == (None, {}, comment)
    result, changes, comment = run("absent", user="nobody-yet", config=None)
    assert (result, changes) == (False, {}) and "nobody-yet" in comment
