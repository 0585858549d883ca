"""Compares the networks of containers, and networks, as docker and podman show them."""

from thin.utils.formats import dockerwords

_CHOSEN = ("IPAddress", "Gateway", "GlobalIPv6Address", "IPv6Gateway")


def of_container(about):
    """``{network: endpoint}`` of an inspected container, for the networks that it is connected to.

    If the engine could not connect a running container to a network, there is an empty entry; it is left out.
    """
    networks = (about.get("NetworkSettings") or {}).get("Networks") or {}
    if not (about.get("State") or {}).get("Running"):
        return dict(networks)
    signs = ("EndpointID", "IPAddress", "GlobalIPv6Address")
    return {name: one for name, one in networks.items() if one and any(one.get(sign) for sign in signs)}


def compare(first, second):
    """``{network: {what: {old, new}}}``: how aliases, links and addresses of two inspected containers differ.

    ``IPConfiguration`` is used if the engine chose an address, or will choose one, and the address is not known.
    """
    old_ones, new_ones = of_container(first), of_container(second)
    differences = {}
    for name in sorted(set(old_ones) | set(new_ones)):
        old, new = old_ones.get(name), new_ones.get(name)
        differ = _addresses(old, new)
        for key, of in (("Aliases", _aliases), ("Links", _links)):
            pair = {"old": of(first, old or {}), "new": of(second, new or {})}
            if pair["old"] != pair["new"]:
                differ[key] = pair
        if differ:
            differences[name] = differ
    return differences


def _aliases(about, endpoint):
    own = (about["Id"][:12], (about.get("Config") or {}).get("Hostname"))
    return sorted(alias for alias in endpoint.get("Aliases") or [] if alias not in own) or None


def _links(about, endpoint):
    return sorted(endpoint.get("Links") or []) or None


def _addresses(old, new):
    """The differences between the addresses of two endpoints; None is an endpoint that does not exist."""
    kinds = [
        "not connected" if one is None else "static" if any((one.get("IPAMConfig") or {}).values()) else "automatic"
        for one in (old, new)
    ]
    if kinds[0] == kinds[1] != "static":
        return {}
    addresses = {}
    if "automatic" in kinds:
        endpoint = old if kinds[0] == "automatic" else new
        for key in _CHOSEN:
            if endpoint.get(key):
                addresses[key] = (
                    {"old": endpoint[key], "new": None} if endpoint is old else {"old": None, "new": endpoint[key]}
                )
        if not addresses:
            addresses["IPConfiguration"] = {"old": kinds[0], "new": kinds[1]}
    fixed = [one["IPAMConfig"] if kind == "static" else None for one, kind in zip((old, new), kinds)]
    if fixed[0] != fixed[1]:
        addresses["IPAMConfig"] = {"old": fixed[0], "new": fixed[1]}
    return addresses


def chosen(endpoint):
    """``{what: {old: None, new}}`` of the addresses that the engine chose."""
    return {key: {"old": None, "new": endpoint[key]} for key in _CHOSEN if endpoint.get(key)}


def again(endpoint, about):
    """The arguments of ``connect_container_to_network`` that connect a container in the same way as before."""
    result = {"ipv4_address": endpoint.get("IPAddress"), "ipv6_address": endpoint.get("GlobalIPv6Address")}
    result.update(aliases=_aliases(about, endpoint), links=_links(about, endpoint))
    return {key: value for key, value in result.items() if value}


def differences(network, settings):
    """``{what: {old, new}}``: how an inspected network differs from one that is created with these settings.

    If the settings have no addresses, those that the engine chose are accepted. What podman does not show is ignored.
    """
    docker = "Attachable" in network
    options = dict(dockerwords.merged(settings.get("options")), **dockerwords.merged(settings.get("driver_opts")))
    made = {"Driver": settings.get("driver") or "bridge", "Labels": dockerwords.merged(settings.get("labels"))}
    for key, name in (("Internal", "internal"), ("Attachable", "attachable"), ("EnableIPv6", "enable_ipv6")):
        if name in settings or docker:
            made[key] = dockerwords.true(settings.get(name))
    differences = {}
    for key in sorted(made):
        if key in network and (network[key] or made[key]) and network[key] != made[key]:
            differences[key] = {"old": network[key], "new": made[key]}
    before = network.get("Options") or {}
    for key in sorted(set(before) | set(options)):
        if before.get(key) != options.get(key) and not key.endswith(".vxlanid_list"):
            differences.setdefault("Options", {})[key] = {"old": before.get(key), "new": options.get(key)}
    ipam = _ipam(network.get("IPAM") or {}, settings, docker)
    return dict(differences, IPAM=ipam) if ipam else differences


def _ipam(before, settings, docker):
    result = {}
    driver = settings.get("ipam_driver") or "default"
    if docker and (before.get("Driver") or "default") != driver:
        result["Driver"] = {"old": before.get("Driver"), "new": driver}
    options = dockerwords.merged(settings.get("ipam_opts"))
    if docker and (before.get("Options") or {}) != options:
        result["Options"] = {"old": before.get("Options"), "new": options}
    old = [{key: value for key, value in pool.items() if value} for pool in before.get("Config") or []]
    single = {key: settings[key] for key in dockerwords.POOL if key in settings}
    new = [_shown(pool, docker) for pool in ([single] if single else []) + list(settings.get("ipam_pools") or [])]
    if not new and len(old) == 1 and sorted(old[0]) == ["Gateway", "Subnet"]:
        return result
    if len(old) != len(new) or any(map(_unlike, sorted(old, key=_subnet), sorted(new, key=_subnet))):
        result["Config"] = {"old": old, "new": new}
    return result


def _shown(pool, docker):
    """The settings of an address pool in the shape that docker shows."""
    names = [("Subnet", "subnet"), ("Gateway", "gateway")]
    result = {key: str(pool[name]) for key, name in names if pool.get(name)}
    span = pool.get("iprange") or pool.get("ip_range")
    if span and docker:
        result["IPRange"] = str(span)
    others = pool.get("aux_addresses") or pool.get("aux_address")
    if others and docker:
        result["AuxiliaryAddresses"] = dockerwords.merged(others)
    return result


def _subnet(pool):
    return pool.get("Subnet") or ""


def _unlike(old, new):
    """Whether two pools differ. A gateway that only one of them has is no difference if it is the first address: the
    engine's choice."""
    if len({"Gateway"} & set(old)) + len({"Gateway"} & set(new)) == 1 and _subnet(old):
        import ipaddress

        try:
            first = ipaddress.ip_network(_subnet(old), strict=False)[1]
            old, new = dict(old), dict(new)
            gateway = old.pop("Gateway", None) or new.pop("Gateway", None)
            if ipaddress.ip_address(gateway) != first:
                return True
        except (ValueError, IndexError):
            return True
    return old != new
