"""Names in the hosts file. Salt: states/host.py"""

__usual__ = True


def present(name, ip, comment="", clean=False):
    """The name is at this address, or at all of these; with ``clean``, at no other.

    ``comment`` is the comment of the line.
    """
    addresses = ip if isinstance(ip, list) else [ip]
    hosts = __salt__["hosts.list_hosts"]()
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    comments = []
    to_add, to_comment, to_remove = _compared(ret, comments, addresses, comment, clean, hosts)

    def work(kind, items, function, value, foreseen, done, failed):
        for address in items:
            if __opts__["test"]:
                ret["result"] = None
                comments.append(foreseen % _words(name, address, value))
            elif __salt__[function](address, value):
                comments.append(done % _words(name, address, value))
            else:
                ret["result"] = False
                comments.append(failed % _words(name, address, value))
                continue
            ret["changes"].setdefault(kind, {}).setdefault(address, []).append(value)

    work(
        "added",
        to_add,
        "hosts.add_host",
        name,
        "Host %(name)s (%(ip)s) would be added",
        "Added host %(name)s (%(ip)s)",
        "Failed to add host %(name)s (%(ip)s)",
    )
    work(
        "comment_added",
        to_comment,
        "hosts.set_comment",
        comment,
        "Comment for %(ip)s (%(value)s) would be added",
        "Set comment for host %(ip)s (%(value)s)",
        "Failed to add comment for host %(ip)s (%(value)s)",
    )
    work(
        "removed",
        to_remove,
        "hosts.rm_host",
        name,
        "Host %(name)s (%(ip)s) would be removed",
        "Removed host %(name)s (%(ip)s)",
        "Failed to remove host %(name)s (%(ip)s)",
    )
    ret["comment"] = "\n".join(comments)
    return ret


def _compared(ret, comments, addresses, comment, clean, hosts):
    """The addresses that get the name, those that get the comment, and those that lose the name."""
    name = ret["name"]
    to_add, to_remove = [address for address in addresses if address not in hosts], []
    to_comment = list(to_add) if comment else []
    for address, entry in hosts.items():
        has_name = isinstance(entry, dict) and name in entry["aliases"]
        if address not in addresses:
            if has_name and clean:
                to_remove.append(address)
            elif has_name:
                ret.setdefault("warnings", []).append(
                    "Host {0} present for IP address {1}. To get rid of this warning, either run this state with "
                    "'clean' set to True to remove {0} from {1}, or add {1} to the 'ip' argument.".format(name, address)
                )
            continue
        if not has_name and not _is_address(address):
            ret["result"] = False
            comments.append("Invalid IP Address for %s (%s)" % (name, address))
            continue
        to_add += [] if has_name else [address]
        if comment and (not has_name or entry.get("comment") != comment):
            to_comment.append(address)
        elif has_name:
            comments.append("Host %s (%s) already present" % (name, address))
    return to_add, to_comment, to_remove


def absent(name, ip):
    """The name is not at this address, or at any of these."""
    comments, results, changes = [], [], {}
    for address in ip if isinstance(ip, list) else [ip]:
        result, words = True, "Removed host %s (%s)"
        if not __salt__["hosts.has_pair"](address, name):
            words = "Host %s (%s) already absent"
        elif __opts__["test"]:
            result, words = None, "Host %s (%s) needs to be removed"
        elif __salt__["hosts.rm_host"](address, name):
            changes = {"host": name}
        else:
            result, words = False, "Failed to remove host %s (%s)"
        results.append(result)
        comments.append(words % (name, address))
    result = next((worst for worst in (False, None) if worst in results), True)
    return {"name": name, "changes": changes, "result": result, "comment": "\n".join(comments)}


def only(name, hostnames):
    """The address ``name`` has just these names, in this order; with an empty text none, and no line."""
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    old = " ".join(__salt__["hosts.get_alias"](name))
    new = " ".join(each.strip() for each in ([hostnames] if isinstance(hostnames, str) else hostnames))
    if old == new:
        ret["comment"] = 'IP address %s already set to "%s"' % (name, new)
    elif __opts__["test"]:
        ret["result"] = None
        ret["comment"] = 'Would change %s from "%s" to "%s"' % (name, old, new)
    elif __salt__["hosts.set_host"](name, new):
        ret["comment"] = 'successfully changed %s from "%s" to "%s"' % (name, old, new)
        ret["changes"] = {name: {"old": old, "new": new}}
    else:
        ret["result"] = False
        ret["comment"] = 'hosts.set_host failed to change %s from "%s" to "%s"' % (name, old, new)
    return ret


def _words(name, ip, value):
    return {"name": name, "ip": ip, "value": value}


def _is_address(text):
    from ipaddress import ip_address

    try:
        ip_address(text)
    except ValueError:
        return False
    return True
