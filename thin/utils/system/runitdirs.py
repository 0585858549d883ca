"""Services of runit in folders: the one that it watches, and those whose services can be linked there."""

import os

from thin.exceptions import CommandExecutionError

#: where runit may watch
SERVICE_DIRS = ("/service", "/var/service", "/etc/service")


def watched(folders):
    """The first of the folders that is there. Raises CommandExecutionError."""
    for folder in folders:
        if os.path.exists(folder):
            return folder
    raise CommandExecutionError("Could not find service directory: none of %s is there" % ", ".join(folders))


def entries(folder):
    """Sorted paths in a folder; none if it does not exist."""
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))] if os.path.isdir(folder) else []


def is_service(path):
    """Whether it has a program ``run``."""
    return os.access(os.path.join(path, "run"), os.X_OK)


def enabled(folder):
    """The services of the watched folder, by where their links lead."""
    paths = [path for path in entries(folder) if is_service(path)]
    return [os.path.join(folder, os.readlink(path)) if os.path.islink(path) else path for path in paths]


def services(folder, others):
    """Sorted paths of the services that are watched, and of those in the other folders."""
    found = set(enabled(folder))
    for other in others:
        found.update(path for path in entries(other) if is_service(path))
    return sorted(found)


def aliases(folders):
    """``{service: [paths of its other names]}``: links in these folders."""
    found = {}
    for folder in folders:
        for path in entries(folder):
            if os.path.islink(path):
                found.setdefault(os.path.basename(os.readlink(path)), []).append(path)
    return found
