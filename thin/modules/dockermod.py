"""
Containers, through the command docker, or podman in its place. Salt (until 3007): ``salt/modules/dockermod.py``.

Containers, images, networks and volumes are given by name or id. An error of docker raises CommandExecutionError; for
an object that does not exist, its text begins with ``Error 404``. Inspected data have docker's own shape.
docker_create.py creates containers.
"""

import re

from thin import process
from thin.exceptions import CommandExecutionError, CommandNotFoundError, SaltInvocationError
from thin.utils.files import serial

__virtualname__ = "docker"

#: messages of docker and podman about objects that do not exist
_MISSING = re.compile(r"no such (?!file)|not found|unable to find|does not exist|image not known", re.I)

__func_alias__ = {"rm_": "rm", "start_": "start", "signal_": "signal"}
__reads__ = ("version", "info", "inspect", "inspect_container", "exists", "list_containers", "state", "pid", "wait")
__changes__ = ("rm", "rename", "start", "stop", "restart", "kill", "pause", "unpause", "signal")
__runs__ = ("cli", "everything")


def __virtual__():
    if _program():
        return __virtualname__
    return False, "The docker execution module cannot be loaded: neither docker nor podman is installed."


def cli(*words, **options):
    """
    Run docker with these arguments and return its output

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.cli system df
    """
    done = everything(*words, **options)
    if done["retcode"]:
        output = done["stderr"] or done["stdout"]
        where = "Error 404: " if _MISSING.search(output) else "docker %s failed: " % " ".join(map(str, words[:2]))
        raise CommandExecutionError(where + output)
    return done["stdout"]


def everything(*words, **options):
    """
    Run docker with these arguments and return ``{retcode, stdout, stderr, pid}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.everything pull nginx:1.27
    """
    program = _program()
    if not program:
        raise CommandNotFoundError("Command 'docker' cannot be found")
    env = dict(options.get("env") or {}, LC_ALL="C")
    return __salt__["cmd.run_all"](
        [program] + [str(word) for word in words],
        python_shell=False,
        env=env,
        stdin=options.get("stdin"),
        ignore_retcode=True,
        output_loglevel="quiet" if options.get("env") else "debug",
        **{key: options[key] for key in ("cwd", "stdin_raw_newlines") if key in options},
    )


def version():
    """
    Return docker's version data: Version, ApiVersion, Os, Arch …, with ``VersionInfo``: numbers

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.version
    """
    done = everything("version", "--format", "{{json .}}")
    about = serial.loads(done["stdout"]) if done["stdout"].startswith("{") else {}
    about_version = about.get("Server") or about.get("Client") or {"Version": cli("--version")}
    number = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", about_version.get("Version", ""))
    about_version["VersionInfo"] = tuple(int(part) for part in number.groups() if part) if number else ()
    return about_version


def info():
    """
    Return docker's information about itself and the machine

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.info
    """
    return serial.loads(cli("info", "--format", "{{json .}}"))


def inspect(name):
    """
    Return all data of a container, an image, a network or a volume: the first of these that has this name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.inspect web
    """
    for kind in ("container", "image", "volume", "network"):
        try:
            return _inspected(kind, name)
        except CommandExecutionError as exc:
            if "404" not in str(exc):
                raise
    raise CommandExecutionError("Error 404: No such image/container/volume/network: %s" % name)


def inspect_container(name):
    """
    Return all data of a container

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.inspect_container web
    """
    return _inspected("container", name)


def exists(name):
    """
    Whether there is a container of this name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.exists web
    """
    return name in list_containers(all=True) or name in cli("ps", "-a", "-q", "--no-trunc").split()


def list_containers(**kwargs):
    """
    Return the sorted names of the running containers; ``all``: of all containers

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.list_containers all=True
    """
    text = cli("ps", "--format", "{{.Names}}", *(["-a"] if kwargs.get("all") else []))
    return sorted({name.strip() for line in text.splitlines() for name in line.split(",") if name.strip()})


def state(name):
    """
    Return ``running``, ``paused`` or ``stopped``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.state web
    """
    about = inspect_container(name)["State"]
    if about.get("Paused") or about.get("Status") == "paused":
        return "paused"
    return "running" if about.get("Running") or about.get("Status") == "running" else "stopped"


def pid(name):
    """
    Return the process id of a container's first process, 0 if it does not run

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.pid web
    """
    return inspect_container(name)["State"]["Pid"]


def rm_(name, force=False, volumes=False, **kwargs):
    """
    Remove a container; returns the ids of removed ones

    force
        Even if it runs.
    volumes
        Also remove its anonymous volumes.
    stop, timeout
        Stop it first, and how many seconds that may take.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.rm web-old force=True
    """
    about = inspect_container(name)
    running = state(name) != "stopped"
    if running and not force and not kwargs.get("stop"):
        words = "Container '%s' is running, use force=True to forcibly remove this container"
        raise CommandExecutionError(words % name)
    if kwargs.get("stop") and running:
        stop(name, kwargs.get("timeout"), unpause=True)
        if (about.get("HostConfig") or {}).get("AutoRemove"):
            _gone(about["Id"])
            return [about["Id"]]
    cli("rm", *((["-f"] if force else []) + (["-v"] if volumes else []) + [name]))
    return [about["Id"]]


