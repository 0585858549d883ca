"""
The firewall daemon firewalld, through firewall-cmd. Salt: ``salt/modules/firewalld.py``.

``permanent``: the configuration that is loaded when firewalld starts or reloads; without it, what is in force now.
A command that fails raises CommandExecutionError with what firewall-cmd said.
"""

from thin import process
from thin.exceptions import CommandExecutionError
from thin.log import getLogger

__reads__ = (
    "version",
    "default_zone",
    "list_zones",
    "list_all",
    "get_zones",
    "get_services",
    "get_icmp_types",
    "list_services",
    "get_service_ports",
    "get_service_protocols",
    "get_masquerade",
    "list_ports",
    "list_port_fwd",
    "list_icmp_block",
    "get_interfaces",
    "get_sources",
    "get_rich_rules",
)
__changes__ = (
    "reload_rules",
    "make_permanent",
    "set_default_zone",
    "new_zone",
    "delete_zone",
    "new_service",
    "delete_service",
    "add_service",
    "remove_service",
    "add_service_port",
    "remove_service_port",
    "add_service_protocol",
    "remove_service_protocol",
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
        return True
    return False, "The firewalld execution module cannot be loaded: the firewall-cmd binary is not in the path."


def version():
    """
    Return firewalld's version

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.version
    """
    return _cmd(["--version"])


def reload_rules():
    """
    Put the permanent configuration in force; connections live on

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.reload_rules
    """
    return _cmd(["--reload"])


def make_permanent():
    """
    Make what is in force the permanent configuration

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.make_permanent
    """
    return _cmd(["--runtime-to-permanent"])


def default_zone():
    """
    Return the zone of connections and interfaces that nothing else is said of

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.default_zone
    """
    return _cmd(["--get-default-zone"])


def set_default_zone(zone):
    """
    Say which zone is that of connections and interfaces that nothing else is said of

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.set_default_zone home
    """
    return _cmd(["--set-default-zone=%s" % zone])


def list_zones(permanent=True):
    """
    Return ``{zone: {what: [values]}}`` of all zones

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.list_zones
    """
    return _zones(["--list-all-zones"], permanent)


def list_all(zone=None, permanent=True):
    """
    Return ``{zone: {what: [values]}}`` of a zone, the default one if none is given

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.list_all dmz
    """
    return _zones(_zone(zone) + ["--list-all"], permanent)


def get_zones(permanent=True):
    """
    Return the names of the zones

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_zones
    """
    return _cmd(["--get-zones"], permanent).split()


def get_services(permanent=True):
    """
    Return the names of the services that firewalld knows

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_services
    """
    return _cmd(["--get-services"], permanent).split()


def get_icmp_types(permanent=True):
    """
    Return the names of the types of ICMP that firewalld knows

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_icmp_types
    """
    return _cmd(["--get-icmptypes"], permanent).split()


def new_zone(zone, restart=True):
    """
    Define a zone; ``restart``: reload, so that it is known at once

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.new_zone dmz
    """
    return _defined("--new-zone=%s" % zone, restart)


def delete_zone(zone, restart=True):
    """
    Take away a zone; ``restart``: reload, so that it is known at once

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.delete_zone dmz
    """
    return _defined("--delete-zone=%s" % zone, restart)


def new_service(name, restart=True):
    """
    Define a service; ``restart``: reload, so that it is known at once

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.new_service app
    """
    return _defined("--new-service=%s" % name, restart)


def delete_service(name, restart=True):
    """
    Take away a service; ``restart``: reload, so that it is known at once

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.delete_service app
    """
    return _defined("--delete-service=%s" % name, restart)


def list_services(zone=None, permanent=True):
    """
    Return the services allowed in a zone, the default one if none is given

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.list_services dmz
    """
    return _cmd(_zone(zone) + ["--list-services"], permanent).split()


def add_service(service, zone=None, permanent=True):
    """
    Allow a service in a zone, the default one if none is given

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_service app dmz
    """
    return _cmd(_zone(zone) + ["--add-service=%s" % service], permanent)


def remove_service(service, zone=None, permanent=True):
    """
    No longer allow a service in a zone, the default one if none is given

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_service app dmz
    """
    return _cmd(_zone(zone) + ["--remove-service=%s" % service], permanent)


def get_service_ports(service):
    """
    Return at which ports a service listens

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_service_ports ssh
    """
    return _cmd(["--service=%s" % service, "--get-ports"], True).split()


def add_service_port(service, port):
    """
    Have a service listen at one more port

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_service_port web 80/tcp
    """
    _known(service)
    return _cmd(["--service=%s" % service, "--add-port=%s" % port], True)


def remove_service_port(service, port):
    """
    Take a port away from a service

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_service_port web 80/tcp
    """
    _known(service)
    return _cmd(["--service=%s" % service, "--remove-port=%s" % port], True)


def get_service_protocols(service):
    """
    Return which protocols a service speaks

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_service_protocols ssh
    """
    return _cmd(["--service=%s" % service, "--get-protocols"], True).split()


def add_service_protocol(service, protocol):
    """
    Have a service speak one more protocol

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_service_protocol web gre
    """
    return _cmd(["--service=%s" % service, "--add-protocol=%s" % protocol], True)


def remove_service_protocol(service, protocol):
    """
    Take a protocol away from a service

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_service_protocol web gre
    """
    return _cmd(["--service=%s" % service, "--remove-protocol=%s" % protocol], True)


def get_masquerade(zone=None, permanent=True):
    """
    Whether packets that leave through a zone get its address

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_masquerade gateway
    """
    return all("no" not in about["masquerade"][:1] for about in list_all(zone, permanent).values())


def add_masquerade(zone=None, permanent=True):
    """
    Give packets that leave through a zone its address

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_masquerade gateway
    """
    return _cmd(_zone(zone) + ["--add-masquerade"], permanent)


def remove_masquerade(zone=None, permanent=True):
    """
    No longer give packets that leave through a zone its address

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_masquerade gateway
    """
    return _cmd(_zone(zone) + ["--remove-masquerade"], permanent)


def list_ports(zone, permanent=True):
    """
    Return the ports open in a zone, as ``22/tcp``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.list_ports dmz
    """
    return _cmd(_zone(zone) + ["--list-ports"], permanent).split()


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
    return _cmd(_zone(zone) + ["--add-port=%s" % port], permanent)


def remove_port(zone, port, permanent=True):
    """
    No longer open a port in a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_port dmz 8443/tcp
    """
    return _cmd(_zone(zone) + ["--remove-port=%s" % port], permanent)


def list_port_fwd(zone, permanent=True):
    """
    Return ``[{"Source port", "Protocol", "Destination port", "Destination address"}]`` of a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.list_port_fwd dmz
    """
    found = []
    for line in _cmd(_zone(zone) + ["--list-forward-ports"], permanent).splitlines():
        # an address of IPv6 has colons of its own
        port, proto, to_port, address = [field.partition("=")[2] for field in line.split(":", 3)]
        found.append(
            {"Source port": port, "Protocol": proto, "Destination port": to_port, "Destination address": address}
        )
    return found


def add_port_fwd(zone, src, dest, proto="tcp", dstaddr="", permanent=True, force_masquerade=False):
    """
    Send what comes in at a port to another, here or at the address ``dstaddr``

    force_masquerade
        Turn on masquerading in the zone first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_port_fwd dmz 443 8443 tcp
    """
    _masqueraded(zone, force_masquerade)
    return _cmd(_zone(zone) + ["--add-" + _forward(src, dest, proto, dstaddr)], permanent)


def remove_port_fwd(zone, src, dest, proto="tcp", dstaddr="", permanent=True):
    """
    No longer send what comes in at a port to another

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_port_fwd dmz 443 8443 tcp
    """
    return _cmd(_zone(zone) + ["--remove-" + _forward(src, dest, proto, dstaddr)], permanent)


def list_icmp_block(zone, permanent=True):
    """
    Return the types of ICMP that a zone blocks

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.list_icmp_block dmz
    """
    return _cmd(_zone(zone) + ["--list-icmp-blocks"], permanent).split()


def block_icmp(zone, icmp, permanent=True):
    """
    Block a type of ICMP in a zone; False if there is no such type

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.block_icmp dmz timestamp-request
    """
    if icmp not in get_icmp_types(permanent):
        log.error("Invalid ICMP type")
        return False
    if icmp in list_icmp_block(zone, permanent):
        return "success"
    return _cmd(_zone(zone) + ["--add-icmp-block=%s" % icmp], permanent)


def allow_icmp(zone, icmp, permanent=True):
    """
    No longer block a type of ICMP in a zone; False if there is no such type

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.allow_icmp dmz timestamp-request
    """
    if icmp not in get_icmp_types(permanent):
        log.error("Invalid ICMP type")
        return False
    if icmp not in list_icmp_block(zone, permanent):
        return "success"
    return _cmd(_zone(zone) + ["--remove-icmp-block=%s" % icmp], permanent)


def get_interfaces(zone, permanent=True):
    """
    Return the interfaces that belong to a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_interfaces dmz
    """
    return _cmd(_zone(zone) + ["--list-interfaces"], permanent).split()


def add_interface(zone, interface, permanent=True):
    """
    Let a zone hold for an interface

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_interface dmz ens4
    """
    return _cmd(_zone(zone) + ["--add-interface=%s" % interface], permanent)


def remove_interface(zone, interface, permanent=True):
    """
    No longer say that an interface belongs to a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_interface dmz ens4
    """
    return _cmd(_zone(zone) + ["--remove-interface=%s" % interface], permanent)


def get_sources(zone, permanent=True):
    """
    Return the networks that belong to a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_sources dmz
    """
    return _cmd(_zone(zone) + ["--list-sources"], permanent).split()


def add_source(zone, source, permanent=True):
    """
    Say that a network belongs to a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_source dmz 203.0.113.0/24
    """
    return _cmd(_zone(zone) + ["--add-source=%s" % source], permanent)


def remove_source(zone, source, permanent=True):
    """
    No longer say that a network belongs to a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_source dmz 203.0.113.0/24
    """
    return _cmd(_zone(zone) + ["--remove-source=%s" % source], permanent)


def get_rich_rules(zone, permanent=True):
    """
    Return the rich rules of a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_rich_rules dmz
    """
    return _cmd(_zone(zone) + ["--list-rich-rules"], permanent).splitlines()


def add_rich_rule(zone, rule, permanent=True):
    """
    Have one more rich rule in a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_rich_rule dmz 'rule service name="ldaps" reject'
    """
    return _cmd(_zone(zone) + ["--add-rich-rule=%s" % rule], permanent)


def remove_rich_rule(zone, rule, permanent=True):
    """
    Take a rich rule away from a zone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_rich_rule dmz 'rule service name="ldaps" reject'
    """
    return _cmd(_zone(zone) + ["--remove-rich-rule=%s" % rule], permanent)


def _zone(zone):
    return ["--zone=%s" % zone] if zone else []


def _forward(src, dest, proto, address):
    return "forward-port=port=%s:proto=%s:toport=%s:toaddr=%s" % (src, proto, dest, address)


def _masqueraded(zone, wanted):
    if wanted and not get_masquerade(zone):
        add_masquerade(zone)


def _known(service):
    if service not in get_services(permanent=True):
        raise CommandExecutionError("The service does not exist.")


def _defined(option, restart):
    out = _cmd([option], True)
    return _cmd(["--reload"]) if restart and out == "success" else out


def _zones(words, permanent):
    """``{zone: {what: [value, more lines...]}}`` of a listing: zones at the margin, what they have indented."""
    zones, what = {}, ""
    zone = {}
    for line in _cmd(words, permanent).splitlines():
        if line.startswith("\t"):
            zone[what].append(line.strip())
        elif line.strip() and not line[0].isspace():
            zone = zones[line.rstrip()] = {}
        elif line.strip():
            what, _, value = line.partition(":")
            what = what.strip()
            zone[what] = [value.strip()]
    return zones


def _cmd(words, permanent=False):
    """What firewall-cmd prints."""
    program = process.which("firewall-cmd")
    done = __salt__["cmd.run_all"](
        [program] + words + (["--permanent"] if permanent else []), python_shell=False, env={"LC_ALL": "C"}
    )
    if done["retcode"]:
        raise CommandExecutionError("firewall-cmd failed: %s" % (done["stderr"] or done["stdout"]))
    return done["stdout"]
