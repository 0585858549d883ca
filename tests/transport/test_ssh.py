"""Logins to real sshds: successful ones, and the error kind of each failure."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pushsalt.errors import TargetError
from pushsalt.model import Secret, Target
from pushsalt.transport import ConnectOptions, connect, ssh
from tests.beds import sshd
from tests.beds.processes import listens
from tests.beds.sshd import SshdBed, free_port, keygen

pytestmark = [
    pytest.mark.sshd,
    pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-"),
]


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshdBed]:
    with sshd.sshd_bed(tmp_path_factory.mktemp("bed"), 2) as bed:
        yield bed


@pytest.fixture
def options(bed: SshdBed) -> ConnectOptions:
    return ConnectOptions(known_hosts=(bed.known_hosts,), ssh_config=(), connect_timeout=8)


def target(bed: SshdBed, id: str = "t1", **changes: Any) -> Target:
    host = bed.targets[id].host()
    values = {"host": host["host"], "port": host["port"], "user": host["user"], "priv": (host["priv"],), "agent": False}
    return Target(id, **{**values, **changes})


async def run(target: Target, options: ConnectOptions, *arguments: str) -> bytes:
    connection = await connect(target, options)
    try:
        stream = await connection.open(arguments or ("/bin/echo", "here"))
        output = b""
        while piece := await stream.read():
            output += piece
        await stream.wait_closed()
        assert stream.exit_status == 0, bytes(stream.stderr)
        return output
    finally:
        await connection.close()


async def refused(target: Target, options: ConnectOptions) -> TargetError:
    with pytest.raises(TargetError) as caught:
        await run(target, options)
    error = caught.value
    assert error.message.startswith(f"{target.id}: ") and error.hint and error.message.isprintable()
    return error


async def test_the_arguments_of_a_command_are_unchanged(bed, options):
    assert await run(target(bed), options, "/bin/echo", "a  b", "$HOME", "*") == b"a  b $HOME *\n"


async def test_a_terminal_keeps_bytes(bed, options):
    connection = await connect(target(bed), options)
    stream = await connection.open(["/bin/cat"], pty=True)
    data = bytes(range(256)) * 64
    stream.write(data)
    await stream.drain()
    got = b""
    while len(got) < len(data):
        got += await stream.read()
    stream.close()
    await connection.close()
    assert got == data


async def test_a_slow_reader_stops_the_sender(bed, options):
    connection = await connect(target(bed), options)
    stream = await connection.open(["/bin/sh", "-c", "head -c 30000000 /dev/zero"])
    await asyncio.sleep(0.5)
    assert stream._inbox._size < 8_000_000
    total = 0
    while piece := await stream.read():
        total += len(piece)
    await connection.close()
    assert total == 30_000_000


# --- the network


@contextlib.asynccontextmanager
async def peer(answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]) -> AsyncIterator[int]:
    """A server that is not an sshd; returns its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await answer(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def silent(reader, writer):
    await reader.read()


async def drip(reader, writer):
    while True:
        writer.write(b"x\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)


async def web(reader, writer):
    await reader.readline()
    writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n<html>\x1b[31mno</html>")
    await writer.drain()


async def slam(reader, writer):
    writer.write(b"Exceeded MaxStartups\r\n")


@pytest.mark.parametrize(
    "answer, kind, words",
    [
        (silent, "connect_timeout", "key exchange"),
        (drip, "connect_timeout", "key exchange"),
        (web, "ssh_protocol", ""),
        (slam, "connect_timeout", "before the login"),
    ],
    ids=["silent", "drip", "web", "slam"],
)
async def test_peers_that_are_no_ssh_server(bed, options, answer, kind, words):
    async with peer(answer) as port:
        error = await refused(target(bed, port=port, timeout=1.5), options)
    assert error.kind == kind and words in error.message


@pytest.mark.parametrize(
    "host, kind",
    [("no-such-host.invalid", "dns_failure"), ("127.0.0.1", "connection_refused"), ("localhost", "connection_refused")],
)
async def test_an_unreachable_port(bed, options, host, kind):
    assert (await refused(target(bed, host=host, port=free_port()), options)).kind == kind


async def test_an_address_that_cannot_be_reached(bed, options):
    error = await refused(target(bed, host="255.255.255.255", timeout=3), options)
    assert error.kind in ("unreachable", "connect_timeout")


async def test_a_drop_before_the_login_is_tried_again(bed, options):
    drops = 2
    real = bed.targets["t1"].port

    async def moody(reader, writer):
        nonlocal drops
        if drops:
            drops -= 1
            writer.close()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", real)

        async def pump(source, sink):
            try:
                while data := await source.read(65536):
                    sink.write(data)
                    await sink.drain()
            finally:
                sink.close()

        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer), return_exceptions=True)

    async with peer(moody) as port:
        kind, key = Path(f"{bed.host_key}.pub").read_text().split()[:2]
        hosts = bed.root / "known_moody"
        hosts.write_text(f"[127.0.0.1]:{port} {kind} {key}\n")
        moody_options = ConnectOptions(known_hosts=(hosts,), ssh_config=(), connect_timeout=8)
        assert await run(target(bed, port=port), moody_options) == b"here\n"
    assert drops == 0


async def test_no_common_algorithm(bed, options):
    with SshdBed(bed.root / "old") as old:
        old.add("old", ["KexAlgorithms diffie-hellman-group-exchange-sha256"])
        old.wait()
        options = ConnectOptions(known_hosts=(old.known_hosts,), ssh_config=())
        assert (await refused(target(old, "old"), options)).kind == "ssh_protocol"


# --- host keys


async def test_an_unknown_host_key_is_refused_before_any_credential(bed, tmp_path):
    hosts = tmp_path / "known_hosts"
    options = ConnectOptions(known_hosts=(hosts,), ssh_config=())
    error = await refused(target(bed, passwd=Secret("secret-word")), options)
    assert error.kind == "host_key_unknown" and "SHA256:" in error.message and "--accept-new-host-keys" in error.hint
    fingerprint = subprocess.run(["ssh-keygen", "-lf", f"{bed.host_key}.pub"], capture_output=True, text=True).stdout
    assert fingerprint.split()[1] in error.message
    assert not hosts.exists()


async def test_new_host_keys_are_accepted_once_and_kept(bed, tmp_path):
    hosts = tmp_path / "dir" / "known_hosts"
    options = ConnectOptions(known_hosts=(hosts,), ssh_config=(), accept_new_host_keys=True)
    for _ in range(2):
        assert await run(target(bed), options) == b"here\n"
    assert len(hosts.read_text().splitlines()) == 1 and hosts.stat().st_mode & 0o777 == 0o600
    assert await run(target(bed), ConnectOptions(known_hosts=(hosts,), ssh_config=())) == b"here\n"


async def test_a_changed_host_key_is_refused_even_when_new_ones_are_accepted(bed, tmp_path):
    keygen(tmp_path / "other", "ecdsa")
    hosts = tmp_path / "known_hosts"
    key = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    before = f"# mine\n[127.0.0.1]:{bed.targets['t1'].port} {key}\n"
    hosts.write_text(before)
    options = ConnectOptions(known_hosts=(hosts,), ssh_config=(), accept_new_host_keys=True)
    error = await refused(target(bed), options)
    assert error.kind == "host_key_changed" and f"{hosts}:2" in error.message
    assert hosts.read_text() == before


async def test_a_revoked_host_key(bed, tmp_path):
    hosts = tmp_path / "known_hosts"
    key = " ".join(Path(f"{bed.host_key}.pub").read_text().split()[:2])
    hosts.write_text(f"{bed.known_hosts.read_text()}@revoked * {key}\n")
    options = ConnectOptions(known_hosts=(hosts,), ssh_config=(), accept_new_host_keys=True)
    assert (await refused(target(bed), options)).kind == "host_key_revoked"


async def test_hashed_names_and_patterns(bed, tmp_path):
    hosts = tmp_path / "known_hosts"
    shutil.copy(bed.known_hosts, hosts)
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(hosts)], check=True, capture_output=True)
    assert "127.0.0.1" not in hosts.read_text()
    assert await run(target(bed), ConnectOptions(known_hosts=(hosts,), ssh_config=())) == b"here\n"
    key = " ".join(Path(f"{bed.host_key}.pub").read_text().split()[:2])
    for patterns, is_known in (("[127.0.0.*]:*", True), ("[127.0.0.*]:*,![127.0.0.1]:*", False), ("127.0.0.1", True)):
        hosts.write_text(f"{patterns} {key}\n")
        options = ConnectOptions(known_hosts=(hosts,), ssh_config=())
        if is_known:
            assert await run(target(bed), options) == b"here\n"
        else:
            assert (await refused(target(bed), options)).kind == "host_key_unknown"


