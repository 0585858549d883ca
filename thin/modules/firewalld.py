"""
The firewall daemon firewalld, its zones and services, through firewall-cmd. Salt: ``salt/modules/firewalld.py``.

``permanent``: the configuration that is loaded when firewalld starts or reloads; without it, the runtime configuration.
A command that fails raises CommandExecutionError with firewall-cmd's message. The rules of zones are in
firewalld_rules.py.
"""

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.programs import firewalldrun

__reads__ = (
    "version",
    "default_zone",
    "list_zones",
    "list_all",
    "get_zones",
    "get_services",
    "list_services",
    "get_service_ports",
    "get_service_protocols",
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
)


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
    Load the permanent configuration; existing connections are kept

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.reload_rules
    """
    return _cmd(["--reload"])


def make_permanent():
    """
    Make the runtime configuration permanent

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.make_permanent
    """
    return _cmd(["--runtime-to-permanent"])


def default_zone():
    """
    Return the default zone of connections and interfaces

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.default_zone
    """
    return _cmd(["--get-default-zone"])


def set_default_zone(zone):
    """
    Set the default zone of connections and interfaces

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
    return _zones(firewalldrun.zone_option(zone) + ["--list-all"], permanent)


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
    Return the names of firewalld's services

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_services
    """
    return _cmd(["--get-services"], permanent).split()


def new_zone(zone, restart=True):
    """
    Define a zone; ``restart``: reload afterwards

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.new_zone dmz
    """
    return _defined("--new-zone=%s" % zone, restart)


def delete_zone(zone, restart=True):
    """
    Delete a zone; ``restart``: reload afterwards

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.delete_zone dmz
    """
    return _defined("--delete-zone=%s" % zone, restart)


def new_service(name, restart=True):
    """
    Define a service; ``restart``: reload afterwards

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.new_service app
    """
    return _defined("--new-service=%s" % name, restart)


def delete_service(name, restart=True):
    """
    Delete a service; ``restart``: reload afterwards

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
    return _cmd(firewalldrun.zone_option(zone) + ["--list-services"], permanent).split()


def add_service(service, zone=None, permanent=True):
    """
    Allow a service in a zone, the default one if none is given

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_service app dmz
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--add-service=%s" % service], permanent)


def remove_service(service, zone=None, permanent=True):
    """
    No longer allow a service in a zone, the default one if none is given

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_service app dmz
    """
    return _cmd(firewalldrun.zone_option(zone) + ["--remove-service=%s" % service], permanent)


def get_service_ports(service):
    """
    Return the ports of a service

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_service_ports ssh
    """
    return _cmd(["--service=%s" % service, "--get-ports"], True).split()


def add_service_port(service, port):
    """
    Add a port to a service

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.add_service_port web 80/tcp
    """
    _require_service(service)
    return _cmd(["--service=%s" % service, "--add-port=%s" % port], True)


def remove_service_port(service, port):
    """
    Remove a port from a service

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.remove_service_port web 80/tcp
    """
    _require_service(service)
    return _cmd(["--service=%s" % service, "--remove-port=%s" % port], True)


def get_service_protocols(service):
    """
    Return the protocols of a service

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' firewalld.get_service_protocols ssh
    """
    return _cmd(["--service=%s" % service, "--get-protocols"], True).split()


def add_service_protocol(service, protocol):
    """
    Add a protocol to a service

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


def _require_service(service):
    if service not in get_services(permanent=True):
        raise CommandExecutionError("The service does not exist.")


def _defined(option, restart):
    out = _cmd([option], True)
    return _cmd(["--reload"]) if restart and out == "success" else out


def _zones(words, permanent):
    """``{zone: {name: [value, more lines...]}}`` of a listing: zones start at the margin, their settings are
    indented."""
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
    return firewalldrun.run(__salt__, words, permanent)
