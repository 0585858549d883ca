"""Commands of ssh_config: how a line is split into words; no value of a token becomes a part of a script."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.transport.sshcommand import TokenError, command, expand
from pushsalt.transport.sshconfig import resolve

#: values that the checks of words refuse: the behaviour of a command if one gets through
EVIL = (
    "$(touch canary)",
    "`touch canary`",
    "x;touch canary",
    "x|touch canary",
    "'; touch canary; '",
    '"; touch canary; "',
    "a\ntouch canary\n",
    "-o x",
    "${IFS}",
    "a b",
    "*",
    "%p",
    "%%",
)


def tokens(**values):
    return values.__getitem__


@pytest.fixture(autouse=True)
def plain_shell(monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/sh")


@pytest.mark.parametrize(
    "line, words",
    [
        ("nc %h %p", ["nc", "H", "22"]),
        ("exec nc -X connect %h:%p", ["nc", "-X", "connect", "H:22"]),
        ("ssh -W '[%h]:%p' \"gate %r\"", ["ssh", "-W", "[H]:22", "gate R"]),
        ("nc %%h %h%h", ["nc", "%h", "HH"]),
        ("a\\ b %h", ["a b", "H"]),
        ("nc %h --a=b #c", ["/bin/sh", "-c", "nc ${1} --a=b #c", "pushsalt", "H"]),
        ("nc %h a#c", ["nc", "H", "a#c"]),
        ("nc %h %p 2>/dev/null", ["/bin/sh", "-c", "nc ${1} ${2} 2>/dev/null", "pushsalt", "H", "22"]),
        ("~/bin/proxy %h", ["/bin/sh", "-c", "~/bin/proxy ${1}", "pushsalt", "H"]),
        ("A=1 proxy %h", ["/bin/sh", "-c", "A=1 proxy ${1}", "pushsalt", "H"]),
        ("! test %h = x", ["/bin/sh", "-c", "! test ${1} = x", "pushsalt", "H"]),
        ("p \"%h\" '%h' \\%h; :", ["/bin/sh", "-c", "p \"${1}\" ''\"${1}\"'' ${1}; :", "pushsalt", "H"]),
        ("p '$HOME' %h", ["p", "$HOME", "H"]),
        ('p "$HOME" %h', ["/bin/sh", "-c", 'p "$HOME" ${1}', "pushsalt", "H"]),
        ("p %h && p %%", ["/bin/sh", "-c", "p ${1} && p %", "pushsalt", "H"]),
    ],
)
def test_words(line, words):
    assert command(line, tokens(h="H", p="22", r="R")) == words


@pytest.mark.parametrize(
    "line, error", [("nc %z", TokenError), ("nc %", TokenError), ("nc 'x", ValueError), ("", ValueError)]
)
def test_invalid_lines(line, error):
    with pytest.raises(error):
        command(line, tokens(h="H"))


def test_values_of_tokens_are_not_expanded_again():
    assert expand("%h-%%h-%r", tokens(h="%r%%", r="%h")) == "%r%%-%h-%h"


@pytest.mark.parametrize("value", EVIL)
@pytest.mark.parametrize(
    "line",
    [
        "printf %%s %h",
        'printf %%s "%h"',
        "printf %%s '%h'",
        "printf %%s %h; :",
        'printf %%s "%h"; :',
        "printf %%s '%h'; :",
        "exec printf %%s %h | cat",
        'x=%h; printf %%s "$x"',
        'printf %%s "$(printf %%s "%h")"',
        "printf %%s \"$(printf %%s '%h')\"",
    ],
)
def test_a_value_stays_one_value(line, value, tmp_path):
    """Also one that the checks of words would refuse."""
    words = command(line, tokens(h=value))
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not list(tmp_path.iterdir())
    # within $( ) the shell removes a trailing line break, and splits unquoted text
    if "$(" not in line or not set(value) & set(" \n*"):
        assert done.stdout == value


# --- in ssh_config


def config(tmp_path: Path, text: str) -> tuple[Path, ...]:
    path = tmp_path / "config"
    path.write_text(text.format(here=tmp_path))
    return (path,)


@pytest.mark.parametrize(
    "condition, holds",
    [
        ("exec true", True),
        ("exec false", False),
        ("!exec false", True),
        ("!exec true", False),
        ("exec /no/such", False),
        ('exec "test %h = t.example"', True),
        ('exec "test %n = t"', True),
        ('exec "test %p = 2222"', True),
        ('exec "test %r = jo"', True),
        ('exec "test %h = other"', False),
        ('exec "[ %h = t.example ] && true"', True),
        ("exec \"test $HOME && test '%h' = t.example\"", True),
        ('user jo exec "test %r = jo"', True),
        ("user nobody exec true", False),
        ("exec true user nobody", False),
        ("exec true user jo exec true", True),
        ('exec "test -d %d"', True),
        ('exec "test %% = %%"', True),
        ("originalhost t exec true", True),
        ("final exec true", True),
    ],
)
def test_match_exec(tmp_path, condition, holds):
    files = config(
        tmp_path, "Host t\n HostName %h.example\n Port 2222\nMatch " + condition + "\n ServerAliveInterval 7\n"
    )
    assert (resolve(Target("t", user="jo"), files).get("ServerAliveInterval") == 7) is holds


def test_a_condition_that_fails_before_runs_nothing(tmp_path):
    files = config(tmp_path, 'Match user nobody exec "touch {here}/canary"\n Port 7\nHost *\n Port 8\n')
    assert resolve(Target("t", user="jo"), files).port == 8
    assert not (tmp_path / "canary").exists()


def test_match_exec_has_a_time_limit(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("pushsalt.transport.sshcommand.EXEC_TIMEOUT", 0.2)
    assert resolve(Target("t"), config(tmp_path, 'Match exec "sleep 60"\n Port 7\n')).port == 22
    assert "did not end" in caplog.text


@pytest.mark.parametrize("setting", ["host", "user"])
@pytest.mark.parametrize("line", ["nc %h %r", "nc '%h' '%r' || :", "sh -c 'nc %h %r'"])
@pytest.mark.parametrize("word", ["ProxyCommand {line}", 'Match exec "{line}"\n  Port 7'])
def test_what_ssh_refuses_is_refused_before_a_command_gets_it(tmp_path, setting, line, word, monkeypatch):
    """CVE-2023-51385, CVE-2025-61984 and -61985: a second check after that of the inventory."""
    monkeypatch.chdir(tmp_path)
    files = config(tmp_path, "Host *\n  " + word.format(line=line) + "\n")
    for value in ("$(touch canary)", "x;touch canary", "`touch canary`", "a\ntouch canary\n", "x\0y", "-x", "$[\nx\n]"):
        with pytest.raises(TargetError) as caught:
            resolve(Target("t", **{"host": "h", "user": "u", setting: value}), files)
        assert caught.value.kind == "setting_refused" and caught.value.message.isprintable() and caught.value.hint
    assert not (tmp_path / "canary").exists()


def test_an_id_is_never_run_as_a_command(tmp_path):
    with pytest.raises(TargetError) as caught:
        resolve(Target("x`touch${IFS}canary`"), config(tmp_path, "ProxyCommand nc %n\n"))
    assert caught.value.kind == "setting_refused" and "`id`" in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "HostName $(touch${{IFS}}x)\n",
        "User a;b\n",
        "HostKeyAlias no-pty ssh-ed25519\n",
        "HostKeyAlias a;b\n",
        "Port 99999\n",
        "ProxyCommand nc %z\n",
        "ProxyCommand nc 'x\n",
        "ProxyJump a;b\n",
        "IdentityFile ~/.ssh/%z\n",
    ],
)
def test_words_of_ssh_config_are_checked_alike(tmp_path, text):
    files = config(tmp_path, "Host *\n  " + text)
    if "no-pty" in text:  # more than one value
        assert resolve(Target("t"), files).get("HostKeyAlias") in (None, "no-pty")
        return
    with pytest.raises(TargetError) as caught:
        resolve(Target("t"), files)
    assert caught.value.kind == "setting_refused"


def test_tokens_and_variables_of_files(tmp_path, monkeypatch):
    monkeypatch.setenv("KEYS", "/keys/%h")
    files = config(tmp_path, "Host *\n IdentityFile ${{KEYS}}/%h-%r\n IdentityFile %%h\n UserKnownHostsFile ~/%n\n")
    settings = resolve(Target("t", host="h.example", user="jo", ssh_options=("IdentityFile=/own/${KEYS}",)), files)
    # once, for any number of files; only the operator may name the environment, not an inventory
    assert settings.get("IdentityFile") == ["/own/${KEYS}", "/keys/%h/h.example-jo", "%h"]
    assert settings.get("UserKnownHostsFile") == ["~/h.example"]


def test_tokens_are_expanded_once_with_two_files(tmp_path):
    first, second = tmp_path / "one", tmp_path / "two"
    first.write_text("Host *\n ProxyCommand p %%h %h\n")
    second.write_text("Host *\n Port 23\n")
    assert resolve(Target("t"), (first, second)).proxy == ("p", "%h", "t")


def test_a_configuration_that_others_can_write_runs_nothing(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / ".ssh" / "config"
    path.parent.mkdir()
    path.write_text(f'Match exec "touch {tmp_path}/canary"\n Port 7\n')
    path.chmod(0o666)
    assert resolve(Target("t"), (path,)).port == 22
    assert not (tmp_path / "canary").exists() and "chmod go-w" in caplog.text
    path.chmod(0o600)
    assert resolve(Target("t"), (path,)).port == 7


def test_includes_are_bounded(tmp_path):
    files = config(tmp_path, "Port 7\nInclude {here}/config\n")
    assert resolve(Target("t"), files).port == 7


# --- compared with ssh


@pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh")
@pytest.mark.parametrize(
    "text",
    [
        "Host t\n HostName %h.example\n Port 2222\n User jo\n",
        "Host=t\n  HostName = a.example\n  Port=23\n",
        'Host "t"\n\tHostName "b.example"\n\tUser\t"jo.x"\n',
        "Host other t !u\n Port 24\nHost *\n Port 25\n User last\n",
        "Host !t *\n Port 24\nHost *\n Port 26\n",
        "# c\n\n   # d\nhost T\n port 1\nHOST t\n PORT 2\n",
        "Match host t\n Port 27\nMatch all\n User x\n",
        "Match originalhost t user jo\n Port 28\n",
        "Match !originalhost u\n Port 29\n",
        'Match originalhost t exec "test %h = t -a %p = 22"\n Port 30\n',
        'Match exec "test %n%%%h = t%%t"\n Port 31\n',
        'Match exec "echo %h | grep -q t"\n Port 32\n',
        "Match exec \"test '%h' = 't'\"\n Port 33\n",
        'Match exec "exit 1"\n Port 34\nHost *\n Port 35\n',
        "Match exec true\n Port 36\n User a\nMatch user a\n HostName c.example\n",
        "Match final all\n Port 37\n",
        "Include {here}/more\nPort 38\n",
        "Host t\n Include {here}/more\n Port 39\n",
        "Host u\n Include {here}/more\nHost t\n Port 40\n",
        "ProxyJump jo@gate:2222,[::1]:23\n",
        "HostName fe80::1%%eth0\n",
        "IdentityFile ~/.ssh/%r@%h\nIdentityFile /k/%%x/%n\nUserKnownHostsFile /a /b\n",
    ],
)
def test_what_ssh_itself_makes_of_a_file(tmp_path, text):
    (tmp_path / "more").write_text("User included\nHost nobody\n Port 41\n")
    files = config(tmp_path, text)
    words = ["ssh", "-G", "-F", str(files[0]), "t"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    wanted: dict[str, list[str]] = {}
    for line in said.splitlines():
        name, _, value = line.partition(" ")
        wanted.setdefault(name, []).append(value)
    found = resolve(Target("t"), files)
    assert (found.host, str(found.port), found.user) == (*wanted["hostname"], *wanted["port"], *wanted["user"])
    assert found.get("ProxyJump") == wanted.get("proxyjump", [None])[0]
    if found.get("UserKnownHostsFile"):
        assert found.get("UserKnownHostsFile") == wanted["userknownhostsfile"][0].split()


@pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh")
def test_what_ssh_refuses_is_refused(tmp_path):
    """As far as this machine's ssh has the checks: in host names since 9.6, in user names since 10.1."""
    for host in ("-x", "a;b", "a|b", "$(x)", "`x`", "a\\b", "a'b", "a b", "a>b", "{a}"):
        words = ["ssh", "-G", "-F", "none", "--", host]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        with pytest.raises(TargetError):
            resolve(Target("t", host=host), ())
        assert done.returncode == 0 or "hostname contains invalid characters" in done.stderr
