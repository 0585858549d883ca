"""Information about containers, and copying from and to them. Salt (until 3007): ``salt/modules/dockermod.py``."""

import os
import re

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.archives import unpacking
from thin.utils.files import safepath, serial
from thin.utils.formats import dockerwords

__virtualname__ = "docker"

__func_alias__ = {"ps_": "ps"}
__reads__ = ("ps", "port", "logs", "top", "diff", "compare_containers")
__changes__ = ("copy_from", "copy_to")


def __virtual__():
    if process.which("docker") or process.which("podman"):
        return __virtualname__
    return False, "The docker execution module cannot be loaded: neither docker nor podman is installed."


def ps_(filters=None, **kwargs):
    """
    Return ``{id: about}`` of the containers that run: Command, Image, Names, Ports, State, Status, Labels, Mounts …

    Ports are ``[{PrivatePort, Type, IP, PublicPort}]``.

    all
        Of the others, too.
    host
        With ``host: {interfaces}``: the machine's interfaces.
    verbose
        Add the output of ``docker inspect`` as ``Info``.
    filters
        ``{what: values}``, as ``{label: role=web}``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.ps all=True
    """
    words = ["--filter=%s" % each for each in _filters(filters)] + (["-a"] if kwargs.get("all") else [])
    ps = {}
    lines = _cli("ps", "--no-trunc", "--format", "{{.ID}} {{.Status}}", *words).splitlines()
    status = dict(line.split(" ", 1) for line in lines if " " in line)
    for about in serial.loads(_cli("container", "inspect", *sorted(status))) if status else []:
        net = about.get("NetworkSettings") or {}
        entry = {
            "Command": " ".join([about.get("Path") or ""] + (about.get("Args") or [])).strip(),
            "Image": about["Config"].get("Image") or about.get("ImageName"),
            "ImageID": about.get("Image"),
            "Labels": about["Config"].get("Labels") or {},
            "Mounts": about.get("Mounts") or [],
            "Names": ["/" + about["Name"].lstrip("/")],
            "NetworkSettings": {"Networks": net.get("Networks") or {}},
            "Ports": _open(net.get("Ports") or {}),
            "State": about["State"].get("Status"),
            "Status": status.get(about["Id"], ""),
        }
        entry.update(dockerwords.made(about.get("Created")))
        entry.update({"Info": about} if kwargs.get("verbose") else {})
        ps[about["Id"]] = entry
    if kwargs.get("host"):
        ps.setdefault("host", {})["interfaces"] = __salt__["network.interfaces"]()
    return ps


def _open(ports):
    """``[{PrivatePort, Type, IP, PublicPort}]`` of docker's ``{port/protocol: [{HostIp, HostPort}]}``."""
    result = []
    for port in sorted(ports):
        number, _, kind = port.partition("/")
        for where in ports[port] or [{}]:
            one = {"PrivatePort": int(number), "Type": kind}
            if where.get("HostPort"):
                address = where.get("HostIp") or "0.0.0.0"  # noqa: S104 - podman shows "" for it
                one.update(IP=address, PublicPort=int(where["HostPort"]))
            result.append(one)
    return result


def port(name, private_port=None):
    """
    Return ``{port of the container: [{HostIp, HostPort}]}``; ``name`` may be a glob: then for each container

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.port web 443/tcp
    """
    wanted = None if private_port is None else str(private_port)
    if wanted is not None and not re.match(r"\d+(/(tcp|udp|sctp))?$", wanted, re.I):
        words = "Invalid private_port '%s'. Must either be a port number, or be in port/protocol notation"
        raise SaltInvocationError((words + " (e.g. 5000/tcp)") % private_port)
    if isinstance(private_port, str) and "/" not in wanted:
        wanted += "/tcp"

    def ports(container):
        port_map = (_container(container).get("NetworkSettings") or {}).get("Ports") or {}
        return {
            key: port_map[key] for key in port_map if wanted is None or wanted.lower() in (key, key.partition("/")[0])
        }

    if not any(char in name for char in "*?["):
        return ports(name)
    from fnmatch import fnmatch

    return {each: ports(each) for each in __salt__["docker.list_containers"](all=True) if fnmatch(each, name)}


def logs(name, **kwargs):
    """
    Return the output of a container

    tail
        The number of lines from the end.
    since, until
        From this time, to this time, in docker's formats.
    timestamps
        Add the time of each line.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.logs web tail=25
    """
    words = ["--%s=%s" % (key, kwargs[key]) for key in ("tail", "since", "until") if kwargs.get(key) is not None]
    words += ["--timestamps"] if kwargs.get("timestamps") else []
    done = __salt__["docker.everything"]("logs", *(words + [name]))
    if done["retcode"]:
        raise CommandExecutionError(done["stderr"] or done["stdout"])
    return "\n".join(filter(None, (done["stdout"], done["stderr"])))


def top(name):
    """
    Return ``[{column: value}]`` of a container's processes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.top web
    """
    lines = _cli("top", name).splitlines()
    titles = lines[0].split()
    return [dict(zip(titles, line.split(None, len(titles) - 1))) for line in lines[1:]]


def diff(name):
    """
    Return ``{"Added", "Changed", "Deleted": [paths]}``: differences from the container's image

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.diff web
    """
    differences = {}
    for line in _cli("diff", name).splitlines():
        kind, _, path = line.partition(" ")
        differences.setdefault({"A": "Added", "C": "Changed", "D": "Deleted"}.get(kind, kind), []).append(path)
    return differences


