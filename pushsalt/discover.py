"""Finds the configuration and the inventory of a command, and checks whether found files are trusted.

Files that the command line or the environment names are always used. Found files are only used if no other user (except
root) can write to them, or if PUSHSALT_TRUST names a folder that contains them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pushsalt.errors import ConfigError

NAME: Final = "pushsalt.yaml"
SALT_MASTER: Final = "master"
SALTFILE: Final = "Saltfile"
#: Names of inventories next to a pushsalt.yaml; the first that exists is used. hosts.ini is Ansible's name.
INVENTORIES: Final = ("inventory.yaml", "hosts.ini")
#: The inventory next to a Salt master configuration.
ROSTER: Final = "roster"
_SALT_FOLDER: Final = Path("/etc/salt")

#: path of a Saltfile -> its options of salt-ssh; None for one that has none. Raises ConfigError.
SaltfileOptions = Callable[[Path], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Place:
    """The place of the configuration: ``file`` is a pushsalt.yaml or a Salt master configuration.

    ``options``: those of a ``saltfile``, which override the file's. ``folder``: that of the default inventory.
    """

    file: Path | None = None
    folder: Path | None = None
    project: Path | None = None
    #: whether the command line or the environment names it
    named: bool = False
    saltfile: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    #: the file in this folder or above that would be used if it were trusted
    refused: Path | None = None


def find(
    path: Path | None, cwd: Path, env: Mapping[str, str], warnings: list[str], saltfile_options: SaltfileOptions
) -> Place:
    """The place of the configuration, in this order: ``path`` or PUSHSALT_CONFIG; SALT_SALTFILE; the nearest folder at
    or above the working one that holds a ``pushsalt.yaml``; a ``Saltfile`` in the working folder; ``pushsalt/`` in the
    user's configuration folder; ``~/.salt/Saltfile``; ``/etc/pushsalt``.

    Raises ConfigError for missing named files. Untrusted files are reported in ``warnings``.
    """
    if path is None and env.get("PUSHSALT_CONFIG"):
        path = Path(env["PUSHSALT_CONFIG"])
    if path is not None:
        file = _named(cwd / path.expanduser())
        return Place(file, file.parent, file.parent if file.name == NAME else None, named=True)
    trust = Trust(cwd, env, warnings)
    if env.get("SALT_SALTFILE"):
        return _of_saltfile(absolute(cwd, env["SALT_SALTFILE"]), saltfile_options, trust, named=True) or Place()
    nearest = next((folder / NAME for folder in (cwd, *cwd.parents) if os.path.lexists(folder / NAME)), None)
    refused = None
    if nearest is not None:
        if trust.allows(nearest):
            return Place(nearest, nearest.parent, nearest.parent)
        refused = nearest
    elif (cwd / SALTFILE).is_file():
        if trust.allows(cwd / SALTFILE):
            place = _of_saltfile(cwd / SALTFILE, saltfile_options, trust)
            if place is not None:
                return place
        else:
            refused = cwd / SALTFILE
    return _installed(env, trust, saltfile_options, refused)


def _installed(env: Mapping[str, str], trust: Trust, saltfile_options: SaltfileOptions, refused: Path | None) -> Place:
    """The user's own configuration, or the machine's."""
    own = user_folder(env, "XDG_CONFIG_HOME", ".config") / "pushsalt" / NAME
    saltfile = Path(env.get("HOME") or Path.home()) / ".salt" / SALTFILE
    for file in (own, saltfile, Path("/etc/pushsalt") / NAME):
        if not os.path.lexists(file):
            continue
        if not trust.allows(file):
            refused = refused or file
            continue
        if file != saltfile:
            return Place(file, file.parent, refused=refused)
        place = _of_saltfile(file, saltfile_options, trust) if refused is None else None
        if place is not None:
            return place
    return Place(refused=refused)


def _named(path: Path) -> Path:
    """The file for a path of the command line."""
    if not path.is_dir():
        return Path(os.path.normpath(path))
    for name in (NAME, SALT_MASTER):
        if (path / name).is_file():
            return Path(os.path.normpath(path / name))
    raise ConfigError(f"{path} has neither a {NAME} nor a {SALT_MASTER}", hint=f"name a folder that holds a {NAME}")


def _of_saltfile(file: Path, saltfile_options: SaltfileOptions, trust: Trust, named: bool = False) -> Place | None:
    """The place for a Saltfile; None if it has no options for salt-ssh. Its paths are relative to its folder.

    Salt: ``SaltfileMixIn``, ``ConfigDirMixIn``.
    """
    options = saltfile_options(file)
    if options is None:
        return None
    config_dir = options.get("config_dir")
    folder = absolute(file.parent, str(config_dir)) if config_dir else _SALT_FOLDER
    if config_dir and not folder.is_dir():
        raise ConfigError(f"{file}: there is no folder {folder}", hint="correct `config_dir`")
    master = folder / SALT_MASTER
    if not os.access(master, os.R_OK) if not config_dir else not os.path.lexists(master):
        return Place(None, folder, named=named, saltfile=file, options=options)
    if not named and not trust.allows(master):
        return Place(refused=master)
    return Place(master, folder, named=named, saltfile=file, options=options)


def inventory_of(
    place: Place, cwd: Path, env: Mapping[str, str], warnings: list[str]
) -> tuple[list[Path], Path | None]:
    """The inventory next to the configuration, and the one that would be used if it were trusted."""
    if place.folder is None:
        return [], None
    names = INVENTORIES if place.file is not None and place.file.name == NAME else (ROSTER,)
    path = next((place.folder / name for name in names if os.path.lexists(place.folder / name)), None)
    if path is None:
        return [], None
    return ([path], None) if place.named or Trust(cwd, env, warnings).allows(path) else ([], path)


class Trust:
    """Decides which found files may be used; refused ones are reported in ``warnings``."""

    def __init__(self, cwd: Path, env: Mapping[str, str], warnings: list[str]) -> None:
        named = env.get("PUSHSALT_TRUST", "").split(os.pathsep)
        #: the folders that are named, wherever the command was called
        self.folders = [absolute(cwd, folder).resolve() for folder in named if folder]
        self._warnings = warnings

    def names(self, path: Path) -> bool:
        """Whether a folder in PUSHSALT_TRUST contains the path, and its destination if it is a link."""
        return any(path.resolve().is_relative_to(folder) for folder in self.folders)

    def allows(self, path: Path, way: str = "") -> bool:
        """Whether file and folder belong to the user or root and others cannot write to them, or are trusted.

        ``way``: the text for the hint, if the file itself cannot be named.
        """
        try:
            # the folder as found, and the destinations of links
            for each in dict.fromkeys((path.parent, path.resolve().parent, path.resolve())):
                problem = _problem(each)
                if problem and not self.names(each):
                    way = way or way_to_trust(path)
                    self._warnings.append(f"{path} is not used: {problem}; if you trust it: {way}")
                    return False
        except (OSError, RuntimeError) as exc:
            self._warnings.append(f"{path} is not used: {getattr(exc, 'strerror', None) or exc}")
            return False
        return True


def _problem(path: Path) -> str | None:
    status = path.stat()
    if status.st_uid not in (0, os.geteuid()):
        return f"{path} belongs to another user (uid {status.st_uid})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others can write to {path} (chmod go-w it)"
    return None


def way_to_trust(path: Path) -> str:
    """How to make pushsalt use a found configuration or inventory, for hints."""
    if path.name in (NAME, SALT_MASTER):
        option = f"-c {path.parent}"
    else:
        option = f"SALT_SALTFILE={path}" if path.name == SALTFILE else f"-i {path}"
    return f"{option}, or PUSHSALT_TRUST={path.parent}"


# --- paths -----------------------------------------------------------------------------------------------------------


def absolute(base: Path, path: Path | str) -> Path:
    """The absolute form of a path; ``~`` is the user's home."""
    try:
        return Path(os.path.normpath(base / Path(path).expanduser()))
    except RuntimeError:  # ~USER of an unknown user
        return Path(os.path.normpath(base / path))


def user_folder(env: Mapping[str, str], variable: str, fallback: str) -> Path:
    """The user's folder of that kind. A relative value of the variable does not count (XDG Base Directory)."""
    value = env.get(variable, "")
    if value.startswith("/"):
        return Path(value)
    home = env.get("HOME") or str(Path.home())
    return Path(home) / fallback


def working_folder() -> Path:
    """The working folder. Raises ConfigError if it was removed."""
    try:
        return Path.cwd()
    except OSError as exc:
        raise ConfigError(f"the working folder was removed: {exc.strerror}", hint="cd to another folder") from None
