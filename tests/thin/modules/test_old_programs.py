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
    """A function that creates programs in PATH: ``programs(name="shell text")``."""
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


def ssh_arguments(key, *arguments):
    """The arguments with which ssh is called when git uses the configured command."""
    with gitrun.Keys(key, None, None, None, None) as env:
        shell_process = subprocess.run(
            ["/bin/sh", "-c", env["GIT_SSH_COMMAND"] + ' "$@"', "git", *arguments], capture_output=True, check=True
        )
        process = subprocess.run([env["GIT_SSH"], *arguments], capture_output=True, check=True)
        assert shell_process.stdout == process.stdout
    assert not os.path.exists(env["GIT_SSH"])
    return process.stdout.decode().split("\n")


SSH = 'case "$1" in -V) echo "OpenSSH_{}, OpenSSL" >&2 ;; *) printf "%s\\n" "$@" ;; esac'


@pytest.mark.parametrize(
    "version, is_known, check",
    [
        ("9.2p1", False, "accept-new"),
        ("7.6p1", False, "accept-new"),
        ("10.0p2", False, "accept-new"),
        ("7.4p1", False, "no"),
        ("7.4p1", True, "yes"),
        ("6.6.1p1", True, "yes"),
    ],
)
def test_git_passes_the_key_and_the_host_key_check_to_every_ssh(programs, key, tmp_path, version, is_known, check):
    programs(ssh=SSH.format(version), ssh_keygen='grep -F "$2" "$4"')
    (tmp_path / ".ssh").mkdir()
    if is_known:
        (tmp_path / ".ssh/known_hosts").write_text("[git.example.org]:2222 ssh-ed25519 AAAA\n", "utf-8")
    arguments = ["-p", "2222", "git@git.example.org", "git-upload-pack 'a b'"]
    passed = ssh_arguments(key, *arguments)
    assert f"StrictHostKeyChecking={check}" in passed
    assert passed[passed.index("-i") + 1] == key
    assert passed[-5:-1] == arguments


@pytest.mark.parametrize(
    "before",
    [
        ["-o", "SendEnv=GIT_PROTOCOL", "-p", "2222"],
        ["-o", "SendEnv=GIT_PROTOCOL", "-4", "-p2222"],
        ["-l", "git", "-F", "/dev/null", "-J", "jump", "-p", "2222"],
    ],
)
@pytest.mark.parametrize("host, check", [("git@git.example.org", "yes"), ("other.example.org", "no"), (None, "yes")])
def test_the_host_is_recognized_among_the_options(programs, key, tmp_path, before, host, check):
    programs(ssh=SSH.format("7.4p1"), ssh_keygen='grep -F "$2" "$4"')
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/known_hosts").write_text("[git.example.org]:2222 ssh-ed25519 AAAA\n", "utf-8")
    arguments = before + ([host, "git-upload-pack 'a b'"] if host else [])
    passed = ssh_arguments(key, *arguments)
    assert f"StrictHostKeyChecking={check}" in passed
    assert passed[-1 - len(arguments) : -1] == arguments


@pytest.mark.parametrize("version", ["7.4p1", "6.6.1p1"])
@pytest.mark.parametrize(
    "config, stored, check",
    [
        ("Host work\n  HostName git.example.org\n  Port 2222\n", "[git.example.org]:2222", "yes"),
        ("Host work\n  HostName git.example.org\n  HostKeyAlias forge\n", "forge", "yes"),
        ("Host work\n  User git\n", "git.example.org", "no"),
    ],
)
def test_the_host_key_under_the_name_in_the_ssh_configuration_is_used(
    programs, key, tmp_path, version, config, stored, check
):
    """The key that is stored for the configured name is used. OpenSSH before 6.8 cannot print the name: it refuses new
    keys.
    """
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text(config, "utf-8")
    (tmp_path / ".ssh/other_hosts").write_text(f"{stored} ssh-ed25519 AAAA\n", "utf-8")
    files = "echo 'userknownhostsfile ~/.ssh/other_hosts'"
    script = f'{process.which("ssh")} -F {tmp_path}/.ssh/config "$@"; {files}' if version[0] == "7" else "exit 255"
    programs(ssh=SSH.format(version).replace("*)", f"-G) {script} ;; *)", 1), ssh_keygen='grep -F "$2" "$4"')
    assert f"StrictHostKeyChecking={check}" in ssh_arguments(key, "-o", "SendEnv=X", "work", "git-upload-pack 'a b'")


def test_an_unknown_user_is_an_error(key):
    with pytest.raises(CommandExecutionError, match="User 'nobody-of-that-name' does not exist"):
        gitrun.Keys(key, "me", "secret", "nobody-of-that-name", None).__enter__()


def test_an_apk_argument_has_the_tag_before_the_version():
    from thin.modules import apkpkg

    assert apkpkg._word("nginx", "1.2-r0", "@edge") == "nginx@edge=1.2-r0"
    assert apkpkg._word("nginx@edge", "1.2-r0") == "nginx@edge=1.2-r0"
    assert apkpkg._word("nginx", "", "@edge") == "nginx@edge"
    assert apkpkg._word("nginx", ">=1.2") == "nginx>=1.2"