def compare_containers(first, second, ignore=None):
    """
    Return ``{Config, HostConfig: {name: {old, new}}}``: differences between two containers

    ignore
        Settings to ignore: a list, or a text with commas.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.compare_containers web web-old ignore=Hostname,Env
    """
    ignored = set(dockerwords.listed(ignore or [])) | _OF_ITS_OWN
    one, other = _container(first), _container(second)
    compare_containers = {}
    for part in ("Config", "HostConfig"):
        old, new = one.get(part) or {}, other.get(part) or {}
        for key in sorted((set(old) | set(new)) - ignored):
            if key == "Image":
                pair = {"old": one.get("Image"), "new": other.get("Image")}
            else:
                pair = {"old": _plain(key, old.get(key), one), "new": _plain(key, new.get(key), other)}
            if _comparable(key, pair["old"]) != _comparable(key, pair["new"]):
                compare_containers.setdefault(part, {})[key] = pair
    return compare_containers


def copy_from(name, source, dest, overwrite=False, makedirs=False):
    """
    Copy a file or folder out of a container

    overwrite
        Replace an existing one.
    makedirs
        Create the destination folder.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.copy_from web /etc/hosts /tmp/hosts
    """
    folder = dest if os.path.isdir(dest) else os.path.dirname(dest)
    target = os.path.join(dest, os.path.basename(source)) if os.path.isdir(dest) else dest
    if os.path.exists(target) and not overwrite:
        raise CommandExecutionError("%s exists. Use overwrite=True to replace it" % target)
    if not os.path.isdir(folder):
        if not makedirs:
            raise SaltInvocationError("%s does not exist. Use makedirs=True to create it" % folder)
        safepath.makedirs(folder)
    with unpacking.Stage(folder or ".") as stage:
        into = stage.name + ("/" if os.path.isdir(dest) else "/" + os.path.basename(dest))
        _cli("cp", "%s:%s" % (name, source), into, cwd=stage.folder)
        stage.look()
        stage.place()
    return True


def copy_to(name, source, dest, exec_driver=None, overwrite=False, makedirs=False):
    """
    Copy a file (``salt://`` too) or folder into a container

    overwrite
        Replace an existing one.
    makedirs
        Create the destination folder.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.copy_to web /etc/app/app.conf /etc/app/
    """
    path = __salt__["cp.cache_file"](source) if "://" in source else source
    if not path or not os.path.exists(path):
        raise SaltInvocationError("Source file '%s' does not exist" % source)
    if not overwrite and __salt__["docker.everything"]("exec", name, "test", "-f", dest)["retcode"] == 0:
        raise CommandExecutionError("Destination path '%s' already exists. Use overwrite=True to overwrite it" % dest)
    if makedirs:
        _cli("exec", name, "mkdir", "-p", os.path.dirname(dest))
    _cli("cp", path, "%s:%s" % (name, dest))
    return True


#: Settings that differ between all containers, however they were created.
_OF_ITS_OWN = {"CreateCommand", "ContainerIDFile", "Annotations", "sdNotifyMode"}
#: how the output was attached when the container was created
_OF_ITS_OWN |= {"AttachStdin", "AttachStdout", "AttachStderr", "StdinOnce"}
#: lists whose order has no meaning
_SETS = ("Env", "CapAdd", "CapDrop", "Binds", "Dns", "ExtraHosts", "GroupAdd", "Links", "SecurityOpt")


def _plain(key, value, about):
    """A setting without values that are specific to the container."""
    if key == "LogConfig" and isinstance(value, dict):
        return {name: value[name] for name in value if name != "Path"}  # podman: contains the container's id
    if key == "Env" and value:
        return sorted(each for each in value if not _podmans(each, about))
    if key == "Binds" and value:  # podman lists anonymous volumes here, by their ids
        return [re.sub(r"^[0-9a-f]{64}:", ":", each) for each in value]
    if key == "Volumes" and value:  # containers created by Salt list bound paths here, too
        bound = [each.split(":")[1] for each in (about.get("HostConfig") or {}).get("Binds") or [] if ":" in each]
        return {place: value[place] for place in value if place not in bound}
    if key == "Links":
        own = "/%s/" % about["Name"].lstrip("/")
        return [each.replace(own, "/", 1) for each in value or []]
    return value


def _podmans(text, about):
    """Whether podman sets this variable in each container that it starts."""
    name = text.partition("=")[0]
    if "ImageName" not in about or name not in ("HOSTNAME", "HOME", "container"):
        return False
    given = about["Config"].get("CreateCommand") or []
    return not any(word.startswith("--env=" + name) for word in given)


def _comparable(key, value):
    """A normalized value for comparison: all empty values are equal."""
    if key in _SETS and isinstance(value, list):
        return sorted(map(str, value)) or None
    if key == "Ulimits" and isinstance(value, list):
        return sorted((str(each.get("Name")), each.get("Soft"), each.get("Hard")) for each in value) or None
    if key == "RestartPolicy" and isinstance(value, dict) and value.get("Name") == "no":
        return dict(value, Name="")
    return value or None


def _filters(filters):
    for key, values in (filters or {}).items():
        for value in values if isinstance(values, (list, tuple)) else [values]:
            yield "%s=%s" % (key, value)


def _cli(*words, **options):
    return __salt__["docker.cli"](*words, **options)


def _container(name):
    return __salt__["docker.inspect_container"](name)