async def test_host_certificates(bed, tmp_path):
    keygen(tmp_path / "ca")
    with SshdBed(tmp_path / "certified") as certified:
        sign = ["ssh-keygen", "-q", "-s", str(tmp_path / "ca"), "-I", "id", "-h", "-n", "127.0.0.1"]
        subprocess.run([*sign, f"{certified.host_key}.pub"], check=True)
        certified.add("c", [f"HostCertificate {certified.host_key}-cert.pub"])
        certified.wait()
        ca = (tmp_path / "ca.pub").read_text()
        hosts = tmp_path / "known_hosts"
        hosts.write_text(f"@cert-authority * {ca}")
        options = ConnectOptions(known_hosts=(hosts,), ssh_config=())
        assert await run(target(certified, "c"), options) == b"here\n"
        assert (await refused(target(bed), options)).kind == "host_key_unknown"


# --- credentials


async def test_a_key_that_is_not_authorized(bed, options, tmp_path):
    keygen(tmp_path / "stranger")
    error = await refused(target(bed, priv=(str(tmp_path / "stranger"),)), options)
    assert error.kind == "auth_failed" and "stranger" in error.message


async def test_a_password_where_the_server_accepts_none(bed, options, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    error = await refused(target(bed, priv=(), passwd=Secret("hunter2hunter2")), options)
    assert error.kind == "auth_failed" and "hunter2" not in error.message + error.hint + repr(error)


async def test_no_credential_at_all(bed, options, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert (await refused(target(bed, priv=()), options)).kind == "auth_failed"


async def test_a_locked_key_needs_its_passphrase(bed, options, tmp_path):
    key = tmp_path / "locked"
    shutil.copy(bed.key, key)
    key.chmod(0o600)
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "open sesame", "-P", "", "-f", str(key)], check=True)
    without = await refused(target(bed, priv=(str(key),)), options)
    wrong = await refused(target(bed, priv=(str(key),), priv_passwd=Secret("closed")), options)
    assert (without.kind, wrong.kind) == ("key_unusable", "key_unusable")
    assert "passphrase" in without.message and "closed" not in wrong.message
    right = target(bed, priv=(str(key),), priv_passwd=Secret("open sesame"))
    assert await run(right, options) == b"here\n"


