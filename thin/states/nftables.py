"""
Firewall rules with nftables: tables, chains, rules and policies. Salt: ``salt/states/nftables.py``.

Options of a rule are arguments that are called like those of iptables, as ``nftables.build_rule`` has them. ``save``:
the rules of all families are written to ``/etc/nftables``.
"""

from thin.call_state import INTERNAL

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt


def __virtual__():
    return "nftables" if "nftables.version" in __salt__ else (False, "nftables module could not be loaded")


def chain_present(name, table="filter", table_type=None, hook=None, priority=None, family="ipv4"):
    """
    The table has a chain; other properties of an existing one are not compared.

    name
        The chain.
    table
        The table, which must exist.
    table_type
        For a base chain, with the next two: filter, nat or route.
    hook
        prerouting, input, forward, output, postrouting or ingress.
    priority
        A number, or a keyword of nft.
    family
        ipv4, ipv6, inet, arp, bridge or netdev.
    """
    ret = _ret(name)
    if __salt__["nftables.check_chain"](table, name, family=family)["result"] is True:
        return _with(ret, True, "nftables %s chain is already exist in %s table for %s" % (name, table, family))
    if __opts__["test"]:
        words = "nftables chain %s would be created in table %s for family %s"
        return _with(ret, None, words % (name, table, family))
    done = __salt__["nftables.new_chain"](
        table, name, table_type=table_type, hook=hook, priority=priority, family=family
    )
    if done["result"] is not True:
        words = "Failed to create %s chain in %s table: %s for %s"
        return _with(ret, False, words % (name, table, done["comment"].strip(), family))
    ret["changes"] = {"locale": name}
    return _with(ret, True, "nftables %s chain in %s table create success for %s" % (name, table, family))


def chain_absent(name, table="filter", family="ipv4"):
    """
    The table does not have a chain; its rules go with it.

    name
        The chain.
    table
        The table.
    family
        ipv4, ipv6, inet, arp, bridge or netdev.
    """
    ret = _ret(name)
    if not __salt__["nftables.check_chain"](table, name, family)["result"]:
        return _with(ret, True, "nftables %s chain is already absent in %s table for %s" % (name, table, family))
    if __opts__["test"]:
        return _with(ret, None, "nftables %s chain in %s table needs to be removed %s" % (name, table, family))
    for what in ("flush", "delete_chain"):
        done = __salt__["nftables." + what](table, name, family)
        if not done["result"]:
            words = "Failed to %s %s chain in %s table: %s for %s"
            return _with(ret, False, words % (what.split("_")[0], name, table, done["comment"].strip(), family))
    ret["changes"] = {"locale": name}
    return _with(ret, True, "nftables %s chain in %s table delete success for %s" % (name, table, family))


def append(name, family="ipv4", **kwargs):
    """
    A chain has a rule; a missing one is added at its end.

    name
        What the rule is called here; nftables does not see it.
    family
        ipv4, ipv6, inet, arp, bridge or netdev.
    save
        Write the rules to ``/etc/nftables``.
    kwargs
        ``table``, ``chain``, and the rule's options.
    """
    ret, table, chain, rule = _begun(name, family, kwargs)
    if ret["result"] is False:
        return ret
    if __salt__["nftables.check"](table, chain, rule, family)["result"]:
        return _with(ret, True, "nftables rule for %s already set (%s) for %s" % (name, rule, family))
    if __opts__["test"]:
        return _with(ret, None, "nftables rule for %s needs to be set (%s) for %s" % (name, rule, family))
    done = __salt__["nftables.append"](table, chain, rule, family)
    return _finished(ret, done, "set", kwargs, rule, family)


