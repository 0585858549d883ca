"""Networks of containers. Salt (until 3007): ``salt/states/docker_network.py``."""

from thin.exceptions import CommandExecutionError, SaltException
from thin.utils.formats import dockernets, dockerwords

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt


def __virtual__():
    return True if "docker.networks" in __salt__ else (False, "docker module could not be loaded")


def present(
    name,
    skip_translate=None,
    ignore_collisions=False,
    validate_ip_addrs=True,
    containers=None,
    reconnect=True,
    **kwargs,
):
    """
    The network exists with these properties; one with other properties is replaced.

    name
        The network.
    containers
        Containers to connect to it; others may be connected, too. ``networks`` of ``docker_container.running`` can do
        more.
    reconnect
        Without ``containers``: after a replacement, connect the containers that were connected before, with their
        addresses if these still fit.
    driver, driver_opts, labels, internal, attachable, enable_ipv6
        Properties; the defaults are docker's.
    subnet, iprange, gateway, aux_addresses
        Its addresses; of several pools in a list: ``ipam_pools``. Without them: those that docker chooses.
    ipam_driver, ipam_opts
        The driver that assigns addresses.
    skip_translate, ignore_collisions, validate_ip_addrs
        Without effect.
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    settings = {key: value for key, value in kwargs.items() if not key.startswith("__")}
    present, before = {}, {}
    try:
        wanted = _containers(ret, dockerwords.listed(containers or []))
        network = _inspected(name)
        differ = dockernets.differences(network, settings) if network else {}
        if network:
            present = __salt__["docker.connected"](name, verbose=True)
            ret["comment"] = "Network '%s' already exists, and is configured as specified" % name
        if differ:
            ret["changes"][name] = differ
        if __opts__["test"] and (differ or not network):
            words = "Network would be recreated with new config" if network else "Network will be created"
            return dict(ret, result=None, comment=words)
        if differ:
            before = {each: __salt__["docker.inspect_container"](each) for each in present}
            _remove({"changes": {}}, name)
        if differ or not network:
            __salt__["docker.create_network"](name, **settings)
            ret["changes"]["recreated" if network else "created"] = True
            ret["comment"] = "Network '%s' %s" % (name, "was replaced with updated config" if network else "created")
            present = {}
    except SaltException as exc:
        return dict(ret, comment="Failed to create network '%s': %s" % (name, exc))
    todo = list(before) if containers is None and reconnect else [each for each in wanted if each not in present]
    if todo and __opts__["test"]:
        words = "%s. %s would be connected" % (ret["comment"], ", ".join(todo))
        return dict(ret, result=None, comment=words)
    wrong = [problem for problem in (_connect(ret, name, each, before.get(each)) for each in todo) if problem]
    gone = [each for each in before if each not in todo]
    if gone:
        ret["changes"]["disconnected"] = gone
    if wrong:
        return dict(ret, comment=". ".join([ret["comment"], *wrong]))
    return dict(ret, result=True)


def absent(name):
    """
    The network does not exist; containers are disconnected first.

    name
        The network.
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    try:
        if _inspected(name) is None:
            return dict(ret, result=True, comment="Network '%s' already absent" % name)
        if __opts__["test"]:
            return dict(ret, result=None, comment="Network '%s' will be removed" % name)
        _remove(ret, name)
    except CommandExecutionError as exc:
        return dict(ret, comment="Failed to remove network: %s" % exc)
    return dict(ret, result=True, comment="Removed network '%s'" % name)


def _inspected(name):
    try:
        return __salt__["docker.inspect_network"](name)
    except CommandExecutionError as exc:
        if "404" in str(exc):
            return None
        raise


def _containers(ret, names):
    """The given containers that are running; problems with the others become warnings."""
    containers, missing, stopped = [], [], []
    for name in names:
        try:
            (containers if __salt__["docker.state"](name) == "running" else stopped).append(name)
        except CommandExecutionError:
            missing.append(name)
    for some, words in ((missing, "do not exist"), (stopped, "are not running")):
        if some:
            ret.setdefault("warnings", []).append("The following containers %s: %s." % (words, ", ".join(some)))
    return containers


def _remove(ret, name):
    gone = __salt__["docker.disconnect_all_containers_from_network"](name)
    if gone:
        ret["changes"]["disconnected"] = gone
    __salt__["docker.remove_network"](name)
    ret["changes"]["removed"] = True


def _connect(ret, network, name, before):
    """Connect a container to the network, with its former settings if it was connected. Returns the error, or None."""
    how = {}
    if before:
        how = dockernets.again(dockernets.of_container(before).get(network) or {}, before)
    for settings in [how, {}] if how else [{}]:
        try:
            __salt__["docker.connect_container_to_network"](name, network, **settings)
        except CommandExecutionError as exc:
            problem = str(exc)
        else:
            ret["changes"].setdefault("reconnected" if before else "connected", []).append(name)
            return None
    return problem
