"""
Zones and services of the firewall daemon firewalld. Salt: ``salt/states/firewalld.py``.

The permanent configuration is changed and then loaded. Other entries are kept, unless ``prune_...`` removes them.
"""

from thin import process
from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils import nested

log = getLogger(__name__)


def __virtual__():
    if process.which("firewall-cmd"):
        return True
    return False, "firewall-cmd is not available, firewalld is probably not installed."


def present(
    name,
    block_icmp=None,
    prune_block_icmp=False,
    default=None,
    masquerade=None,
    ports=None,
    prune_ports=False,
    port_fwd=None,
    prune_port_fwd=False,
    services=None,
    prune_services=False,
    interfaces=None,
    prune_interfaces=False,
    sources=None,
    prune_sources=False,
    rich_rules=None,
    prune_rich_rules=False,
):
    """
    There is a zone, with these properties.

    name
        The zone.
    block_icmp
        Types of ICMP to block, as ``echo-request``; those that firewalld does not know are logged and left out.
    prune_block_icmp
        Block only these.
    default
        True: it is the zone of connections and interfaces without another zone.
    masquerade
        Whether packets that leave through the zone get its address; None: as it is.
    ports
        Ports to open, as ``22/tcp``.
    prune_ports
        Only these are open.
    port_fwd
        Ports to send elsewhere, as ``80:8080:tcp`` or ``80:443:tcp:192.0.2.1``.
    prune_port_fwd
        Only these are sent elsewhere.
    services
        Services to allow.
    prune_services
        Only these are allowed.
    interfaces
        Interfaces that belong to the zone.
    prune_interfaces
        Only these do.
    sources
        Networks that belong to the zone.
    prune_sources
        Only these do.
    rich_rules
        Rules of firewalld's rich language.
    prune_rich_rules
        Only these apply.
    """
    ret = {"name": name, "result": False, "changes": {}, "comment": ""}
    try:
        zone = _Zone(name, ret["changes"], __opts__["test"])
        zone.exists()
        if block_icmp:
            block_icmp = _supported_icmp(block_icmp)
        zone.has("icmp_types", block_icmp, prune_block_icmp, "list_icmp_block", "block_icmp", "allow_icmp")
        if default:
            zone.is_default()
        if masquerade is not None:
            zone.masquerades(masquerade)
        zone.has("ports", ports, prune_ports, "list_ports", "add_port", "remove_port")
        zone.forwards(port_fwd, prune_port_fwd)
        zone.has("services", services, prune_services, "list_services", "add_service", "remove_service", swapped=True)
        zone.has("interfaces", interfaces, prune_interfaces, "get_interfaces", "add_interface", "remove_interface")
        zone.has("sources", sources, prune_sources, "get_sources", "add_source", "remove_source")
        rules = [_quoted(rule) for rule in rich_rules or []]
        zone.has("rich_rules", rules, prune_rich_rules, "get_rich_rules", "add_rich_rule", "remove_rich_rule")
        if ret["changes"] and not __opts__["test"]:
            __salt__["firewalld.reload_rules"]()
    except CommandExecutionError as exc:
        ret["comment"] = "Error: %s" % exc
        return ret
    if not ret["changes"]:
        return dict(ret, result=True, comment="'%s' is already in the desired state." % name)
    if __opts__["test"]:
        words = "Configuration for '%s' will change:\n%s" % (name, nested.text(ret["changes"]))
        return dict(ret, result=None, comment=words, changes={})
    return dict(ret, result=True, comment="'%s' was configured." % name)


def service(name, ports=None, protocols=None):
    """
    There is a service, with just these ports and protocols.

    name
        The service.
    ports
        As ``80/tcp``.
    protocols
        As ``gre``.
    """
    ret = {"name": name, "result": False, "changes": {}, "comment": ""}
    test = __opts__["test"]
    try:
        new = name not in __salt__["firewalld.get_services"]()
        if new and not test:
            __salt__["firewalld.new_service"](name, restart=False)
        for what, wanted in (("port", ports or []), ("protocol", protocols or [])):
            wanted = [str(each) for each in wanted]
            current = [] if new else __salt__["firewalld.get_service_%ss" % what](name)
            if set(current) == set(wanted):
                continue
            for verb, these, those in (("add", wanted, current), ("remove", current, wanted)):
                for each in these:
                    if each not in those and not test:
                        __salt__["firewalld.%s_service_%s" % (verb, what)](name, each)
            ret["changes"][what + "s"] = {"old": current, "new": wanted}
        if (new or ret["changes"]) and not test:
            __salt__["firewalld.reload_rules"]()
    except CommandExecutionError as exc:
        ret["comment"] = "Error: %s" % exc
        return ret
    if not ret["changes"]:
        if new and test:
            return dict(ret, result=None, comment="Service '%s' will be defined." % name)
        return dict(ret, result=True, comment="'%s' is already in the desired state." % name)
    if test:
        return dict(ret, result=None, comment="Configuration for '%s' will change." % name)
    return dict(ret, result=True, comment="'%s' was configured." % name)


