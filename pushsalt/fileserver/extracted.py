"""Extracts plug-ins of the controller from git remotes, so that they can be loaded."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import Final

from pushsalt import regular
from pushsalt.cache.store import private_dir, write_atomic
from pushsalt.cache.templates import folder as templates_folder
from pushsalt.config import Config
from pushsalt.errors import ConfigError, StateError
from pushsalt.files.found import DiskFile
from pushsalt.fileserver import FileServer
from pushsalt.trust import PYTHON, limit_of

log = logging.getLogger(__name__)

#: Kinds of plug-ins of the controller that may be in a remote, by Salt's folder names.
_PLUGINS: Final = ("renderers", "serializers", "pillar", "tops", "output")


def extract_plugins(files: FileServer, config: Config) -> Path | None:
    """A folder with the controller plug-ins of all remotes, to add to ``module_dirs``; None if there are none.

    Its files are executed, so it is always in the user's own cache folder, not in ``--cache-dir``; its name is a digest
    of its content. Raises ConfigError if it cannot be made.
    """
    contents: dict[str, bytes] = {}
    for saltenv in dict.fromkeys(["base", *files.configured_envs()]):
        for kind in _PLUGINS:
            try:
                paths = files.list_folder(f"_{kind}", saltenv)
                for path in paths:
                    file = files.find(path, saltenv) if path.endswith(".py") and path not in contents else None
                    if file is None or isinstance(file, DiskFile):  # files on disk need no extraction
                        continue
                    limit = limit_of(file)
                    if limit is None or limit.runs_python:
                        contents[path] = file.read()
                    else:
                        log.warning(
                            "%s is not loaded, since it would run on the controller: %s", file.path, limit.hint(PYTHON)
                        )
            except StateError as exc:  # the remote has no copy in the cache, which was reported before
                log.debug("plug-ins in _%s are left out: %s", kind, exc.message)
    if not contents:
        return None
    name = hashlib.sha256(repr(sorted(contents.items())).encode()).hexdigest()[:32]
    own = templates_folder()
    if own is None:
        raise ConfigError("plug-ins of git remotes need a home folder", hint="set HOME")
    top = own.with_name("plugins") / name
    try:
        for path, data in contents.items():
            place = private_dir((top / path).parent) / Path(path).name
            if not place.is_file() or regular.read_bytes(place) != data:
                write_atomic(place, data)
    except OSError as exc:
        raise ConfigError(
            f"plug-ins of git remotes cannot be stored in {top}: {exc}", hint="check the owner of that folder"
        ) from None
    return top
