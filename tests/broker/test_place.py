"""The path of a broker's socket: it differs whenever a command could behave differently."""

import pytest

from pushsalt.broker import place, request

ENV = {"HOME": "/home/ann", "PATH": "/bin", "TERM": "xterm"}


@pytest.mark.parametrize("name", ["HOME", "PATH", "SSH_AUTH_SOCK", "LANG", "LC_ALL", "PYTHONPATH", "LD_LIBRARY_PATH"])
def test_the_environment_that_matters(name):
    assert place.key({**ENV, name: "other"}, ["a"]) != place.key(ENV, ["a"])


@pytest.mark.parametrize("name", ["TERM", "PWD", "SHLVL", "EDITOR"])
def test_the_environment_that_does_not(name):
    assert place.key({**ENV, name: "other"}, ["a"]) == place.key(ENV, ["a"])


def test_configuration_and_inventory_matter():
    assert len({place.key(ENV, paths) for paths in ([], ["a"], ["b"], ["a", "b"], ["ab"])}) == 5


def test_command_lines_with_the_same_options_share_a_link():
    same = [["run", "*", "test.ping"], ["apply", "web1", "x", "--test"], ["--session", "3m", "run", "*", "a.b"]]
    assert len({place.alias(words, ENV, "/here") for words in same}) == 1
    others = [["-c", "x", "run"], ["-cy", "run"], ["run", "--config=z"], ["-i", "x", "run"], ["--cache-dir", "x"]]
    assert len({place.alias(words, ENV, "/here") for words in [*same, *others]}) == 6
    assert place.alias(same[0], ENV, "/there") != place.alias(same[0], ENV, "/here")
    assert place.alias(same[0], {**ENV, "PUSHSALT_CONFIG": "x"}, "/here") != place.alias(same[0], ENV, "/here")


def test_only_a_folder_of_ones_own_is_private(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o700)
    assert place.is_private(str(folder))
    (tmp_path / "link").symlink_to(folder)
    assert not place.is_private(str(tmp_path / "link"))
    assert not place.is_private(str(tmp_path / "nothing"))
    for mode in (0o750, 0o707, 0o770):
        folder.chmod(mode)
        assert not place.is_private(str(folder))


def test_a_request_is_decoded_as_it_was_encoded():
    sent = request.Request(["p", "", "a=b\n"], ["", "/lib"], {"A": "1=2", "B": "", "C": "\udcff"}, 0o22, 1024, [1, 15])
    data = sent.encode()
    assert data[:4] == request.MAGIC
    assert int.from_bytes(data[4:8], "big") == len(data) - request.HEAD
    assert vars(request.decode(data[request.HEAD :])) == vars(sent)


def test_commands_that_ask_run_by_themselves():
    from pushsalt.broker.client import _may_be_run

    assert _may_be_run(["run", "*", "test.ping"])
    assert _may_be_run(["-i", "x", "apply", "web1"])
    for words in (
        ["run", "*", "test.ping", "-k"],
        ["run", "*", "test.ping", "-K"],
        ["apply", "*", "--ask-pass"],
        ["apply", "--rerun-failed"],
        ["apply", "*", "--confirm"],
        ["--session", "0", "run", "*", "test.ping"],
        ["--session=off", "run", "*", "test.ping"],
        ["jobs", "show", "run"],
        ["--help"],
        [],
    ):
        assert not _may_be_run(words), words


def test_the_client_has_every_command():
    from pushsalt.broker.client import COMMANDS, OTHERS
    from pushsalt.cli.app import COMMANDS as ALL

    assert set(ALL) <= COMMANDS | OTHERS
    assert not COMMANDS & OTHERS
