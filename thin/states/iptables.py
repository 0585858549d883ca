"""
Firewall rules with iptables: chains, rules and policies. Salt: ``salt/states/iptables.py``.

Options of a rule are arguments by their long names, as ``iptables.build_rule`` has them: ``- jump: ACCEPT``. ``save``:
the current rules are written to the file that is loaded at boot (True), or to another file. ``rules``: a list of rules,
each with arguments of its own.
"""

from thin.call_state import INTERNAL
from thin.utils.state import gen_tag

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt

_FAILED = "Failed to %s %s chain in %s table: %s for %s"


def __virtual__():
    return True if "iptables.version" in __salt__ else (False, "iptables module could not be loaded")


def chain_present(name, table="filter", family="ipv4"):
    """
    The table has a chain.

    name
        The chain.
    table
        The table: filter, nat, mangle, raw, security.
    family
        ipv4 or ipv6.
    """
    ret = _ret(name)
    if __salt__["iptables.check_chain"](table, name, family) is True:
        return _with(ret, True, "iptables %s chain is already exist in %s table for %s" % (name, table, family))
    if __opts__["test"]:
        return _with(ret, None, "iptables %s chain in %s table needs to be set for %s" % (name, table, family))
    answer = __salt__["iptables.new_chain"](table, name, family)
    if answer is not True:
        return _with(ret, False, _FAILED % ("create", name, table, answer.strip(), family))
    ret["changes"] = {"locale": name}
    return _with(ret, True, "iptables %s chain in %s table create success for %s" % (name, table, family))


def chain_absent(name, table="filter", family="ipv4"):
    """
    The table does not have a chain; its rules go with it.

    name
        The chain.
    table
        The table.
    family
        ipv4 or ipv6.
    """
    ret = _ret(name)
    if not __salt__["iptables.check_chain"](table, name, family):
        return _with(ret, True, "iptables %s chain is already absent in %s table for %s" % (name, table, family))
    if __opts__["test"]:
        return _with(ret, None, "iptables %s chain in %s table needs to be removed %s" % (name, table, family))
    answer = __salt__["iptables.flush"](table, name, family)
    if answer:
        return _with(ret, False, _FAILED % ("flush", name, table, answer.strip(), family))
    answer = __salt__["iptables.delete_chain"](table, name, family)
    if answer is not True:
        return _with(ret, False, _FAILED % ("delete", name, table, answer.strip(), family))
    ret["changes"] = {"locale": name}
    return _with(ret, True, "iptables %s chain in %s table delete success for %s" % (name, table, family))


def append(name, table="filter", family="ipv4", **kwargs):
    """
    A chain has a rule; a missing one is added at its end.

    name
        What the rule is called here; iptables does not see it.
    table
        The table.
    family
        ipv4 or ipv6.
    save
        True: write the rules to the file that is loaded at boot; text: to this file.
    rules
        Several rules to add, each a dict of these arguments.
    kwargs
        ``chain``, and the rule's options.
    """
    if "rules" in kwargs:
        return _each(append, name, family, kwargs["rules"])
    return _rule_there(name, table, family, kwargs, "A", _APPEND)


def insert(name, table="filter", family="ipv4", **kwargs):
    """
    A chain has a rule; a missing one is inserted at a position.

    name
        What the rule is called here; iptables does not see it.
    table
        The table.
    family
        ipv4 or ipv6.
    position
        The number that the rule gets; negative ones count from the end.
    save
        True: write the rules to the file that is loaded at boot; text: to this file.
    rules
        Several rules to insert, each a dict of these arguments.
    kwargs
        ``chain``, and the rule's options.
    """
    if "rules" in kwargs:
        return _each(insert, name, family, kwargs["rules"])
    if not kwargs.get("position"):
        return _with(_ret(name), False, "position is needed: the number that the rule gets in the chain")
    return _rule_there(name, table, family, kwargs, "I", _INSERT)


