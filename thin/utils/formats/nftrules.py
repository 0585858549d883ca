"""Builds nftables rules from options named like those of iptables, and compares them with the output of ``nft``."""

import re

from thin.exceptions import SaltInvocationError

FAMILIES = {
    "ipv4": "ip",
    "ip4": "ip",
    "ip": "ip",
    "ipv6": "ip6",
    "ip6": "ip6",
    "inet": "inet",
    "arp": "arp",
    "bridge": "bridge",
    "netdev": "netdev",
}


def build(family, options):
    """The text of a rule. Options without a counterpart in nftables are ignored. Salt: ``nftables.build_rule``."""
    left = dict(options)
    proto = str(left.get("proto", ""))
    address = FAMILIES[family]

    def ports(key):
        return str(left[key]).replace(":", "-")

    def port_list(key):
        given = left[key] if isinstance(left[key], (list, tuple)) else str(left[key]).split(",")
        return ", ".join(str(port) for port in sorted(map(int, given), reverse=True))

    words = []
    for key, form in (
        ("if", "meta iifname %s"),
        ("of", "meta oifname %s"),
        ("connstate", "ct state { %s }"),
        ("icmp-type", "icmp type { %s }"),
        ("icmpv6-type", "icmpv6 type { %s }"),
        ("pkttype", "meta pkttype { %s }"),
    ):
        if key in left:
            words.append(form % left[key])
    if "counter" in left:
        words.append("counter")
    for side, other in (("saddr", "source"), ("daddr", "destination")):
        if side in left or other in left:
            words.append("%s %s %s" % (address, side, left.get(side) or left.get(other)))
    for key, value in (("dport", ports), ("sport", ports), ("dports", port_list), ("sports", port_list)):
        if key in left:
            words.append("%s %s { %s }" % (proto, key[:5], value(key)))
    if "target" in left:
        left["jump"] = left["target"]
    words += [str(left[key]) for key in ("jump", "j") if key in left]
    if "redirect-to" in left or "to-port" in left:
        words.append("redirect to %s" % (left.get("redirect-to") or left.get("to-port")))
    for key, form in (
        ("to-ports", "--to-ports %s"),
        ("to-source", "%s"),
        ("to-destination", "%s"),
        ("reject-with", "reject with %s"),
    ):
        if key in left:
            words.append(form % left[key])
    return " ".join(words).strip()


def canonical(rule):
    """A rule in one spelling. ``nft`` lists a rule with quotes, in another order, and without unneeded braces."""
    rule = re.sub(r"\bcounter packets \d+ bytes \d+", "counter", rule)
    rule = re.sub(r"\bmeta (?=[io]ifname)", "", rule.replace('"', ""))
    rule = re.sub(r"\{([^{}]*)\}", lambda found: _sorted(found.group(1)), rule)
    return " ".join(_sorted(word) if "," in word else word for word in rule.split())


def _sorted(text):
    return ",".join(sorted(part.strip() for part in text.split(",") if part.strip()))


def handles(listing):
    """``[(rule, handle)]`` of a chain, from the output of ``nft --handle list chain``."""
    matches = re.findall(r"^\t\t(.+?) # handle (\d+)$", listing, re.M)
    return [pair for pair in matches if not pair[0].startswith("type ")]


def real_family(family):
    """nft's name of a family. Raises SaltInvocationError for an unknown one."""
    if family not in FAMILIES:
        families = ", ".join(sorted(FAMILIES))
        raise SaltInvocationError("nftables has no family '%s', only %s" % (family, families))
    return FAMILIES[family]


def run(run_all, *words):
    """The return of ``run_all`` (cmd.run_all) for ``nft`` with these arguments."""
    return run_all(
        ["nft"] + [str(word) for word in words], python_shell=False, env={"LC_ALL": "C"}, ignore_retcode=True
    )
