"""Salt's ``cp`` functions that read the file server; ``thin/modules/cp.py`` has those that copy files to a target."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

from pushsalt.modules.controller import for_targets
from pushsalt.salturl import split_url

if TYPE_CHECKING:
    from pushsalt.minion.minion import Minion

__reads__ = (
    "get_file_str",
    "hash_file",
    "stat_file",
    "envs",
    "list_states",
    "list_master",
    "list_master_dirs",
    "list_master_symlinks",
)
__recorded__ = (
    "envs",
    "get_file_str",
    "hash_file",
    "list_master",
    "list_master_dirs",
    "list_master_symlinks",
    "list_states",
    "stat_file",
)


def _file(minion: Minion, path: str, saltenv: str | None) -> Any:
    url = path if "://" in path else f"salt://{path}"
    where = split_url(url, saltenv or minion.saltenv)
    return minion.files.find(*where) if where else None


@for_targets
def get_file_str(minion: Minion, path: str, saltenv: str | None = None) -> Any:
    """The text of a file, or False if it does not exist. Salt: cp.get_file_str."""
    if not path.startswith("salt://"):
        return minion.remote("cp.get_file_str", [path], {} if saltenv is None else {"saltenv": saltenv})
    file = _file(minion, path, saltenv)
    return False if file is None else file.read().decode("utf-8", "surrogateescape")


@for_targets
def hash_file(minion: Minion, path: str, saltenv: str | None = None) -> Any:
    """``{"hash_type", "hsum"}`` of a file; an empty text if it does not exist. Salt: cp.hash_file."""
    if not path.startswith("salt://"):
        return minion.remote("cp.hash_file", [path], {} if saltenv is None else {"saltenv": saltenv})
    file = _file(minion, path, saltenv)
    if file is None:
        return ""
    kind = str(minion.opts.get("hash_type") or "sha256")
    return {
        "hsum": file.digest(kind),
        "hash_type": kind,
    }


@for_targets
def stat_file(minion: Minion, path: str, saltenv: str | None = None, octal: bool = True) -> Any:
    """The mode of a file (``0644``; without ``octal`` as stat has it), or None. Salt: cp.stat_file."""
    if path.startswith("/"):
        return minion.remote("cp.stat_file", [path], {"octal": octal})
    file = _file(minion, path, saltenv) if path.startswith("salt://") else None
    if file is None:
        return None
    return f"{file.mode & 0o7777:04o}" if octal else stat.S_IFREG | file.mode


@for_targets
def envs(minion: Minion) -> list[str]:
    """The saltenvs of the file server. Salt: cp.envs."""
    return sorted(minion.files.envs())


@for_targets
def list_states(minion: Minion, saltenv: str | None = None) -> list[str]:
    """Every SLS name. Salt: cp.list_states."""
    return list(minion.files.list_states(saltenv or minion.saltenv))


@for_targets
def list_master(minion: Minion, saltenv: str | None = None, prefix: str = "") -> list[str]:
    """The paths of all files that begin with ``prefix``. Salt: cp.list_master."""
    return list(minion.files.list_files(saltenv or minion.saltenv, prefix))


@for_targets
def list_master_dirs(minion: Minion, saltenv: str | None = None, prefix: str = "") -> list[str]:
    """The paths of all directories that begin with ``prefix``. Salt: cp.list_master_dirs."""
    return list(minion.files.list_dirs(saltenv or minion.saltenv, prefix))


@for_targets
def list_master_symlinks(minion: Minion, saltenv: str | None = None, prefix: str = "") -> dict[str, str]:
    """All symbolic links that begin with ``prefix``: path -> destination. Salt: cp.list_master_symlinks."""
    return dict(minion.files.symlinks(saltenv or minion.saltenv, prefix))
