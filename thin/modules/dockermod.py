"""
Containers, through the command docker, or podman in its place. Salt (until 3007): ``salt/modules/dockermod.py``.

Containers, images, networks and volumes are given by name or id. What docker refuses raises CommandExecutionError; what
does not exist, one that begins with ``Error 404``. What is inspected has docker's own shape.
"""

import re

from thin import process
from thin.exceptions import CommandExecutionError, CommandNotFoundError, SaltInvocationError
from thin.utils import dockerwords, serial

__virtualname__ = "docker"

#: what docker and podman say of what does not exist
_MISSING = re.compile(r"no such (?!file)|not found|unable to find|does not exist|image not known", re.I)

__func_alias__ = {"ps_": "ps", "rm_": "rm", "start_": "start", "signal_": "signal"}


def __virtual__():
    if _program():
        return __virtualname__
    return False, "The docker execution module cannot be loaded: neither docker nor podman is installed."


def cli(*words, **options):
    """
    Call docker with these words and return what it prints

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.cli system df
    """
    done = everything(*words, **options)
    if done["retcode"]:
        said = done["stderr"] or done["stdout"]
        where = "Error 404: " if _MISSING.search(said) else "docker %s failed: " % " ".join(map(str, words[:2]))
        raise CommandExecutionError(where + said)
    return done["stdout"]


def everything(*words, **options):
    """
    Call docker with these words and return ``{retcode, stdout, stderr, pid}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.everything pull busybox
    """
    program = _program()
    if not program:
        raise CommandNotFoundError("Command 'docker' cannot be found")
    env = dict(options.get("env") or {}, LC_ALL="C")
    return __salt__["cmd.run_all"](
        [program] + [str(word) for word in words], python_shell=False, env=env, stdin=options.get("stdin"),
        ignore_retcode=True, output_loglevel="quiet" if options.get("env") else "debug",
    )  # fmt: skip


def version():
    """
    Return what docker says of its version, with ``VersionInfo``: numbers

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.version
    """
    text = cli("--version")
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    numbers = tuple(int(part) for part in found.groups() if part) if found else ()
    return {"Version": ".".join(map(str, numbers)), "VersionInfo": numbers, "Program": text}


def info():
    """
    Return what docker says of itself and the machine

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.info
    """
    return serial.loads(cli("info", "--format", "{{json .}}"))


def inspect(name):
    """
    Return all about a container, an image, a network or a volume: the first of these that has this name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.inspect busybox
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
    Return all about a container

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.inspect_container mycontainer
    """
    return _inspected("container", name)


def exists(name):
    """
    Whether there is a container of this name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.exists mycontainer
    """
    return name in list_containers(all=True) or name in cli("ps", "-a", "-q", "--no-trunc").split()


def list_containers(**kwargs):
    """
    Return the sorted names of the containers that run; ``all``: of the others, too

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.list_containers all=True
    """
    text = cli("ps", "--format", "{{.Names}}", *(["-a"] if kwargs.get("all") else []))
    return sorted({name.strip() for line in text.splitlines() for name in line.split(",") if name.strip()})


def ps_(filters=None, **kwargs):
    """
    Return ``{id: about}`` of the containers that run: their command, image, names, ports, status, labels and times

    all
        Of the others, too.
    host
        With ``host: {interfaces}``: the machine's interfaces.
    verbose
        With all that inspecting gives, as ``Info``.
    filters
        ``{what: values}``, as ``{label: role=web}``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.ps all=True
    """
    words = ["--filter=%s" % each for each in _filters(filters)] + (["-a"] if kwargs.get("all") else [])
    found = {}
    ids = cli("ps", "-q", "--no-trunc", *words).split()
    for about in serial.loads(cli("container", "inspect", *ids)) if ids else []:
        entry = {
            "Command": " ".join([about.get("Path") or ""] + (about.get("Args") or [])).strip(),
            "Image": about["Config"].get("Image") or about.get("ImageName"),
            "ImageID": about.get("Image"),
            "Labels": about["Config"].get("Labels") or {},
            "Names": [about["Name"].lstrip("/")],
            "Ports": (about.get("NetworkSettings") or {}).get("Ports") or {},
            "Status": about["State"].get("Status"),
        }
        entry.update(_times(about.get("Created")))
        entry.update({"Info": about} if kwargs.get("verbose") else {})
        found[about["Id"]] = entry
    if kwargs.get("host"):
        found.setdefault("host", {})["interfaces"] = __salt__["network.interfaces"]()
    return found