@pytest.mark.parametrize(
    "spoil, words",
    [
        (lambda key: key.chmod(0o644), "chmod 600"),
        (lambda key: key.unlink(), "cannot be read"),
        (lambda key: key.write_text("nonsense"), "no private key"),
    ],
    ids=["readable by others", "missing", "nonsense"],
)
async def test_unusable_keys(bed, options, tmp_path, spoil, words):
    key = tmp_path / "key"
    shutil.copy(bed.key, key)
    key.chmod(0o600)
    spoil(key)
    error = await refused(target(bed, priv=(str(key),)), options)
    assert error.kind == "key_unusable" and words in error.message + error.hint


async def test_a_user_certificate_next_to_the_key(bed, tmp_path):
    keygen(tmp_path / "ca")
    keygen(tmp_path / "user")
    sign = ["ssh-keygen", "-q", "-s", str(tmp_path / "ca"), "-I", "id", "-n", getpass.getuser()]
    subprocess.run([*sign, str(tmp_path / "user.pub")], check=True)
    with SshdBed(tmp_path / "certified") as certified:
        certified.add("c", [f"TrustedUserCAKeys {tmp_path / 'ca.pub'}", "AuthorizedKeysFile none"])
        certified.wait()
        options = ConnectOptions(known_hosts=(certified.known_hosts,), ssh_config=())
        assert await run(target(certified, "c", priv=(str(tmp_path / "user"),)), options) == b"here\n"


