"""Files of ssh_config are divided once, and each host gets the sections that may apply to it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pushsalt.model import Target
from pushsalt.transport import sshconfigfile
from pushsalt.transport.sshconfig import resolve

FLEET = """
ServerAliveInterval 5
Host web1
  Port 2201
Host web1 web2 db.example.org
  Port 2202
  User many
Host web*
  Port 2203
  User web
Host !web3 *3
  User three
Match originalhost web4,db.example.org
  User matched
Host [web5] "quoted"
  User odd
Host *
  Port 2204
  User all
"""
HOSTS = ["web1", "web2", "web3", "x3", "web4", "web5", "quoted", "db.example.org", "other"]


def named(file: sshconfigfile.ConfigFile, host: str) -> list[str]:
    """The first words of a host's conditions."""
    return [line.words[0] for line in file.lines(host) if line.name in sshconfigfile.CONDITIONS]


def test_a_section_with_plain_names_is_only_for_its_hosts() -> None:
    text = "".join(f"Host web{number} alias{number}\n  Port {number}\n" for number in range(1000))
    file = sshconfigfile.divided(f"User first\n{text}Host web7\nHost *\n  User last\n")
    assert [(line.number, line.name, line.words) for line in file.lines("Web7")] == [
        (1, "user", ("first",)),
        (16, "host", ("web7", "alias7")),
        (17, "port", ("7",)),
        (2002, "host", ("web7",)),
        (2003, "host", ("*",)),
        (2004, "user", ("last",)),
    ]
    assert named(file, "alias7") == ["web7", "*"]


@pytest.mark.parametrize(
    "condition", ["Host a,b", "Host a !b", "Host a b?", "Host", 'Host "a', "Match all", "Host [a]"]
)
def test_any_other_section_is_for_every_host(condition: str) -> None:
    assert [line.number for line in sshconfigfile.divided(f"\n{condition}\n Port 1\n").lines("x")] == [2, 3]


def test_comments_and_empty_lines_are_left_out_and_counted() -> None:
    lines = sshconfigfile.divided("# one\n\n  # two\n\tPort = 7 # seven\nProxyCommand nc '%h'\n").lines("x")
    assert [(line.number, line.name, line.words) for line in lines] == [
        (4, "port", ("7", "#", "seven")),
        (5, "proxycommand", ("nc '%h'",)),
    ]


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "config"
    for port in (2001, 2022):
        path.write_text(f"Host t\n  Port {port}\n")
        assert [resolve(Target("t"), [path]).port for _ in range(2)] == [port, port]
    path.unlink()
    assert resolve(Target("t"), [path]).port == 22


def test_a_condition_with_an_open_quote_ends_the_file_with_its_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "config"
    path.write_text('Host t\n  User jo\nHost "t\n  Port 7\n')
    settings = resolve(Target("t"), [path])
    assert (settings.user, settings.port) == ("jo", 22)
    assert f"{path} line 3: No closing quotation" in caplog.text


@pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh")
@pytest.mark.parametrize("host", HOSTS)
def test_the_sections_of_a_fleet_apply_as_in_ssh(tmp_path: Path, host: str) -> None:
    path = tmp_path / "config"
    path.write_text(FLEET)
    argv = ["ssh", "-G", "-F", str(path), host]
    said = dict(
        line.partition(" ")[::2]
        for line in subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    )
    settings = resolve(Target("t", host=host), [path])
    assert (str(settings.port), settings.user) == (said["port"], said["user"])
    assert str(settings.get("ServerAliveInterval")) == said["serveraliveinterval"] == "5"
