"""Sets of addresses for firewalls, and their entries, with ipset. Salt: ``salt/states/ipset.py``."""

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt


def __virtual__():
    return True if "ipset.version" in __salt__ else (False, "ipset module could not be loaded")


def set_present(name, set_type, family="ipv4", **kwargs):
    """
    The set exists; its type is not compared.

    name
        The set.
    set_type
        The type of a new set, as ``hash:ip``.
    family
        ipv4 or ipv6.
    kwargs
        What ipset takes for a set of that type, as ``ipset.new_set``.
    """
    ret = _ret(name)
    if __salt__["ipset.check_set"](name) is True:
        return _with(ret, True, "ipset set %s already exists for %s" % (name, family))
    if __opts__["test"]:
        return _with(ret, None, "ipset set %s would be added for %s" % (name, family))
    answer = __salt__["ipset.new_set"](name, set_type, family, **kwargs)
    if answer is not True:
        return _with(ret, False, "Failed to create set %s for %s: %s" % (name, family, answer.strip()))
    ret["changes"] = {"locale": name}
    return _with(ret, True, "ipset set %s created successfully for %s" % (name, family))


def set_absent(name, family="ipv4", **kwargs):
    """
    There is no set of this name; its entries go with it.

    name
        The set.
    family
        ipv4 or ipv6.
    """
    ret = _ret(name)
    if not __salt__["ipset.check_set"](name, family):
        return _with(ret, True, "ipset set %s for %s is already absent" % (name, family))
    if __opts__["test"]:
        return _with(ret, None, "ipset set %s for %s would be removed" % (name, family))
    if not __salt__["ipset.flush"](name, family):
        return _with(ret, False, "Failed to flush set %s for %s" % (name, family))
    answer = __salt__["ipset.delete_set"](name, family)
    if answer is not True:
        return _with(ret, False, "Failed to delete set %s for %s: %s" % (name, family, answer.strip()))
    ret["changes"] = {"locale": name}
    return _with(ret, True, "ipset set %s deleted successfully for family %s" % (name, family))


def present(name, entry=None, family="ipv4", **kwargs):
    """
    A set has entries.

    name
        A name of the state, not passed to ipset.
    entry
        An entry or a list of them, each optionally followed by its options.
    family
        ipv4 or ipv6.
    set_name
        The set.
    timeout, comment
        For all entries that do not have their own.
    kwargs
        More options of the entries, as ``ipset.add``.
    """
    ret = dict(_ret(name), result=True)
    set_name, problem = _given(entry, kwargs)
    if problem:
        return _with(ret, False, problem)
    wrong = ""
    for bare, whole in _entries(entry, kwargs):
        if __salt__["ipset.check"](set_name, whole, family) is True:
            ret["comment"] += "entry for %s already in set %s for %s\n" % (bare, set_name, family)
        elif __opts__["test"]:
            ret["result"] = None
            ret["comment"] += "entry %s would be added to set %s for family %s\n" % (bare, set_name, family)
        else:
            answer = __salt__["ipset.add"](set_name, whole, family, **_options(kwargs))
            if "Error" in answer:
                wrong += "Failed to add to entry %s to set %s for family %s.\n%s\n" % (whole, set_name, family, answer)
                continue
            ret["changes"] = {"locale": name}
            ret["comment"] += "entry %s added to set %s for family %s\n" % (whole, set_name, family)
    return _with(ret, False, ret["comment"] + wrong.rstrip()) if wrong else ret


def absent(name, entry=None, entries=None, family="ipv4", **kwargs):
    """
    A set does not have entries.

    name
        A name of the state, not passed to ipset.
    entry
        An entry or a list of them, each optionally followed by options: only an entry with these options is removed.
    entries
        Another name of ``entry``.
    family
        ipv4 or ipv6.
    set_name
        The set.
    timeout, comment
        For all entries that do not have their own.
    """
    ret = dict(_ret(name), result=True)
    entry = entry or entries
    set_name, problem = _given(entry, kwargs)
    if problem:
        return _with(ret, False, problem)
    wrong = ""
    for bare, whole in _entries(entry, kwargs):
        if __salt__["ipset.check"](set_name, whole, family) is not True:
            ret["comment"] += "ipset entry for %s not present in set %s for %s\n" % (whole, set_name, family)
        elif __opts__["test"]:
            ret["result"] = None
            ret["comment"] += "ipset entry %s would be removed from set %s for %s\n" % (bare, set_name, family)
        else:
            answer = __salt__["ipset.delete"](set_name, bare, family, **_options(kwargs))
            if "Error" in answer:
                words = "Failed to delete ipset entry from set %s for %s. Attempted entry was %s.\n%s\n"
                wrong += words % (set_name, family, whole, answer)
                continue
            ret["changes"] = {"locale": name}
            ret["comment"] += "ipset entry %s removed from set %s for %s\n" % (whole, set_name, family)
    return _with(ret, False, ret["comment"] + wrong.rstrip()) if wrong else ret


def flush(name, family="ipv4", **kwargs):
    """
    All entries of a set are removed. This is always reported as a change.

    name
        The set.
    family
        ipv4 or ipv6.
    """
    ret = _ret(name)
    if not __salt__["ipset.check_set"](name):
        return _with(ret, False, "ipset set %s does not exist for %s" % (name, family))
    if __opts__["test"]:
        return _with(ret, None, "ipset entries in set %s for %s would be flushed" % (name, family))
    if not __salt__["ipset.flush"](name, family):
        return _with(ret, False, "Failed to flush ipset entries from set %s for %s" % (name, family))
    ret["changes"] = {"locale": name}
    return _with(ret, True, "Flushed ipset entries from set %s for %s" % (name, family))


def _given(entry, kwargs):
    """(the set, the missing arguments)."""
    if not entry:
        return None, "ipset entry must be specified"
    return kwargs.get("set_name"), "" if kwargs.get("set_name") else "ipset set_name must be specified"


def _options(kwargs):
    return {key: value for key, value in kwargs.items() if key != "set_name"}


def _entries(entry, kwargs):
    """(entry alone, entry with its options) of each; the options as ``ipset list`` prints them."""
    for each in entry if isinstance(entry, list) else [entry]:
        bare, _, options = str(each).partition(" ")
        if "timeout" in kwargs and "timeout" not in options:
            options = "timeout %s %s" % (kwargs["timeout"], options)
        if "comment" in kwargs and "comment" not in options:
            comment = str(kwargs["comment"])
            options = "%s comment %s" % (options, '"%s"' % comment if " " in comment else comment)
        yield bare, ("%s %s" % (bare, options.strip())).strip()


def _ret(name):
    return {"name": name, "changes": {}, "result": None, "comment": ""}


def _with(ret, result, comment):
    ret["result"], ret["comment"] = result, comment
    return ret
