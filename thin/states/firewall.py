"""Whether the target reaches a port of another machine. Salt: ``salt/states/firewall.py``."""


def __virtual__():
    return "firewall" if "network.connect" in __salt__ else (False, "network module could not be loaded")


def check(name, port=None, **kwargs):
    """
    A connection can be made. Changes nothing; a dry run does not connect.

    name
        The other machine: a name or an address.
    port
        The port there.
    proto
        The protocol: tcp, or udp.
    family
        The family of addresses, such as ipv6.
    timeout
        Seconds after which a missing answer is a failure.
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if kwargs.pop("test", __opts__.get("test", False)):
        return dict(ret, comment="The connection will be tested")
    connected = __salt__["network.connect"](name, port, **kwargs)
    return dict(ret, result=connected["result"], comment=connected["comment"])