async def test_the_agent_is_asked_once_for_all_targets(bed, tmp_path, monkeypatch):
    socket = tmp_path / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    try:
        while not listens(socket):
            await asyncio.sleep(0.01)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        monkeypatch.setenv("HOME", str(tmp_path))
        subprocess.run(["ssh-add", "-q", str(bed.key)], check=True)
        options = ConnectOptions(known_hosts=(bed.known_hosts,), ssh_config=())
        targets = [target(bed, id, priv=(), agent=True) for id in ("t1", "t2")]
        assert await asyncio.gather(*(run(one, options) for one in targets)) == [b"here\n"] * 2
        assert len(options.shared["ssh"].keys._clients) == 1
        await ssh.close(options)
    finally:
        agent.terminate()
        agent.wait()


# --- ssh_config


async def test_the_configured_file_of_host_keys_stands_in_place_of_the_users(bed, tmp_path):
    config = tmp_path / "config"
    config.write_text(f"Host *\n  UserKnownHostsFile {tmp_path / 'users'}\n  GlobalKnownHostsFile none\n")
    options = ConnectOptions(known_hosts_file=Path(bed.known_hosts), ssh_config=(config,))
    assert await run(target(bed), options) == b"here\n"
    own = target(bed, ssh_options=(f"UserKnownHostsFile={tmp_path / 'own'}",))
    assert (await refused(own, options)).kind == "host_key_unknown"


async def test_ssh_config_has_values_that_the_inventory_lacks(bed, tmp_path):
    place = bed.targets["t1"].host()
    config = tmp_path / "config"
    config.write_text(
        "Host alias other\n  HostName 127.0.0.1\n"
        f"  Port {place['port']}\n  User {place['user']}\n  IdentityFile {place['priv']}\n"
        "Match originalhost alias\n  ServerAliveInterval 7\n"
        "Host *\n  PubkeyAuthentication maybe\n  SomethingNew yes\n  StrictHostKeyChecking no\n"
    )
    options = ConnectOptions(known_hosts=(bed.known_hosts,), ssh_config=(config,))
    assert await run(Target("alias", agent=False), options) == b"here\n"
    error = await refused(Target("alias", agent=False, port=free_port()), options)
    assert error.kind == "connection_refused"


async def test_ssh_options_of_a_roster(bed, tmp_path, caplog):
    harmless = (f"UserKnownHostsFile={tmp_path / 'hosts'}", "StrictHostKeyChecking=accept-new")
    marker = tmp_path / "executed"
    harmful = (f"ProxyCommand=touch {marker}", f"LocalCommand=touch {marker}", "PermitLocalCommand=yes")
    options = ConnectOptions(ssh_config=(), accept_new_host_keys=True)
    assert await run(target(bed, ssh_options=(*harmless, *harmful)), options) == b"here\n"
    assert (tmp_path / "hosts").exists() and not marker.exists()
    assert "ProxyCommand is not supported" in caplog.text


# --- jump hosts


def jumping(bed: SshdBed, **changes: Any) -> ConnectOptions:
    inventory = {"bastion": target(bed, "t2", **changes)}
    return ConnectOptions(known_hosts=(bed.known_hosts,), ssh_config=(), inventory=inventory, connect_timeout=8)


async def test_a_jump_host_is_connected_to_once(bed):
    options = jumping(bed)
    found = await asyncio.gather(*(run(target(bed, jump=("bastion",)), options) for _ in range(4)))
    assert found == [b"here\n"] * 4
    assert options.shared["ssh"].jumps == {}  # and closed after the last one


