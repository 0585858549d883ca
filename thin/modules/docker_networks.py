"""Networks and volumes of containers, through the command docker. Salt (until 3007): ``salt/modules/dockermod.py``."""

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import serial
from thin.utils.formats import dockernets, dockerwords

__virtualname__ = "docker"
__reads__ = (
    "networks",
    "inspect_network",
    "connected",
    "compare_networks",
    "compare_container_networks",
    "volumes",
    "inspect_volume",
)
__changes__ = (
    "create_network",
    "remove_network",
    "connect_container_to_network",
    "disconnect_container_from_network",
    "disconnect_all_containers_from_network",
    "create_volume",
    "remove_volume",
    "prune",
)


def __virtual__():
    if process.which("docker") or process.which("podman"):
        return __virtualname__
    return False, "The docker execution module cannot be loaded: neither docker nor podman is installed."


def networks(names=None, ids=None):
    """
    Return a list with all data of the networks, or of some of them; [] if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.networks names=backend
    """
    networks = [inspect_network(each) for each in _cli("network", "ls", "-q", "--no-trunc").split()]
    wanted = set(dockerwords.listed(names or [])), set(dockerwords.listed(ids or []))
    if not any(wanted):
        return networks
    return [about for about in networks if about["Name"] in wanted[0] or about["Id"] in wanted[1]]


def inspect_network(network_id):
    """
    Return all data of a network: Name, Id, Driver, Options, IPAM, Internal, EnableIPv6, Labels, Containers

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.inspect_network web_network
    """
    about = serial.loads(_cli("network", "inspect", network_id))[0]
    return about if "Name" in about else _docker_shape(about)


def create_network(
    name, skip_translate=None, ignore_collisions=False, validate_ip_addrs=True, client_timeout=60, **kwargs
):
    """
    Create a network; returns ``{Id, Name}``

    kwargs
        driver, driver_opts (options), labels, internal, attachable, ingress, scope, enable_ipv6, ipam_driver,
        ipam_opts; subnet, iprange, gateway, aux_addresses, or a list of pools with these: ipam_pools.
    skip_translate, ignore_collisions, validate_ip_addrs, client_timeout
        Without effect.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.create_network backend driver=bridge subnet=172.30.5.0/24
    """
    settings = {key: value for key, value in kwargs.items() if not key.startswith("__pub_")}
    settings.pop("check_duplicate", None)
    try:
        words = dockerwords.pools(settings) + dockerwords.options(settings, dockerwords.NETWORK)
    except ValueError as exc:
        raise SaltInvocationError(str(exc))
    _cli("network", "create", *([*words, name]))
    return {"Id": inspect_network(name)["Id"], "Name": name}


def remove_network(network_id):
    """
    Remove a network, to which no container may be connected

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.remove_network backend
    """
    _cli("network", "rm", network_id)
    return True


def connected(name, verbose=False):
    """
    Return the names of a network's containers; ``verbose``: with their addresses

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.connected backend
    """
    result = {}
    for identity, about in (inspect_network(name).get("Containers") or {}).items():
        result[about.get("Name") or about.get("name") or identity] = dict(about, Id=identity)
    if not result and "podman" in _cli("--version").lower():  # ``docker inspect`` does not list them
        listed = _cli("ps", "-a", "--no-trunc", "--filter=network=%s" % name, "--format", "{{.Names}} {{.ID}}")
        result = {line.split()[0]: {"Id": line.split()[1]} for line in listed.splitlines() if line.strip()}
    return result if verbose else sorted(result)


def connect_container_to_network(container, net_id, **kwargs):
    """
    Connect a container to a network

    kwargs
        ipv4_address, ipv6_address, aliases, links, link_local_ips.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.connect_container_to_network web-1 net-web ipv4_address=192.168.66.5
    """
    settings = {key: value for key, value in kwargs.items() if not key.startswith("__pub_")}
    try:
        words = dockerwords.options(settings, dockerwords.CONNECTION)
    except ValueError as exc:
        raise SaltInvocationError(str(exc))
    _cli("network", "connect", *([*words, net_id, container]))
    return True


def disconnect_container_from_network(container, network_id):
    """
    Disconnect a container from a network

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.disconnect_container_from_network web backend
    """
    _cli("network", "disconnect", network_id, container)
    return True


def disconnect_all_containers_from_network(network_id):
    """
    Disconnect all containers from a network; returns their names

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.disconnect_all_containers_from_network net-web
    """
    gone, failed = [], []
    for name in connected(network_id):
        try:
            disconnect_container_from_network(name, network_id)
            gone.append(name)
        except CommandExecutionError as exc:
            failed.append("%s: %s" % (name, exc))
    if failed:
        words = "One or more containers failed to be removed"
        raise CommandExecutionError(words, info={"removed": gone, "errors": failed})
    return gone