def insert(name, family="ipv4", **kwargs):
    """
    A chain has a rule; a missing one is inserted at its beginning.

    name
        What the rule is called here; nftables does not see it.
    family
        ipv4, ipv6, inet, arp, bridge or netdev.
    position
        The handle of the rule before which it is inserted.
    save
        Write the rules to ``/etc/nftables``.
    kwargs
        ``table``, ``chain``, and the rule's options.
    """
    ret, table, chain, rule = _begun(name, family, kwargs)
    if ret["result"] is False:
        return ret
    if __salt__["nftables.check"](table, chain, rule, family)["result"]:
        return _with(ret, True, "nftables rule for %s already set for %s (%s)" % (name, family, rule))
    if __opts__["test"]:
        return _with(ret, None, "nftables rule for %s needs to be set for %s (%s)" % (name, family, rule))
    done = __salt__["nftables.insert"](table, chain, kwargs.get("position"), rule, family)
    return _finished(ret, done, "set", kwargs, rule, family)


def delete(name, family="ipv4", **kwargs):
    """
    A chain does not have a rule.

    name
        What the rule is called here; nftables does not see it.
    family
        ipv4, ipv6, inet, arp, bridge or netdev.
    position
        The handle of the rule to remove if the chain has the described rule.
    save
        Write the rules to ``/etc/nftables``.
    kwargs
        ``table``, ``chain``, and the rule's options.
    """
    ret, table, chain, rule = _begun(name, family, kwargs)
    if ret["result"] is False:
        return ret
    if not __salt__["nftables.check"](table, chain, rule, family)["result"]:
        return _with(ret, True, "nftables rule for %s already absent for %s (%s)" % (name, family, rule))
    if __opts__["test"]:
        return _with(ret, None, "nftables rule for %s needs to be deleted for %s (%s)" % (name, family, rule))
    which = {"position": kwargs["position"]} if "position" in kwargs else {"rule": rule}
    done = __salt__["nftables.delete"](table, chain, family=family, **which)
    return _finished(ret, done, "delete", kwargs, rule, family)


def flush(name, family="ipv4", ignore_absence=False, **kwargs):
    """
    All rules of a chain, or of all chains of a table, are removed. This is always reported as a change.

    name
        What this is called; nftables does not see it.
    family
        ipv4, ipv6, inet, arp, bridge or netdev.
    ignore_absence
        A table or chain that does not exist is no failure.
    table
        The table, ``filter`` by default.
    chain
        The chain; all of the table by default.
    """
    ret = _ret(name)
    if __opts__["test"]:
        return _with(ret, None, "nftables flush not performed in test mode.")
    table, chain = kwargs.get("table", "filter"), kwargs.get("chain", "")
    exists = __salt__["nftables.check_table"](table, family=family)["result"]
    if not exists and not ignore_absence:
        words = "Failed to flush table %s in family %s, table does not exist."
        return _with(ret, False, words % (table, family))
    if chain:
        exists = exists and __salt__["nftables.check_chain"](table, chain, family=family)["result"]
        if not exists and not ignore_absence:
            words = "Failed to flush chain %s in table %s in family %s, chain does not exist."
            return _with(ret, False, words % (chain, table, family))
    done = __salt__["nftables.flush"](table, chain, family)
    if exists and not done["result"]:
        return _with(ret, False, "Failed to flush nftables rules: %s" % done["comment"])
    ret["changes"] = {"locale": name}
    return _with(ret, True, "Flush nftables rules in %s table %s chain %s family" % (table, chain, family))


