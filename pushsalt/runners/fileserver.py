"""Files of the file roots. Salt: ``salt/runners/fileserver.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.runners.salt import cmd

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def envs(run: Run, backend: Any = None, sources: bool = False) -> Any:
    """The saltenvs."""
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
