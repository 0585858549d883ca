"""Programs of old and other systems: git 1.8, OpenSSH 7.4, apk, su without -s; commands that leave a process behind."""

import os
import pwd
import subprocess
import time

import pytest

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.programs import commands, gitrun

pytestmark = pytest.mark.slow

KEY = "-----KEY-----\n"


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Makes programs on PATH: ``programs(name="shell text")``."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))

    def make(**texts):
        for name, text in texts.items():
            path = folder / name.replace("_", "-")
            path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
            path.chmod(0o755)

    return make


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "it's a key"
    path.write_text(KEY, "utf-8")
    return str(path)


def asked_of_ssh(key, *arguments):
    """The words with which ssh is called when git uses the configured command."""
    with gitrun.Keys(key, None, None, None, None) as env:
        by_shell = subprocess.run(
            ["/bin/sh", "-c", env["GIT_SSH_COMMAND"] + ' "$@"', "git", *arguments], capture_output=True, check=True
        )
        got = subprocess.run([env["GIT_SSH"], *arguments], capture_output=True, check=True)
        assert by_shell.stdout == got.stdout
    assert not os.path.exists(env["GIT_SSH"])
    return got.stdout.decode().split("\n")


SAYS = 'case "$1" in -V) echo "OpenSSH_{}, OpenSSL" >&2 ;; *) printf "%s\\n" "$@" ;; esac'


@pytest.mark.parametrize(
    "version, known, check",
    [
        ("9.2p1", False, "accept-new"),
        ("7.6p1", False, "accept-new"),
        ("10.0p2", False, "accept-new"),
        ("7.4p1", False, "no"),
        ("7.4p1", True, "yes"),
        ("6.6.1p1", True, "yes"),
    ],
)
def test_a_key_for_git_by_every_ssh(programs, key, tmp_path, version, known, check):
    programs(ssh=SAYS.format(version), ssh_keygen='grep -F "$2" "$4"')
    (tmp_path / ".ssh").mkdir()
    if known:
        (tmp_path / ".ssh/known_hosts").write_text("[git.example.org]:2222 ssh-ed25519 AAAA\n", "utf-8")
    words = ["-p", "2222", "git@git.example.org", "git-upload-pack 'a b'"]
    asked = asked_of_ssh(key, *words)
    assert f"StrictHostKeyChecking={check}" in asked
    assert asked[asked.index("-i") + 1] == key
    assert asked[-5:-1] == words


@pytest.mark.parametrize(
    "before",
    [
        ["-o", "SendEnv=GIT_PROTOCOL", "-p", "2222"],
        ["-o", "SendEnv=GIT_PROTOCOL", "-4", "-p2222"],
        ["-l", "git", "-F", "/dev/null", "-J", "jump", "-p", "2222"],
    ],
)
@pytest.mark.parametrize("host, check", [("git@git.example.org", "yes"), ("other.example.org", "no"), (None, "yes")])
def test_the_host_among_the_options(programs, key, tmp_path, before, host, check):
    programs(ssh=SAYS.format("7.4p1"), ssh_keygen='grep -F "$2" "$4"')
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/known_hosts").write_text("[git.example.org]:2222 ssh-ed25519 AAAA\n", "utf-8")
    words = before + ([host, "git-upload-pack 'a b'"] if host else [])
    asked = asked_of_ssh(key, *words)
    assert f"StrictHostKeyChecking={check}" in asked
    assert asked[-1 - len(words) : -1] == words


@pytest.mark.parametrize("version", ["7.4p1", "6.6.1p1"])
@pytest.mark.parametrize(
    "config, known, check",
    [
        ("Host work\n  HostName git.example.org\n  Port 2222\n", "[git.example.org]:2222", "yes"),
        ("Host work\n  HostName git.example.org\n  HostKeyAlias forge\n", "forge", "yes"),
        ("Host work\n  User git\n", "git.example.org", "no"),
    ],
)
def test_a_host_that_the_configuration_calls_otherwise(programs, key, tmp_path, version, config, known, check):
    """The key that is stored under the other name counts. Before 6.8 ssh could not print the name: new keys are
    refused.
    """
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text(config, "utf-8")
    (tmp_path / ".ssh/other_hosts").write_text(f"{known} ssh-ed25519 AAAA\n", "utf-8")
    files = "echo 'userknownhostsfile ~/.ssh/other_hosts'"
    says = f'{process.which("ssh")} -F {tmp_path}/.ssh/config "$@"; {files}' if version[0] == "7" else "exit 255"
    programs(ssh=SAYS.format(version).replace("*)", f"-G) {says} ;; *)", 1), ssh_keygen='grep -F "$2" "$4"')
    assert f"StrictHostKeyChecking={check}" in asked_of_ssh(key, "-o", "SendEnv=X", "work", "git-upload-pack 'a b'")


def test_an_unknown_user_is_an_error(key):
    with pytest.raises(CommandExecutionError, match="User 'nobody-of-that-name' does not exist"):
        gitrun.Keys(key, "me", "secret", "nobody-of-that-name", None).__enter__()


def test_apk_has_the_tag_before_the_version():
    from thin.modules import apkpkg

    assert apkpkg._word("nginx", "1.2-r0", "@edge") == "nginx@edge=1.2-r0"
    assert apkpkg._word("nginx@edge", "1.2-r0") == "nginx@edge=1.2-r0"
    assert apkpkg._word("nginx", "", "@edge") == "nginx@edge"
    assert apkpkg._word("nginx", ">=1.2") == "nginx>=1.2"


