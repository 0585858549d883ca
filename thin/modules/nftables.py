"""
Firewall rules with nftables' command nft. Salt: ``salt/modules/nftables.py``.

``family`` is ipv4, ipv6, inet, arp, bridge or netdev. Functions that change or check something return ``{"result",
"comment"}``; a rule is its text in nft's syntax. nftables_saved.py lists all tables.
"""

from thin import process
from thin.call_state import INTERNAL
from thin.utils.formats import nftrules

__reads__ = ("version", "build_rule", "get_rule_handle", "check", "check_chain", "check_table", "get_policy")
__changes__ = (
    "new_table",
    "delete_table",
    "new_chain",
    "delete_chain",
    "append",
    "insert",
    "delete",
    "flush",
    "set_policy",
)


def __virtual__():
    if process.which("nft"):
        return "nftables"
    return False, "The nftables execution module failed to load: nftables is not installed."


def version():
    """
    Return the version of nft, as ``v1.0.6``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.version
    """
    return _nft("--version")["stdout"].split()[1]


def build_rule(table=None, chain=None, command=None, position="", full=None, family="ipv4", **kwargs):
    """
    Return ``{"result", "rule", "comment"}``: the text of a rule, with ``full`` as the whole command

    ``kwargs`` have the names of iptables options: if, of, proto, connstate, icmp-type, icmpv6-type, pkttype, counter,
    saddr or source, daddr or destination, dport, sport, dports, sports, jump, redirect-to or to-port, to-ports,
    to-source, to-destination, reject-with.

    table
        For ``full``: the table.
    chain
        For ``full``: the chain.
    command
        For ``full``: insert, add or delete.
    position
        For ``full`` and insert: the handle of the rule to insert this one before.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.build_rule filter forward command=add full=True of=ens3 counter=True jump=drop
    """
    unused = INTERNAL | {"chain", "save", "table", "state"}
    nftrules.real_family(family)
    rule = nftrules.build(family, {key: value for key, value in kwargs.items() if key not in unused})
    ret = {"result": False, "rule": rule, "comment": ""}
    if full in (True, "True", "true"):
        for word, given in (("Table", table), ("Chain", chain), ("Command", command)):
            if not given:
                return dict(ret, comment="%s needs to be specified" % word)
        command = command.lower() if command.lower() == "insert" else command
        where = "position %s " % position if command == "insert" and position else ""
        parts = (command, nftrules.real_family(family), table, chain, where, rule)
        ret["rule"] = "nft %s rule %s %s %s %s%s" % parts
    return dict(ret, result=True, comment="Successfully built rule" if ret["rule"] else "")


def get_rule_handle(table="filter", chain=None, rule=None, family="ipv4"):
    """
    Return ``{"result": True, "handle": text}`` of a rule, by which nft deletes it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.get_rule_handle filter app rule='tcp dport 8443 accept'
    """
    problem = _lacking(table, chain, rule, family) or _unlike(check(table, chain, rule, family), True)
    if problem:
        return problem
    return {"result": True, "handle": _handle(table, chain, rule, family)}


def check(table="filter", chain=None, rule=None, family="ipv4"):
    """
    Whether the chain has a rule

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.check filter app rule='tcp dport 8443 accept'
    """
    problem = _lacking(table, chain, rule, family)
    if problem:
        return problem
    exists = _handle(table, chain, rule, family) is not None
    words = "Rule %s in chain %s in table %s in family %s %s"
    return _ret(exists, words % (rule, chain, table, family, "exists" if exists else "does not exist"))


def check_chain(table="filter", chain=None, family="ipv4"):
    """
    Whether the table has a chain

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.check_chain filter app
    """
    if not chain:
        return _ret(False, "Chain needs to be specified")
    lines = _nft("list", "table", nftrules.real_family(family), table)["stdout"].splitlines()
    exists = any(line.split() == ["chain", str(chain), "{"] for line in lines)
    words = "Chain %s in table %s in family %s %s"
    return _ret(exists, words % (chain, table, family, "exists" if exists else "does not exist"))


