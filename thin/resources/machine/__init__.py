"""
Machines that systemd-nspawn runs on a target, and chroots on it, as resources: every state and module runs in them

.. code-block:: yaml

    resources:
      machine:                          # {} or no value: all running machines
        include: ['web*']               # globs for the names of running machines
        exclude: ['*-build']
        stopped: true                   # also those in /var/lib/machines that do not run
        resource_ids: [db1]             # these too; without include only these
        chroots: {jail: /srv/jail}      # name: path
        id_format: '{name}.{manager}'   # if targets have machines with the same names

Running machines are those that machined lists as containers. Listing and pinging a machine, and reading its operating
system, needs nothing in it; running functions needs Python in it, as on every target.
"""

import os

from thin import log, process
from thin.exceptions import CommandExecutionError
from thin.grains import outside, virtual
from thin.utils.declared import Wanted

#: The folder in which systemd stores the roots of machines.
IMAGES = "/var/lib/machines"
#: It exists if systemd runs, which starts machined.
BOOTED = "/run/systemd/system"
_CONTEXT = "machine_resource"
_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
_CLEAN = "env -i HOME=/root USER=root LOGNAME=root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# The remote login shell parses these: no single quotes, backslashes, exclamation marks, nor two spaces in a row.

#: The leader process is determined each time: the machine may have been restarted. Its first argument is the name.
_INTO_MACHINE = (
    'm=$1; shift; p=$(LC_ALL=C machinectl show -p Leader --value "$m" 2>/dev/null); '
    'case $p in ""|0) echo "machine $m does not run" >&2; exit 97;; esac; '
    '[ -r "/proc/$p/ns/mnt" ] || { echo "only root gets into machine $m" >&2; exit 97; }; '
    'n=$(command -v nsenter) || { echo "nsenter (util-linux) is not installed" >&2; exit 97; }; '
    f'exec {_CLEAN} "$n" -t "$p" -a -r -w -- "$@"'
)
#: Arguments: the root, and the script of _WITH_MOUNTS.
_INTO_CHROOT = (
    'r=$1; w=$2; shift 2; [ -d "$r" ] || { echo "there is no directory $r" >&2; exit 97; }; '
    '[ "$(id -u)" = 0 ] || { echo "only root gets into chroot $r" >&2; exit 97; }; cd /; '
    f'if [ -d "$r/proc/self" ] && [ -c "$r/dev/null" ]; then exec {_CLEAN} chroot "$r" "$@"; fi; '
    f'exec {_CLEAN} unshare -m sh -c "$w" chroot "$r" "$@"'
)
#: Mounts that programs need, if the chroot lacks them: not visible to others, and removed with the command.
_WITH_MOUNTS = (
    'r=$1; shift; [ -d "$r/proc/self" ] || mount -t proc proc "$r/proc" || echo "$r has no /proc" >&2; '
    '[ -c "$r/dev/null" ] || mount --rbind /dev "$r/dev" || echo "$r has no /dev" >&2; '
    'exec chroot "$r" "$@"'
)


def init(opts):
    """
    Parse the declaration. Raises CommandExecutionError if it is invalid
    """
    wanted = Wanted(opts, "machine", ("chroots", "stopped"))
    chroots = wanted.options.get("chroots") or {}
    if not isinstance(chroots, dict) or not all(
        isinstance(path, str) and path.startswith("/") for path in chroots.values()
    ):
        raise CommandExecutionError("resources: machine: chroots are a mapping, name: /path, not %r" % (chroots,))
    for name in wanted.declared:
        _checked(name)
    __context__[_CONTEXT] = {"wanted": wanted, "chroots": chroots, "there": None}


def initialized():
    """
    Whether ``init`` was called
    """
    return _CONTEXT in __context__


def discover(opts):
    """
    Return the ids of all selected machines and chroots, sorted
    """
    return sorted(_look())


def grains():
    """
    Return the grains that can be read without entering it; ``machine`` has its name, kind (``nspawn``, ``chroot`` …)
    and root
    """
    machine = _current()
    if machine["kind"] == "chroot":
        ret = dict(_virtual_of_chroot(), **outside.named(__grains__.get("nodename", "")))
    else:
        names = zip(("virtual", "virtual_subtype"), virtual.systemd_detect_virt(machine["service"]))
        ret = dict(outside.named(_nodename(machine)), **{name: value for name, value in names if value})
    if machine["files"]:
        ret.update(outside.grains(outside.reader(machine["files"]), __grains__))
    ret["id"] = __resource__["id"]
    ret["machine"] = {key: machine[key] for key in ("name", "kind", "root")}
    return ret


def grains_refresh():
    """
    Return the grains, collected again
    """
    _look()
    return grains()


def ping():
    """
    Whether the machine runs, or the chroot exists
    """
    machine = _current()
    if machine["kind"] == "chroot":
        return os.path.isdir(machine["root"])
    return machine["name"] in _shown([machine["name"]])


