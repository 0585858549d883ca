"""Units of systemd: their names, in full and as Salt has them, and their files and the init scripts on a disk.

A name without a unit type means ``NAME.service``. ``root`` is the folder of another system, None for this one.
"""

import os

#: the types that Salt lists; slices and scopes have names that end in their type, too
LISTED_TYPES = ("service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer")
TYPES = LISTED_TYPES + ("slice", "scope")
FOLDERS = ("/lib/systemd/system", "/usr/lib/systemd/system", "/etc/systemd/system")
INIT_SCRIPTS = "/etc/init.d"
RUNLEVELS = "/etc/rc[2-5].d"


def full(name):
    """The unit's own name, with its type."""
    name = str(name)
    return name if _has_type(name) else name + ".service"


def _has_type(name):
    return name.rpartition(".")[2] in TYPES and "." in name


def listed(unit):
    """Whether Salt lists units of this type."""
    return unit.rpartition(".")[2] in LISTED_TYPES


def shown(unit):
    """Salt's name of a unit: without ``.service``, with any other type."""
    return unit[: -len(".service")] if unit.endswith(".service") else unit


def on_disk(root):
    """Salt's names of the units that have files."""
    found = set()
    for folder in FOLDERS:
        path = under(root, folder)
        if not os.path.islink(path) and os.path.isdir(path):
            found.update(shown(name) for name in os.listdir(path) if listed(name))
    return found


def init_scripts(units, root):
    """The names of the init scripts that are no units."""
    folder = under(root, INIT_SCRIPTS)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return {name for name in names if name not in units and os.access(os.path.join(folder, name), os.X_OK)}


def started_scripts(root):
    """The names of the init scripts that some multi-user runlevel starts."""
    import glob

    links = glob.glob(under(root, RUNLEVELS) + "/S[0-9][0-9]*")
    return {os.path.basename(link)[3:] for link in links}


def under(root, path):
    """Where an absolute path of that system is in this one."""
    return os.path.join(root, path.lstrip("/")) if root else path
