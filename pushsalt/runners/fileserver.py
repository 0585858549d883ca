"""Files of the file roots. Salt: ``salt/runners/fileserver.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.orchestrate.unsupported import refuse
from pushsalt.runners.salt import cmd

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def envs(run: Run, backend: Any = None, sources: bool = False) -> Any:
    """The saltenvs; with ``sources`` the names of the backends of the file server."""
    if sources:
        return _backends(run.client.project.config.opts["fileserver_backend"], backend)
    return sorted(cmd(run, "cp.envs"))


def file_list(run: Run, saltenv: str = "base", backend: Any = None) -> Any:
    """The files of a saltenv."""
    return cmd(run, "cp.list_master", saltenv=saltenv)


def dir_list(run: Run, saltenv: str = "base", backend: Any = None) -> Any:
    """The folders of a saltenv."""
    return cmd(run, "cp.list_master_dirs", saltenv=saltenv)


def symlink_list(run: Run, saltenv: str = "base", backend: Any = None) -> Any:
    """The symbolic links of a saltenv, and where they point to."""
    return cmd(run, "cp.list_master_symlinks", saltenv=saltenv)


def empty_dir_list(run: Run, saltenv: str = "base", backend: Any = None) -> list[str]:
    """The folders of a saltenv that have no files."""
    return sorted(run.client.project.files.list_emptydirs(saltenv))


def update(run: Run, backend: Any = None, **kwargs: Any) -> bool:
    """Fetch the git remotes of the file roots and the pillar now, whether they are due or not."""
    from pushsalt.git.project import configured

    project = run.client.project
    wanted = configured(project.config)
    if wanted:
        project.remotes.sync(wanted, force=True)
    return True


def clear_cache(run: Run, backend: Any = None) -> dict[str, list[str]] | str:
    """Remove the cached copies of the git remotes of the file roots; they are fetched again when they are needed."""
    from pushsalt.git.settings import gitfs_remotes

    project = run.client.project
    opts = project.config.opts
    names = [name for name in _backends(opts["fileserver_backend"], backend) if name in _GIT]
    if not names or not project.remotes.clear(gitfs_remotes(opts)):
        return "No cache was cleared"
    return {"cleared": [f"The {names[0]} fileserver cache was successfully cleared"]}


def clear_file_list_cache(run: Run, saltenv: Any = None, backend: Any = None) -> dict[str, list[str]]:
    """An empty mapping: lists of files are not cached between commands."""
    return {}


def clear_lock(run: Run, backend: Any = None, remote: Any = None) -> str:
    """Remove nothing: a lock of a fetch ends with its process, so none is left behind."""
    return "No locks were removed"


def lock(run: Run, backend: Any = None, remote: Any = None) -> None:
    """Fails: a lock of a fetch cannot outlive the command."""
    hint = "`pushsalt formula update` pins revisions in pushsalt.lock; with --locked only these are used"
    refuse("fileserver.lock", "a lock would end with this command", hint)


#: Names of the backend for git in ``fileserver_backend``.
_GIT = ("git", "gitfs")


def _backends(enabled: Any, wanted: Any) -> list[str]:
    """The enabled backends that an argument ``backend`` selects: a list, or names with commas; ``-name`` excludes."""
    names = wanted if isinstance(wanted, list) else str(wanted or "").split(",")
    names = [str(name).strip() for name in names if str(name).strip()]
    if names and all(name.startswith("-") for name in names):
        return [name for name in enabled if f"-{name}" not in names]
    return [name for name in enabled if not names or name in names]