def shutdown(opts):
    """
    Discard the collected data
    """
    __context__.pop(_CONTEXT, None)


def enter():
    """
    Return the words that run a command in the current machine or chroot, as root

    The command exits with status 97 and a line on stderr if it cannot be entered.
    """
    machine = _current()
    if machine["kind"] == "chroot":
        if set(machine["root"]) & set("'\\!") or not machine["root"].isprintable() or "  " in machine["root"]:
            raise CommandExecutionError("no command can be made of the path %r" % machine["root"])
        return ["sh", "-c", _INTO_CHROOT, "pushsalt", machine["root"], _WITH_MOUNTS]
    return ["sh", "-c", _INTO_MACHINE, "pushsalt", machine["name"]]


def _current():
    machines = __context__[_CONTEXT]["there"]
    machine = (_look() if machines is None else machines).get(__resource__["id"])
    if machine is None:
        raise CommandExecutionError("there is no machine %s" % __resource__["id"])
    return machine


def _look():
    """id -> data of the machine: ``name``, ``kind``, ``root`` for messages, ``files``: a readable root, if there is
    one."""
    state = __context__[_CONTEXT]
    wanted = state["wanted"]
    names = _listed(partly=not wanted.looks)
    running = _shown([name for name in names if wanted.looks or name in wanted.declared])
    names = set(running)
    if wanted.looks and wanted.options.get("stopped"):
        names.update(_images())
    present = {wanted.id(name): _machine(name, running.get(name)) for name in wanted.of(names)}
    for name, path in state["chroots"].items():
        id = wanted.id(_checked(str(name)))
        if id in present:
            log.getLogger(__name__).warning("the chroot %s has the id of a machine, which is left out: %s", path, id)
        present[id] = {"name": str(name), "kind": "chroot", "root": path, "files": path}
    state["there"] = present
    return present


def _machine(name, shown):
    folder = os.path.join(IMAGES, name)
    result = {"name": name, "kind": "nspawn", "root": folder, "files": folder if os.path.isdir(folder) else ""}
    result["service"] = "systemd-nspawn"
    if shown:
        result["service"] = shown.get("Service") or result["service"]
        result["kind"] = result["service"].replace("systemd-", "")
        result["leader"] = shown["Leader"]
        result["root"] = shown.get("RootDirectory") or folder
        result["files"] = "/proc/%s/root" % shown["Leader"]
    return result


def _listed(partly=False):
    """The names of machined's containers."""
    text = _machinectl("list", "--no-legend", "--full", partly=partly)
    rows = [line.split() for line in text.splitlines()]
    return [row[0] for row in rows if len(row) > 1 and row[1] == "container"]


def _shown(names):
    """name -> properties of the running ones, from a single call of machinectl."""
    result, left = {}, list(names)
    while left:
        blocks = _machinectl("show", *left, partly=True).split("\n\n")
        for one in (dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in blocks):
            if one.get("Leader", "0") != "0" and one.get("Class") == "container":
                result[one["Name"]] = one
        left = [name for name in left if name not in result][1:]  # it stops at the first machine that has ended
    return result


def _images():
    """The names of the machines in /var/lib/machines, running or not."""
    try:
        entries = os.listdir(IMAGES)
    except OSError:
        return []
    names = [name[:-4] if name.endswith(".raw") else name for name in entries]
    return [name for name in names if name and not name.startswith(".") and not set(name) - set(_NAME)]


def _machinectl(*words, partly=False):
    """The output of machinectl; "" without machinectl or systemd. ``partly``: a failure is no error."""
    program = process.which("machinectl")
    if program is None:
        return ""
    done = process.run([program, "--no-pager"] + list(words), env=dict(os.environ, LC_ALL="C"), timeout=30)
    if done.retcode and not partly and os.path.isdir(BOOTED):
        output = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise CommandExecutionError("machinectl %s failed: %s" % (words[0], output or "status %s" % done.retcode))
    return done.stdout.decode("utf-8", "replace")


def _nodename(machine):
    """The node name of a machine: its name, or that of its own hostname file if a system is booted in it."""
    own = outside.read(machine["files"], "/etc/hostname").split() if machine["files"] else []
    try:
        with open("/proc/%s/comm" % machine["leader"], encoding="utf-8") as stream:
            booted = stream.read().strip() in ("systemd", "init")
    except (OSError, KeyError):
        booted = True
    return own[0] if own and booted and not own[0].startswith("#") else machine["name"]


def _virtual_of_chroot():
    what = __grains__.get("virtual", "physical")
    return {"virtual": "virtual" if what == "physical" else what, "virtual_subtype": "chroot"}


def _checked(name):
    if not name or set(name) - set(_NAME) or name[0] in ".-":
        raise CommandExecutionError("resources: machine: %r cannot be the name of a machine" % name)
    return name
