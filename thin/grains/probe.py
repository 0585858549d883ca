"""What grains are read with: small files, programs on the PATH, and commands that run while other grains are read."""

import os

#: searched after the PATH, which is short in a login that is none
EXTRA_PATH = ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin")
#: a command that hangs must not hang the run
COMMAND_SECONDS = 5
#: what ``os`` has since Python 3.8
_NEWER = vars(os)


def read(path, default="", limit=1024 * 1024):
    """The text of a file, or the default when it is not there or not for us. Bytes that are not UTF-8 are replaced."""
    try:
        with open(path, "rb") as handle:
            return handle.read(limit).decode("utf-8", "replace")
    except (OSError, ValueError):
        return default


def listing(path):
    """Names in a folder in the folder's own order; none when it cannot be read."""
    try:
        return os.listdir(path)
    except OSError:
        return []


def which(name):
    """The path of a program, or None."""
    if os.path.isabs(name):
        return name if os.access(name, os.X_OK) else None
    for folder in os.environ.get("PATH", "").split(os.pathsep) + list(EXTRA_PATH):
        path = os.path.join(folder, name)
        if folder and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


class Command(object):
    """A started program whose output is read later: ``Command([...]).output() -> (code, text)``.

    It reads nothing and its errors are not kept. ``subprocess`` is not used where Python has ``posix_spawn`` (3.8 and
    newer): loading it takes longer than both programs that are asked on most machines.
    """

    def __init__(self, argv):
        env = dict(os.environ, LC_ALL="C")
        try:
            self._pid, self._stream = _spawned(argv, env) if "posix_spawnp" in _NEWER else _opened(argv, env)
        except (OSError, ValueError):
            self._pid = None

    def output(self):
        """(exit code, text without the last line end); (127, "") for what could not be started or took too long."""
        if self._pid is None:
            return 127, ""
        pid, self._pid = self._pid, None
        out = self._read()
        if out is None:
            os.kill(pid, 9)
        status = os.waitpid(pid, 0)[1]
        if out is None:
            return 127, ""
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        return code, out.decode("utf-8", "replace").rstrip("\n")

    def _read(self):
        """The complete output, or None after the time limit."""
        import select
        import time

        end, pieces = time.monotonic() + COMMAND_SECONDS, []
        try:
            while True:
                poll = select.poll()
                poll.register(self._stream, select.POLLIN)
                if not poll.poll(max(0, end - time.monotonic()) * 1000):
                    return None
                piece = os.read(self._stream, 65536)
                if not piece:
                    return b"".join(pieces)
                pieces.append(piece)
        finally:
            os.close(self._stream)


def _spawned(argv, env):
    """(pid, descriptor of its output)"""
    import _signal as signal  # as thin.process does

    ours, theirs = os.pipe()
    try:
        actions = [
            (_NEWER["POSIX_SPAWN_OPEN"], 0, os.devnull, os.O_RDONLY, 0),
            (_NEWER["POSIX_SPAWN_DUP2"], theirs, 1),
            (_NEWER["POSIX_SPAWN_OPEN"], 2, os.devnull, os.O_WRONLY, 0),
        ]
        usual = [signal.SIGPIPE, signal.SIGXFSZ]  # which Python ignores
        return _NEWER["posix_spawnp"](argv[0], argv, env, file_actions=actions, setsigdef=usual), ours
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)


def _opened(argv, env):
    """The same for Python 3.6 and 3.7. The process object is kept, since its deletion waits for the program."""
    import subprocess

    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
    )
    _kept.append(process)
    return process.pid, os.dup(process.stdout.fileno())


_kept = []
