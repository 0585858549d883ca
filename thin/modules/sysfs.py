"""The kernel's objects in /sys. Salt: ``salt/modules/sysfs.py``."""

import os
import stat

from thin.log import getLogger
from thin.utils.files import safepath

__reads__ = ("attr", "read", "target", "interfaces")
__changes__ = ("write",)

log = getLogger(__name__)


def __virtual__():
    return __grains__.get("kernel") == "Linux"


def attr(key, value=None):
    """
    Return or set an attribute; returns the path of a directory, False if it does not exist

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysfs.attr class/net/ens3/mtu
    """
    path = target(key)
    if path is False:
        return False
    if os.path.isdir(path):
        return path
    return read(path) if value is None else write(path, value)


def write(key, value):
    """
    Set an attribute; returns whether it worked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysfs.write block/vda/queue/scheduler none
    """
    path = target(key)
    if path is False:
        return False
    try:
        with open(path, "w", opener=safepath.opener, encoding="utf-8") as handle:
            handle.write("%s\n" % value)
        return True
    except (OSError, ValueError) as exc:
        log.debug("%s: %s", path, exc)
        return False


def read(key, root=""):
    """
    Return an attribute as a number or text, those of a directory as a dict; False if none can be read

    key
        Its path, or a list of paths below ``root``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysfs.read class/net/lo/mtu
    """
    if not isinstance(key, str):
        values = {one: read(os.path.join(root, one)) for one in key}
        return {one: value for one, value in values.items() if value is not False}
    path = target(os.path.join(root, key))
    if path is False:
        return False
    if not os.path.isdir(path):
        return _value(path)
    below, result = interfaces(path), {}
    for name in below["r"] + below["rw"]:
        value = read(os.path.join(path, name))
        if value is not False:
            place, parts = result, name.split("/")
            for part in parts[:-1]:
                place = place.setdefault(part, {})
            place[parts[-1]] = value
    return result


def _value(path):
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as handle:
            text = handle.read().strip()
    except (OSError, ValueError):
        return False
    if not text:
        return False
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def target(key, full=True):
    """
    Return the real path of a name in /sys, or False; ``full=False``: only its last component

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysfs.target class/net/lo
    """
    path = os.path.realpath(key if key.startswith("/sys") else os.path.join("/sys", key))
    if not os.path.exists(path):
        return False
    return path if full else os.path.basename(path)


def interfaces(root):
    """
    Return ``{r, w, rw: [paths]}`` of the attributes below a directory, by permission

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' sysfs.interfaces class/net/ens3
    """
    root = target(root)
    if root is False or not os.path.isdir(root):
        log.error("%s is no folder of sysfs", root)
        return False
    interfaces = {"r": [], "w": [], "rw": []}
    for folder, _, files in os.walk(root):
        for name in files:
            path = os.path.join(folder, name)
            if not os.path.isfile(path):
                continue
            mode = os.stat(path).st_mode
            kind = ("r" if mode & stat.S_IRUSR else "") + ("w" if mode & stat.S_IWUSR else "")
            if kind:
                interfaces[kind].append(os.path.relpath(path, root))
    return interfaces
