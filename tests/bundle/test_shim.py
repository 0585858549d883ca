"""The first stage's command: every login shell passes it on unchanged; its errors when no Python is found."""

import re
import shutil
import stat
import subprocess
import sys

import pytest

from pushsalt.bundle import pack, shim
from pushsalt.bundle.become import METHODS, Become
from pushsalt.errors import TargetError
from pushsalt.model import Target

SHELLS = [
    shell for shell in ("sh", "dash", "bash", "zsh", "ksh", "fish", "tcsh", "csh", "busybox") if shutil.which(shell)
]
NONCE = "0123456789abcdef"
HELLO = b'import os;os.write(1,b"hello "+n.encode())'


def command(target=None, **kwargs):
    return shim.command(target or Target("t", python=sys.executable), NONCE, len(HELLO), **kwargs)


@pytest.mark.parametrize("method", METHODS)
def test_no_argument_has_characters_that_a_shell_interprets(method):
    become = Become(METHODS[method], "root", asks=True, tty=True, mark="prompt-1:")
    for word in command(Target("t"), go=True, become=become):
        assert not re.search(r"['\\!\n\t]", word), word
    # old versions of csh refuse words longer than about a kilobyte
    assert max(map(len, command(Target("t")))) < 1000


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_survives_every_login_shell(shell):
    argv = [shell, "sh"] if shell == "busybox" else [shell]
    done = subprocess.run([*argv, "-c", shim.shell_line(command())], input=HELLO + b"more", capture_output=True)
    assert done.stdout == b"hello " + NONCE.encode(), done.stderr


def test_go_is_said_before_anything_is_read():
    with subprocess.Popen(command(go=True), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.read(21) == NONCE.encode() + b"G" + bytes(4)
        process.stdin.write(HELLO)
        process.stdin.close()
        assert process.stdout.read() == b"hello " + NONCE.encode()


def test_words_are_quoted_or_refused():
    assert shim.shell_line(["a", "b c", "$(x)", "`y`"]) == "exec a 'b c' '$(x)' '`y`'"
    for word in ("it's", "back\\slash", "bang!", "new\nline", "\x1b"):
        with pytest.raises(ValueError):
            shim.shell_line([word])


@pytest.mark.parametrize("value", ["-c", "py'thon", "a\\b", "x!", "a\nb"])
@pytest.mark.parametrize("setting", ["python", "sudo_user"])
def test_inventory_values_that_could_be_more_than_a_word_are_refused(setting, value):
    target = Target("t", **{setting: value})
    with pytest.raises(TargetError) as caught:
        become = Become(METHODS["sudo"], value) if setting == "sudo_user" else None
        shim.command(target, NONCE, 1, become=become)
    assert setting in caught.value.message and caught.value.hint


def fake(folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def run_without_python(path, target):
    done = subprocess.run(command(target), input=b"", capture_output=True, env={"PATH": str(path)})
    assert done.returncode == shim.NO_PYTHON
    return shim.refusal(b"noise\n" + done.stdout, NONCE)


@pytest.fixture
def only_missing(monkeypatch):
    monkeypatch.setattr(shim, "CANDIDATES", ("python3", "python3.9", "/nowhere/python3"))


def test_no_python_is_reported_with_the_distribution(tmp_path, only_missing):
    found = run_without_python(tmp_path, Target("t"))
    assert found.kind == "no_python" and found.found == "none"
    assert re.fullmatch(r"[\w.-]+", found.os_id)


def test_a_python_2_is_found_but_too_old(tmp_path, only_missing):
    fake(tmp_path, "python2", "echo Python 2.7.18 >&2")
    assert run_without_python(tmp_path, Target("t")).found == "Python 2.7.18"


def test_the_report_counts_only_with_our_nonce(tmp_path):
    assert shim.refusal(b"pushsalt 99999999 no_python debian none", NONCE) is None
    found = shim.refusal(b"pushsalt 01234567 no_python debian none", NONCE)
    assert found == shim.Refusal("no_python", "debian", "none")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the next candidate is started by what /proc says")
def test_a_python_that_is_too_old_gives_way_to_the_next(tmp_path, monkeypatch):
    """A real old Python is not installed everywhere: a variable makes the first of two report an old version."""
    monkeypatch.setattr(shim, "CANDIDATES", ("python3", "python3.8", "python3.7"))
    posing = shim._ONE_LINE.replace("sys.version_info<(3,6)", 'os.environ.pop("OLD",None)')
    assert posing != shim._ONE_LINE
    monkeypatch.setattr(shim, "_ONE_LINE", posing)
    fake(tmp_path, "python3", f'OLD=1 exec {sys.executable} "$@"')
    fake(tmp_path, "python3.7", f'exec {sys.executable} "$@"')
    done = subprocess.run(command(Target("t")), input=HELLO, capture_output=True, env={"PATH": str(tmp_path)})
    assert done.stdout == b"hello " + NONCE.encode(), done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="as above")
def test_only_too_old_pythons_are_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(shim, "CANDIDATES", ("python3",))
    monkeypatch.setattr(shim, "_ONE_LINE", shim._ONE_LINE.replace("sys.version_info<(3,6)", "True"))
    fake(tmp_path, "python3", f'exec {sys.executable} "$@"')
    found = run_without_python(tmp_path, Target("t"))
    assert found.kind == "too_old" and found.found == sys.version.split()[0]


def test_the_program_is_ascii_and_small():
    texts = [shim.strip(pack.THIN / name) for name in shim.PROGRAMS]
    program = shim.program(texts, {"nonce": b"n", "dir": "/söme where'\"\\"})
    assert program.isascii()
    compile(program, "program", "exec")
    assert b"#" not in program.replace(b"'#'", b"") and len(program) < 13000