def delete(name, table="filter", family="ipv4", **kwargs):
    """
    A chain does not have a rule.

    name
        What the rule is called here; iptables does not see it.
    table
        The table.
    family
        ipv4 or ipv6.
    position
        Remove the rule with this number, regardless of its content.
    save
        True: write the rules to the file that is loaded at boot; text: to this file.
    rules
        Several rules to remove, each a dict of these arguments.
    kwargs
        ``chain``, and the rule's options.
    """
    if "rules" in kwargs:
        return _each(delete, name, family, kwargs["rules"])
    ret, options = _ret(name), _options(kwargs)
    chain, rule, command, problem = _built(name, table, family, options, "D")
    if problem:
        return _with(ret, False, problem)
    exists = __salt__["iptables.check"](table, chain, rule, family) is True if rule else False
    if not exists and "position" not in options:
        return _with(ret, True, "iptables rule for %s already absent for %s (%s)" % (name, family, command))
    if __opts__["test"]:
        return _with(ret, None, "iptables rule for %s needs to be deleted for %s (%s)" % (name, family, command))
    which = {"position": options["position"]} if "position" in options else {"rule": rule}
    answer = __salt__["iptables.delete"](table, chain, family=family, **which)
    if answer:
        words = "Failed to delete iptables rule for %s.\nAttempted rule was %s\n%s"
        return _with(ret, False, words % (name, command, answer))
    ret["changes"] = {"locale": name}
    _with(ret, True, "Delete iptables rule for %s %s" % (name, command))
    return _kept(ret, options, family, "Deleted and saved iptables rule %s for %s\n%s\n" % (name, family, command))


def set_policy(name, table="filter", family="ipv4", **kwargs):
    """
    A chain has this policy.

    name
        What this is called; iptables does not see it.
    table
        The table.
    family
        ipv4 or ipv6.
    chain
        The chain, one of those that iptables brings.
    policy
        ACCEPT or DROP.
    save
        True: write the rules to the file that is loaded at boot; text: to this file.
    """
    ret, options = _ret(name), _options(kwargs)
    for word in ("chain", "policy"):
        if not options.get(word):
            return _with(ret, False, "%s is needed" % word)
    chain, policy = options["chain"], options["policy"]
    if __salt__["iptables.get_policy"](table, chain, family) == policy:
        words = "iptables default policy for chain %s on table %s for %s already set to %s"
        return _with(ret, True, words % (chain, table, family, policy))
    if __opts__["test"]:
        words = "iptables default policy for chain %s on table %s for %s needs to be set to %s"
        return _with(ret, None, words % (chain, table, family, policy))
    answer = __salt__["iptables.set_policy"](table, chain, policy, family)
    if answer:
        return _with(ret, False, "Failed to set iptables default policy: %s" % answer)
    ret["changes"] = {"locale": name}
    words = "default policy for %s to %s family %s" % (chain, policy, family)
    return _kept(_with(ret, True, "Set " + words), options, family, "Set and saved " + words, "")


def flush(name, table="filter", family="ipv4", **kwargs):
    """
    All rules of a chain, or of all chains of a table, are removed. This is always reported as a change.

    name
        What this is called; iptables does not see it.
    table
        The table.
    family
        ipv4 or ipv6.
    chain
        The chain; all of the table by default.
    """
    ret, chain = _ret(name), kwargs.get("chain") or ""
    if __opts__["test"]:
        words = "iptables rules in %s table %s chain %s family needs to be flushed"
        return _with(ret, None, words % (name, table, family))
    answer = __salt__["iptables.flush"](table, chain, family)
    if answer:
        return _with(ret, False, "Failed to flush iptables rules: %s" % answer)
    ret["changes"] = {"locale": name}
    return _with(ret, True, "Flush iptables rules in %s table %s chain %s family" % (table, chain, family))


def mod_aggregate(low, chunks, running):
    """Rules of all chunks with the same function are added by the first of them, and saved once."""
    if low.get("fun") not in ("append", "insert"):
        return low
    rules = []
    for chunk in chunks:
        same = chunk.get("state") == "iptables" and chunk.get("fun") == low["fun"]
        if same and "__agg__" not in chunk and gen_tag(chunk) not in running:
            rules.append(dict(chunk))
            chunk["__agg__"] = True
    if rules:
        # the chunk's own rule is first: the others are moved to it
        own = low["rules"] if "rules" in low else [dict(low)] if "chain" in low else []
        low["rules"] = own + rules
    return low