def test_apk_holds_packages_with_a_tag(tmp_path, monkeypatch):
    from thin.modules import apkpkg

    world, calls = tmp_path / "world", []
    world.write_text("curl nginx@edge=1.2-r0 vim@edge less=5-r0 bash>5\n", "utf-8")
    monkeypatch.setattr(apkpkg, "WORLD", str(world))
    monkeypatch.setattr(apkpkg, "__opts__", {"test": False}, raising=False)
    monkeypatch.setattr(apkpkg, "list_pkgs", lambda: {"vim": "9-r1", "curl": "8-r0"})
    monkeypatch.setattr(apkpkg, "_run", lambda arguments: calls.append(arguments) or {"retcode": 0})
    assert apkpkg.list_holds() == ["nginx@edge=1.2-r0", "less=5-r0"]
    assert apkpkg.list_holds(full=False) == ["nginx", "less"]
    apkpkg.hold(pkgs=["vim", "curl"])
    assert calls == [["add", "vim@edge=9-r1"], ["add", "curl=8-r0"]]


def test_su_has_an_option_for_the_shell_on_linux_only():
    assert commands.su("Linux", "app", "/bin/sh", "x y") == ["su", "-s", "/bin/sh", "-", "app", "-c", "x y"]
    for kernel in ("FreeBSD", "Darwin"):
        argv = commands.su(kernel, "app", "/bin/sh", "echo 'x y'")
        assert argv[:4] == ["su", "-", "app", "-c"]
        # the same result as by the user's shell
        assert subprocess.check_output(["/bin/sh", "-c", argv[4]]) == b"x y\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_command_of_another_user_on_freebsd_has_the_login_environment(make_loaders, programs):
    programs(su='[ "$1" = - ] && [ "$3" = -c ] || exit 64; exec env -i LOGIN=yes /bin/sh -c "$4"')
    loaders = make_loaders(grains={"os": "FreeBSD", "kernel": "FreeBSD"})
    user = pwd.getpwuid(65534).pw_name
    assert loaders.modules["cmd.run"]("echo $LOGIN", runas=user, python_shell=True, cwd="/") == "yes"


def test_the_error_of_a_script_without_an_interpreter_names_the_cause(make_loaders, tmp_path):
    script = tmp_path / "script"
    script.write_text("echo hello\n", "utf-8")
    ret = make_loaders().modules["cmd.script"](str(script), args="x", cwd="/")
    assert ret["retcode"] == 1 and "#!/bin/sh" in ret["stderr"], ret
    assert make_loaders().modules["cmd.script_retcode"](str(script), args="x", cwd="/", template=None) == 1


def test_a_state_reports_a_script_without_an_interpreter(make_loaders, tmp_path):
    (tmp_path / "script").write_text("echo hello\n", "utf-8")
    ret = make_loaders().states["cmd.script"](str(tmp_path / "script"), python_shell=False, cwd="/")
    assert ret["result"] is False and "#!/bin/sh" in ret["changes"]["stderr"], ret


def test_a_background_program_does_not_block_the_command():
    result = process.run(["/bin/sh", "-c", "echo begun; echo trouble >&2; sleep 600 & echo $!"], timeout=60)
    lines = result.stdout.decode().split()
    os.kill(int(lines[1]), 9)
    assert (result.retcode, lines[0], result.stderr, result.timed_out) == (0, "begun", b"trouble\n", False)


def test_a_background_program_that_writes_does_not_block_the_command():
    result = process.run(["/bin/sh", "-c", "(while :; do echo again; sleep 0.01; done) & echo $!; exit 3"], timeout=60)
    pid = next(line for line in result.stdout.decode().split() if line.isdigit())
    os.kill(int(pid), 9)
    assert (result.retcode, result.timed_out) == (3, False)


def test_output_that_another_process_passes_on_is_returned(monkeypatch):
    """With ``exec > >(tee log)``, for example, the other process ends a moment later."""
    monkeypatch.setattr(process, "LOOK", 0.001)
    monkeypatch.setattr(process, "QUIET", 30, raising=False)
    result = process.run(
        ["/bin/sh", "-c", "(while kill -0 $$; do sleep 0.05; done; echo last) 2>/dev/null & sleep 0.1"]
    )
    assert (result.retcode, result.stdout) == (0, b"last\n")


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize("merge", [True, False])
def test_a_background_program_may_continue_to_write(tmp_path, merge):
    """Its output after the end of the command is discarded, even more than a pipe's buffer on both streams."""
    script = f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; yes | head -c 300000; yes | head -c 300000 >&2; "
    script += f"echo out; echo err >&2; echo well > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/end"
    before = set(os.listdir("/proc/self/fd"))
    result = process.run(["/bin/sh", "-c", f"setsid sh -c '{script}' & echo $!"], merge=merge, timeout=60)
    assert set(os.listdir("/proc/self/fd")) == before
    (tmp_path / "go").touch()
    while not has_ended(int(result.stdout)):
        time.sleep(0.01)
    assert (result.retcode, (tmp_path / "end").read_text()) == (0, "well\n")


def test_late_output_is_returned_completely(tmp_path):
    text = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"
    result = process.run(["/bin/sh", "-c", f"sleep 0.3; ({text}) | cat"], timeout=60)
    assert len(result.stdout.splitlines()) == 20000


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
def test_a_mount_point_with_a_space_is_unmounted(make_loaders, tmp_path):
    folder = tmp_path / "a b"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", str(folder)], capture_output=True, check=False).returncode:
        pytest.skip("cannot mount here")
    try:
        ret = make_loaders().states["mount.unmounted"](name=str(folder))
    finally:
        was_mounted = subprocess.run(["umount", str(folder)], capture_output=True, check=False).returncode == 0
    assert (ret["result"], ret["changes"], was_mounted) == (True, {"umount": True}, False), ret
