"""What a project has of git: the remotes of its configuration, its lock file, plug-ins that lie in remotes."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pushsalt import regular
from pushsalt.cache.store import private_dir, write_atomic
from pushsalt.cache.templates import folder as templates_folder
from pushsalt.errors import ConfigError, StateError
from pushsalt.fileserver import DiskFile
from pushsalt.git.address import is_sha
from pushsalt.git.lockfile import NAME, LockFile
from pushsalt.git.remotes import Remotes, Say
from pushsalt.git.settings import Remote, gitfs_remotes, pillar_entries, pillar_remotes
from pushsalt.trust import PYTHON, limit_of

if TYPE_CHECKING:
    from pushsalt.config import Config
    from pushsalt.fileserver import FileServer
    from pushsalt.redact import Redactor

log = logging.getLogger(__name__)

#: Plug-ins of the controller that may lie in a remote: Salt's names of their folders.
_PLUGINS: Final = ("renderers", "serializers", "pillar", "tops", "output")


def open_remotes(config: Config, redactor: Redactor, say: Say | None = None) -> Remotes:
    """Raises ConfigError for options or a lock file that cannot hold."""
    opts = config.opts
    lock = LockFile(lock_path(config), config.locked)
    for remote in configured(config):
        redactor.add_secrets(remote.address.password, remote.login.passphrase)
        moving = [ref for ref in remote.named_refs() if not is_sha(ref)]
        if config.locked and moving and lock.refs(remote.address.url) is None:
            raise ConfigError(
                f"--locked: {lock.path} does not have {remote.address.shown}",
                hint="run `pushsalt formula update`, and commit the lock file",
            )
    return Remotes(
        config.cache_dir,
        lock,
        say=say,
        silence=float(opts.get("git_timeout") or 60),
        accept_new_host_keys=bool(opts.get("accept_new_host_keys")),
        ssh_files=(str(opts.get("ssh_config_file") or ""), str(opts.get("known_hosts_file") or "")),
    )


def configured(config: Config) -> list[Remote]:
    """All remotes: those of states, then those of pillar. Raises ConfigError."""
    opts = config.opts
    backends = opts.get("fileserver_backend") or ()
    found = gitfs_remotes(opts) if "git" in backends or "gitfs" in backends else []
    for entries in pillar_entries(opts):
        found += pillar_remotes(entries, opts)
    return found


def lock_path(config: Config) -> Path | None:
    """Beside ``pushsalt.yaml``; beside another configuration only where there is one."""
    if config.path is None:
        return None
    path = config.path.parent / NAME
    return path if config.path.name == "pushsalt.yaml" or path.exists() else None


def extract_plugins(files: FileServer, config: Config) -> Path | None:
    """A folder with the plug-ins of the controller that lie in remotes, as ``module_dirs`` has them; None for none.

    What lies there is executed: it is in the user's own cache folder, whatever ``--cache-dir`` says, named by its
    content. Raises ConfigError when it cannot be made.
    """
    found: dict[str, bytes] = {}
    for saltenv in dict.fromkeys(["base", *files.configured_envs()]):
        for kind in _PLUGINS:
            try:
                paths = files.list_folder(f"_{kind}", saltenv)
                for path in paths:
                    file = files.find(path, saltenv) if path.endswith(".py") and path not in found else None
                    if file is None or isinstance(file, DiskFile):  # those are found where they are
                        continue
                    limit = limit_of(file)
                    if limit is None or limit.runs_python:
                        found[path] = file.read()
                    else:
                        log.warning("%s is not loaded, it would run here: %s", file.path, limit.hint(PYTHON))
            except StateError as exc:  # said already: a remote without a copy
                log.debug("plug-ins in _%s are left out: %s", kind, exc.message)
    if not found:
        return None
    name = hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()[:32]
    own = templates_folder()
    if own is None:
        raise ConfigError("plug-ins of git remotes need a home folder to lie in", hint="set HOME")
    top = own.with_name("plugins") / name
    try:
        for path, data in found.items():
            place = private_dir((top / path).parent) / Path(path).name
            if not place.is_file() or regular.read_bytes(place) != data:
                write_atomic(place, data)
    except OSError as exc:
        raise ConfigError(
            f"plug-ins of git remotes cannot be kept in {top}: {exc}", hint="check who owns that folder"
        ) from None
    return top
