"""
The uncomplicated firewall ufw. Salt has no such states: these are the states of ufw's formula, and their opposites.

A rule selects packets by ``app``, by ``interface``, or by protocol, addresses and ports. ``allow`` and ``allowed`` are
one state under two names, and so are ``deny`` and ``denied``, ``limit`` and ``limited``, ``reject`` and ``rejected``.
"""

from thin.exceptions import CommandExecutionError, CommandNotFoundError
from thin.utils import words


def __virtual__():
    return True if "ufw.is_enabled" in __salt__ else (False, "ufw is not installed")


def enabled(name, **kwargs):
    """
    The firewall is active, and at boot.

    name
        Without effect.
    """
    return _switched(name, True)


def disabled(name, **kwargs):
    """
    The firewall is not active, nor at boot.

    name
        Without effect.
    """
    return _switched(name, False)


def default_incoming(name, default):
    """
    The default policy for incoming packets.

    name
        Without effect.
    default
        allow, deny or reject.
    """
    return _default(name, default, "incoming")


def default_outgoing(name, default):
    """
    The default policy for outgoing packets.

    name
        Without effect.
    default
        allow, deny or reject.
    """
    return _default(name, default, "outgoing")


def default_routed(name, default):
    """
    The default policy for routed packets.

    name
        Without effect.
    default
        allow, deny or reject.
    """
    return _default(name, default, "routed")


def allow(
    name,
    app=None,
    interface=None,
    protocol=None,
    from_addr=None,
    from_port=None,
    to_addr=None,
    to_port=None,
    comment=None,
):
    """
    Packets are allowed.

    name
        A name of the state, not passed to ufw.
    app
        An application that has a profile.
    interface
        The interface at which packets arrive.
    protocol
        tcp, udp …
    from_addr
        The source: an address, a network or a name; by default any.
    from_port
        The source port.
    to_addr
        The destination; by default any.
    to_port
        The destination port: a number, a
        range, a list with commas, a service's name.
    comment
        The comment of the rule.
    """
    return _rule(name, "allow", app, interface, protocol, from_addr, from_port, to_addr, to_port, comment)


def deny(
    name,
    app=None,
    interface=None,
    protocol=None,
    from_addr=None,
    from_port=None,
    to_addr=None,
    to_port=None,
    comment=None,
):
    """
    Packets are dropped; the rule is inserted before the others. Arguments: as ``allow``.
    """
    return _rule(name, "deny", app, interface, protocol, from_addr, from_port, to_addr, to_port, comment)


def limit(
    name,
    app=None,
    interface=None,
    protocol=None,
    from_addr=None,
    from_port=None,
    to_addr=None,
    to_port=None,
    comment=None,
):
    """
    Packets are allowed, but the rate of connections is limited. Arguments: as ``allow``.
    """
    return _rule(name, "limit", app, interface, protocol, from_addr, from_port, to_addr, to_port, comment)


def reject(
    name,
    app=None,
    interface=None,
    protocol=None,
    from_addr=None,
    from_port=None,
    to_addr=None,
    to_port=None,
    comment=None,
):
    """
    Packets are rejected with a response; the rule is inserted before the others. Arguments: as ``allow``.
    """
    return _rule(name, "reject", app, interface, protocol, from_addr, from_port, to_addr, to_port, comment)


allowed = allow
denied = deny
limited = limit
rejected = reject


def absent(
    name,
    method="allow",
    app=None,
    interface=None,
    protocol=None,
    from_addr=None,
    from_port=None,
    to_addr=None,
    to_port=None,
):
    """
    The rule does not exist.

    name
        A name of the state, not passed to ufw.
    method
        allow, deny, limit or reject.
    app, interface, protocol, from_addr, from_port, to_addr, to_port
        As ``allow``.
    """
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    rule = [method] + _about(app, interface, protocol, from_addr, from_port, to_addr, to_port)
    try:
        if not __salt__["ufw.would_delete"](rule):
            return dict(ret, comment="%s is not configured" % name)
        if __opts__["test"]:
            return dict(ret, result=None, comment="%s would be removed" % name)
        __salt__["ufw.delete_rule"](rule)
    except (CommandExecutionError, CommandNotFoundError, ValueError) as exc:
        return dict(ret, result=False, comment=str(exc))
    return dict(ret, comment="%s removed" % name, changes={"rule": _text(rule)})