def rename(name, new_name):
    """
    Give a container another name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.rename web web-old
    """
    if inspect_container(name)["Name"].lstrip("/") == new_name:
        raise SaltInvocationError("Container '%s' already has that name" % name)
    cli("rename", name, new_name)
    return True


def start_(name):
    """
    Start a container; returns ``{result, state: {old, new}}``, and ``comment`` if there is something to report

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.start web
    """
    before = state(name)
    if before == "paused":
        words = "Container '%s' is paused, cannot start" % name
        return {"result": False, "state": {"old": before, "new": before}, "comment": words}
    return _moved(name, "start", "running")


def stop(name, timeout=None, **kwargs):
    """
    Stop a container; returns ``{result, state: {old, new}}``, and ``comment`` if there is something to report

    timeout
        Seconds until it is killed; by default the container's own setting, or 10.
    unpause
        Even if it is paused.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.stop web timeout=60
    """
    before = state(name)
    if before == "paused":
        if not kwargs.get("unpause"):
            words = "Container '%s' is paused, run with unpause=True to unpause before stopping" % name
            return {"result": False, "state": {"old": before, "new": before}, "comment": words}
        unpause(name)
    words = [] if timeout is None else ["--time=%d" % int(timeout)]
    ret = _moved(name, "stop", "stopped", words)
    ret["state"]["old"] = before
    return ret


def restart(name, timeout=10):
    """
    Restart a container; returns ``{result, restarted, state: {old, new}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.restart web timeout=60
    """
    before = state(name)
    cli("restart", "--time=%d" % int(timeout), name)
    after = state(name)
    return {"result": after == "running", "restarted": after == "running", "state": {"old": before, "new": after}}


def kill(name):
    """
    Kill a container; returns ``{result, state: {old, new}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.kill web
    """
    return _moved(name, "kill", "stopped")


def pause(name):
    """
    Pause a container; returns ``{result, state: {old, new}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.pause web
    """
    before = state(name)
    if before == "stopped":
        words = "Container '%s' is stopped, cannot pause" % name
        return {"result": False, "state": {"old": before, "new": before}, "comment": words}
    return _moved(name, "pause", "paused")


def unpause(name):
    """
    Unpause a container; returns ``{result, state: {old, new}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.unpause web
    """
    before = state(name)
    if before == "stopped":
        words = "Container '%s' is stopped, cannot unpause" % name
        return {"result": False, "state": {"old": before, "new": before}, "comment": words}
    return _moved(name, "unpause", "running")


def signal_(name, signal):
    """
    Signal a container's first process, by name or number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.signal web SIGUSR1
    """
    cli("kill", "--signal=%s" % signal, name)
    return True


def wait(name, ignore_already_stopped=False, fail_on_exit_status=False):
    """
    Wait for a container's end; returns ``{result, state: {old, new}, exit_status}``

    ignore_already_stopped
        A container that does not run is no failure.
    fail_on_exit_status
        An exit status other than 0 is a failure.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.wait migrate
    """
    before = _after(name)
    if before is None:
        return {"result": ignore_already_stopped, "comment": "Container '%s' absent" % name}
    status = int(cli("wait", name).split()[-1])
    ret = {"state": {"old": before, "new": _after(name)}, "exit_status": status}
    ret["result"] = bool(ignore_already_stopped or before != "stopped")
    if before == "stopped":
        ret["comment"] = "Container '%s' already stopped" % name
    if fail_on_exit_status and ret["result"]:
        ret["result"] = status == 0
    return ret


def _program():
    return process.which("docker") or process.which("podman")


def _inspected(kind, name):
    return serial.loads(cli(kind, "inspect", name))[0]


def _gone(identity):
    """Wait until a container that was started with ``--rm`` has been removed; remove it after a time limit."""
    import time

    for pause in (0, 0.1, 0.2, 0.5, 1, 2):
        time.sleep(pause)
        try:
            inspect_container(identity)
        except CommandExecutionError as exc:
            if "404" in str(exc):
                return
            raise
    everything("rm", "-f", identity)


def _moved(name, action, expected, words=()):
    """Change the status of a container; returns old and new status. The new status is None if the container was removed
    at its exit.
    """
    before = state(name)
    if before == expected:
        comment = "Container '%s' already %s" % (name, expected)
        return {"result": False, "state": {"old": before, "new": before}, "comment": comment}
    cli(action, *(list(words) + [name]))
    after = _after(name)
    good = after == expected or (after is None and expected == "stopped")
    ret = {"result": good, "state": {"old": before, "new": after}}
    if not good and not (action == "start" and after == "stopped"):
        ret["comment"] = "Container '%s' is %s" % (name, after or "gone")
    return ret


def _after(name):
    try:
        return state(name)
    except CommandExecutionError as exc:
        if "404" in str(exc):
            return None
        raise
