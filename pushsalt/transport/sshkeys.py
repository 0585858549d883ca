"""Private keys, certificates and the agent: read once per process for all targets.

Certificates are short-lived: a changed file is read again, and so is an agent when one of its certificates has expired.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from asyncssh.public_key import CERT_TYPE_USER, decode_ssh_certificate

from pushsalt import regular
from pushsalt.errors import TargetError
from pushsalt.transport.ssh_library import asyncssh

log = logging.getLogger(__name__)

#: Keys that are tried if neither the inventory nor ssh_config names one.
DEFAULT_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")
_AGENT_TIMEOUT = 5.0


class KeyUnusableError(Exception):
    """Why a key file cannot be used: ``message`` and ``hint`` for people."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint

    def for_target(self, id: str) -> TargetError:
        return TargetError("key_unusable", f"{id}: {self.message}", self.hint)


class Keys:
    """Loaded keys by file and passphrase, and the identities of agents by socket."""

    def __init__(self) -> None:
        self._files: dict[tuple[str, str | None], tuple[Any, Any]] = {}  # -> stamps of its files, the loaded object
        self._certificates: dict[str, tuple[Any, Any]] = {}
        self._agents: dict[str, asyncio.Task[list[Any]]] = {}
        self._clients: list[Any] = []

    def file(self, path: Path, passphrase: str | None) -> Any:
        """A client key for asyncssh: the key, or (key, certificate). Raises KeyUnusableError.

        A certificate that is not valid now is left out; ``why_not`` has the reason.
        """
        name, certificate_path = (str(path), passphrase), Path(f"{path}-cert.pub")
        stamps = (_stamp(path), _stamp(certificate_path))
        stamp, key = self._files.get(name, (None, None))
        if key is None or stamp != stamps:
            try:
                key = _load(path, passphrase)
            except KeyUnusableError as exc:
                key = exc
            self._files[name] = (stamps, key)
        if isinstance(key, KeyUnusableError):
            raise key
        if stamps[1] is None:
            return key
        certificate = self.certificate(certificate_path)
        return (key, certificate) if why_not(certificate, key.public_data) == "" else key

    def certificate(self, path: Path) -> Any:
        """The certificate in this file. Raises KeyUnusableError."""
        stamp, certificate = self._certificates.get(str(path), (None, None))
        if certificate is None or stamp != _stamp(path):
            stamp = _stamp(path)
            try:
                certificate = asyncssh.import_certificate(regular.read_bytes(path))
            except (OSError, asyncssh.KeyImportError) as exc:
                certificate = KeyUnusableError(f"the certificate {path} cannot be used: {exc}", "renew or remove it")
            self._certificates[str(path)] = (stamp, certificate)
        if isinstance(certificate, KeyUnusableError):
            raise certificate
        return certificate

    def certificates(self, paths: Iterable[Path]) -> tuple[list[Any], list[str]]:
        """The valid certificates of these files, and the reasons why others are not; missing files are ignored."""
        certificates, trouble = [], []
        for path in paths:
            if _stamp(path) is None:
                continue
            try:
                certificate = self.certificate(path)
                reason = why_not(certificate)
            except KeyUnusableError as exc:
                trouble.append(exc.message)
                continue
            if reason:
                trouble.append(f"the certificate {path} {reason}")
            else:
                certificates.append(certificate)
        return certificates, trouble

    async def agent(self, socket: str) -> list[Any]:
        """The agent's key pairs; empty if there is no agent or it does not answer."""
        task = self._agents.get(socket)
        if task is None or (task.done() and any(_ended(pair) for pair in task.result())):
            task = self._agents[socket] = asyncio.create_task(self._ask(socket))
        pairs = await asyncio.shield(task)
        # A copy, since each login sets the signature algorithm. Expired ones are left out: servers limit attempts.
        return [copy.copy(pair) for pair in pairs if not _ended(pair)]

    async def _ask(self, socket: str) -> list[Any]:
        try:
            return await asyncio.wait_for(self._identities(socket), _AGENT_TIMEOUT)
        except (OSError, ValueError, asyncssh.Error, asyncio.TimeoutError) as exc:
            log.debug("the SSH agent at %s does not answer: %s", socket, exc)
            return []

    async def _identities(self, socket: str) -> list[Any]:
        client = await asyncssh.connect_agent(socket)
        self._clients.append(client)
        return list(await client.get_keys())

    async def close(self) -> None:
        """Close the connections to agents."""
        for client in self._clients:
            client.close()
            with contextlib.suppress(OSError):
                await client.wait_closed()