def _switched(name, on):
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    word = "enabled" if on else "disabled"
    try:
        if __salt__["ufw.is_enabled"]() == on:
            return dict(ret, comment="UFW is already %s" % word)
        if __opts__["test"]:
            return dict(ret, result=None, comment="UFW would have been %s" % word)
        __salt__["ufw.set_enabled"](on)
    except (CommandExecutionError, CommandNotFoundError) as exc:
        return dict(ret, result=False, comment=str(exc))
    return dict(ret, comment="UFW is %s" % word, changes={"enabled": on})


def _default(name, default, direction):
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    rule = "default %s %s" % (default, direction)
    try:
        if __salt__["ufw.get_default_" + direction]() == default:
            return dict(ret, comment="%s was already set to %s" % (name, default))
        if __opts__["test"]:
            return dict(ret, result=None, comment="%s: %s" % (name, rule))
        __salt__["ufw.add_rule"](rule)
    except (CommandExecutionError, CommandNotFoundError) as exc:
        return dict(ret, result=False, comment=str(exc))
    return dict(ret, comment="%s set to %s" % (name, default), changes={"rule": rule})


def _rule(name, method, app, interface, protocol, from_addr, from_port, to_addr, to_port, comment):
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    try:
        about = _about(app, interface, protocol, from_addr, from_port, to_addr, to_port)
        about += [] if comment is None else ["comment", _bare(comment)]
        if not __salt__["ufw.would_add"]([method] + about):
            return dict(ret, comment="%s is already configured" % name)
        if __opts__["test"]:
            return dict(ret, result=None, comment="%s would have been configured" % name)
        # Rules that forbid must precede rules that allow.
        first = ["prepend"] if method in ("deny", "reject") else []
        try:
            out = __salt__["ufw.add_rule"](first + [method] + about)
        except CommandExecutionError:
            if not first:
                raise
            first = []  # before ufw 0.36
            out = __salt__["ufw.add_rule"]([method] + about)
    except (CommandExecutionError, CommandNotFoundError, ValueError) as exc:
        return dict(ret, result=False, comment=str(exc))
    word = "updated" if "updated" in out else "inserted" if "inserted" in out else "added"
    return dict(ret, comment="%s %s" % (name, word), changes={"rule": _text(first + [method] + about)})


def _about(app, interface, protocol, from_addr, from_port, to_addr, to_port):
    """The words that select the packets of a rule. ``*`` means that an argument is not given."""
    app, to_port = [None if value is None or _bare(value) == "*" else _bare(value) for value in (app, to_port)]
    if app is not None:
        return ["from", _bare(from_addr or "any"), "to", _bare(to_addr or "any"), "app", app]
    if interface is not None:
        return ["in", "on", _bare(interface)]
    about = [] if protocol is None else ["proto", _bare(protocol)]
    about += ["from", _resolved(_bare(from_addr or "any"))]
    about += [] if from_port is None else ["port", _bare(from_port)]
    about += ["to", _bare(to_addr or "any")]
    return about + ([] if to_port is None else ["port", to_port])


def _bare(value):
    """The text without quotes that formulas add for a shell."""
    return str(value).strip().strip("\"'").strip()


def _resolved(host):
    if host == "any" or host[:1].isdigit() or ":" in host:
        return host
    import socket

    try:
        return socket.gethostbyname(host)
    except (OSError, UnicodeError) as exc:
        raise ValueError("The address of %s cannot be found: %s" % (host, exc))


def _text(rule):
    return " ".join(words.quote(word) for word in rule)
