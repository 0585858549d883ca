"""Services of runit in folders: the folder that it watches, and those with services that can be linked there."""

import os

from thin.exceptions import CommandExecutionError

#: The folders that runit may watch.
SERVICE_DIRS = ("/service", "/var/service", "/etc/service")


def watched(folders):
    """The first of the folders that exists. Raises CommandExecutionError."""
    for folder in folders:
        if os.path.exists(folder):
            return folder
    raise CommandExecutionError("Could not find service directory: none of %s is there" % ", ".join(folders))


def entries(folder):
    """Sorted paths in a folder; none if it does not exist."""
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))] if os.path.isdir(folder) else []


def is_service(path):
    """Whether the folder has a program ``run``."""
    return os.access(os.path.join(path, "run"), os.X_OK)


def enabled(folder):
    """The services in the watched folder, as the paths that their links lead to."""
    paths = [path for path in entries(folder) if is_service(path)]
    return [os.path.join(folder, os.readlink(path)) if os.path.islink(path) else path for path in paths]


def services(folder, others):
    """The sorted paths of the services in the watched folder and in the others."""
    names = set(enabled(folder))
    for other in others:
        names.update(path for path in entries(other) if is_service(path))
    return sorted(names)


def aliases(folders):
    """``{service: [paths of its aliases]}``: links to services in these folders."""
    aliases = {}
    for folder in folders:
        for path in entries(folder):
            if os.path.islink(path):
                aliases.setdefault(os.path.basename(os.readlink(path)), []).append(path)
    return aliases
