"""Grains of a system that is not entered: a chroot, a machine or a container, from the files of its root.

The files are not trusted: links cannot lead out of the root, and only a limited part of regular files is read.
"""

import os
import stat

from thin.grains import os_release

_LIMIT = 64 * 1024
_LINKS = 40
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | getattr(os, "O_CLOEXEC", 0)

#: Grains that all systems on one kernel share.
_OF_THE_KERNEL = ("kernel", "kernelrelease", "kernelversion", "cpuarch")


def reader(root):
    """A function as ``thin.grains.probe.read``, for paths in this root."""
    return lambda path, default="": read(root, path, default)


def grains(read, machine):
    """``os*``, ``lsb_*``, ``kernel*`` and ``machine_id``; unknown ones are missing.

    ``read(path, default="")`` returns the text of a file of the system; ``machine`` are the grains of its host.
    """
    ret = {name: value for name, value in os_release.grains(read).items() if value not in ("", None)}
    ret.update((name, machine[name]) for name in _OF_THE_KERNEL if name in machine)
    machine_id = (read("/etc/machine-id") or read("/var/lib/dbus/machine-id")).strip()
    if machine_id and machine_id != "uninitialized":
        ret["machine_id"] = machine_id
    return ret


def named(nodename):
    """The grains that are computed from a host name."""
    return {"nodename": nodename, "localhost": nodename, "host": nodename.partition(".")[0]} if nodename else {}


def read(root, path, default=""):
    """The text of a regular file with this path in a root, or the default."""
    try:
        fd = _open(root, path)
    except (OSError, ValueError):
        return default
    try:
        return os.read(fd, _LIMIT).decode("utf-8", "replace") if stat.S_ISREG(os.fstat(fd).st_mode) else default
    except OSError:
        return default
    finally:
        os.close(fd)


def _open(root, path):
    """A descriptor of the path in a root; links are resolved component by component, in the root. Raises OSError."""
    opened, todo, links = [os.open(root, _FOLDER)], path.split("/"), 0
    try:
        while todo:
            step = todo.pop(0)
            if step == "..":
                if len(opened) > 1:
                    os.close(opened.pop())
                continue
            if step in ("", "."):
                continue
            try:
                target = os.readlink(step, dir_fd=opened[-1])
            except OSError:  # it is no link
                opened.append(os.open(step, _FLAGS, dir_fd=opened[-1]))
                continue
            links += 1
            if links > _LINKS:
                raise OSError("too many links")
            while target.startswith("/") and len(opened) > 1:
                os.close(opened.pop())
            todo[:0] = target.split("/")
        return opened.pop()
    finally:
        for fd in opened:
            os.close(fd)