def check_table(table=None, family="ipv4"):
    """
    Whether there is a table

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.check_table app
    """
    if not table:
        return _ret(False, "Table needs to be specified")
    lines = _nft("list", "tables", nftrules.real_family(family))["stdout"].splitlines()
    present = ["table", nftrules.real_family(family), str(table)] in map(str.split, lines)
    return _ret(present, "Table %s in family %s %s" % (table, family, "exists" if present else "does not exist"))


def new_table(table, family="ipv4"):
    """
    Create a table; an existing one is also a success

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.new_table app
    """
    if not table:
        return _ret(False, "Table needs to be specified")
    existing = check_table(table, family)
    if existing["result"]:
        return existing
    what = "Table %s in family %s" % (table, family)
    return _did(
        ["add", "table", nftrules.real_family(family), table], what + " created", what + " could not be created"
    )


def delete_table(table, family="ipv4"):
    """
    Delete a table with its content

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.delete_table app
    """
    if not table:
        return _ret(False, "Table needs to be specified")
    existing = check_table(table, family)
    if not existing["result"]:
        return existing
    what = "Table %s in family %s" % (table, family)
    return _did(
        ["delete", "table", nftrules.real_family(family), table], what + " deleted", what + " could not be deleted"
    )


def new_chain(table="filter", chain=None, table_type=None, hook=None, priority=None, family="ipv4"):
    """
    Create a chain in a table

    table_type
        For a base chain, with the next two: filter, nat or route.
    hook
        prerouting, input, forward, output, postrouting or ingress.
    priority
        A number, or a keyword of nft; chains with lower priorities come first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.new_chain app early table_type=filter hook=prerouting priority=-150
    """
    if not chain:
        return _ret(False, "Chain needs to be specified")
    problem = _unlike(check_table(table, family), True)
    if problem:
        return problem
    what = "Chain %s in table %s in family %s" % (chain, table, family)
    if check_chain(table, chain, family)["result"]:
        return _ret(False, what + " already exists")
    words = ["--", "add", "chain", nftrules.real_family(family), table, chain]
    if table_type or hook or priority:
        if not (table_type and hook and priority is not None):
            return _ret(False, "Table_type, hook, and priority required.")
        words.append("{ type %s hook %s priority %s; }" % (table_type, hook, priority))
    return _did(words, what + " created", what + " could not be created")


def delete_chain(table="filter", chain=None, family="ipv4"):
    """
    Delete a chain, which must not be a target of jumps

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.delete_chain app early
    """
    problem = _lacking(table, chain, True, family)
    if problem:
        return problem
    what = "Chain %s in table %s in family %s" % (chain, table, family)
    return _did(
        ["delete", "chain", nftrules.real_family(family), table, chain],
        what + " deleted",
        what + " could not be deleted",
    )


def append(table="filter", chain=None, rule=None, family="ipv4"):
    """
    Add a rule at the end of a chain that lacks it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.append app early rule='ip saddr 203.0.113.0/24 drop'
    """
    return _add("add", table, chain, None, rule, family)


def insert(table="filter", chain=None, position=None, rule=None, family="ipv4"):
    """
    Add a rule at the beginning of a chain that lacks it, or before the rule with the handle ``position``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.insert app early position=4 rule='ip saddr 203.0.113.0/24 drop'
    """
    return _add("insert", table, chain, position, rule, family)


def delete(table, chain=None, position=None, rule=None, family="ipv4"):
    """
    Remove a rule, given as text or by its handle (``position``)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.delete app early rule='ip saddr 203.0.113.0/24 drop'
    """
    if position and rule:
        return _ret(False, "Only specify a position or a rule, not both")
    problem = _lacking(table, chain, rule or position, family)
    if problem:
        return problem
    handle = position or _handle(table, chain, rule, family)
    where = "%s in table %s in family %s" % (chain, table, family)
    if handle is None:
        return _ret(False, "Rule %s chain %s does not exist" % (rule, where))
    shown = rule or "handle %s" % position
    words = ["delete", "rule", nftrules.real_family(family), table, chain, "handle", handle]
    return _did(
        words,
        'Deleted rule "%s" in chain %s.' % (shown, where),
        'Failed to delete rule "%s" in chain %s' % (shown, where),
    )


