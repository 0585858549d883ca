"""Stored outputs of programs: a program is run again if it, or the subject of its output, may have changed.

``systemctl --version`` and ``systemd-detect-virt`` take longer than all other grains together. Their outputs are stored
in the file ``thin-answers`` of the private directory, by command line. They are valid as long as the program's file is
the same (device, inode, size, times) and the machine, or the container, has not been restarted.
"""

import os

from thin import packing
from thin.boot import read
from thin.grains.probe import Command
from thin.grains.probe import read as text_of
from thin.store import ANSWERS as NAME

_LIMIT = 64 * 1024


class Answers(object):
    """``folder``: the private directory, or None to run every program."""

    def __init__(self, folder):
        self._folder = folder
        self._start = _started() if folder else None
        self._stored = self._read() if self._start else {}
        self._asked = []

    def command(self, argv):
        """As ``Command(argv)``, for a program whose output only changes with its file or after a restart."""
        key = "\0".join(argv)
        stored = self._stored.get(key)
        mark = self._mark(argv[0])
        if isinstance(stored, list) and len(stored) == 3 and mark is not None and stored[0] == mark:
            if isinstance(stored[1], int) and isinstance(stored[2], str):
                return _CachedAnswer(stored[1], stored[2])
        asked = _Asked(argv)
        self._asked.append((key, mark, asked))
        return asked

    def keep(self):
        """Store the outputs. On failure, the programs are run again next time."""
        new = {
            key: [mark, asked.code, asked.text]
            for key, mark, asked in self._asked
            if mark is not None and asked.code not in (None, 127)
        }
        if not new:
            return
        aside = os.path.join(self._folder, ".%s.%d-%s" % (NAME, os.getpid(), os.urandom(6).hex()))
        try:
            # path: our own folder, 0700
            fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, packing.packed(dict(self._stored, **new)))
            finally:
                os.close(fd)
            os.rename(aside, os.path.join(self._folder, NAME))  # path: our own folder, 0700
        except (OSError, packing.Unusual):
            try:
                os.unlink(aside)  # path: our own folder, 0700
            except OSError:
                pass

    def _read(self):
        data = read(os.path.join(self._folder, NAME), None, _LIMIT)
        try:
            values = packing.unpacked(data or b"\x80")
        except packing.Unusual:
            return {}
        return values if isinstance(values, dict) else {}

    def _mark(self, path):
        if self._start is None:
            return None
        try:
            status = os.stat(path)
        except OSError:
            return None
        times = "%d %d" % (status.st_mtime_ns, status.st_ctime_ns)
        return "%s %d %d %d %s" % (self._start, status.st_dev, status.st_ino, status.st_size, times)


class _CachedAnswer(object):
    def __init__(self, code, text):
        self._answer = code, text

    def output(self):
        return self._answer


class _Asked(Command):
    code = text = None

    def output(self):
        self.code, self.text = super(_Asked, self).output()
        return self.code, self.text


def _started():
    """A text that differs after each start of the machine or of its container, or None."""
    boot = text_of("/proc/sys/kernel/random/boot_id").strip()
    first = text_of("/proc/1/stat").rpartition(")")[2].split()
    return "%s %s" % (boot, first[19]) if boot and len(first) > 19 else None