def test_apk_holds_packages_with_a_tag(tmp_path, monkeypatch):
    from thin.modules import apkpkg

    world, asked = tmp_path / "world", []
    world.write_text("curl nginx@edge=1.2-r0 vim@edge less=5-r0 bash>5\n", "utf-8")
    monkeypatch.setattr(apkpkg, "WORLD", str(world))
    monkeypatch.setattr(apkpkg, "__opts__", {"test": False}, raising=False)
    monkeypatch.setattr(apkpkg, "list_pkgs", lambda: {"vim": "9-r1", "curl": "8-r0"})
    monkeypatch.setattr(apkpkg, "_run", lambda words: asked.append(words) or {"retcode": 0})
    assert apkpkg.list_holds() == ["nginx@edge=1.2-r0", "less=5-r0"]
    assert apkpkg.list_holds(full=False) == ["nginx", "less"]
    apkpkg.hold(pkgs=["vim", "curl"])
    assert asked == [["add", "vim@edge=9-r1"], ["add", "curl=8-r0"]]


def test_su_takes_a_shell_on_linux_alone():
    assert commands.su("Linux", "app", "/bin/sh", "x y") == ["su", "-s", "/bin/sh", "-", "app", "-c", "x y"]
    for kernel in ("FreeBSD", "Darwin"):
        words = commands.su(kernel, "app", "/bin/sh", "echo 'x y'")
        assert words[:4] == ["su", "-", "app", "-c"]
        # the same result as by the user's shell
        assert subprocess.check_output(["/bin/sh", "-c", words[4]]) == b"x y\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_the_environment_of_a_login_on_freebsd(make_loaders, programs):
    programs(su='[ "$1" = - ] && [ "$3" = -c ] || exit 64; exec env -i LOGIN=yes /bin/sh -c "$4"')
    loaders = make_loaders(grains={"os": "FreeBSD", "kernel": "FreeBSD"})
    user = pwd.getpwuid(65534).pw_name
    assert loaders.modules["cmd.run"]("echo $LOGIN", runas=user, python_shell=True, cwd="/") == "yes"


def test_a_script_without_an_interpreter_says_why(make_loaders, tmp_path):
    script = tmp_path / "script"
    script.write_text("echo hello\n", "utf-8")
    done = make_loaders().modules["cmd.script"](str(script), args="x", cwd="/")
    assert done["retcode"] == 1 and "#!/bin/sh" in done["stderr"], done
    assert make_loaders().modules["cmd.script_retcode"](str(script), args="x", cwd="/", template=None) == 1


def test_a_script_of_a_state_without_a_shell(make_loaders, tmp_path):
    (tmp_path / "script").write_text("echo hello\n", "utf-8")
    ret = make_loaders().states["cmd.script"](str(tmp_path / "script"), python_shell=False, cwd="/")
    assert ret["result"] is False and "#!/bin/sh" in ret["changes"]["stderr"], ret


def test_a_background_program_does_not_block_the_command():
    done = process.run(["/bin/sh", "-c", "echo begun; echo trouble >&2; sleep 600 & echo $!"], timeout=60)
    lines = done.stdout.decode().split()
    os.kill(int(lines[1]), 9)
    assert (done.retcode, lines[0], done.stderr, done.timed_out) == (0, "begun", b"trouble\n", False)


def test_one_that_talks_on_does_not_either():
    done = process.run(["/bin/sh", "-c", "(while :; do echo again; sleep 0.01; done) & echo $!; exit 3"], timeout=60)
    pid = next(line for line in done.stdout.decode().split() if line.isdigit())
    os.kill(int(pid), 9)
    assert (done.retcode, done.timed_out) == (3, False)


def test_what_another_passes_on_of_its_output_is_there(monkeypatch):
    """With ``exec > >(tee log)``, for example, the other process ends a moment later."""
    monkeypatch.setattr(process, "LOOK", 0.001)
    monkeypatch.setattr(process, "QUIET", 30, raising=False)
    done = process.run(["/bin/sh", "-c", "(while kill -0 $$; do sleep 0.05; done; echo last) 2>/dev/null & sleep 0.1"])
    assert (done.retcode, done.stdout) == (0, b"last\n")


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize("merge", [True, False])
def test_a_background_program_may_continue_to_write(tmp_path, merge):
    """More than a pipe's buffer, on both streams, after the end of the command; it is discarded."""
    talk = f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; yes | head -c 300000; yes | head -c 300000 >&2; "
    talk += f"echo out; echo err >&2; echo well > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/end"
    before = set(os.listdir("/proc/self/fd"))
    done = process.run(["/bin/sh", "-c", f"setsid sh -c '{talk}' & echo $!"], merge=merge, timeout=60)
    assert set(os.listdir("/proc/self/fd")) == before
    (tmp_path / "go").touch()
    while not gone(int(done.stdout)):
        time.sleep(0.01)
    assert (done.retcode, (tmp_path / "end").read_text()) == (0, "well\n")


def test_all_output_is_there_however_late(tmp_path):
    text = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"
    done = process.run(["/bin/sh", "-c", f"sleep 0.3; ({text}) | cat"], timeout=60)
    assert len(done.stdout.splitlines()) == 20000


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
def test_a_mount_point_with_a_space_is_unmounted(make_loaders, tmp_path):
    place = tmp_path / "a b"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", str(place)], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        ret = make_loaders().states["mount.unmounted"](name=str(place))
    finally:
        left = subprocess.run(["umount", str(place)], capture_output=True, check=False).returncode == 0
    assert (ret["result"], ret["changes"], left) == (True, {"umount": True}, False), ret
