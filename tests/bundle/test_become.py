"""Which lines count as prompts of su, doas and run0, and which entry of polkit's list is chosen."""

import os
import shutil
import subprocess
import sys

import pytest

from pushsalt.bundle import shim
from pushsalt.bundle.become import METHODS, Become, Questions
from pushsalt.errors import TargetError
from pushsalt.inventory.values import BECOME
from pushsalt.model import Secret, Target
from pushsalt.session.handshake import Opening

MARK = b"pushsalt-abcdefghijkl:"
POLKIT = b"""==== AUTHENTICATING FOR org.freedesktop.systemd1.manage-units ====
Authentication is required to start transient unit 'run-p1.service'.
Multiple identities can be used for authentication:
 1.  other
 2.  Ada Lovelace,,, (careful)
 3.  notcareful
Choose identity to authenticate as (1-3): """


def questions(method="doas"):
    return Questions(Become(METHODS[method], "root", asks=True, mark=MARK.decode()))


def opening(**settings):
    settings = {"sudo": True, "become": "su", "sudo_password": Secret("the-word"), **settings}
    return Opening(Target("t", **settings), "careful")


def test_there_is_a_program_for_each_word():
    assert tuple(METHODS) == BECOME


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    "method, before, text",
    [
        ("su", b"Password: \nmotd\n", MARK + b"\nPassword: "),
        ("doas", b"doas (me@here) password: ", MARK + b"\n" + MARK + b"\r\n\rdoas (careful@web1) password: "),
        ("run0", b"", MARK + b"\n==== AUTHENTICATING ====\nAuthenticating as: careful\nPassword: \x1b[0m"),
        ("sudo", b"Password: ", MARK),
    ],
)
def test_a_prompt_counts_once_and_only_after_the_mark(method, before, text, size):
    heard = questions(method)
    assert sum(heard.heard(before[at : at + size]) for at in range(0, len(before), size)) == 0
    found = [heard.heard(text[at : at + size]) for at in range(0, len(text), size)]
    assert sum(found) == 1
    assert heard.heard(b"\n") == 0 and heard.heard(b"su: Authentication failure\r\n") == 0


def test_an_unfinished_line_is_not_a_prompt():
    heard = questions()
    for text in (MARK + b"\n", b"Your password: it expires in 3 days\n", b"Last login: today\n", b"shopping: "):
        assert heard.heard(text) == 0, text


def test_the_answer_is_given_once():
    one = opening()
    mark = one.become.mark.encode()
    assert one.heard(b"Password: ") == b""
    assert one.heard(mark, "stdout") == b""
    assert one.heard(b"Password: ", "stderr") == b"", "each stream has a mark of its own"
    assert one.heard(mark + b"\nPassword: ") == b"the-word\n"
    with pytest.raises(TargetError, match="su did not accept") as caught:
        one.heard(b"Password: ")
    assert caught.value.kind == "sudo_password_wrong" and "that user's own" in caught.value.hint


def test_a_prompt_of_su_without_a_password_is_an_error():
    one = opening(sudo_password=None)
    with pytest.raises(TargetError) as caught:
        one.heard(one.become.mark.encode() + b"\nPassword: ")
    assert caught.value.kind == "sudo_password_required" and "-K" in caught.value.hint


def test_polkit_is_told_who_logged_in():
    for login, number in (("careful", b"2\n"), ("other", b"1\n"), ("nobody", b"1\n")):
        one = Opening(Target("t", sudo=True, become="run0", sudo_password=Secret("x")), login)
        assert one.heard(one.become.mark.encode() + b"\n" + POLKIT) == number
        assert one.heard(b"Password: ") == b"x\n"
        assert one.prompts == 1


@pytest.mark.parametrize("method", ["doas", "run0"])
def test_here_is_no_terminal_to_ask_on(method):
    with pytest.raises(TargetError, match=f"{method} asks for a password on a terminal"):
        opening(transport="local", become=method).command(1)
    assert method in opening(transport="local", become=method, sudo_password=None).command(1)


def test_no_program_is_used_to_become_the_same_user():
    one = Opening(Target("t", sudo=True, become="su"), "root")
    assert one.become is None and not one.waits and "su" not in one.command(1)


#: Take arguments as the real programs do, and run the command: su of Linux, and of BSD, where -c before the user has
#: another meaning.
TOOLS = {
    "sudo": 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
    "doas": '[ "$1 $2 $3" = "-u other --" ] && shift 3 && exec "$@"',
    "run0": '[ "$1 $2 $3 $4" = "--pipe --background= --user=other --" ] && shift 4 && exec "$@"',
    "su": '[ "$1 $2 $3 $4 $6 $7" = "-l -s /bin/sh -c -- other" ] || exit 9\nc=$5; shift 7; exec sh -c "$c" "$@"',
    "bsd-su": '[ "$1 $2 $3" = "-l other -c" ] || exit 9\nshift 2; exec sh "$@"',
}
HELLO = b'import os;os.write(1,b"hello "+n.encode())'


@pytest.mark.parametrize("shell", [shell for shell in ("sh", "bash", "zsh", "fish", "tcsh") if shutil.which(shell)])
@pytest.mark.parametrize("tool", TOOLS)
def test_the_command_survives_each_program_and_login_shell(tmp_path, tool, shell):
    method = tool.removeprefix("bsd-")
    for name, text in {method: TOOLS[tool], **({"uname": "echo FreeBSD"} if tool == "bsd-su" else {})}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    become = Become(METHODS[method], "other", asks=True, tty=True, mark=MARK.decode())
    words = shim.command(Target("t", python=sys.executable), "0123456789abcdef", len(HELLO), become=become)
    done = subprocess.run(
        [shell, "-c", shim.shell_line(words)],
        input=HELLO,
        capture_output=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert done.stdout.removeprefix(MARK + b"\n") == b"hello 0123456789abcdef", done.stderr
