"""SSH by asyncssh: one connection per target, shared connections to jump hosts, one command per connection.

Host keys are checked before any credential is sent. Nothing is forwarded. Failures are TargetErrors with a kind for
each stage. Connecting is repeated only if a server drops the connection before the login (MaxStartups), within the time
limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import socket
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pushsalt import regular
from pushsalt.errors import TargetError
from pushsalt.inventory import sshwords
from pushsalt.model import Target
from pushsalt.transport import ConnectOptions
from pushsalt.transport.hostkeys import HostRecord, KnownHosts, fingerprint
from pushsalt.transport.program import ProxyCommand, end_all
from pushsalt.transport.ssh_library import asyncssh
from pushsalt.transport.sshconfig import default_files, hops, resolve
from pushsalt.transport.sshconnection import Jump, Shared, SshConnection, let_go
from pushsalt.transport.sshkeys import DEFAULT_KEYS, KeyUnusableError, for_keys, public_half
from pushsalt.transport.sshtrouble import BUSY, Trouble, message_of, printable

log = logging.getLogger(__name__)

#: In the order of speed by benchmarks/ssh_algorithms.py, whose docstring has the figures; the last are for old servers.
KEX = (
    "curve25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp256",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group14-sha256",
    "diffie-hellman-group16-sha512",
)
CIPHERS = (
    "aes128-gcm@openssh.com",
    "aes256-gcm@openssh.com",
    "chacha20-poly1305@openssh.com",
    "aes128-ctr",
    "aes192-ctr",
    "aes256-ctr",
)
MACS = (
    "umac-128-etm@openssh.com",
    "hmac-sha2-256-etm@openssh.com",
    "hmac-sha2-512-etm@openssh.com",
    "hmac-sha2-256",
    "hmac-sha2-512",
)


async def connect(target: Target, options: ConnectOptions) -> SshConnection:
    """Log in. Raises TargetError."""
    shared: Shared = options.shared.setdefault("ssh", Shared())
    login = Login(target, options, shared)
    # A jump host has its own time limit; the target's begins when the jump host is connected.
    await login.reach()
    bound = target.timeout or options.connect_timeout
    try:
        return await asyncio.wait_for(login.run(), bound)
    except asyncio.TimeoutError:
        raise login.too_late(bound) from None
    finally:
        await login.give_up()


async def close(options: ConnectOptions) -> None:
    """Close the shared objects of the connections of one command."""
    shared: Shared | None = options.shared.get("ssh")
    if shared is not None:
        await end_all(shared.running)
        await shared.keys.close()


class _Client(asyncssh.SSHClient):
    """Callbacks that asyncssh uses during a login."""

    def __init__(self, login: Login) -> None:
        self._login = login

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        self._login.connection = conn
        _acknowledge_at_once(conn)

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        return self._login.accept(key)


def _acknowledge_at_once(connection: asyncssh.SSHClientConnection) -> None:
    """Turn off Linux's delayed acknowledgements (40 ms).

    sshd leaves Nagle's algorithm on until a terminal is requested, so the second of two small packets waits until the
    first is acknowledged. The kernel resets the option by itself, so it is set again with each received packet.
    """
    sock = connection.get_extra_info("socket")
    option = getattr(socket, "TCP_QUICKACK", None)
    if option is None or sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return  # another system, or a connection through a jump host or a ProxyCommand
    receive = connection.data_received

    def received(data: bytes, datatype: int | None = None) -> None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, option, 1)
        receive(data, datatype)

    connection.data_received = received  # type: ignore[method-assign]


class Login:
    """One login with its attempts, and the information for its error."""

    def __init__(self, target: Target, options: ConnectOptions, shared: Shared) -> None:
        self.target, self.options, self.shared = target, options, shared
        files = default_files() if options.ssh_config is None else options.ssh_config
        self.settings = settings = resolve(target, files, accept_new=options.accept_new_host_keys)
        self.hosts = self._known_hosts()
        name = str(settings.get("HostKeyAlias") or settings.host)
        self.record: HostRecord = self.hosts.lookup(name, settings.port)
        self.trouble = Trouble(
            target.id, settings.host, name, settings.port, settings.user, password=target.passwd is not None
        )
        self.connection: asyncssh.SSHClientConnection | None = None
        self.jump: Jump | None = None
        self.proxy: ProxyCommand | None = None
        self.refusal: TargetError | None = None

    # --- jump hosts and the network

    async def reach(self) -> None:
        """Connect the jump hosts."""
        chain = self.target.jump
        if not chain and self.settings.get("ProxyJump"):
            chain = hops(self.target, str(self.settings.get("ProxyJump")))
        if chain:
            try:
                self.jump = await _through(chain, self.options, self.shared)
            except TargetError as exc:
                message = exc.message if exc.kind == "jump_failed" else f"by the jump host {exc.message}"
                raise TargetError("jump_failed", f"{self.target.id}: {message}", exc.hint) from exc

    async def give_up(self) -> None:
        """Release the jump host and the ProxyCommand, unless a connection uses them now."""
        await let_go(self.jump, self.proxy)

    async def run(self) -> SshConnection:
        arguments = await self._arguments()
        way = f" by {', '.join(self.target.jump)}" if self.target.jump else ""
        log.debug(
            "%s: connecting to %s port %s as %s%s",
            self.target.id,
            self.settings.host,
            self.settings.port,
            self.settings.user,
            way,
        )
        tried = ", ".join(self.trouble.tried) or "none"
        log.debug("%s: keys to log in with: %s; known host keys: %d", self.target.id, tried, len(self.record.trusted))
        pause = 0.1
        while True:
            self.connection = None
            if self.jump is None and self.settings.proxy:
                await let_go(None, self.proxy)
                self.proxy = arguments["tunnel"] = ProxyCommand(self.settings.proxy, self.shared.running)
            try:
                connection = await asyncssh.connect(self.settings.host, self.settings.port, **arguments)
            except asyncio.CancelledError:
                raise
            except Exception as exc:
                if self.proxy is not None and self.proxy.stderr:
                    words = printable(self.proxy.stderr[-300:].decode("utf-8", "replace"))
                    log.info("%s: the ProxyCommand says: %s", self.target.id, words)
                if self._without_certificate(exc, arguments):
                    continue
                if not self._dropped(exc):
                    raise self._explain(exc) from exc
                self.trouble.drops += 1
                if self.trouble.drops == 2 and self.jump is None and not self.settings.proxy:
                    await self._probe()
                log.debug("%s: dropped before the login (%s), trying again", self.target.id, exc)
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311
                pause = min(2 * pause, 2.0)
                continue
            jump, self.jump = self.jump, None
            proxy, self.proxy = self.proxy, None
            key = connection.get_server_host_key()
            server = connection.get_extra_info("server_version")
            log.debug("%s: logged in; %s, host key %s", self.target.id, server, fingerprint(key) if key else "none")
            return SshConnection(self.target.id, connection, self.settings.user, jump, proxy)

    def _without_certificate(self, exc: Exception, arguments: dict[str, Any]) -> bool:
        """Whether to request the plain host key: the key is known, and only its certificate is not accepted."""
        if not isinstance(exc, asyncssh.HostKeyNotVerifiable) or self.refusal is not None or not self.record.trusted:
            return False
        plain = self.record.algorithms(certificates=False)
        if self.settings.get("HostKeyAlgorithms") or arguments["server_host_key_algs"] == plain:
            return False
        log.warning(
            "%s: its host certificate is not used: %s; its key is known by itself", self.target.id, message_of(exc)
        )
        arguments["server_host_key_algs"] = plain
        return True

    async def _arguments(self) -> dict[str, Any]:
        get = self.settings.get
        keys = await self._client_keys()
        certificates = self._certificates(self.settings.files("CertificateFile", ()))
        interval = get("ServerAliveInterval")
        arguments: dict[str, Any] = {
            "config": None,
            "client_factory": lambda: _Client(self),
            "username": self.settings.user,
            "known_hosts": self._match,
            "host_key_alias": get("HostKeyAlias"),
            "server_host_key_algs": get("HostKeyAlgorithms") or self.record.algorithms(),
            "client_keys": keys or None,
            "client_certs": certificates,
            "agent_path": None,
            "password": str(self.target.passwd) if self.target.passwd is not None else None,
            "preferred_auth": get("PreferredAuthentications") or ["publickey", "keyboard-interactive", "password"],
            "public_key_auth": get("PubkeyAuthentication", True),
            "gss_host": None,
            "gss_kex": False,
            "gss_auth": False,
            "kbdint_auth": self.target.passwd is not None and get("KbdInteractiveAuthentication", True),
            "password_auth": self.target.passwd is not None and get("PasswordAuthentication", True),
            "kex_algs": get("KexAlgorithms") or KEX,
            "encryption_algs": get("Ciphers") or CIPHERS,
            "mac_algs": get("MACs") or MACS,
            "compression_algs": ["none"],
            "agent_forwarding": False,
            "x11_forwarding": False,
            "request_pty": False,
            "env": None,
            "send_env": None,
            "command": None,
            "keepalive_interval": interval if interval is not None else self.options.keepalive_interval,
            "keepalive_count_max": get("ServerAliveCountMax", self.options.keepalive_count),
            "login_timeout": 0,
            "connect_timeout": None,
            "x509_trusted_certs": None,
            "x509_trusted_cert_paths": [],
            "family": get("AddressFamily", socket.AF_UNSPEC),
            "tcp_keepalive": get("TCPKeepAlive", True),
        }
        if self.jump is not None:
            arguments["tunnel"] = self.jump.connection
        if get("BindAddress"):
            arguments["local_addr"] = (str(get("BindAddress")), 0)
        return arguments

    # --- credentials

    async def _client_keys(self) -> list[Any]:
        """Keys of files, then of the agent. Raises TargetError if a requested key cannot be used."""
        explicit = [_path(path) for path in self.target.priv]
        files = explicit or self.settings.files("IdentityFile", ())
        passphrase = str(self.target.priv_passwd) if self.target.priv_passwd is not None else None
        keys: list[Any] = []
        unusable: KeyUnusableError | None = None
        named = files or [_path(f"~/.ssh/{name}") for name in DEFAULT_KEYS]
        for path in named:
            try:
                keys.append(await asyncio.to_thread(self.shared.keys.file, path, passphrase))
                self.trouble.tried.append(str(path))
            except KeyUnusableError as exc:
                # Default keys, and keys that ssh_config names for all hosts, may be missing or encrypted.
                if explicit or (files and path.exists()):
                    unusable = unusable or exc
        # After reading the keys: an expired certificate explains why no key was accepted.
        certificates = self._certificates(Path(f"{path}-cert.pub") for path in named)
        pairs = await self._agent_keys(files if unusable or self.settings.get("IdentitiesOnly") else None)
        pairs = for_keys(pairs, certificates)
        if unusable is not None and not pairs and (explicit or not keys) and (explicit or self.target.passwd is None):
            raise unusable.for_target(self.target.id)
        if pairs:
            self.trouble.tried.append(f"{len(pairs)} of the agent")
        return [*keys, *pairs]

    async def _agent_keys(self, only: Sequence[Path] | None) -> list[Any]:
        """The agent's key pairs; with ``only``, those whose public key is stored next to one of these files."""
        agent = str(self.settings.get("IdentityAgent") or os.environ.get("SSH_AUTH_SOCK") or "none")
        if not self.target.agent or agent == "none":
            return []
        pairs = await self.shared.keys.agent(os.path.expandvars(str(_path(agent))))
        if only is None:
            return pairs
        wanted = {data for path in only if (data := _public(path)) is not None}
        return [pair for pair in pairs if public_half(pair) in wanted]

    def _certificates(self, paths: Iterable[Path]) -> list[Any]:
        """The valid certificates; the reasons for the others are reported if the login fails."""
        certificates, trouble = self.shared.keys.certificates(paths)
        self.trouble.certificates += trouble
        return certificates

    # --- host keys

    def _known_hosts(self) -> KnownHosts:
        if self.options.known_hosts is not None:
            files = list(self.options.known_hosts)
        else:
            files = []
            for word, folder, name in (("User", "~/.ssh", "known_hosts"), ("Global", "/etc/ssh", "ssh_known_hosts")):
                default = [_path(f"{folder}/{name}"), _path(f"{folder}/{name}2")]
                if word == "User" and self.options.known_hosts_file and not self.settings.own_known_hosts:
                    files.append(self.options.known_hosts_file)
                else:
                    files += self.settings.files(f"{word}KnownHostsFile", default) or self._remembered(word, default)
        key = tuple(files)
        if key not in self.shared.known_hosts:
            self.shared.known_hosts[key] = KnownHosts(files)
        return self.shared.known_hosts[key]

    def _remembered(self, word: str, default: list[Path]) -> list[Path]:
        """The files for new host keys if ssh_config names none: stored keys let a changed key be detected."""
        return default if word == "User" and self.options.accept_new_host_keys else []

    def _match(self, host: str, addr: str, port: int | None) -> tuple[list[Any], ...]:
        record = self.record
        return (
            [key for key, _ in record.trusted] + record.elsewhere,
            [key for key, _ in record.authorities],
            [key for key, _ in record.revoked],
            [],
            [],
            [],
            [],
        )

    def accept(self, key: asyncssh.SSHKey) -> bool:
        """Whether to accept a host key that is not trusted; else ``refusal`` is set to the reason."""
        if self.record.trusted:
            self.refusal = self.trouble.changed(key, self.record)
            return False
        if self.record.authorities or self.record.unreadable:
            self.refusal = self.trouble.ambiguous(key, self.record)
            return False
        if not self.options.accept_new_host_keys or not self.hosts.files:
            self.refusal = self.trouble.unknown(key, self.settings.unchecked)
            return False
        try:
            path = self.hosts.add(self.trouble.name, self.settings.port, key)
            log.info("%s: new host key %s added to %s", self.target.id, fingerprint(key), path)
        except OSError as exc:
            log.warning("%s: the new host key cannot be kept: %s", self.target.id, exc)
        self.record = self.hosts.lookup(self.trouble.name, self.settings.port)
        return True

    # --- errors

    def _explain(self, exc: Exception) -> TargetError:
        self._look()
        if self.refusal is not None:
            return self.refusal
        if isinstance(exc, asyncssh.HostKeyNotVerifiable):
            return self.trouble.host_key(exc, self.record)
        return self.trouble.explain(exc)

    def too_late(self, bound: float) -> TargetError:
        self._look()
        return self.trouble.too_late(bound)

    def _look(self) -> None:
        self.trouble.connected = self.connection is not None
        self.trouble.secured = self.connection is not None and self.connection.get_server_host_key() is not None

    def _dropped(self, exc: Exception) -> bool:
        """Whether the server closed the connection for a reason that may be temporary."""
        self._look()
        if self.refusal is not None or self.trouble.secured or (self.jump is not None and self.jump.broken()):
            return False
        lost = isinstance(exc, (asyncssh.ConnectionLost, ConnectionResetError, BrokenPipeError))
        return lost or bool(BUSY.search(str(exc)))

    async def _probe(self) -> None:
        """Check whether the server that dropped the connection speaks SSH. Raises TargetError if not."""
        try:
            reader, writer = await asyncio.open_connection(self.settings.host, self.settings.port)
        except OSError:
            return
        try:
            writer.write(b"SSH-2.0-pushsalt\r\n")
            answer = (await asyncio.wait_for(reader.read(256), 2)).decode("utf-8", "replace")
        except (OSError, asyncio.TimeoutError):
            return
        finally:
            writer.close()
        if answer and "SSH-" not in answer and not BUSY.search(answer):
            raise self.trouble.no_ssh(answer)


