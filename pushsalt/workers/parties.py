"""Who seals and opens what: the controllers of a project and the workers of a site, and the boxes of one job."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from pushsalt.errors import PushsaltError, UsageError
from pushsalt.workers import keys

if TYPE_CHECKING:
    from pushsalt.run.project import Project
    from pushsalt.workers.keys import WorkerKeys

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


class Controllers:
    """The controllers of a project. Without keys nothing is sealed, with a server on this machine only."""

    def __init__(self, project: Project, url: str) -> None:
        self._project = project
        self._here = is_here(url)

    def seal(self, to: str, data: bytes, purpose: str) -> bytes:
        if to == CONTROLLER:
            return keys.seal_for_controllers(self._project, data, purpose=purpose)
        return keys.seal(self._project, to, data, loopback=self._here, purpose=purpose)

    def open(self, sender: str, data: bytes, purpose: str) -> bytes:
        return keys.unseal_for_controllers(self._project, data, purpose=purpose)


class Site:
    """The workers of a site; ``found``: their keys, None with a server on this machine only."""

    def __init__(self, found: WorkerKeys | None) -> None:
        self.keys = found

    def seal(self, to: str, data: bytes, purpose: str) -> bytes:
        raise NotImplementedError("workers use the boxes of a job")

    def open(self, sender: str, data: bytes, purpose: str) -> bytes:
        return keys.unseal(self.keys, data, purpose=purpose)


def site_keys(folder: Path | None, site: str) -> WorkerKeys | None:
    """The keys of a site: those in ``folder``, else those in the usual places, if there are some. Raises UsageError."""
    folder = folder or keys.worker_folder(site)
    if folder is None:
        return None
    found = keys.load_worker(folder)
    if found.site != site:
        raise UsageError(f"{folder} has the keys of the site {found.site}, not of {site}", "name its folder by --keys")
    return found


def is_here(url: str) -> bool:
    """Whether all servers of the URL are on this machine."""
    from ipaddress import ip_address
    from urllib.parse import urlsplit

    for each in url.split(","):
        host = urlsplit(each.strip() if "//" in each else f"nats://{each.strip()}").hostname or ""
        try:
            here = host == "localhost" or ip_address(host).is_loopback
        except ValueError:
            here = False
        if not here:
            return False
    return True
