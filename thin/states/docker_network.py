"""Networks of containers. Salt (until 3007): ``salt/states/docker_network.py``."""

from thin.exceptions import CommandExecutionError, SaltException
from thin.utils import dockerwords


def __virtual__():
    return True if "docker.networks" in __salt__ else (False, "docker module could not be loaded")


def present(name, skip_translate=None, ignore_collisions=False, validate_ip_addrs=True, containers=None,
            reconnect=True, **kwargs):  # fmt: skip
    """
    There is a network, with these properties; one that has others is made anew.

    name
        The network.
    containers
        Containers that are in it, and only these.
    reconnect
        Containers that were in a network made anew are put into it again.
    driver, driver_opts, labels, internal, attachable, enable_ipv6
        What it is like. What is not given is not looked at.
    subnet, iprange, gateway, aux_addresses
        Its addresses; of several pools in a list: ``ipam_pools``.
    ipam_driver, ipam_opts
        Who gives out addresses.
    skip_translate, ignore_collisions, validate_ip_addrs
        Of no meaning here.
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    try:
        wanted = _containers(ret, dockerwords.listed(containers or []))
        network = _found(name)
        differ = _differences(network, kwargs) if network else {}
        there = __salt__["docker.connected"](name) if network else []
        if network and not differ:
            ret["comment"] = "Network '%s' already exists, and is configured as specified" % name
        elif __opts__["test"]:
            words = "Network would be recreated with new config" if network else "Network will be created"
            return dict(ret, result=None, comment=words, changes={name: differ} if differ else {})
        else:
            _make(ret, name, network, differ, kwargs)
            if network and reconnect and not containers:
                _connect(ret, name, there, "reconnected")
            there = []
        if containers is not None and not _members(ret, name, wanted, there):
            return ret
    except SaltException as exc:
        return dict(ret, comment=ret["comment"] or "Failed to manage network '%s': %s" % (name, exc))
    return dict(ret, result=True) if ret["result"] is False else ret


def absent(name):
    """
    There is no such network; containers are taken out of it first.

    name
        The network.
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    try:
        if _found(name) is None:
            return dict(ret, result=True, comment="Network '%s' already absent" % name)
        if __opts__["test"]:
            return dict(ret, result=None, comment="Network '%s' will be removed" % name)
        _remove(ret, name)
    except CommandExecutionError as exc:
        return dict(ret, comment="Failed to remove network '%s': %s" % (name, exc))
    return dict(ret, result=True, comment="Removed network '%s'" % name)


def _found(name):
    try:
        return __salt__["docker.inspect_network"](name)
    except CommandExecutionError as exc:
        if "404" in str(exc):
            return None
        raise


def _containers(ret, names):
    """Those of the containers that run; what is wrong with the others becomes a warning."""
    found, missing, stopped = [], [], []
    for name in names:
        try:
            (found if __salt__["docker.state"](name) == "running" else stopped).append(name)
        except CommandExecutionError:
            missing.append(name)
    for some, words in ((missing, "do not exist"), (stopped, "are not running")):
        if some:
            ret.setdefault("warnings", []).append("The following containers %s: %s." % (words, ", ".join(some)))
    return found


def _differences(network, settings):
    """``{what: {old, new}}`` of what is given and not so."""
    pools = [dict(pool) for pool in settings.get("ipam_pools") or []]
    single = {key: settings[key] for key in dockerwords.POOL if key in settings}
    pools = ([single] if single else []) + pools
    options = dict(dockerwords.merged(settings.get("options")), **dockerwords.merged(settings.get("driver_opts")))
    given = [
        ("Driver", settings.get("driver"), network.get("Driver")),
        ("Internal", settings.get("internal"), network.get("Internal")),
        ("Attachable", settings.get("attachable"), network.get("Attachable", settings.get("attachable"))),
        ("EnableIPv6", settings.get("enable_ipv6"), network.get("EnableIPv6")),
        ("Labels", dockerwords.merged(settings.get("labels")) or None, network.get("Labels") or {}),
        ("Options", options or None, network.get("Options") or {}),
    ]
    found = {key: {"old": old, "new": new} for key, new, old in given if new is not None and new != old}
    ipam = network.get("IPAM") or {}
    if pools:
        old = ipam.get("Config") or []
        names = (("Subnet", ("subnet",)), ("IPRange", ("iprange", "ip_range")), ("Gateway", ("gateway",)))
        new = [{key: pool[word] for key, words in names for word in words if word in pool} for pool in pools]
        shown = [{key: pool.get(key) for key in wanted} for wanted, pool in zip(new, old)]
        if new != shown or len(new) != len(old):
            found["IPAM"] = {"old": {"Config": old}, "new": {"Config": new}}
    return found


def _make(ret, name, network, differ, settings):
    if network:
        ret["changes"][name] = differ
        _remove(ret, name)
    __salt__["docker.create_network"](name, **settings)
    ret["changes"]["recreated" if network else "created"] = True
    ret["comment"] = "Network '%s' %s" % (name, "was replaced with updated config" if network else "created")


def _remove(ret, name):
    gone = __salt__["docker.disconnect_all_containers_from_network"](name)
    if gone:
        ret["changes"]["disconnected"] = gone
    __salt__["docker.remove_network"](name)
    ret["changes"]["removed"] = True


def _members(ret, name, wanted, there):
    """Put into the network what belongs there and take out the rest. Whether that worked or would."""
    missing, extra = [each for each in wanted if each not in there], [each for each in there if each not in wanted]
    if not missing and not extra:
        return True
    if __opts__["test"]:
        ret["result"] = None
        words = [("%s would be connected" % ", ".join(missing)) if missing else ""]
        words.append(("%s would be disconnected" % ", ".join(extra)) if extra else "")
        ret["comment"] = ". ".join([ret["comment"]] + [word for word in words if word])
        return False
    for each in extra:
        __salt__["docker.disconnect_container_from_network"](each, name)
    if extra:
        ret["changes"].setdefault("disconnected", []).extend(extra)
    _connect(ret, name, missing, "connected")
    return True


def _connect(ret, network, names, word):
    for name in names:
        __salt__["docker.connect_container_to_network"](name, network)
    if names:
        ret["changes"][word] = names