def _path(name: str) -> Path:
    return Path(name).expanduser()


def _public(path: Path) -> bytes | None:
    try:
        return asyncssh.import_public_key(regular.read_bytes(f"{path}.pub")).public_data
    except (OSError, asyncssh.KeyImportError):
        return None


# --- jump hosts


async def _through(chain: tuple[str, ...], options: ConnectOptions, shared: Shared) -> Jump:
    """The connection to the last of these jump hosts, through the others. If it fails, all its users get the error."""
    jump = shared.jumps.get(chain)
    if jump is None or (jump.broken() and jump.opening is not None and jump.opening.exception() is None):
        jump = shared.jumps[chain] = Jump(chain, shared)
        jump.opening = asyncio.create_task(connect(hop(chain, options), options))
    jump.take()
    assert jump.opening is not None
    try:
        await asyncio.shield(jump.opening)
    except BaseException:
        await jump.release()
        raise
    return jump


def hop(chain: tuple[str, ...], options: ConnectOptions) -> Target:
    """The jump host: an id of the inventory, or else ``user@host:port`` as in ssh_config's ProxyJump."""
    name = chain[-1]
    target = options.inventory.get(name)
    if target is not None:
        return replace(target, jump=chain[:-1] or target.jump)
    user, host, port = sshwords.hop(name)
    return Target(id=name, host=host, user=user, port=int(port) if port else None, jump=chain[:-1])
