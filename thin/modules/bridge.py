"""Network bridges, with brctl on Linux, ifconfig and brconfig on BSD. Salt: ``salt/modules/bridge.py``."""

import re

from thin import process

__func_alias__ = {"list_": "list"}
__reads__ = ("show", "list", "interfaces", "find_interfaces")
__changes__ = ("add", "delete", "addif", "delif", "stp")

_TOOLS = {"FreeBSD": "ifconfig", "Linux": "brctl", "NetBSD": "brconfig", "OpenBSD": "ifconfig"}


def __virtual__():
    tool = _TOOLS.get(__grains__.get("kernel"))
    if tool and process.which(tool):
        return True
    return (
        False,
        "The bridge execution module failed to load: requires one of the following tool/os combinations: ifconfig on"
        " FreeBSD/OpenBSD, brctl on Linux or brconfig on NetBSD.",
    )


def show(br=None):
    """
    Return ``{bridge: {id, stp, interfaces}}``, or that of one bridge

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' bridge.show lan0
    """
    result = {"Linux": _linux, "NetBSD": _netbsd}.get(__grains__["kernel"], _bsd)(br)
    return result.get(br) if br else result


def list_():
    """
    Return the names of the bridges; None if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' bridge.list
    """
    return list(show()) or None


def interfaces(br=None):
    """
    Return the interfaces of a bridge; None if there is no such bridge

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' bridge.interfaces lan0
    """
    bridge = show(br) if br else None
    return bridge.get("interfaces", []) if bridge else None


def find_interfaces(*args):
    """
    Return ``{interface: bridge}`` of those interfaces that belong to one

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' bridge.find_interfaces ens3 ens4
    """
    bridges = show()
    if not bridges:
        return None
    return {iface: br for iface in args for br in bridges if iface in bridges[br].get("interfaces", ())}


def add(br=None):
    """
    Create a bridge; returns the program's output

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' bridge.add lan0
    """
    if _is_linux():
        return _run("brctl", "addbr", br)
    if not br or _code("ifconfig", br, "create", "up"):
        return False
    return not (__grains__["kernel"] == "NetBSD" and _code("brconfig", br, "up"))


def delete(br=None):
    """
    Delete a bridge, which must be down; returns the program's output

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' bridge.delete lan0
    """
    if _is_linux():
        return _run("brctl", "delbr", br)
    return _run("ifconfig", br, "destroy") if br else False


def addif(br=None, iface=None):
    """
    Add an interface to a bridge; returns the program's output

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' bridge.addif lan0 ens3
    """
    return _member(br, iface, {"Linux": "addif", "NetBSD": "add"}.get(__grains__["kernel"], "addm"))


def delif(br=None, iface=None):
    """
    Remove an interface from a bridge; returns the program's output

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' bridge.delif lan0 ens3
    """
    return _member(br, iface, {"Linux": "delif", "NetBSD": "delete"}.get(__grains__["kernel"], "deletem"))


def stp(br=None, state="disable", iface=None):
    """
    Turn the spanning tree protocol on (``enable``) or off; on BSD for one interface

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' bridge.stp lan0 disable
    """
    if _is_linux():
        return _run("brctl", "stp", br, {"enable": "on", "disable": "off"}[state])
    if not br or not iface:
        return False
    return _run(_TOOLS[__grains__["kernel"]], br, {"enable": "stp", "disable": "-stp"}[state], iface)


def _is_linux():
    return __grains__["kernel"] == "Linux"


def _member(br, iface, word):
    if _is_linux():
        return _run("brctl", word, br, iface)
    return _run(_TOOLS[__grains__["kernel"]], br, word, iface) if br and iface else False


def _command(words):
    return [process.which(words[0]) or words[0]] + [str(word) for word in words[1:]]


def _run(*words):
    return __salt__["cmd.run"](_command(words), python_shell=False, env={"LC_ALL": "C"})


def _code(*words):
    return __salt__["cmd.retcode"](_command(words), python_shell=False)


def _linux(br):
    """Columns: name, id, stp, interface; more interfaces in lines of their own."""
    result, name = {}, None
    for line in _run("brctl", "show", *([br] if br else [])).splitlines():
        words = line.split()
        if not words or line.startswith("bridge name"):
            continue
        if len(words) == 1:
            if name in result:
                result[name].setdefault("interfaces", []).append(words[0])
        elif re.match(r"[0-9a-f]{4}\.[0-9a-f]{12}$", words[1]):
            name = words[0]
            result[name] = {"id": words[1], "stp": words[2]}
            result[name].update({"interfaces": [words[3]]} if len(words) > 3 else {})
    return result


def _bsd(br):
    result = {}
    for name in [br] if br else _run("ifconfig", "-g", "bridge").splitlines():
        result[name] = {"interfaces": [], "stp": "no"}
        for line in _run("ifconfig", name).splitlines():
            if line.strip().startswith("member:"):
                result[name]["interfaces"].append(line.split()[1])
                if "STP" in line:
                    result[name]["stp"] = "yes"
    return result


def _netbsd(br):
    result, name, listed = {}, None, False
    for line in _run("brconfig", br or "-a").splitlines():
        if line.startswith("bridge"):
            name, listed = line.split(":")[0], False
            result[name] = {"interfaces": [], "stp": "no"}
        elif "Interfaces:" in line:
            listed = True
        elif listed and name:
            match = re.match(r"\s*([a-z0-9]+)\s.*<.*>", line)
            if match:
                result[name]["interfaces"].append(match.group(1))
                if "STP" in line:
                    result[name]["stp"] = "yes"
    return result
