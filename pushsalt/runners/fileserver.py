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
