"""Programs are started, given input, bounded and waited for; cmd.* treats arguments, users and environments as Salt
does.
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError

ROOT = os.geteuid() == 0


def sh(text: str, **kwargs: Any) -> process.Result:
    return process.run(["/bin/sh", "-c", text], **kwargs)


@pytest.mark.parametrize(
    "text, kwargs, retcode, stdout, stderr",
    [
        ("echo out; echo err >&2; exit 3", {}, 3, b"out\n", b"err\n"),
        ("echo out; echo err >&2", {"merge": True}, 0, b"out\nerr\n", b""),
        ("cat", {"stdin": b"x" * 300000}, 0, b"x" * 300000, b""),
        ("true", {"stdin": b"x" * 300000}, 0, b"", b""),
        ("cat", {}, 0, b"", b""),
        ("kill -TERM $$", {}, -15, b"", b""),
        ("pwd; umask", {"cwd": "/usr", "umask": 0o027}, 0, b"/usr\n0027\n", b""),
        ("echo $A", {"env": {"A": "b"}}, 0, b"b\n", b""),
        (
            "head -c 300000 /dev/zero | tr '\\0' x; head -c 300000 /dev/zero | tr '\\0' y >&2",
            {},
            0,
            b"x" * 300000,
            b"y" * 300000,
        ),
    ],
)
def test_a_program_returns_its_code_and_output(
    text: str, kwargs: dict[str, Any], retcode: int, stdout: bytes, stderr: bytes
) -> None:
    result = sh(text, **kwargs)
    assert (result.retcode, result.stdout, result.stderr, result.timed_out) == (retcode, stdout, stderr, False)


@pytest.mark.parametrize(
    "argv, kwargs, error",
    [
        (["no-such-program"], {}, FileNotFoundError),
        (["/etc/passwd"], {}, PermissionError),
        (["true"], {"cwd": "/no/such"}, FileNotFoundError),
        (["no-such-program"], {"stdin": b"x"}, FileNotFoundError),
        (["a\0b"], {}, ValueError),
    ],
)
def test_a_program_that_cannot_start_is_an_error(
    argv: list[str], kwargs: dict[str, Any], error: type[Exception]
) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(error):
        process.run(argv, **kwargs)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("text", ["echo a; sleep 60", "echo a; exec >&- 2>&-; sleep 60", "echo a; sleep 60 & sleep 60"])
def test_a_timeout_kills_the_program_and_its_children(text: str) -> None:
    before = set(process.descendants(os.getpid()))  # servers that other tests run
    result = sh(text, timeout=0.3)
    assert (result.timed_out, result.stdout) == (True, b"a\n")
    assert set(process.descendants(os.getpid())) <= before


def test_output_above_the_limit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(sh("head -c 20000000 /dev/zero").stdout) == 20000000
    monkeypatch.setattr(process, "OUTPUT_LIMIT", 1024 * 1024)
    before = set(process.descendants(os.getpid()))
    with pytest.raises(OSError, match="it writes more than 1 MiB"):
        sh("yes")
    assert set(process.descendants(os.getpid())) <= before


def test_no_descriptor_leaks_in_or_out() -> None:
    with open(os.devnull) as handle:
        before = sorted(os.listdir("/proc/self/fd"))
        result = process.run([sys.executable, "-c", "import os; print(sorted(os.listdir('/proc/self/fd')))"])
        assert sorted(os.listdir("/proc/self/fd")) == before
        assert str(handle.fileno()) not in result.stdout.decode() or handle.fileno() == 3


def test_a_background_program_has_a_session_of_its_own(tmp_path: Path) -> None:
    result = sh(f"ps -o sid= -p $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/sid", background=True)
    assert result.retcode is None
    os.waitpid(result.pid, 0)
    assert int((tmp_path / "sid").read_text()) == result.pid


@pytest.fixture
def cmd(make_loaders: Callable[..., Any]) -> Any:
    return make_loaders().modules.cmd


@pytest.mark.parametrize(
    "fun, args, kwargs, value",
    [
        ("run", ["echo 'a b' $HOME"], {}, "a b $HOME"),
        ("run", ["echo a | cat"], {"python_shell": True}, "a"),
        ("run", [["echo", "a b", 3]], {}, "a b 3"),
        ("shell", ["echo a | cat"], {}, "a"),
        ("run", ["echo out; echo err >&2"], {"python_shell": True}, "out\nerr"),
        ("run", ["echo x"], {"hide_output": True}, ""),
        ("run", ["printf 'a \\n\\n'"], {"rstrip": False, "python_shell": True}, "a \n\n"),
        ("run", ["cat"], {"stdin": "a\\nb"}, "a\nb"),
        ("run", ["printf '\\351'"], {"output_encoding": "latin-1", "python_shell": True}, "é"),
        ("run", ["printf '\\351'"], {"python_shell": True}, "�"),
        ("run", ["echo $A$B"], {"env": [{"A": 1}, {"B": None}], "python_shell": True}, "1"),
        ("run", ["echo $LC_ALL$LC_CTYPE"], {"python_shell": True, "clean_env": True}, "C"),
        ("run", ["pwd"], {"cwd": "/usr"}, "/usr"),
        ("run", ["umask"], {"umask": "077", "python_shell": True}, "0077"),
        ("run_stdout", ["echo o; echo e >&2"], {"python_shell": True}, "o"),
        ("run_stderr", ["echo o; echo e >&2"], {"python_shell": True}, "e"),
        ("retcode", ["false"], {}, 1),
        ("retcode", ["exit 5"], {"python_shell": True, "success_retcodes": [5]}, 0),
        ("retcode", ["exit 5"], {"python_shell": True, "success_retcodes": "4,5"}, 0),
        ("retcode", ["echo fine; exit 5"], {"python_shell": True, "success_stdout": ["fine"]}, 0),
        ("run", ["sleep 30"], {"timeout": 0.2}, "sleep 30 : Timed out after 0.2 seconds"),
        ("exec_code", ["sh", "echo $1"], {"args": "x y"}, "x y"),
        ("has_exec", ["no-such-program"], {}, False),
        ("which_bin", [["no-such-program", "sh"]], {}, process.which("sh")),
        ("which", [""], {}, None),
    ],
)
def test_functions_of_cmd_return_values(
    cmd: Any, fun: str, args: list[Any], kwargs: dict[str, Any], value: Any
) -> None:
    assert cmd[fun](*args, **kwargs) == value


@pytest.mark.parametrize(
    "kwargs, error, text",
    [
        ({"cmd": "no-such-program a"}, CommandExecutionError, "Unable to run command 'no-such-program a' in '/usr'"),
        ({"cmd": "x s3cret", "output_loglevel": "quiet"}, CommandExecutionError, "Unable to run command 'REDACTED'"),
        ({"cmd": "ls", "cwd": "usr"}, CommandExecutionError, "Specified cwd 'usr' either not absolute"),
        ({"cmd": "ls", "runas": "no-such-user"}, CommandExecutionError, "User 'no-such-user' is not available"),
        ({"cmd": "ls", "group": "no-such-group"}, CommandExecutionError, "Group 'no-such-group' is not available"),
        ({"cmd": "ls", "shell": "/no/shell"}, CommandExecutionError, "The shell /no/shell is not available"),
        ({"cmd": "ls", "umask": "000"}, CommandExecutionError, "Zero umask is not allowed."),
        ({"cmd": "ls", "umask": "abc"}, CommandExecutionError, "Invalid umask: 'abc'"),
        ({"cmd": "ls", "success_retcodes": ["x"]}, SaltInvocationError, "success_retcodes must be a list of integers"),
        ({"cmd": "ls 'a"}, SaltInvocationError, "cannot split"),
        ({"cmd": "ls", "timeout": "x"}, CommandExecutionError, "Error: timeout x must be a number"),
        ({"cmd": "false", "raise_err": True}, CommandExecutionError, ""),
    ],
)
def test_errors_of_cmd_run(cmd: Any, kwargs: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        cmd.run(**{"cwd": "/usr", **kwargs})
    assert text in str(caught.value)


@pytest.mark.skipif(not ROOT, reason="only root can become another user")
def test_runas_is_that_user_with_its_login_environment(cmd: Any) -> None:
    user = pwd.getpwnam("nobody")
    output = cmd.run("id -u; id -g; echo $USER $HOME $LOGNAME", runas="nobody", python_shell=True, cwd="/")
    assert output.split("\n") == [str(user.pw_uid), str(user.pw_gid), f"nobody {user.pw_dir} nobody"]


@pytest.mark.skipif(not ROOT, reason="only root can become another user")
def test_secrets_in_env_do_not_reach_argv_of_a_runas(cmd: Any) -> None:
    output = cmd.run(
        "cat /proc/self/cmdline /proc/$PPID/cmdline",
        runas="nobody",
        python_shell=True,
        cwd="/",
        env={"PASSWORD": "c4nary"},
        stdin="c4nary",
    )
    assert "c4nary" not in output


@pytest.mark.parametrize(
    "allowed, opts",
    [
        (True, {}),
        (False, {"cmd_blacklist_glob": ["ec*"]}),
        (False, {"cmd_whitelist_glob": ["ls *"]}),
        (True, {"cmd_whitelist_glob": ["echo *"]}),
    ],
)
def test_options_restrict_commands_from_the_command_line(
    make_loaders: Any, allowed: bool, opts: dict[str, Any]
) -> None:
    run = make_loaders(opts=opts).modules["cmd.run"]
    if allowed:
        assert run("echo $((1+1))", __pub_jid="1") == "2"
    else:
        with pytest.raises(CommandExecutionError, match="is not permitted"):
            run("echo a", __pub_jid="1")
    assert run("echo a") == "a"


def test_arguments_of_a_command_are_not_logged(cmd: Any, lines: list[tuple[str, str]]) -> None:
    cmd.run("false --password c4nary")
    assert any("'false'" in text for _, text in lines)
    assert not any("c4nary" in text for _, text in lines)
