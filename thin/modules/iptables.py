"""
Firewall rules with iptables and ip6tables. Salt: ``salt/modules/iptables.py``.

Rules are saved in the file that the distribution loads at boot; lines that match one of the regular expressions of the
option ``iptables.save_filters`` (a list, in options, grains or pillar) are left out there.
"""

import os
import re

from thin import process
from thin.call_state import INTERNAL
from thin.exceptions import CommandExecutionError, SaltException
from thin.log import getLogger
from thin.utils import words
from thin.utils.files import safepath
from thin.utils.formats import iptrules

__reads__ = (
    "version",
    "build_rule",
    "get_saved_rules",
    "get_rules",
    "get_saved_policy",
    "get_policy",
    "check",
    "check_chain",
)
__changes__ = ("set_policy", "save", "new_chain", "delete_chain", "append", "insert", "delete", "flush")

log = getLogger(__name__)

_SHORT = "ACDIRLSFZNXPE"

#: Files with the saved rules, (ipv4, ipv6), by os_family, or else by os.
_FILES = {
    "RedHat": ("/etc/sysconfig/iptables", "/etc/sysconfig/ip6tables"),
    "Arch": ("/etc/iptables/iptables.rules", "/etc/iptables/ip6tables.rules"),
    "Debian": ("/etc/iptables/rules.v4", "/etc/iptables/rules.v6"),
    "Gentoo": ("/var/lib/iptables/rules-save", "/var/lib/ip6tables/rules-save"),
    "Suse": ("/etc/sysconfig/scripts/SuSEfirewall2-custom",) * 2,
    "Void": ("/etc/iptables/iptables.rules", "/etc/iptables/ip6tables.rules"),
    "Alpine": ("/etc/iptables/rules-save", "/etc/iptables/rules6-save"),
    "NILinuxRT": ("/etc/natinst/share/iptables.conf", "/etc/natinst/share/ip6tables.conf"),
}


def __virtual__():
    if process.which("iptables"):
        return True
    return False, "The iptables execution module cannot be loaded: iptables not installed."


def version(family="ipv4"):
    """
    Return the version of iptables, as ``v1.8.9``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.version family=ipv6
    """
    return _run(_program(family), ["--version"])["stdout"].split()[1]


def build_rule(table="filter", chain=None, command=None, position="", full=None, family="ipv4", **kwargs):
    """
    Return the text of a rule from options: with ``full`` the whole command, otherwise the part after the chain

    ``kwargs`` are options by their long names (or one letter), in order; an empty value where an option takes none. A
    value that begins with ``!`` or ``not`` negates its option. ``connstate`` is the option ``--state``, ``if`` and
    ``of`` are the interfaces, ``target`` is ``jump``, ``name_`` is ``--name``; ``match``, ``match-set``, ``dports`` and
    ``sports`` take lists. For missing arguments, a text that begins with ``Error:`` is returned.

    table
        For ``full``: the table.
    chain
        For ``full``: the chain.
    command
        For ``full``: the command, as a letter (``A``) or a word (``append``).
    position
        For ``full``: the rule's number.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.build_rule nat POSTROUTING command=I full=True of=ens3 jump=MASQUERADE
    """
    unused = INTERNAL | {"name", "state", "chain", "save", "table", "__agg__", "aggregate"}
    rule = iptrules.build({key: value for key, value in kwargs.items() if key not in unused})
    if not full or rule.startswith("Error:"):
        return rule
    for word, given in (("Table", table), ("Chain", chain), ("Command", command)):
        if not given:
            return "Error: %s needs to be specified" % word
    flag = "-" if command in _SHORT else "--"
    wait = "--wait" if _can("--wait", family) else ""
    return "%s %s -t %s %s%s %s %s %s" % (_program(family), wait, table, flag, command, chain, position, rule)


