"""Rules of firewalld's zones: masquerading, ports, ICMP, interfaces, networks and rich rules.

A part of ``firewalld``; see firewalld.py for the meaning of ``permanent``. Salt: ``salt/modules/firewalld.py``.
"""

from thin import process
from thin.log import getLogger
from thin.utils.programs import firewalldrun

__virtualname__ = "firewalld"
__reads__ = (
    "get_icmp_types",
    "get_masquerade",
    "list_ports",
    "list_port_fwd",
    "list_icmp_block",
    "get_interfaces",
    "get_sources",
    "get_rich_rules",
)
__changes__ = (
    "add_masquerade",
    "remove_masquerade",
    "add_port",
    "remove_port",
    "add_port_fwd",
    "remove_port_fwd",
    "block_icmp",
    "allow_icmp",
    "add_interface",
    "remove_interface",
    "add_source",
    "remove_source",
    "add_rich_rule",
    "remove_rich_rule",
)

log = getLogger(__name__)


def __virtual__():
    if process.which("firewall-cmd"):
        return __virtualname__
    return False, "The firewalld execution module cannot be loaded: the firewall-cmd binary is not in the path."


def _cmd(words, permanent=False):
    return firewalldrun.run(__salt__, words, permanent)


def get_icmp_types(permanent=True):
    """
    Return the names of firewalld's ICMP types

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_icmp_types
    """
    return _cmd(["--get-icmptypes"], permanent).split()


def get_masquerade(zone=None, permanent=True):
    """
    Whether masquerading is enabled in a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_masquerade gateway
    """
    return all(
        "no" not in about["masquerade"][:1] for about in __salt__["firewalld.list_all"](zone, permanent).values()
    )


def add_masquerade(zone=None, permanent=True):
    """
    Enable masquerading in a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_masquerade gateway
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--add-masquerade"], permanent)


def remove_masquerade(zone=None, permanent=True):
    """
    Disable masquerading in a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_masquerade gateway
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--remove-masquerade"], permanent)


def list_ports(zone, permanent=True):
    """
    Return the ports open in a zone, as ``22/tcp``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.list_ports dmz
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--list-ports"], permanent).split()


def add_port(zone, port, permanent=True, force_masquerade=False):
    """
    Open a port in a zone

    force_masquerade
        Turn on masquerading in the zone first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_port dmz 8443/tcp
    """
    _masqueraded(zone, force_masquerade)
    return _cmd(firewalldrun.zone_option(zone) + ["--add-port=%s" % port], permanent)


def remove_port(zone, port, permanent=True):
    """
    Close a port in a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_port dmz 8443/tcp
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--remove-port=%s" % port], permanent)


def list_port_fwd(zone, permanent=True):
    """
    Return ``[{"Source port", "Protocol", "Destination port", "Destination address"}]`` of a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.list_port_fwd dmz
    """
    result = []
    for line in _cmd(firewalldrun.zone_option(zone) + ["--list-forward-ports"], permanent).splitlines():
        # IPv6 addresses contain colons
        port, proto, to_port, address = [field.partition("=")[2] for field in line.split(":", 3)]
        result.append(
            {"Source port": port, "Protocol": proto, "Destination port": to_port, "Destination address": address}
        )
    return result


def add_port_fwd(zone, src, dest, proto="tcp", dstaddr="", permanent=True, force_masquerade=False):
    """
    Forward a port to another port of this machine or of the address ``dstaddr``

    force_masquerade
        Turn on masquerading in the zone first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_port_fwd dmz 443 8443 tcp
    """
    _masqueraded(zone, force_masquerade)
    return _cmd(firewalldrun.zone_option(zone) + ["--add-" + _forward(src, dest, proto, dstaddr)], permanent)


def remove_port_fwd(zone, src, dest, proto="tcp", dstaddr="", permanent=True):
    """
    Remove the forwarding of a port

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_port_fwd dmz 443 8443 tcp
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--remove-" + _forward(src, dest, proto, dstaddr)], permanent)


def list_icmp_block(zone, permanent=True):
    """
    Return the types of ICMP that a zone blocks

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.list_icmp_block dmz
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--list-icmp-blocks"], permanent).split()


def block_icmp(zone, icmp, permanent=True):
    """
    Block an ICMP type in a zone; False if there is no such type

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.block_icmp dmz timestamp-request
    """
    if icmp not in get_icmp_types(permanent):
        log.error("Invalid ICMP type")
        return False
    if icmp in list_icmp_block(zone, permanent):
        return "success"
    return _cmd(firewalldrun.zone_option(zone) + ["--add-icmp-block=%s" % icmp], permanent)


def allow_icmp(zone, icmp, permanent=True):
    """
    Allow an ICMP type in a zone; False if there is no such type

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.allow_icmp dmz timestamp-request
    """
    if icmp not in get_icmp_types(permanent):
        log.error("Invalid ICMP type")
        return False
    if icmp not in list_icmp_block(zone, permanent):
        return "success"
    return _cmd(firewalldrun.zone_option(zone) + ["--remove-icmp-block=%s" % icmp], permanent)


def get_interfaces(zone, permanent=True):
    """
    Return the interfaces that belong to a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_interfaces dmz
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--list-interfaces"], permanent).split()


def add_interface(zone, interface, permanent=True):
    """
    Assign an interface to a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_interface dmz ens4
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--add-interface=%s" % interface], permanent)


def remove_interface(zone, interface, permanent=True):
    """
    Remove an interface from a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_interface dmz ens4
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--remove-interface=%s" % interface], permanent)


def get_sources(zone, permanent=True):
    """
    Return the networks that belong to a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_sources dmz
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--list-sources"], permanent).split()


def add_source(zone, source, permanent=True):
    """
    Assign a network to a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_source dmz 203.0.113.0/24
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--add-source=%s" % source], permanent)


def remove_source(zone, source, permanent=True):
    """
    Remove a network from a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_source dmz 203.0.113.0/24
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--remove-source=%s" % source], permanent)


def get_rich_rules(zone, permanent=True):
    """
    Return the rich rules of a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_rich_rules dmz
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--list-rich-rules"], permanent).splitlines()


def add_rich_rule(zone, rule, permanent=True):
    """
    Add a rich rule to a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_rich_rule dmz 'rule service name="ldaps" reject'
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--add-rich-rule=%s" % rule], permanent)


def remove_rich_rule(zone, rule, permanent=True):
    """
    Remove a rich rule from a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_rich_rule dmz 'rule service name="ldaps" reject'
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--remove-rich-rule=%s" % rule], permanent)


def _forward(src, dest, proto, address):
    return "forward-port=port=%s:proto=%s:toport=%s:toaddr=%s" % (src, proto, dest, address)


def _masqueraded(zone, wanted):
    if wanted and not get_masquerade(zone):
        add_masquerade(zone)