@pytest.mark.parametrize(
    "changes, words",
    [({"port": 1}, "refused"), ({"priv": ("/nowhere",)}, "private key"), ({"host": "no-such.invalid"}, "resolve")],
    ids=["refused", "key", "dns"],
)
async def test_a_jump_host_that_fails_fails_the_hosts_that_use_it(bed, changes, words):
    options = jumping(bed, **changes)
    error = await refused(target(bed, jump=("bastion",)), options)
    assert error.kind == "jump_failed" and "t2" in error.message and words in error.message


async def test_a_host_that_the_jump_host_cannot_reach(bed):
    options = jumping(bed)
    error = await refused(target(bed, port=free_port(), jump=("bastion",)), options)
    assert error.kind == "connection_refused" and "jump host" in error.message


# --- values that reach a command


async def test_a_proxy_command_gets_words_and_no_script(bed, tmp_path):
    """The operator's own line runs, with a shell only if it requests one; values of a host stay single words."""
    place = bed.targets["t1"].host()
    relay = tmp_path / "relay"
    relay.write_text(
        "#!/usr/bin/env python3\nimport os, socket, sys, threading\n"
        f"open({str(tmp_path / 'args')!r}, 'w').write(repr(sys.argv[1:]))\n"
        "s = socket.create_connection(('127.0.0.1', int(sys.argv[2])))\n"
        "def up():\n while d := os.read(0, 65536): s.sendall(d)\n os._exit(0)\n"
        "threading.Thread(target=up, daemon=True).start()\n"
        "while d := s.recv(65536): os.write(1, d)\n"
    )
    relay.chmod(0o755)
    config = tmp_path / "config"
    for line, extra in (("%h %p '%r x'", ""), ('%h %p "%r x"', f"; touch {tmp_path / 'asked'}")):
        config.write_text(f"Host *\n  HostKeyAlias 127.0.0.1\n  ProxyCommand {relay} {line} {extra}\n")
        options = ConnectOptions(known_hosts=(bed.known_hosts,), ssh_config=(config,))
        wanted = target(bed, host="web1")
        assert await run(wanted, options) == b"here\n"
        assert (tmp_path / "args").read_text() == repr(["web1", str(place["port"]), f"{place['user']} x"])
        canary = tmp_path / "canary"
        for user in (f"root;touch {canary}", f"$(touch${{IFS}}{canary})", f"a\ntouch {canary}\n", "a\0b"):
            assert (await refused(target(bed, host="web1", user=user), options)).kind == "setting_refused"
        for host in (f"x;touch${{IFS}}{canary}", f"`touch${{IFS}}{canary}`", "-oProxyCommand=x"):
            assert (await refused(target(bed, host=host), options)).kind == "setting_refused"
        assert not canary.exists()


@pytest.mark.parametrize(
    "option",
    [
        "StrictHostKeyChecking=no",
        "StrictHostKeyChecking off",
        "StrictHostKeyChecking=accept-new",
        "UserKnownHostsFile=/dev/null",
        "GlobalKnownHostsFile=/dev/null",
    ],
)
async def test_an_inventory_cannot_turn_the_check_of_host_keys_off(bed, tmp_path, option):
    hosts = tmp_path / "known_hosts"
    options = ConnectOptions(known_hosts_file=hosts, ssh_config=())
    wanted = target(bed, ssh_options=(option,), passwd=Secret("secret-word"))
    error = await refused(wanted, options)
    assert error.kind == "host_key_unchecked" and option in error.message and "--accept-new-host-keys" in error.hint
    assert not hosts.exists()
    # with the option, keys are stored in the usual place, so that a changed one is refused
    accepting = ConnectOptions(known_hosts_file=hosts, ssh_config=(), accept_new_host_keys=True)
    assert await run(wanted, accepting) == b"here\n"
    keygen(tmp_path / "other")
    key = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    hosts.write_text(f"[127.0.0.1]:{bed.targets['t1'].port} {key}\n")
    accepting = ConnectOptions(known_hosts_file=hosts, ssh_config=(), accept_new_host_keys=True)
    assert (await refused(wanted, accepting)).kind == "host_key_changed"