def compare_networks(first, second, ignore="Name,Id,Created,Containers"):
    """
    Return ``{name: {old, new}}``: differences between two networks, given by name or by their inspected data

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.compare_networks backend frontend
    """
    one, other = [each if isinstance(each, dict) else inspect_network(each) for each in (first, second)]
    compare_networks = {}
    for key in sorted((set(one) | set(other)) - set(dockerwords.listed(ignore or ""))):
        old, new = one.get(key) or None, other.get(key) or None
        if old != new:
            compare_networks[key] = {"old": one.get(key), "new": other.get(key)}
    return compare_networks


def compare_container_networks(first, second):
    """
    Return ``{network: {name: {old, new}}}``: differences between two containers' networks: aliases, links, addresses

    In ``IPConfiguration``, ``automatic`` is an address that docker chooses later.

    first, second
        Containers: names, or their inspected data.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.compare_container_networks web web-old
    """
    look = __salt__["docker.inspect_container"]
    return dockernets.compare(*(each if isinstance(each, dict) else look(each) for each in (first, second)))


def volumes(filters=None):
    """
    Return ``{"Volumes": [all data of each], "Warnings": None}``

    filters
        ``{what: values}``, as ``{dangling: true}``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.volumes filters='{label: app}'
    """
    words = []
    for key, values in (filters or {}).items():
        for value in values if isinstance(values, (list, tuple)) else [values]:
            words.append("--filter=%s=%s" % (key, str(value).lower() if isinstance(value, bool) else value))
    names = _cli("volume", "ls", "-q", *words).split()
    return {"Volumes": serial.loads(_cli("volume", "inspect", *names)) if names else [], "Warnings": None}


def create_volume(name, driver=None, driver_opts=None):
    """
    Create a volume; returns all its data

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.create_volume app-data driver=local
    """
    words = ["--driver=%s" % driver] if driver else []
    words += ["--opt=%s" % each for each in dockerwords.listed(driver_opts or {})]
    _cli("volume", "create", *([*words, name]))
    return inspect_volume(name)


def remove_volume(name):
    """
    Remove a volume, which no container may use

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.remove_volume app-data
    """
    _cli("volume", "rm", name)
    return True


def inspect_volume(name):
    """
    Return all data of a volume: Name, Driver, Mountpoint, Options, Labels …

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.inspect_volume app-data
    """
    return serial.loads(_cli("volume", "inspect", name))[0]


def prune(containers=False, networks=False, images=False, build=False, volumes=False, system=None, **filters):
    """
    Remove unused objects; returns ``{type: {"ContainersDeleted": [...], "SpaceReclaimed": bytes}}``

    The default is ``system``.

    system
        Containers, networks, images without a name and the build cache: everything except volumes.
    filters
        ``until``, ``label`` …

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.prune images=True until=24h
    """
    asked = {"containers": containers, "images": images, "networks": networks, "build": build}
    if system is None and not any(asked.values()) and not volumes:
        system = True
    words = []
    for key in sorted(filters):
        for value in dockerwords.listed(filters[key]) if not key.startswith("__") else ():
            words.append("--filter=%s=%s" % (key, value.lower() if isinstance(filters[key], bool) else value))
    ret = {what: _pruned(what, words) for what in asked if system or asked[what]}
    return dict(ret, volumes=_pruned("volumes", words)) if volumes else ret


#: command, and docker's name for the removed objects
_PRUNED = {
    "containers": ("container", "ContainersDeleted"),
    "images": ("image", "ImagesDeleted"),
    "networks": ("network", "NetworksDeleted"),
    "volumes": ("volume", "VolumesDeleted"),
    "build": ("builder", "CachesDeleted"),
}


def _pruned(what, words):
    command, name = _PRUNED[what]
    done = __salt__["docker.everything"](command, "prune", "--force", *words)
    if done["retcode"] and command == "builder":  # podman lists its build cache among its images
        return {name: None, "SpaceReclaimed": 0}
    if done["retcode"]:
        raise CommandExecutionError("docker %s prune failed: %s" % (command, done["stderr"] or done["stdout"]))
    gone, space = [], 0
    for line in done["stdout"].splitlines():
        kind, colon, value = line.strip().partition(": ")
        if line.startswith("Total"):
            space = dockerwords.size(line.partition(":")[2])
        elif colon and what == "images":
            gone.append({kind.capitalize(): value})
        elif line.strip() and not line.rstrip().endswith(":"):
            gone.append(line.split()[0])
    return {name: gone or None, "SpaceReclaimed": space}


def _docker_shape(about):
    """A network in docker's format, converted from podman's."""
    pools = [{"Subnet": pool.get("subnet"), "Gateway": pool.get("gateway")} for pool in about.get("subnets") or []]
    return {
        "Name": about.get("name"),
        "Id": about.get("id"),
        "Created": about.get("created"),
        "Driver": about.get("driver"),
        "Internal": about.get("internal", False),
        "EnableIPv6": about.get("ipv6_enabled", False),
        "Labels": about.get("labels") or {},
        "Options": about.get("options") or {},
        "Containers": about.get("containers") or {},
        "IPAM": {"Driver": "default", "Options": None, "Config": pools},
    }


def _cli(*words, **options):
    return __salt__["docker.cli"](*words, **options)
