"""
Containers that podman or docker runs on a target, as resources: every state and module runs in them

.. code-block:: yaml

    resources:
      container:                        # {} or no value: all running containers
        engine: podman                  # or docker, or a path; default: podman if it is installed, else docker
        include: ['web*']               # globs for the names of running containers
        exclude: ['*-build']
        resource_ids: [db1]             # these too, running or not; without include only these
        id_format: '{name}.{manager}'   # if targets have containers with the same names
        user: app                       # the user in the container; default: root

Only the engine's commands are used, as the user of the login on the target. If that is not root, these are the user's
own containers. Listing and pinging a container needs nothing in it; running functions needs Python in it, as on every
target.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.grains import outside, virtual
from thin.utils.declared import Wanted

_CONTEXT = "container_resource"
_FIRST = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_SEEN = ("name", "id", "pid", "running", "image", "hostname")
_FORMAT = "{{.Name}}|{{.Id}}|{{.State.Pid}}|{{.State.Running}}|{{.Config.Image}}|{{.Config.Hostname}}"
_RUNS = "{{.State.Running}}"
#: The files that grains are read from, and a script that prints all of them.
_FILES = [
    "/etc/" + name
    for name in ("os-release", "lsb-release", "centos-release", "redhat-release", "system-release", "machine-id")
]
_FILES += ["/usr/lib/os-release", "/var/lib/dbus/machine-id"]
_TRIES = 3  # `podman exec` may lose the last output of a program; the output of this one is never empty
_PRINT = 'for file; do printf "\n/%s\n" "$file"; cat "$file" 2>/dev/null; done'

#: The remote login shell parses it: no single quotes, backslashes, exclamation marks. Arguments: engine, name, user.
_INTO = (
    'e=$1; n=$2; u=$3; shift 3; "$e" exec -i -u "$u" "$n" "$@"; r=$?; [ $r = 0 ] && exit 0; '
    f'case $("$e" container inspect -f "{_RUNS}" "$n" 2>/dev/null) in true) exit $r;; esac; '
    'echo "container $n does not run" >&2; exit 97'
)


def init(opts):
    """
    Parse the declaration. Raises CommandExecutionError if it is invalid
    """
    wanted = Wanted(opts, "container", ("engine", "user"))
    for name in wanted.declared:
        if not name or name[0] not in _FIRST or set(name) - set(_FIRST + "_.-"):
            raise CommandExecutionError("resources: container: %r cannot be the name of a container" % name)
    asked = wanted.text("engine", "")
    engine = next(filter(None, map(process.which, [asked] if asked else ["podman", "docker"])), None)
    if asked and engine is None:
        raise CommandExecutionError("resources: container: the engine %s is not installed" % asked)
    user = wanted.text("user", "0")
    for word in (engine or "", user):
        if set(word) & set("'\\!") or not word.isprintable() or word.startswith("-"):
            raise CommandExecutionError("resources: container: no command can be made of %r" % word)
    __context__[_CONTEXT] = {"wanted": wanted, "engine": engine, "user": user, "there": None}


def initialized():
    """
    Whether ``init`` was called
    """
    return _CONTEXT in __context__


def discover(opts):
    """
    Return the ids of all selected containers, sorted
    """
    return sorted(_look())


def grains():
    """
    Return the grains that can be read without entering it; ``container`` has its name, id, image and engine
    """
    container = _current()
    engine = os.path.basename(_state()["engine"] or "")
    names = zip(("virtual", "virtual_subtype"), virtual.systemd_detect_virt(engine))
    ret = dict(outside.named(container.get("hostname", "")), **{name: value for name, value in names if value})
    if container.get("running") == "true":
        ret.update(outside.grains(_reader(container), __grains__))
    ret["id"] = __resource__["id"]
    ret["container"] = {key: container[key] for key in ("name", "id", "image") if container.get(key)}
    ret["container"]["engine"] = engine
    return ret


def grains_refresh():
    """
    Return the grains, collected again
    """
    _look()
    return grains()


def ping():
    """
    Whether the container runs
    """
    name = _current()["name"]
    return _cli("container", "inspect", "-f", _RUNS, name, partly=True).strip() == "true"


def shutdown(opts):
    """
    Discard the collected data
    """
    __context__.pop(_CONTEXT, None)


def enter():
    """
    Return the words that run a command in the current container

    The command exits with status 97 and a line on stderr if the container does not run.
    """
    state = _state()
    if not state["engine"]:
        raise CommandExecutionError("neither podman nor docker is installed")
    return ["sh", "-c", _INTO, "pushsalt", state["engine"], _current()["name"], state["user"]]


def _state():
    return __context__[_CONTEXT]


def _current():
    containers = _state()["there"]
    container = (_look() if containers is None else containers).get(__resource__["id"])
    if container is None:
        raise CommandExecutionError("there is no container %s" % __resource__["id"])
    return container


def _look():
    """id -> data of the container: a dict with ``name`` and, if available, the other keys of _SEEN."""
    state = _state()
    wanted = state["wanted"]
    running = _cli("ps", "-q", "--no-trunc").split() if state["engine"] and wanted.looks else []
    result = {}
    if running or (wanted.declared and state["engine"]):
        # removed ones, and names that never existed, are missing in the output
        output = _cli("container", "inspect", "-f", _format(), *(running + wanted.declared), partly=True)
        for line in output.splitlines():
            values = line.strip().split("|")
            if len(values) == len(_SEEN):
                one = dict(zip(_SEEN, values))
                one["name"] = one["name"].lstrip("/")
                result[one["name"]] = one
    running = [name for name, one in result.items() if one["running"] == "true"]
    state["there"] = {wanted.id(name): result.get(name, {"name": name}) for name in wanted.of(running)}
    return state["there"]


def _format():
    """The format of the list; a pod's infra container is excluded if the engine has pods."""
    podman = os.path.basename(_state()["engine"]) == "podman"
    return "{{if not .IsInfra}}%s{{end}}" % _FORMAT if podman else _FORMAT


def _reader(container):
    """Reads files of the container: from its root if that is accessible, otherwise with one command in it."""
    root = "/proc/%s/root" % container["pid"]
    if os.path.isdir(root + "/etc"):
        return outside.reader(root)
    text = ""
    for _ in range(_TRIES):
        text = text or _cli("exec", container["name"], "sh", "-c", _PRINT, "sh", *_FILES, partly=True)
    files = {"/" + path: content for path, _, content in (part.partition("\n") for part in text.split("\n//"))}
    return lambda path, default="": files.get(path) or default


def _cli(*words, partly=False):
    """The output of the engine. ``partly``: some of the output may be missing."""
    engine = _state()["engine"]
    done = process.run([engine] + list(words), env=dict(os.environ, LC_ALL="C"), timeout=60)
    if done.retcode and not partly:
        output = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise CommandExecutionError("%s %s failed: %s" % (engine, words[0], output or "status %s" % done.retcode))
    return done.stdout.decode("utf-8", "replace")