async def test_ssh_config_cannot_turn_the_check_of_host_keys_off(bed, tmp_path):
    config = tmp_path / "config"
    config.write_text("Host *\n  StrictHostKeyChecking no\n")
    options = ConnectOptions(known_hosts=(tmp_path / "hosts",), ssh_config=(config,))
    error = await refused(target(bed), options)
    assert error.kind == "host_key_unknown" and f"StrictHostKeyChecking no ({config}:2)" in error.message
    with_known_hosts = ConnectOptions(known_hosts=(bed.known_hosts,), ssh_config=(config,))
    assert await run(target(bed), with_known_hosts) == b"here\n"


async def test_new_keys_are_remembered_where_ssh_config_forgets_them(bed, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    config = tmp_path / "config"
    config.write_text("Host *\n  UserKnownHostsFile /dev/null\n  GlobalKnownHostsFile none\n")
    error = await refused(target(bed), ConnectOptions(ssh_config=(config,)))
    assert error.kind == "host_key_unknown" and f"UserKnownHostsFile /dev/null ({config}:2)" in error.message
    assert await run(target(bed), ConnectOptions(ssh_config=(config,), accept_new_host_keys=True)) == b"here\n"
    assert len((tmp_path / ".ssh" / "known_hosts").read_text().splitlines()) == 1
    keygen(tmp_path / "other")
    key = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    (tmp_path / ".ssh" / "known_hosts").write_text(f"[127.0.0.1]:{bed.targets['t1'].port} {key}\n")
    error = await refused(target(bed), ConnectOptions(ssh_config=(config,), accept_new_host_keys=True))
    assert error.kind == "host_key_changed"


@pytest.mark.parametrize(
    "line",
    [
        "{name} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA!!",
        "{name} ssh-ed25519",
        "{name}",
        "{name} ssh-future AAAA",
        "@cert-authority {name} ssh-ed25519 broken",
        "@unheard-of {name} {key}",
        "|1|broken|hash= {key}",
        "\xff\xfe ssh-ed25519 AAAA",
        "web\0x {key}",
        "@cert-authority {name} {key}",
        "@cert-authority * {key}",
    ],
)
async def test_with_an_unreadable_line_or_a_ca_no_key_is_accepted_as_new(bed, tmp_path, line):
    keygen(tmp_path / "other")
    key = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    hosts = tmp_path / "known_hosts"
    text = "# mine\n" + line.format(name=f"[127.0.0.1]:{bed.targets['t1'].port}", key=key) + "\n"
    hosts.write_bytes(text.encode("latin-1"))
    options = ConnectOptions(known_hosts=(hosts,), ssh_config=(), accept_new_host_keys=True)
    error = await refused(target(bed), options)
    assert error.kind == "host_key_unknown" and f"{hosts}:2" in error.message
    assert "--accept-new-host-keys" not in error.hint
    assert hosts.read_bytes() == text.encode("latin-1")


async def test_lines_of_other_hosts_and_odd_comments_do_no_harm(bed, tmp_path):
    hosts = tmp_path / "known_hosts"
    key = " ".join(Path(f"{bed.host_key}.pub").read_text().split()[:2])
    hosts.write_bytes(f"other ssh-ed25519 broken\n@cert-authority other {key}\nx {key} m\xfcller\n\n".encode("latin-1"))
    options = ConnectOptions(known_hosts=(hosts,), ssh_config=(), accept_new_host_keys=True)
    assert await run(target(bed), options) == b"here\n"


async def test_a_jump_host_of_ssh_config_is_checked_in_the_same_way(bed, tmp_path):
    config = tmp_path / "config"
    canary = tmp_path / "canary"
    config.write_text(f"Host 127.0.0.1\n  ProxyJump x;touch${{IFS}}{canary}\n")
    options = ConnectOptions(known_hosts=(bed.known_hosts,), ssh_config=(config,))
    assert (await refused(target(bed), options)).kind == "setting_refused"
    assert not canary.exists()
