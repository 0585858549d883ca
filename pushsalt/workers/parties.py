"""The keys with which controllers of a project and workers of a site seal messages, and the boxes of one job."""

from __future__ import annotations

import hmac
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from pushsalt.errors import PushsaltError, UsageError

if TYPE_CHECKING:
    from pushsalt.config import Config
    from pushsalt.run.project import Project

#: The name of the controllers of a project as a receiver.
CONTROLLER: Final = "controller"
_NONCE: Final = 12


class WrongBoxError(PushsaltError):
    """A box was not made with this key for this purpose."""


class Box:
    """Seals and opens with a key that the controllers and the workers of a job share."""

    def __init__(self, key: bytes | None = None) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        self.key = key or os.urandom(32)
        self._cipher = ChaCha20Poly1305(self.key)

    def seal(self, data: bytes, purpose: str) -> bytes:
        """The data, which can be opened for this purpose only."""
        nonce = os.urandom(_NONCE)
        return nonce + self._cipher.encrypt(nonce, data, purpose.encode("utf-8", "surrogateescape"))

    def open(self, data: bytes, purpose: str) -> bytes:
        """The data of ``seal``. Raises WrongBoxError."""
        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher.decrypt(data[:_NONCE], data[_NONCE:], purpose.encode("utf-8", "surrogateescape"))
        except (InvalidTag, ValueError):
            raise WrongBoxError("the message was not made by who may make it") from None


class Party(Protocol):
    """The controllers of a project, or the workers of a site: their keys."""

    def seal(self, to: str, data: bytes, purpose: str) -> bytes:
        """The data, signed, for this site or for CONTROLLER. Raises UsageError for one without a key."""

    def open(self, sender: str, data: bytes, purpose: str) -> bytes:
        """The data of ``seal``. Raises UsageError if it was not made by the sender for this party and purpose."""


class Plain:
    """A party without keys of a project, with a server on this machine only: one key of this user seals everything.

    Whoever can connect with the server can store messages there; other users of the machine do not have the key.
    """

    def __init__(self) -> None:
        """Raises UsageError if the user's key cannot be read or made."""
        self._box = Box(_derived("workers without keys"))

    def seal(self, to: str, data: bytes, purpose: str) -> bytes:
        return self._box.seal(data, purpose)

    def open(self, sender: str, data: bytes, purpose: str) -> bytes:
        from pushsalt.workers.seal import NotAuthentic

        try:
            return self._box.open(data, purpose)
        except WrongBoxError:
            hint = "without keys, controllers and workers belong to one user; `pushsalt worker init SITE` makes keys"
            raise NotAuthentic("a message was not made by this user of this machine", hint=hint) from None


def _derived(purpose: str) -> bytes:
    """A secret of this user for a purpose. Raises UsageError if the user's key cannot be read or made."""
    from pushsalt.cache.sealed import key_path, user_key

    path = key_path()
    try:
        if path is None:
            raise OSError("there is no home folder for it")
        return hmac.digest(user_key(path), purpose.encode(), "sha256")
    except OSError as exc:
        hint = "or make keys for workers: `pushsalt worker init SITE`"
        raise UsageError(f"without keys a key of this user is needed, and it cannot be used: {exc}", hint) from None


def controllers(project: Project, url: str) -> Party:
    """The keys of the project's controllers. Raises UsageError without them, unless the server is on this machine."""
    return controllers_of(project.config, url)


def controllers_of(config: Config, url: str) -> Party:
    """``controllers`` of the project with this configuration."""
    from pushsalt.workers import seal

    folder = keys_folder_of(config)
    if folder is None and is_on_loopback(url):
        return Plain()
    return seal.controller_keys(folder)


def runtime_secret(party: Party, site: str) -> bytes:
    """The secret from which the workers of a site make the keys of its targets.

    It is the same for all controllers of a project; without keys, for all commands of this user. Empty if there is
    neither: then each worker has its own, and no worker finds the runs of another.
    """
    from pushsalt.workers.seal import Keys

    if isinstance(party, Keys):
        return party.private.derived(f"runtime\0{site}")
    try:
        return _derived(f"workers\0{site}")
    except UsageError:
        return b""


def events_secret(party: Party) -> bytes:
    """The key with which controllers seal events. Raises UsageError without keys, if the user's key cannot be used."""
    from pushsalt.workers.seal import Keys

    return party.private.derived("events") if isinstance(party, Keys) else _derived("events")


def keys_folder(project: Project) -> Path | None:
    """The folder of the project with the keys of its controllers, if there is one."""
    return keys_folder_of(project.config)


def keys_folder_of(config: Config) -> Path | None:
    """``keys_folder`` of the project with this configuration."""
    folder = config.project
    return folder / "workers" if folder is not None and (folder / "workers" / "private").is_dir() else None


def site(folder: Path | None, url: str) -> Party:
    """The keys of a site's workers. Raises UsageError without them, unless the server is on this machine."""
    if folder is None:
        if is_on_loopback(url):
            return Plain()
        hint = "make them with `pushsalt worker init SITE`, and name their folder by --keys"
        raise UsageError("a worker needs the keys of its site, unless the server is on this machine", hint)
    from pushsalt.workers import seal

    return seal.site_keys(folder)


def is_on_loopback(url: str) -> bool:
    """Whether all servers of the URL are on this machine."""
    from ipaddress import ip_address
    from urllib.parse import urlsplit

    for each in url.split(","):
        host = urlsplit(each.strip() if "//" in each else f"nats://{each.strip()}").hostname or ""
        try:
            loopback = host == "localhost" or ip_address(host).is_loopback
        except ValueError:
            loopback = False
        if not loopback:
            return False
    return True
