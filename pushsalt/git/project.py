"""The git remotes of a project's configuration, and its lock file."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pushsalt.errors import ConfigError
from pushsalt.git.address import is_sha
from pushsalt.git.lockfile import LockFile, lock_path
from pushsalt.git.remotes import Remotes, Say
from pushsalt.git.settings import Remote, gitfs_remotes, pillar_entries, pillar_remotes

if TYPE_CHECKING:
    from pushsalt.config import Config
    from pushsalt.redact import Redactor

log = logging.getLogger(__name__)


def open_remotes(config: Config, redactor: Redactor, say: Say | None = None) -> Remotes:
    """The remotes of a configuration. Raises ConfigError for invalid options or an invalid lock file."""
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
    remotes = gitfs_remotes(opts) if "git" in backends or "gitfs" in backends else []
    for entries in pillar_entries(opts):
        remotes += pillar_remotes(entries, opts)
    return remotes