def set_policy(name, table="filter", family="ipv4", **kwargs):
    """
    A chain with a hook has this policy.

    name
        What this is called; nftables does not see it.
    table
        The table.
    family
        ipv4, ipv6, inet, arp, bridge or netdev.
    chain
        The chain.
    policy
        accept or drop.
    save
        Write the rules to a file.
    save_filename
        That file, ``/etc/nftables`` by default.
    """
    ret = _ret(name)
    for word in ("chain", "policy"):
        if not kwargs.get(word):
            return _with(ret, False, "%s is needed" % word)
    chain, policy = kwargs["chain"], kwargs["policy"]
    what = "default policy for chain %s on table %s for %s" % (chain, table, family)
    if (__salt__["nftables.get_policy"](table, chain, family) or "").lower() == policy.lower():
        return _with(ret, True, "nftables %s already set to %s" % (what, policy))
    if __opts__["test"]:
        return _with(ret, None, "nftables %s needs to be set to %s" % (what, policy))
    if not __salt__["nftables.set_policy"](table, chain, policy.lower(), family):
        return _with(ret, False, "Failed to set nftables default policy")
    ret["changes"] = {"locale": name}
    policy_text = "default policy for %s to %s family %s" % (chain, policy, family)
    if kwargs.get("save"):
        __salt__["nftables.save"](filename=kwargs.get("save_filename"), family=family)
        return _with(ret, True, "Set and saved " + policy_text)
    return _with(ret, True, "Set " + policy_text)


def table_present(name, family="ipv4", **kwargs):
    """
    There is a table of this name.

    name
        The table.
    family
        ipv4, ipv6, inet, arp, bridge or netdev.
    """
    ret = _ret(name)
    if __salt__["nftables.check_table"](name, family=family)["result"] is True:
        return _with(ret, True, "nftables table %s already exists in family %s" % (name, family))
    if __opts__["test"]:
        return _with(ret, None, "nftables table %s would be created in family %s" % (name, family))
    done = __salt__["nftables.new_table"](name, family=family)
    if done["result"] is not True:
        return _with(ret, False, "Failed to create table %s for family %s: %s" % (name, family, done["comment"]))
    ret["changes"] = {"locale": name}
    return _with(ret, True, "nftables table %s successfully created in family %s" % (name, family))


def table_absent(name, family="ipv4", **kwargs):
    """
    The table does not exist; its content is removed with it.

    name
        The table.
    family
        ipv4, ipv6, inet, arp, bridge or netdev.
    """
    ret = _ret(name)
    if __salt__["nftables.check_table"](name, family)["result"] is False:
        return _with(ret, True, "nftables table %s is already absent from family %s" % (name, family))
    if __opts__["test"]:
        return _with(ret, None, "nftables table %s would be deleted from family %s" % (name, family))
    done = __salt__["nftables.delete_table"](name, family=family)
    if done["result"] is not True:
        return _with(ret, False, "Failed to delete table %s from family %s: %s" % (name, family, done["comment"]))
    ret["changes"] = {"locale": name}
    return _with(ret, True, "nftables table %s successfully deleted from family %s" % (name, family))


def _begun(name, family, kwargs):
    """(return, table, chain, rule); for invalid arguments, the return has failed and contains the error."""
    ret = _ret(name)
    options = {key: value for key, value in kwargs.items() if key not in INTERNAL}
    table, chain = options.pop("table", "filter"), options.pop("chain", None)
    if not chain:
        return _with(ret, False, "chain is needed: the chain that the rule is in"), table, chain, ""
    return ret, table, chain, __salt__["nftables.build_rule"](family=family, **options)["rule"]


def _finished(ret, done, what, kwargs, rule, family):
    name = ret["name"]
    if not done["result"]:
        words = "Failed to %s nftables rule for %s.\nAttempted rule was %s for %s.\n%s"
        return _with(ret, False, words % (what, name, rule, family, done["comment"]))
    ret["changes"] = {"locale": name}
    if kwargs.get("save"):
        __salt__["nftables.save"](filename=None, family=family)
        verb = "Set and Saved" if what == "set" else "Deleted and Saved"
    else:
        verb = "Set" if what == "set" else "Delete"
    words = "%s nftables rule for %s to: %s for %s" if what == "set" else "%s nftables rule for %s %s for %s"
    return _with(ret, True, words % (verb, name, rule, family))


def _ret(name):
    return {"name": name, "changes": {}, "result": None, "comment": ""}


def _with(ret, result, comment):
    ret["result"], ret["comment"] = result, comment
    return ret
