"""
Settings of network adapters, with the command ethtool. Salt: ``salt/modules/ethtool.py``, which needs a Python library.

The result is "Not supported" if the adapter does not support the setting.
"""

import re

from thin import process
from thin.exceptions import CommandExecutionError
from thin.log import getLogger

log = getLogger(__name__)

__virtualname__ = "ethtool"
__reads__ = ("show_driver", "show_ring", "show_coalesce", "show_offload", "show_pause", "show_features")
__changes__ = ("set_ring", "set_coalesce", "set_offload", "set_pause", "set_feature")

_RING = {"RX": "rx", "RX Mini": "rx_mini", "RX Jumbo": "rx_jumbo", "TX": "tx"}
_OFFLOADS = {
    "scatter_gather": "scatter-gather",
    "tcp_segmentation_offload": "tcp-segmentation-offload",
    "udp_fragmentation_offload": "udp-fragmentation-offload",
    "generic_segmentation_offload": "generic-segmentation-offload",
}
_FEATURES = ["rx", "tx", "sg", "tso", "ufo", "gso", "gro", "lro", "rxvlan", "txvlan", "ntuple", "rxhash"]


def __virtual__():
    if process.which("ethtool"):
        return __virtualname__
    return False, "The ethtool module could not be loaded: ethtool is not installed."


def show_driver(devname):
    """
    Return ``{driver, bus_info}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ethtool.show_driver ens3
    """
    done = _ethtool("-i", devname)
    if done["retcode"]:
        return "Not implemented"
    fields = dict(re.findall(r"^([\w-]+): ?(.*)$", done["stdout"], re.M))
    return {"driver": fields.get("driver", ""), "bus_info": fields.get("bus-info", "")}


def show_ring(devname):
    """
    Return the current and maximum sizes of the ring buffers: ``{rx, rx_max, rx_mini, rx_mini_max, ..., tx, tx_max}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ethtool.show_ring ens3
    """
    done = _ethtool("-g", devname)
    if done["retcode"]:
        log.error("the device %s has no ring parameters", devname)
        return "Not supported"
    result, ending = {}, "_max"
    for line in done["stdout"].splitlines():
        if line.startswith("Current"):
            ending = ""
        word, _, value = line.partition(":")
        if word.strip() in _RING and value.strip():
            result[_RING[word.strip()] + ending] = int(value) if value.strip().isdigit() else 0
    return result


def set_ring(devname, **kwargs):
    """
    Set the sizes of the ring buffers (rx, rx_mini, rx_jumbo, tx); returns current and maximum sizes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ethtool.set_ring ens3 rx=512
    """
    return _set("-G", devname, show_ring, {key: value for key, value in kwargs.items() if key in _RING.values()})


def show_coalesce(devname):
    """
    Return the settings of interrupt coalescing: ``{adaptive_rx, rx_usecs, rx_frames, tx_usecs, ...}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ethtool.show_coalesce ens3
    """
    done = _ethtool("-c", devname)
    if done["retcode"]:
        log.error("the device %s has no interrupt coalescing", devname)
        return "Not supported"
    result = {}
    switches = re.search(r"Adaptive RX: (\S+)\s+TX: (\S+)", done["stdout"])
    if switches:
        result["adaptive_rx"], result["adaptive_tx"] = [int(word == "on") for word in switches.groups()]
    for word, value in re.findall(r"^([a-z-]+):\s*(\S+)$", done["stdout"], re.M):
        result[word.replace("-", "_")] = int(value) if value.isdigit() else 0
    return result


def set_coalesce(devname, **kwargs):
    """
    Set interrupt coalescing (adaptive_rx=on, rx_usecs=N, ...); returns the settings afterwards

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ethtool.set_coalesce ens3 rx_usecs=50
    """
    return _set("-C", devname, show_coalesce, kwargs)


def show_offload(devname):
    """
    Return ``on``, ``off`` or ``not supported`` for scatter_gather and three kinds of segmentation offload

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ethtool.show_offload ens3
    """
    done = _ethtool("-k", devname)
    features = dict(re.findall(r"^([\w-]+): (on|off)", done["stdout"], re.M)) if done["retcode"] == 0 else {}
    return {name: features.get(word, "not supported") for name, word in _OFFLOADS.items()}


def set_offload(devname, **kwargs):
    """
    Turn tcp_segmentation_offload (and the others that ``show_offload`` shows) on or off; returns the settings
    afterwards

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ethtool.set_offload ens3 generic_segmentation_offload=off
    """
    short = dict(zip(sorted(_OFFLOADS), ("gso", "sg", "tso", "ufo")))
    for name, value in kwargs.items():
        if name in short and _ethtool("-K", devname, short[name], _word(value))["retcode"]:
            return "Not supported"
    return show_offload(devname)


def show_pause(devname):
    """
    Return whether pause frames are negotiated, received and sent

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ethtool.show_pause ens3
    """
    lines = _lines("-a", devname)[1:]
    pairs = [line.split(":", 1) for line in lines if ":" in line]
    return {key.strip(): value.strip() == "on" for key, value in pairs}


def set_pause(devname, **kwargs):
    """
    Set whether pause frames are negotiated (autoneg), received (rx) and sent (tx); returns True, or the error of
    ethtool

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ethtool.set_pause ens3 autoneg=on
    """
    return _lines("-A", devname, *_valid(["autoneg", "rx", "tx"], kwargs)) or True


def show_features(devname):
    """
    Return ``{feature: {on, fixed}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ethtool.show_features ens3
    """
    features = {}
    for line in _lines("-k", devname)[1:]:
        if ":" in line:
            key, value = [part.strip() for part in line.split(":", 1)]
            features[key] = {"on": value.split()[:1] == ["on"], "fixed": "fixed" in value}
    return features


def set_feature(devname, **kwargs):
    """
    Turn features on or off: rx, tx, sg, tso, ufo, gso, gro, lro, rxvlan, txvlan, ntuple, rxhash

    Returns True, or the error of ethtool.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ethtool.set_feature ens3 rxhash=on
    """
    return "\n".join(_lines("-K", devname, *_valid(_FEATURES, kwargs))) or True


def _ethtool(*words):
    program = process.which("ethtool")
    if not program:
        raise CommandExecutionError("Command 'ethtool' cannot be found")
    return __salt__["cmd.run_all"](
        [program] + [str(word) for word in words], python_shell=False, env={"LC_ALL": "C"}, ignore_retcode=True
    )


def _lines(*words):
    done = _ethtool(*words)
    lines = "\n".join(filter(None, (done["stdout"], done["stderr"]))).splitlines()
    if lines and (lines[0].startswith("Cannot") or done["retcode"]):
        raise CommandExecutionError(next((line for line in lines if line.startswith(("Cannot", "netlink"))), lines[0]))
    return lines


def _word(value):
    return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


def _valid(valid, kwargs):
    words = []
    for key, value in kwargs.items():
        if key.lower() in valid:
            words += [key.lower(), _word(value)]
    if not words:
        raise CommandExecutionError("None of the valid parameters were provided: %s" % valid)
    return words


def _set(option, devname, show, wanted):
    """Change the settings that differ; returns the result of ``show``."""
    now = show(devname)
    if not isinstance(now, dict):
        return now
    words = []
    for key, value in wanted.items():
        value = _word(value)
        if key in now and now[key] != ({"on": 1, "off": 0}.get(value, value) if isinstance(value, str) else value):
            words += [key.replace("_", "-"), value]
    if words and _ethtool(option, devname, *words)["retcode"]:
        log.error("Invalid arguments on %s: %s", devname, words)
        return "Invalid arguments"
    return show(devname)