def get_saved_rules(conf_file=None, family="ipv4"):
    """
    Return ``{table: {chain: {policy, rules, ...}}}`` of the rules in a file, the distribution's own by default

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.get_saved_rules /etc/iptables/rules.v4
    """
    with open(conf_file or _conf(family), encoding="utf-8", errors="surrogateescape") as source:
        return iptrules.parse(source.read())


def get_rules(family="ipv4"):
    """
    Return ``{table: {chain: {policy, packet count, byte count, rules, rules_comment}}}`` of the current rules

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.get_rules
    """
    return iptrules.parse(_saved(family))


def get_saved_policy(table="filter", chain=None, conf_file=None, family="ipv4"):
    """
    Return the policy of a chain in a file: ACCEPT, DROP; None if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.get_saved_policy filter FORWARD
    """
    if not chain:
        return "Error: Chain needs to be specified"
    return get_saved_rules(conf_file, family).get(table, {}).get(chain, {}).get("policy")


def get_policy(table="filter", chain=None, family="ipv4"):
    """
    Return the policy of a chain: ACCEPT, DROP; None if there is no such chain

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.get_policy filter FORWARD
    """
    if not chain:
        return "Error: Chain needs to be specified"
    return get_rules(family).get(table, {}).get(chain, {}).get("policy")


def set_policy(table="filter", chain=None, policy=None, family="ipv4"):
    """
    Set the policy of a chain; returns "" or the error of iptables

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.set_policy filter FORWARD DROP
    """
    if not chain:
        return "Error: Chain needs to be specified"
    if not policy:
        return "Error: Policy needs to be specified"
    return _change(family, table, ["-P", chain, policy])


def save(filename=None, family="ipv4"):
    """
    Save the current rules to a file, by default the one that is loaded at boot; returns the written text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.save /etc/iptables/rules.v4
    """
    filename = filename or _conf(family)
    folder = os.path.dirname(filename)
    if folder and not os.path.isdir(folder):
        safepath.makedirs(folder)
    lines = _saved(family).splitlines()
    for pattern in __salt__["config.option"]("iptables.save_filters", []) or []:
        try:
            unwanted = re.compile(pattern)
        except re.error as exc:
            log.warning("Skipping regex rule: '%s': %s", pattern, exc)
            continue
        lines = [line for line in lines if not unwanted.search(line)]
    return __salt__["file.write"](filename, "\n".join(lines))


def check(table="filter", chain=None, rule=None, family="ipv4"):
    """
    Whether the chain has a rule, given as the text after the chain's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.check filter INPUT rule='-p tcp --dport 8443 -j ACCEPT'
    """
    problem = _lacking(chain, rule)
    if problem:
        return problem
    if _can("--check", family):
        return _run(_program(family), _wait(family) + ["-t", table, "-C", chain] + _words(rule))["retcode"] == 0
    # iptables of before 2011 has no such option: the rule is added to a temporary chain to see how it is printed.
    probe = "ps%x" % os.getpid()
    _change(family, table, ["-N", probe])
    _change(family, table, ["-A", probe] + _words(rule))
    lines = _saved(family).splitlines()
    _change(family, table, ["-F", probe])
    _change(family, table, ["-X", probe])
    return any(line.replace("-A " + probe, "-A " + chain, 1) in lines for line in lines if "-A " + probe in line)


def check_chain(table="filter", chain=None, family="ipv4"):
    """
    Whether the table has a chain

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.check_chain filter APP
    """
    if not chain:
        return "Error: Chain needs to be specified"
    return any(line.startswith(":%s " % chain) for line in _saved(family, table).splitlines())


def new_chain(table="filter", chain=None, family="ipv4"):
    """
    Create a chain; returns True, or the error of iptables

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.new_chain filter APP
    """
    return _change(family, table, ["-N", chain]) or True if chain else "Error: Chain needs to be specified"


def delete_chain(table="filter", chain=None, family="ipv4"):
    """
    Remove a chain, which must be empty; returns True, or the error of iptables

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.delete_chain filter APP
    """
    return _change(family, table, ["-X", chain]) or True if chain else "Error: Chain needs to be specified"


