"""Private keys, certificates and the agent: read once per process, whatever the number of targets."""

from __future__ import annotations

import asyncio
import copy
import logging
import os
from pathlib import Path
from typing import Any

import asyncssh

from pushsalt.errors import TargetError

log = logging.getLogger(__name__)

#: Tried when neither inventory nor ssh_config name a key.
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
        self._files: dict[tuple[str, str | None], Any] = {}
        self._agents: dict[str, asyncio.Task[list[Any]]] = {}
        self._clients: list[Any] = []

    def file(self, path: Path, passphrase: str | None) -> Any:
        """What asyncssh takes as a client key: the key, or (key, certificate). Raises KeyUnusableError."""
        name = (str(path), passphrase)
        if name not in self._files:
            try:
                self._files[name] = _load(path, passphrase)
            except KeyUnusableError as exc:
                self._files[name] = exc
        found = self._files[name]
        if isinstance(found, KeyUnusableError):
            raise found
        return found

    async def agent(self, socket: str) -> list[Any]:
        """Key pairs that the agent signs with; empty when there is none or it does not answer."""
        if socket not in self._agents:
            self._agents[socket] = asyncio.create_task(self._ask(socket))
        pairs = await asyncio.shield(self._agents[socket])
        # Each login settles the signature algorithm on its own copy.
        return [copy.copy(pair) for pair in pairs]

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

    def close(self) -> None:
        for client in self._clients:
            client.close()


def _load(path: Path, passphrase: str | None) -> Any:
    try:
        found = path.stat()
        data = path.read_bytes()
    except OSError as exc:
        raise KeyUnusableError(
            f"the private key {path} cannot be read: {exc.strerror}", "correct `priv` (or IdentityFile in ssh_config)"
        ) from exc
    if found.st_uid == os.geteuid() and found.st_mode & 0o077:
        raise KeyUnusableError(
            f"the private key {path} can be read by others (mode {found.st_mode & 0o777:04o})", f"chmod 600 {path}"
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
    try:
        return key, asyncssh.read_certificate(f"{path}-cert.pub")
    except FileNotFoundError:
        return key
    except (OSError, asyncssh.KeyImportError) as exc:
        raise KeyUnusableError(f"the certificate {path}-cert.pub cannot be used: {exc}", "renew or remove it") from exc