def _load(path: Path, passphrase: str | None) -> Any:
    try:
        status = path.stat()
        data = regular.read_bytes(path)
    except OSError as exc:
        raise KeyUnusableError(
            f"the private key {path} cannot be read: {exc.strerror}", "correct `priv` (or IdentityFile in ssh_config)"
        ) from exc
    if status.st_uid == os.geteuid() and status.st_mode & 0o077:
        raise KeyUnusableError(
            f"the private key {path} can be read by others (mode {status.st_mode & 0o777:04o})", f"chmod 600 {path}"
        )
    try:
        key = asyncssh.import_private_key(data, passphrase)
    except asyncssh.KeyEncryptionError as exc:
        if "bcrypt" in str(exc):
            message = f"{path} cannot be decrypted here: the Python package bcrypt is missing"
            raise KeyUnusableError(message, "pip install bcrypt, or use the SSH agent") from exc
        raise KeyUnusableError(f"the passphrase of {path} is wrong", "correct `priv_passwd`") from exc
    except asyncssh.KeyImportError as exc:
        if "assphrase" in str(exc):
            raise KeyUnusableError(
                f"the private key {path} needs a passphrase", "set `priv_passwd`, or add the key to the SSH agent"
            ) from exc
        raise KeyUnusableError(f"{path} is no private key: {exc}", "correct `priv` (or IdentityFile)") from exc
    return key


def why_not(certificate: Any, public: bytes = b"") -> str:
    """Why a user's certificate is not valid now, as the end of a sentence; empty if it is valid.

    ``public`` is the key that the certificate must be for.
    """
    try:
        certificate.validate(CERT_TYPE_USER, None)
    except ValueError as exc:
        return {
            "Certificate expired": "has ended: have it renewed",
            "Certificate not yet valid": "is not valid yet: compare the clocks",
            "Invalid certificate type": "is not for users",
        }.get(str(exc), f"is not valid: {exc}")
    if public and certificate.key.public_data != public:
        return "is for another key"
    return ""


def for_keys(pairs: Sequence[Any], certificates: Sequence[Any]) -> list[Any]:
    """An agent's key pairs; a key with one of these certificates is listed with it, and then without it."""
    by_key = {certificate.key.public_data: certificate for certificate in certificates}
    keys = []
    for pair in pairs:
        if not pair.has_cert and pair.key_public_data in by_key:
            certified = copy.copy(pair)
            certified.set_certificate(by_key[pair.key_public_data])
            keys.append(certified)
        keys.append(pair)
    return keys


def public_half(pair: Any) -> bytes:
    """The plain public key of an agent's identity, which may be a certificate."""
    certificate = _certificate_of(pair)
    return bytes(certificate.key.public_data if certificate is not None else pair.key_public_data)


def _certificate_of(pair: Any) -> Any:
    """The certificate of an agent's identity; None if the identity is a plain key."""
    if not pair.has_cert:
        return None
    try:
        return decode_ssh_certificate(pair.key_public_data)
    except asyncssh.KeyImportError:
        return None


def _ended(pair: Any) -> bool:
    certificate = _certificate_of(pair)
    return certificate is not None and bool(time.time() >= certificate._valid_before)


def _stamp(path: Path) -> Any:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode, status.st_uid