#: comments for a rule that exists, that is needed, that was added, saved, or rejected: (name, command, family)
_APPEND = (
    "iptables rule for {0} already set ({1}) for {2}",
    "iptables rule for {0} needs to be set ({1}) for {2}",
    "Set iptables rule for {0} to: {1} for {2}",
    "Set and saved iptables rule {0} for {2}\n{1}\n",
    "Failed to set iptables rule for {0}.\nAttempted rule was {1} for {2}",
)
_INSERT = (
    "iptables rule for {0} already set for {2} ({1})",
    "iptables rule for {0} needs to be set for {2} ({1})",
    "Set iptables rule for {0} to: {1} for {2}",
    "Set and saved iptables rule {0} for {2}\n{1}\n",
    "Failed to set iptables rule for {0}.\nAttempted rule was {1}",
)


def _rule_there(name, table, family, kwargs, letter, words):
    ret, options = _ret(name), _options(kwargs)
    chain, rule, command, problem = _built(name, table, family, options, letter)
    if problem:
        return _with(ret, False, problem)
    exists, needed, added, saved, refused = [text.format(name, command, family) for text in words]
    if __salt__["iptables.check"](table, chain, rule, family) is True:
        _with(ret, True, exists)
        if options.get("save") and not __opts__["test"] and not _same_as_saved(options, family):
            out = __salt__["iptables.save"](filename=_file(options), family=family)
            ret["comment"] += "\nSaved iptables rule %s for %s\n%s\n%s" % (name, family, command, out)
        return ret
    if __opts__["test"]:
        return _with(ret, None, needed)
    if letter == "A":
        done = __salt__["iptables.append"](table, chain, rule, family)
    else:
        done = not __salt__["iptables.insert"](table, chain, options["position"], rule, family)
    if not done:
        return _with(ret, False, "\n".join([refused, __context__.get("iptables.refused") or ""]).rstrip())
    ret["changes"] = {"locale": name}
    return _kept(_with(ret, True, added), options, family, saved)


def _built(name, table, family, options, letter):
    """(chain, rule, complete command for people, error)."""
    chain = options.get("chain")
    if not chain:
        return None, "", "", "chain is needed: the chain that the rule is in"
    given = dict({key: value for key, value in options.items() if key not in ("family", "full", "command")}, name=name)
    rule = __salt__["iptables.build_rule"](family=family, **dict(given, table=table))
    command = __salt__["iptables.build_rule"](full=True, family=family, command=letter, **dict(given, table=table))
    return chain, rule, command.strip(), rule if rule.startswith("Error:") else ""


def _same_as_saved(options, family):
    """Whether the current rules are those in the file. A missing file has none."""
    try:
        saved = __salt__["iptables.get_saved_rules"](conf_file=_file(options), family=family)
    except (IOError, OSError):
        return False
    return _rules(saved) == _rules(__salt__["iptables.get_rules"](family=family))


def _rules(tables):
    return [chain["rules"] for table in tables.values() for chain in table.values()]


def _kept(ret, options, family, words, out=None):
    """Save the rules if this is wanted, and add it to the comment."""
    if options.get("save"):
        answer = __salt__["iptables.save"](filename=_file(options), family=family)
        ret["comment"] = words + (answer if out is None else out)
    return ret


def _file(options):
    return None if options["save"] is True else options["save"]


def _each(state, name, family, rules):
    """Apply each rule separately; files are written once, at the end."""
    ret, done, files = _ret(name), [], {}
    for rule in rules:
        rule = {key: value for key, value in rule.items() if key not in ("rules", "__agg__")}
        if rule.get("save"):
            files[(rule.pop("save"), rule.get("family", family))] = True
        done.append(state(**rule))
    if not __opts__["test"]:
        for wanted, of_family in files:
            __salt__["iptables.save"](filename=None if wanted is True else wanted, family=of_family)
    changed = [each["changes"]["locale"] for each in done if "locale" in each["changes"]]
    if changed:
        ret["changes"]["locale"] = changed
    results = [each["result"] for each in done]
    ret["result"] = False if False in results else None if None in results else True
    ret["comment"] = "\n".join(each["comment"] for each in done)
    return ret


def _options(kwargs):
    return {key: value for key, value in kwargs.items() if key not in INTERNAL and key not in ("__agg__", "aggregate")}


def _ret(name):
    return {"name": name, "changes": {}, "result": None, "comment": ""}


def _with(ret, result, comment):
    ret["result"], ret["comment"] = result, comment
    return ret
