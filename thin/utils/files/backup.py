"""Copies of files before a change: ``backup: minion``, in ``<cachedir>/file_backup``, with Salt's names, which have the
time."""

import os
import re
import time

from thin.utils.files import atomic, safepath

STAMP = "%a_%b_%d_%H:%M:%S_%Y"
#: The Keeper that records the files that a state changes while it runs (thin.utils.files.keeping), or None.
keeper = None
SUFFIX = re.compile(r"_(\w{3}_\w{3}_\d\d_\d\d:\d\d:\d\d_\d{6}_\d{4})$")


def root(cachedir):
    return os.path.join(cachedir, "file_backup")


def keep(path, mode, cachedir):
    """Copy the file if ``mode`` is "minion" or "both". Returns the copy's path, else None. Raises OSError."""
    if mode not in ("minion", "both"):
        return None
    return copy(path, cachedir) if keeper is None else keeper.keep(path)


def copy(path, cachedir):
    """Copy the file to the folder of backups. Returns the copy's path. Raises OSError."""
    now = time.time()
    stamp = time.strftime(STAMP, time.localtime(now))
    name = "%s_%s%s_%s" % (os.path.basename(path), stamp[:-4], ("%d" % (now * 1000000))[-6:], stamp[-4:])
    target = os.path.join(root(cachedir), os.path.dirname(os.path.abspath(path))[1:], name)
    atomic.makedirs(target, mode="0700")
    with open(path, "rb", opener=safepath.opener) as source:
        atomic.write(target, iter(lambda: source.read(atomic.PIECE), b""), like=source.fileno())
    return target


def listed(path, cachedir, limit=None):
    """``{number: {"Backup Time", "Size", "Location"}}`` of a file's copies; 0 is the newest."""
    folder = os.path.join(root(cachedir), os.path.dirname(path)[1:])
    base, result = os.path.basename(path), []
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        match = SUFFIX.search(name)
        if match and name[: match.start()] == base:
            stamp = re.sub(r"_(\d{6})_(\d{4})$", r"_\2.\1", match.group(1))
            whole, _, fraction = stamp.partition(".")
            when = time.strptime(whole, STAMP)
            result.append((time.mktime(when), fraction, when, os.path.join(folder, name)))
    copies = {}
    for number, (_, fraction, when, location) in enumerate(sorted(result, reverse=True)[:limit]):
        copies[number] = {
            "Backup Time": time.strftime("%a %b %d %Y %H:%M:%S.", when) + fraction,
            "Size": os.stat(location).st_size,
            "Location": location,
        }
    return copies
