"""systemd units: names, files, init scripts, and calls of systemctl.

A name without a unit type means ``NAME.service``. ``root`` is the root folder of another system, None for this one.
"""

import os

ENVIRONMENT = {"LC_ALL": "C", "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"}

#: The types that Salt lists. The names of slices and scopes end in their type, too.
LISTED_TYPES = ("service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer")
TYPES = LISTED_TYPES + ("slice", "scope")
FOLDERS = ("/lib/systemd/system", "/usr/lib/systemd/system", "/etc/systemd/system")
INIT_SCRIPTS = "/etc/init.d"
RUNLEVELS = "/etc/rc[2-5].d"


def full(name):
    """The full name of a unit, with its type."""
    name = str(name)
    return name if _has_type(name) else name + ".service"


def _has_type(name):
    return name.rpartition(".")[2] in TYPES and "." in name


def listed(unit):
    """Whether Salt lists units of this type."""
    return unit.rpartition(".")[2] in LISTED_TYPES


def shown(unit):
    """Salt's name of a unit: without ``.service``, but with any other type."""
    return unit[: -len(".service")] if unit.endswith(".service") else unit


def on_disk(root):
    """Salt's names of the units that have files."""
    result = set()
    for folder in FOLDERS:
        path = under(root, folder)
        if not os.path.islink(path) and os.path.isdir(path):
            result.update(shown(name) for name in os.listdir(path) if listed(name))
    return result


def init_scripts(units, root):
    """The names of the init scripts that are not among ``units``."""
    folder = under(root, INIT_SCRIPTS)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return {name for name in names if name not in units and os.access(os.path.join(folder, name), os.X_OK)}


def started_scripts(root):
    """The names of the init scripts that are started in a multi-user runlevel."""
    import glob

    links = glob.glob(under(root, RUNLEVELS) + "/S[0-9][0-9]*")
    return {os.path.basename(link)[3:] for link in links}


def under(root, path):
    """The path in this system of an absolute path in the other one."""
    return os.path.join(root, path.lstrip("/")) if root else path


def every(root):
    """Salt's names, sorted, of all units with a file, and of the init scripts."""
    names = on_disk(root)
    return sorted(names | init_scripts(names, root))


def properties(text):
    """``{key: text}`` from ``systemctl show``; Before, After and Wants are lists, ExecStart is a dict."""
    properties = {}
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if value.startswith("{"):
            items = [item.partition("=") for item in value.strip("{} ").split(" ; ")]
            properties[key] = {item[0].strip(): item[2].strip() for item in items}
        elif key in ("Before", "After", "Wants"):
            properties[key] = value.split()
        else:
            properties[key] = value
    return properties


def systemctl(salt, context, *words, **options):
    """The return of cmd.run_all for systemctl. A second word, or ``name``, is a unit unless it is an option.

    ``options``: ``name``, ``no_block``, ``root``. If the command can change something, the cached
    ``context["service.seen"]`` is cleared.
    """
    words, name = list(words), options.get("name")
    if name is None and len(words) == 2 and not words[1].startswith("-"):
        name = words.pop()
    command = [program("systemctl") or "systemctl"]
    command += ["--no-block"] if options.get("no_block") else []
    command += ["--root", options["root"]] if options.get("root") else []
    command += words + (["--", full(name)] if name is not None else [])
    if not {"show", "is-enabled", "list-units", "list-unit-files"}.intersection(words):
        context.get("service.seen", {}).clear()
    return salt["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env=ENVIRONMENT)


def booted():
    """Whether systemd started this system."""
    return os.path.isdir("/run/systemd/system")


def program(name):
    """The path of a program, in PATH or the usual folders; None if it is not installed."""
    folders = os.environ.get("PATH", "").split(os.pathsep) + ["/usr/bin", "/bin", "/usr/sbin", "/sbin"]
    paths = [os.path.join(folder, name) for folder in folders if folder]
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)
