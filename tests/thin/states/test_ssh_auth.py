"""Keys from files of the file server, and links that are not followed. Recorded steps have single keys."""

import os
import pwd

import pytest

from tests.thin import filebed
from thin import link
from thin.exceptions import CommandExecutionError
from thin.utils.formats import authkeys

KEYS = "# ours\nssh-ed25519 AAAAC3NzaC1l a b\nno-pty ssh-rsa AAAAB3NzaC1yc2EA me@x\n"
USER = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture
def bed(tmp_path):
    bed = filebed.Bed(tmp_path / "bed")
    before = link.connect(bed.link)
    yield bed
    link.connect(before)


def test_keys_of_a_file_are_added_and_removed(bed, tmp_path):
    path = tmp_path / "keys" / "authorized_keys"
    args = {"user": USER, "source": bed.source("keys.pub", KEYS), "config": str(path)}

    def run(state, test=False, **kwargs):
        bed.opts["test"] = test
        ret = bed.loaders.states["ssh_auth." + state]("k", **{**args, **kwargs})
        return ret["result"], ret["changes"], ret["comment"]

    assert run("present", True) == (None, {}, "Set to add: AAAAC3NzaC1l\nSet to add: AAAAB3NzaC1yc2EA\n")
    assert not path.exists()
    assert run("present") == (True, {"k": "New"}, f"The authorized host key k for user {USER} was added")
    assert path.read_text() == KEYS.partition("\n")[2]
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert run("present")[:2] == (True, {})
    already = f"All host keys in file {args['source']} are already present"
    assert run("present", True) == (True, {}, already)
    assert run("present", source="salt://none.pub")[::2] == (
        False,
        "Failed to add the ssh key. Source file salt://none.pub is missing",
    )
    empty = bed.source("empty.pub", "nothing\n")
    assert run("present", source=empty)[::2] == (False, f"No keys detected in {empty}. Is file properly formatted?")
    assert run("absent", True)[0] is None
    assert run("absent") == (True, {"k": "Removed"}, "Key removed")
    assert path.read_text() == ""


def test_no_key_is_removed_if_the_source_is_missing(bed, tmp_path):
    """As in Salt the state succeeds; a warning reports the missing source."""
    path = tmp_path / "keys"
    path.write_text(KEYS)
    ret = bed.loaders.states["ssh_auth.absent"]("k", user=USER, source="salt://none.pub", config=str(path))
    assert (ret["result"], ret["changes"], ret["comment"]) == (True, {}, "")
    assert ret["warnings"] == ["Source file salt://none.pub is missing: no key was taken away"]
    assert path.read_text() == KEYS


def test_a_name_with_options_is_returned_unchanged(bed, tmp_path):
    """The changes name only the key."""
    args = {"user": USER, "config": str(tmp_path / "keys")}
    line = "no-pty ssh-ed25519 AAAAC3NzaC1l me@x"
    for state, change in (("present", "New"), ("absent", "Removed")):
        ret = bed.loaders.states["ssh_auth." + state](line, **args)
        assert (ret["name"], ret["changes"]) == (line, {"AAAAC3NzaC1l": change})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root refuses links of other users")
def test_a_link_of_the_user_is_not_followed(bed, tmp_path):
    path = tmp_path / "authorized_keys"
    path.symlink_to(tmp_path / "elsewhere")
    os.lchown(path, 12345, 12345)
    with pytest.raises(CommandExecutionError, match="not followed"):
        bed.call("ssh.set_auth_key", USER, "AAAAB3NzaC1yc2EA", config=str(path))
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    "text, expected",
    [
        ("ssh-rsa AAAA me", ([], "ssh-rsa", "AAAA", "me")),
        ('a,b="c d" sk-ssh-ed25519@openssh.com AAAA', (["a", 'b="c d"'], "sk-ssh-ed25519@openssh.com", "AAAA", "")),
        ("# ssh-rsa AAAA", None),
        ("", None),
        ("junk", None),
    ],
)
def test_lines_are_parsed(text, expected):
    assert authkeys.fields(text) == expected


@pytest.mark.parametrize(
    "name, full",
    [("rsa", "ssh-rsa"), ("e", "ecdsa-sha2-nistp256"), ("ed25519", "ssh-ed25519"), ("rsa-sha2-512", "rsa-sha2-512")],
)
def test_types_of_keys_have_full_names(name, full):
    assert authkeys.key_type(name) == full
