"""Builds iptables rules from the named options of states, and parses the output of ``iptables-save``.

Salt: ``build_rule`` and ``_parse_conf`` of ``salt/modules/iptables.py``.
"""

import re

from thin.utils import words

_NOT = re.compile(r"(!|not)\s?")

#: Matches with an option ``--name``; a state calls it ``name_``, because ``name`` is the state's own argument.
_NAMED = ("pknock", "quota2", "recent")

#: Options of targets: they follow ``--jump``, in this order. iptables-extensions(8), xtables-addons(8).
_AFTER_JUMP = """
j jump add-set and-mark and-tos checksum-fill clamp-mss-to-pmtu clustermac ctevents ctmask del-set ecn-tcp-remove exist
expevents gateway hash-init hashmode helper label local-node log-ip-options log-level log-prefix log-tcp-options
log-tcp-sequence log-uid map-set mask mss new nfmask nflog-group nflog-prefix nflog-range nflog-threshold nodst notrack
on-ip on-port or-mark or-tos persistent queue-balance queue-bypass queue-num random random-fully rateest-ewmalog
rateest-interval rateest-name reject-with restore restore-mark sack-perm save-mark selctx set-class set-dscp
set-dscp-class set-mark set-mss set-tos set-xmark strip-options timeout timestamp to to-destination to-ports to-source
total-nodes tproxy-mark ttl-dec ttl-inc ttl-set type ulog-cprange ulog-nlgroup ulog-prefix ulog-qthreshold wscale
xor-mark xor-tos zone zone-orig zone-reply dst-pfx hl-dec hl-inc hl-set hmark-dport-mask hmark-dst-prefix hmark-mod
hmark-offset hmark-proto-mask hmark-rnd hmark-spi-mask hmark-sport-mask hmark-src-prefix hmark-tuple led-always-blink
led-delay led-trigger-id queue-cpu-fanout src-pfx to-port addr and-mask delude honeypot or-mask prefix reset reuse
set-mac shift static tarpit tname ttl
""".split()

#: Names of options in parsed rules that are not their long names.
_CALLED = {
    "A": "append",
    "p": "protocol",
    "s": "source",
    "d": "destination",
    "j": "jump",
    "g": "goto",
    "i": "in-interface",
    "o": "out-interface",
    "f": "fragment",
    "c": "set-counters",
    "m": "match",
    "sport": "source_port",
    "source-port": "source_port",
    "dport": "destination_port",
    "destination-port": "destination_port",
    "sports": "source-ports",
    "dports": "destination-ports",
    "src-cc": "source-country",
    "dst-cc": "destination-country",
}


def build(options):
    """The text of a rule, without command, table and chain; "Error: ..." if ports have no protocol.

    ``options``: ``{long or one-letter option: value}`` in order. The value is "" or None for an option without one. A
    value that begins with ``!`` or ``not`` negates its option. ``if`` and ``of`` are interfaces, ``connstate`` is
    ``--state``, ``target`` an alias of ``jump``. Options of one match are adjacent; ``--jump`` is at the end.
    """
    left = dict(options)
    if "target" in left:
        left["jump"] = left.pop("target")
    rule = [_option(left, key, flag) for key, flag in (("if", "-i"), ("of", "-o")) if key in left]
    if "proto" in left and left.get("match") != "policy":
        left["protocol"] = left.pop("proto")
    protocol = "protocol" in left
    if protocol:
        rule.append(_option(left, "protocol", "-p"))
    if "match" in left:
        rule += _matches(left)
    if "match-set" in left:
        sets = left.pop("match-set")
        for each in [sets] if isinstance(sets, str) else sets:
            rule.append("-m set %s--match-set %s" % _negated(each))
    if "connstate" in left:
        rule += _once(rule, "-m state") + [_option(left, "connstate", "--state")]
    rule += [_option(left, key, "--" + key) for key in ("dport", "sport") if key in left]
    for key in ("dports", "sports"):
        if key in left:
            if not protocol:
                return "Error: protocol must be specified"
            rule += _once(rule, "-m multiport") + _ports(left.pop(key), key)
    if "comment" in left:
        rule += _once(rule, "-m comment") + ['--comment "%s"' % left.pop("comment")]
    if left.get("set"):
        rule.append(_option(left, "set", "--match-set"))
    jump_options = [_jump_option(key, left.pop(key)) for key in _AFTER_JUMP if key in left]
    for key in list(left):
        rule.append(_option(left, key, ("-" if len(key) == 1 else "--") + key))
    return " ".join(rule + jump_options)


def _negated(value):
    """("! " or "", the value without the negation)."""
    value = str(value)
    return ("! ", _NOT.sub("", value)) if value.startswith(("!", "not")) else ("", value)


def _option(left, key, flag):
    """Remove an option from ``left`` and return its text."""
    value = left.pop(key)
    negation, text = _negated("" if value is None else value)
    return "%s%s%s" % (negation, flag, " " + text if text else "")


def _jump_option(key, value):
    if value is None or value == "":
        return "--" + key
    return ('--%s "%s"' if re.search(r"\s", str(value)) else "--%s %s") % (key, value)


def _once(rule, match):
    return [] if match in rule else [match]


def _matches(left):
    match = left.pop("match")
    matches = []
    for each in match if isinstance(match, list) else match.split(","):
        matches.append("-m %s" % each)
        if "name_" in left and each.strip() in _NAMED:
            matches.append("--name %s" % left.pop("name_"))
    if match == "policy" and "proto" in left:
        matches.append(_option(left, "proto", "--proto"))
    return matches


def _ports(value, key):
    pairs = [_negated(each) for each in (value if isinstance(value, list) else [value])]
    return ["!"] * any(pair[0] for pair in pairs) + ["--%s %s" % (key, ",".join(pair[1] for pair in pairs))]


def parse(text):
    """``{table: {chain: {policy, packet count, byte count, rules, rules_comment}}}`` from the output of iptables-save.

    ``rules``: ``[{option: [value, ...]}]`` in order; ``rules_comment``: the rules with a comment, by comment.
    """
    parsed, chains = {}, {}
    for line in text.splitlines():
        if line.startswith("*"):
            chains = parsed[line[1:].strip()] = {}
        elif line.startswith(":"):
            fields = line[1:].split()
            packets, count = fields[2].strip("[]").split(":")
            chains[fields[0]] = {
                "policy": fields[1],
                "packet count": packets,
                "byte count": count,
                "rules": [],
                "rules_comment": {},
            }
        elif line.startswith("-A"):
            options = _parsed(words.split(line))
            chain = chains[options.pop("append")[0]]
            if "comment" in options:
                chain["rules_comment"][options["comment"][0].strip('"')] = options
            chain["rules"].append(options)
    return parsed


def _parsed(parts):
    """``{option: [value, ...]}``. Several words are one value; a negated value begins with ``!``."""
    options, at = {}, 0
    while at < len(parts):
        negated = parts[at] == "!" and at + 1 < len(parts) and parts[at + 1].startswith("-")
        at += negated
        if not parts[at].startswith("-"):
            at += 1
            continue
        name, value = parts[at].lstrip("-"), ["!"] if negated else []
        at += 1
        while at < len(parts) and parts[at] != "!" and not parts[at].startswith("-"):
            value.append(parts[at])
            at += 1
        options.setdefault(_CALLED.get(name, name), []).append(" ".join(value))
    return options