def state(name):
    """
    Return ``running``, ``paused`` or ``stopped``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.state mycontainer
    """
    about = inspect_container(name)["State"]
    if about.get("Paused") or about.get("Status") == "paused":
        return "paused"
    return "running" if about.get("Running") or about.get("Status") == "running" else "stopped"


def pid(name):
    """
    Return the process id of a container's first process, 0 when it does not run

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.pid mycontainer
    """
    return inspect_container(name)["State"]["Pid"]


def port(name, private_port=None):
    """
    Return ``{port of the container: [{HostIp, HostPort}]}``; ``name`` may be a glob: then for each container

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.port mycontainer 80/tcp
    """
    def ports(container):
        found = (inspect_container(container).get("NetworkSettings") or {}).get("Ports") or {}
        wanted = None if private_port is None else [str(private_port), "%s/tcp" % private_port]
        return {key: value for key, value in found.items() if wanted is None or key in wanted}

    if not any(char in name for char in "*?["):
        return ports(name)
    from fnmatch import fnmatch

    return {each: ports(each) for each in list_containers(all=True) if fnmatch(each, name)}


def logs(name, **kwargs):
    """
    Return what a container printed

    tail
        So many lines of the end.
    since, until
        From this time, to this time: as docker reads them.
    timestamps
        With the time of each line.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.logs mycontainer tail=100
    """
    words = ["--%s=%s" % (key, kwargs[key]) for key in ("tail", "since", "until") if kwargs.get(key) is not None]
    words += ["--timestamps"] if kwargs.get("timestamps") else []
    done = everything("logs", *(words + [name]))
    if done["retcode"]:
        raise CommandExecutionError(done["stderr"] or done["stdout"])
    return "\n".join(filter(None, (done["stdout"], done["stderr"])))


def top(name):
    """
    Return ``[{column: value}]`` of a container's processes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.top mycontainer
    """
    lines = cli("top", name).splitlines()
    titles = lines[0].split()
    return [dict(zip(titles, line.split(None, len(titles) - 1))) for line in lines[1:]]


def diff(name):
    """
    Return ``{"Added", "Changed", "Deleted": [paths]}`` of what is unlike the container's image

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.diff mycontainer
    """
    found = {}
    for line in cli("diff", name).splitlines():
        kind, _, path = line.partition(" ")
        found.setdefault({"A": "Added", "C": "Changed", "D": "Deleted"}.get(kind, kind), []).append(path)
    return found


def create(image, name=None, start=False, skip_translate=None, ignore_collisions=False, validate_ip_addrs=True,
           client_timeout=60, **kwargs):  # fmt: skip
    """
    Make a container; returns ``{Id, Name, Time_Elapsed}``

    image
        Its image.
    name
        Its name; docker makes one up by default.
    start
        Start it, too.
    kwargs
        Settings: command, environment, volumes (binds), port_bindings, ports, hostname, labels, restart_policy, user,
        working_dir, mem_limit, cap_add, network_mode, networks … Lists may be texts with commas.
    skip_translate, ignore_collisions, validate_ip_addrs, client_timeout
        Of no meaning here.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.create myuser/mycontainer:latest name=web port_bindings=8080:80
    """
    import time

    began = time.time()
    settings = {key: value for key, value in kwargs.items() if not key.startswith("__pub_")}
    networks = settings.pop("networks", None) or {}
    try:
        options, command, variables = dockerwords.container(settings)
    except ValueError as exc:
        raise SaltInvocationError(str(exc))
    naming = ["--name=%s" % name] if name else []
    out = cli("create", *(naming + options + [image] + command), env=variables)
    found = {"Id": out.split()[-1]}
    found["Name"] = inspect_container(found["Id"])["Name"].lstrip("/")
    for network, how in dockerwords.networks(networks).items():
        __salt__["docker.connect_container_to_network"](found["Name"], network, **how)
    if start:
        start_(found["Name"])
        found["Started"] = True
    found["Time_Elapsed"] = time.time() - began
    return found


def run_container(image, name=None, skip_translate=None, ignore_collisions=False, validate_ip_addrs=True,
                  client_timeout=60, bg=False, replace=False, force=False, networks=None, **kwargs):  # fmt: skip
    """
    Make a container, run it to its end, and return ``{Id, Name, Logs, ExitCode, Time_Elapsed}``

    bg
        Do not wait for its end; then without Logs and ExitCode.
    replace
        Take away a container of this name first.
    force
        With ``replace``: even if it runs.
    networks
        The networks that it is in, with how: ``{network: {ipv4_address: ...}}``.
    image, name, kwargs
        As ``docker.create``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.run_container busybox command='echo hello'
    """
    found = {}
    if name and name in list_containers(all=True):
        if not replace:
            raise CommandExecutionError("Container '%s' exists. Run with replace=True to remove it first" % name)
        found["Replaces"] = rm_(name, force=force)
    remove = kwargs.pop("auto_remove", kwargs.pop("rm", False))
    found.update(create(image, name=name, networks=networks, **kwargs))
    start_(found["Id"])
    if not bg:
        found["ExitCode"] = wait(found["Id"], ignore_already_stopped=True)["exit_status"]
        found["Logs"] = logs(found["Id"])
        if remove:
            rm_(found["Id"])
    return found


