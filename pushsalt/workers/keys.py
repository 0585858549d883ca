"""Which files have the keys of controllers and of sites.

::

    PROJECT/workers/SITE.pub              public keys of a site, with which controllers seal for it
    PROJECT/workers/controller.pub        public keys of this project's controllers
    PROJECT/workers/nats.conf             a configuration of nats-server for all sites of the project
    PROJECT/workers/private/              private: controller.key, controller.creds, operator.nk, account.nk, system.nk

    worker-SITE/site.key, site.creds      private: the keys of the site's workers, their credentials for NATS
    worker-SITE/controller.pub            whom they obey
    worker-SITE/ca.pem                    optional: the certificate of the authority of the NATS server
    worker-SITE/worker.yaml               ``site``, and optionally ``workers``, the URL of the server
    worker-SITE/ssh/                      private SSH keys, which `priv:` of the inventory names by their file names

Private folders are 0700, private files 0600. ``pushsalt worker init`` (``setup.py``) makes all of them; ``seal.py``
uses them.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pushsalt import regular
from pushsalt.errors import UsageError
from pushsalt.workers import names
from pushsalt.yamlio import YamlError, load_yaml

if TYPE_CHECKING:
    from pushsalt.run.project import Project

FOLDER: Final = "workers"
PRIVATE: Final = "private"
CONTROLLER: Final = "controller"

_LIMIT: Final = 64 * 1024
_HINT: Final = "`pushsalt worker init SITE` makes it"


@dataclass(frozen=True)
class WorkerFolder:
    """The folder of a site's worker. ``url``: the server, if worker.yaml names it; ``ca``: its authority, or None."""

    site: str
    folder: Path
    url: str | None
    credentials: Path
    ca: Path | None

    @property
    def ssh_keys(self) -> Path:
        """The folder of the private SSH keys."""
        return self.folder / "ssh"


def worker_folder(site: str) -> Path | None:
    """The folder of a site's keys if none is named: in the working folder, or below /etc/pushsalt."""
    name = f"worker-{site}"
    return next((path for path in (Path(name), Path("/etc/pushsalt", name)) if path.is_dir()), None)


def load_worker(folder: Path) -> WorkerFolder:
    """The folder of a site's worker. Raises UsageError if it is none."""
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", hint="`pushsalt worker init SITE` makes it: copy it to here")
    folder = folder.absolute()
    try:
        said = load_yaml(regular.read_text(folder / "worker.yaml"), str(folder / "worker.yaml"))
        site = names.check_site(str(said["site"]))
        url = said.get("workers")
    except (OSError, YamlError, TypeError, KeyError, AttributeError, UnicodeDecodeError):
        text = f"{folder / 'worker.yaml'} does not say the site"
        raise UsageError(text, hint="`pushsalt worker init SITE` makes that folder: copy all of it") from None
    ca = folder / "ca.pem"
    return WorkerFolder(site, folder, str(url) if url else None, folder / "site.creds", ca if ca.is_file() else None)


def folder_of(project: Project) -> Path | None:
    """The folder with the keys of a project, which may not exist; None outside of a project."""
    home = project.config.project
    return None if home is None else home / FOLDER


def private_text(path: Path) -> str:
    """The text of a private file. Raises UsageError if it is missing, or if others can read or change it."""
    try:
        descriptor = regular.descriptor_of(path, os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if status.st_uid not in (0, os.geteuid()) or status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise UsageError(f"{path} is not used: it must be your own file and private", hint=f"chmod 600 {path}")
            return stream.read(_LIMIT).decode("utf-8", "replace")
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror or exc}", hint=_HINT) from None


def public_text(path: Path) -> str:
    """The text of a file with public keys. Raises UsageError."""
    try:
        return regular.read_bytes(path)[:_LIMIT].decode("utf-8", "replace")
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror or exc}", hint=_HINT) from None