class _Zone(object):
    """Changes a zone as wanted; differences are collected in ``changes``. ``test``: only compares."""

    def __init__(self, name, changes, test):
        self.name, self.changes, self.test = name, changes, test
        self.new = False

    def exists(self):
        zones = __salt__["firewalld.get_zones"](permanent=True)
        self.new = self.name not in zones
        if self.new:
            self._do("new_zone", self.name)
            self.changes[self.name] = {"old": zones, "new": self.name}

    def is_default(self):
        now = __salt__["firewalld.default_zone"]()
        if now != self.name:
            self._do("set_default_zone", self.name)
            self.changes["default"] = {"old": now, "new": self.name}

    def masquerades(self, wanted):
        now = self._now("get_masquerade", False)
        if bool(wanted) != now:
            self._do("add_masquerade" if wanted else "remove_masquerade", self.name, permanent=True)
            new = "Masquerading successfully %s." % ("set" if wanted else "disabled")
            self.changes["masquerade"] = {"old": now, "new": new}

    def has(self, what, wanted, prune, lister, adder, remover, swapped=False):
        """Compare and set a list of texts. ``swapped``: the functions take the zone as their second argument."""
        if not wanted and not prune:
            return
        now, wanted = self._now(lister, []), [str(each) for each in wanted or []]

        def change(each):
            pair = (each, self.name) if swapped else (self.name, each)
            self._do(remover if each in now else adder, *pair, permanent=True)

        self._differ(what, now, wanted, prune, change)

    def forwards(self, wanted, prune):
        if not wanted and not prune:
            return
        now = [
            (each["Source port"], each["Destination port"], each["Protocol"], each["Destination address"])
            for each in self._now("list_port_fwd", [])
        ]
        forwards = [(each + ":").split(":", 3) for each in map(str, wanted or [])]
        if any(len(each) < 4 for each in forwards):
            raise CommandExecutionError("port_fwd takes from_port:to_port:protocol[:destination], not %s" % (wanted,))
        wanted = [tuple(each[:3]) + (each[3].rstrip(":"),) for each in forwards]

        def change(each):
            self._do("remove_port_fwd" if each in now else "add_port_fwd", self.name, *each, permanent=True)

        self._differ("port_fwd", now, wanted, prune, change, _shown)

    def _differ(self, what, now, wanted, prune, change, shown=lambda each: each):
        """Add missing values, and with ``prune`` remove the others; both are recorded in the changes."""
        new = [each for number, each in enumerate(wanted) if each not in now and each not in wanted[:number]]
        old = [each for each in now if each not in wanted] if prune else []
        for each in new + old:
            change(each)
        if new or old:
            after = wanted if prune else now + new
            self.changes[what] = {"old": [shown(each) for each in now], "new": [shown(each) for each in after]}

    def _now(self, function, default):
        """The result of a function for the zone; empty for a zone that a dry run does not create."""
        if self.new and self.test:
            return default
        return __salt__["firewalld." + function](self.name, permanent=True)

    def _do(self, function, *args, **kwargs):
        if not self.test:
            __salt__["firewalld." + function](*args, **kwargs)


def _shown(forward):
    keys = ("Source port", "Destination port", "Protocol", "Destination address")
    return dict(zip(keys, forward))


def _supported_icmp(types):
    supported = __salt__["firewalld.get_icmp_types"](permanent=True)
    for each in types:
        if each not in supported:
            log.error("firewalld has no ICMP type %s", each)
    return [each for each in types if each in supported]


def _quoted(rule):
    """A rich rule as firewall-cmd prints it: values in double quotes."""
    words = []
    for word in rule.split():
        key, equals, value = word.partition("=")
        if equals and not value.startswith('"') and not value.endswith('"'):
            if value.startswith("'") and value.endswith("'"):
                value = value[1:-1]
            word = '%s="%s"' % (key, value)
        words.append(word)
    return " ".join(words)