def rm_(name, force=False, volumes=False, **kwargs):
    """
    Take away a container; returns the ids of what is gone

    force
        Even if it runs.
    volumes
        With the volumes that have no name.
    stop, timeout
        Stop it first, and how many seconds that may take.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.rm mycontainer force=True
    """
    about = inspect_container(name)
    running = state(name) != "stopped"
    if running and not force and not kwargs.get("stop"):
        words = "Container '%s' is running, use force=True to forcibly remove this container"
        raise CommandExecutionError(words % name)
    if kwargs.get("stop") and running:
        stop(name, kwargs.get("timeout"), unpause=True)
    cli("rm", *((["-f"] if force else []) + (["-v"] if volumes else []) + [name]))
    return [about["Id"]]


def rename(name, new_name):
    """
    Give a container another name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.rename foo bar
    """
    if inspect_container(name)["Name"].lstrip("/") == new_name:
        raise SaltInvocationError("Container '%s' already has that name" % name)
    cli("rename", name, new_name)
    return True


def start_(name):
    """
    Start a container; returns ``{result, state: {old, new}}``, and a comment if need be

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.start mycontainer
    """
    before = state(name)
    if before == "paused":
        words = "Container '%s' is paused, cannot start" % name
        return {"result": False, "state": {"old": before, "new": before}, "comment": words}
    return _moved(name, "start", "running")


def stop(name, timeout=None, **kwargs):
    """
    Stop a container; returns ``{result, state: {old, new}}``, and a comment if need be

    timeout
        How many seconds it may take before it is killed; what the container says, else 10, by default.
    unpause
        Even if it is paused.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.stop mycontainer timeout=20
    """
    before = state(name)
    if before == "paused":
        if not kwargs.get("unpause"):
            words = "Container '%s' is paused, run with unpause=True to unpause before stopping" % name
            return {"result": False, "state": {"old": before, "new": before}, "comment": words}
        unpause(name)
    words = [] if timeout is None else ["--time=%d" % int(timeout)]
    return dict(_moved(name, "stop", "stopped", words), state={"old": before, "new": state(name)})


def restart(name, timeout=10):
    """
    Restart a container; returns ``{result, restarted, state: {old, new}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.restart mycontainer timeout=20
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

        pushsalt run '*' docker.kill mycontainer
    """
    return _moved(name, "kill", "stopped")


def pause(name):
    """
    Hold a container; returns ``{result, state: {old, new}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.pause mycontainer
    """
    before = state(name)
    if before == "stopped":
        words = "Container '%s' is stopped, cannot pause" % name
        return {"result": False, "state": {"old": before, "new": before}, "comment": words}
    return _moved(name, "pause", "paused")


def unpause(name):
    """
    Let a held container go on; returns ``{result, state: {old, new}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.unpause mycontainer
    """
    before = state(name)
    if before == "stopped":
        words = "Container '%s' is stopped, cannot unpause" % name
        return {"result": False, "state": {"old": before, "new": before}, "comment": words}
    return _moved(name, "unpause", "running")


def signal_(name, signal):
    """
    Send a signal (name or number) to a container

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.signal mycontainer SIGHUP
    """
    cli("kill", "--signal=%s" % signal, name)
    return True


def wait(name, ignore_already_stopped=False, fail_on_exit_status=False):
    """
    Wait for a container's end; returns ``{result, state: {old, new}, exit_status}``

    ignore_already_stopped
        That it does not run is no failure.
    fail_on_exit_status
        That it ends with another status than 0 is one.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.wait mycontainer
    """
    before = state(name)
    status = int(cli("wait", name).split()[-1])
    ret = {"state": {"old": before, "new": state(name)}, "exit_status": status}
    ret["result"] = bool(ignore_already_stopped or before != "stopped")
    if not ret["result"]:
        ret["comment"] = "Container '%s' already stopped" % name
    if fail_on_exit_status and ret["result"]:
        ret["result"] = status == 0
    return ret