def flush(table="filter", chain="", family="ipv4"):
    """
    Remove all rules of a chain, or of all chains of a table

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.flush app early
    """
    problem = _unlike(check_table(table, family), True)
    where = "from table %s in family %s." % (table, family)
    words = ["flush", "table", nftrules.real_family(family), table]
    if chain and not problem:
        problem = _unlike(check_chain(table, chain, family), True)
        where = "from chain %s in table %s in family %s." % (chain, table, family)
        words = ["flush", "chain", nftrules.real_family(family), table, chain]
    return problem or _did(words, "Flushed rules " + where, "Failed to flush rules " + where)


def get_policy(table="filter", chain=None, family="ipv4"):
    """
    Return the policy of a chain: accept or drop; None for a chain without a hook

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.get_policy app early
    """
    if not chain:
        return "Error: Chain needs to be specified"
    return (_about(table, chain, family) or {}).get("policy")


def set_policy(table="filter", chain=None, policy=None, family="ipv4"):
    """
    Set the policy of a chain with a hook: accept or drop; returns whether it worked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' nftables.set_policy app early drop
    """
    if not chain:
        return "Error: Chain needs to be specified"
    if not policy:
        return "Error: Policy needs to be specified"
    about = _about(table, chain, family)
    if not about or not {"type", "hook", "prio"}.issubset(about):
        return False
    about = dict(about, policy=policy)
    body = "{ type %(type)s hook %(hook)s priority %(prio)s; policy %(policy)s; }" % about
    return _nft("--", "add", "chain", nftrules.real_family(family), table, chain, body)["retcode"] == 0


def _add(command, table, chain, position, rule, family):
    problem = _lacking(table, chain, rule, family)
    if problem:
        return problem
    where = "chain %s in table %s in family %s" % (chain, table, family)
    if _handle(table, chain, rule, family) is not None:
        return _ret(False, "Rule %s %s already exists" % (rule, where))
    words = (
        [command, "rule", nftrules.real_family(family), table, chain]
        + (["position", position] if position else [])
        + [rule]
    )
    return _did(words, 'Added rule "%s" %s.' % (rule, where), 'Failed to add rule "%s" %s.' % (rule, where))


def _handle(table, chain, rule, family):
    """The handle of a rule, or None."""
    listing = _nft("--handle", "list", "chain", nftrules.real_family(family), table, chain)["stdout"]
    wanted = nftrules.canonical(rule)
    for text, handle in nftrules.handles(listing):
        if nftrules.canonical(text) == wanted:
            return handle
    return None


def _about(table, chain, family):
    """The properties of a chain that nft lists: {table, name, type, hook, prio, policy}."""
    for item in __salt__["nftables.get_rules_json"](family):
        about = item.get("chain")
        if about and (about["table"], about["name"]) == (table, chain):
            return about
    return None


def _lacking(table, chain, rule, family):
    """The error in the position of a rule, or None."""
    if not chain:
        return _ret(False, "Chain needs to be specified")
    if not rule:
        return _ret(False, "Rule needs to be specified")
    return _unlike(check_table(table, family), True) or _unlike(check_chain(table, chain, family), True)


def _unlike(ret, result):
    return None if ret["result"] is result else ret


def _ret(result, comment):
    return {"result": result, "comment": comment}


def _did(words, done, failed):
    out = _nft(*words)
    return _ret(True, done) if out["retcode"] == 0 else _ret(False, "%s\n%s" % (failed, out["stderr"]))


def _nft(*words):
    return nftrules.run(__salt__["cmd.run_all"], *words)