def append(table="filter", chain=None, rule=None, family="ipv4"):
    """
    Add a rule, given as text, at the end of a chain; False if it exists already or iptables failed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.append filter APP rule='-p tcp --dport 8443 -j ACCEPT'
    """
    problem = _lacking(chain, rule)
    if problem:
        return problem
    if check(table, chain, rule, family) is True:
        return False
    return not _change(family, table, ["-A", chain] + _words(rule))


def insert(table="filter", chain=None, position=None, rule=None, family="ipv4"):
    """
    Add a rule, given as text, at a position of a chain; returns "" or the error of iptables

    A negative position counts from the end: -1 is before the last rule. False: the rule exists already.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.insert filter APP position=1 rule='-s 203.0.113.0/24 -j DROP'
    """
    if chain and not position:
        return "Error: Position needs to be specified or use append (-A)"
    problem = _lacking(chain, rule)
    if problem:
        return problem
    position = int(position)
    if position < 0:
        position = max(len(get_rules(family)[table][chain]["rules"]) + position + 1, 1)
    if check(table, chain, rule, family) is True:
        return False
    return _change(family, table, ["-I", chain, str(position)] + _words(rule))


def delete(table, chain=None, position=None, rule=None, family="ipv4"):
    """
    Remove a rule, given as text or by its position; returns "" or the error of iptables

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.delete filter APP position=2
    """
    if position and rule:
        return "Error: Only specify a position or a rule, not both"
    return _change(family, table, ["-D", chain] + ([str(position)] if position else _words(rule)))


def flush(table="filter", chain="", family="ipv4"):
    """
    Remove all rules of a chain, or of all chains of a table; returns "" or the error of iptables

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' iptables.flush filter APP
    """
    return _change(family, table, ["-F"] + ([chain] if chain else []))


def _lacking(chain, rule):
    if not chain:
        return "Error: Chain needs to be specified"
    return "" if rule else "Error: Rule needs to be specified"


def _program(family):
    name = "ip6tables" if family == "ipv6" else "iptables"
    path = process.which(name)
    if not path:
        raise CommandExecutionError("Command '%s' cannot be found" % name)
    return path


def _can(option, family):
    """Whether the program has an option; the answer is cached."""
    key = "iptables.help.%s" % family
    if key not in __context__:
        output = _run(_program(family), ["--help"])
        __context__[key] = output["stdout"] + output["stderr"]
    return option in __context__[key]


def _wait(family):
    return ["--wait"] if _can("--wait", family) else []


def _change(family, table, arguments):
    """
    "" on success, otherwise stderr of the program."""
    done = _run(_program(family), _wait(family) + ["-t", table] + arguments)
    __context__["iptables.refused"] = "" if done["retcode"] == 0 else done["stderr"]  # some answer with False alone
    if done["retcode"] == 0:
        return ""
    return done["stderr"] or "%s failed with exit code %s" % (_program(family), done["retcode"])


def _words(rule):
    try:
        return words.split(rule)
    except ValueError as exc:
        raise CommandExecutionError("The rule '%s' cannot be read: %s" % (rule, exc))


def _saved(family, table=None):
    done = _run(_program(family) + "-save", ["-t", table] if table else [])
    if done["retcode"]:
        raise CommandExecutionError("%s-save failed: %s" % (_program(family), done["stderr"]))
    return done["stdout"]


def _run(program, arguments):
    return __salt__["cmd.run_all"](
        [program] + [str(each) for each in arguments], python_shell=False, env={"LC_ALL": "C"}, ignore_retcode=True
    )


def _conf(family):
    for grain in ("os_family", "os"):
        if __grains__.get(grain) in _FILES:
            return _FILES[__grains__[grain]][family == "ipv6"]
    raise SaltException("Where %s keeps iptables' rules is not known: give a file name" % __grains__.get("os"))