def compare_containers(first, second, ignore=None):
    """
    Return ``{Config, HostConfig: {what: {old, new}}}`` of what is unlike in two containers

    ignore
        What not to look at: a list, or a text with commas.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.compare_containers foo bar ignore=Hostname
    """
    ignored = set(dockerwords.listed(ignore or [])) | _OF_ITS_OWN
    one, other = inspect_container(first), inspect_container(second)
    found = {}
    for part in ("Config", "HostConfig"):
        old, new = one.get(part) or {}, other.get(part) or {}
        for key in sorted((set(old) | set(new)) - ignored):
            pair = {"old": _plain(key, old.get(key)), "new": _plain(key, new.get(key))}
            if pair["old"] != pair["new"]:
                found.setdefault(part, {})[key] = pair
    return found


def copy_from(name, source, dest, overwrite=False, makedirs=False):
    """
    Copy a file or folder out of a container

    overwrite
        Even if there is one.
    makedirs
        Make the folder that it goes to.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.copy_from mycontainer /etc/hosts /tmp/hosts
    """
    import os

    folder = dest if os.path.isdir(dest) else os.path.dirname(dest)
    target = os.path.join(dest, os.path.basename(source)) if os.path.isdir(dest) else dest
    if os.path.exists(target) and not overwrite:
        raise CommandExecutionError("%s exists. Use overwrite=True to replace it" % target)
    if not os.path.isdir(folder):
        if not makedirs:
            raise SaltInvocationError("%s does not exist. Use makedirs=True to create it" % folder)
        os.makedirs(folder)
    cli("cp", "%s:%s" % (name, source), dest)
    return True


def copy_to(name, source, dest, exec_driver=None, overwrite=False, makedirs=False):
    """
    Copy a file (``salt://`` too) or folder into a container

    overwrite
        Even if there is one.
    makedirs
        Make the folder that it goes to.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.copy_to mycontainer /tmp/foo /root/foo
    """
    import os

    path = __salt__["cp.cache_file"](source) if "://" in source else source
    if not path or not os.path.exists(path):
        raise SaltInvocationError("Source file '%s' does not exist" % source)
    if not overwrite and everything("exec", name, "test", "-f", dest)["retcode"] == 0:
        raise CommandExecutionError("Destination path '%s' already exists. Use overwrite=True to overwrite it" % dest)
    if makedirs:
        cli("exec", name, "mkdir", "-p", os.path.dirname(dest))
    cli("cp", path, "%s:%s" % (name, dest))
    return True


#: What each container has of its own, however it was made.
_OF_ITS_OWN = {"CreateCommand", "ContainerIDFile", "LogConfig", "Hostname", "MacAddress", "Annotations", "sdNotifyMode"}


def _program():
    return process.which("docker") or process.which("podman")


def _inspected(kind, name):
    return serial.loads(cli(kind, "inspect", name))[0]


def _plain(key, value):
    """Lists whose order means nothing are sorted; what is empty is the same, however it is written."""
    if key in ("Env", "CapAdd", "CapDrop", "Binds", "ExtraHosts", "Dns", "GroupAdd") and isinstance(value, list):
        # podman names the host in the environment
        return sorted(str(each) for each in value if not str(each).startswith(("HOSTNAME=", "container="))) or None
    return value if value not in ([], {}, "") else None


def _filters(filters):
    for key, values in (filters or {}).items():
        for value in values if isinstance(values, (list, tuple)) else [values]:
            yield "%s=%s" % (key, value)


def _times(created):
    """When something was made, in docker's text, as seconds, and as text for people here."""
    import calendar
    import time

    found = re.match(r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)", str(created))
    if not found:
        return {"Created": created}
    seconds = calendar.timegm(tuple(map(int, found.groups())))
    zone = re.search(r"([+-])(\d\d):(\d\d)$", str(created))
    if zone:
        shift = int(zone.group(2)) * 3600 + int(zone.group(3)) * 60
        seconds -= shift if zone.group(1) == "+" else -shift
    local = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(seconds))
    return {"Created": created, "Time_Created_Epoch": seconds, "Time_Created_Local": local}


def _moved(name, action, expected, words=()):
    """Bring a container into a state; what it was and is."""
    before = state(name)
    if before == expected:
        comment = "Container '%s' already %s" % (name, expected)
        return {"result": False, "state": {"old": before, "new": before}, "comment": comment}
    cli(action, *(list(words) + [name]))
    after = state(name)
    ret = {"result": after == expected, "state": {"old": before, "new": after}}
    if after != expected and not (action == "start" and after == "stopped"):
        ret["comment"] = "Container '%s' is %s" % (name, after)
    return ret
