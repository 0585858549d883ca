"""Sources of grains: small files, programs on the PATH, and commands that run while other grains are read."""

import os

#: Folders that are searched after those of PATH, which is short without a login shell.
EXTRA_PATH = ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin")
#: The maximum time of a command, so that one that hangs does not block the run.
COMMAND_SECONDS = 5
#: Functions of ``os`` that Python has since 3.8.
_NEWER = vars(os)


def read(path, default="", limit=1024 * 1024):
    """The text of a file, or the default if it cannot be read. Bytes that are not UTF-8 are replaced."""
    try:
        with open(path, "rb") as handle:
            return handle.read(limit).decode("utf-8", "replace")
    except (OSError, ValueError):
        return default


def listing(path):
    """The names in a folder in the order of the file system; [] if it cannot be read."""
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

    Its stdin and stderr are /dev/null. If Python has ``posix_spawn`` (since 3.8), ``subprocess`` is not used, because
    its import takes longer than the two programs that run on most machines.
    """

    def __init__(self, argv):
        env = dict(os.environ, LC_ALL="C")
        try:
            self._pid, self._stream = _spawned(argv, env) if "posix_spawnp" in _NEWER else _opened(argv, env)
        except (OSError, ValueError):
            self._pid = None

    def output(self):
        """(exit code, text without the last newline); (127, "") if it could not be started or took too long."""
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
    """Start a program: (pid, descriptor of its output)."""
    import _signal as signal  # as in thin.process

    ours, theirs = os.pipe()
    try:
        actions = [
            (_NEWER["POSIX_SPAWN_OPEN"], 0, os.devnull, os.O_RDONLY, 0),
            (_NEWER["POSIX_SPAWN_DUP2"], theirs, 1),
            (_NEWER["POSIX_SPAWN_OPEN"], 2, os.devnull, os.O_WRONLY, 0),
        ]
        usual = [signal.SIGPIPE, signal.SIGXFSZ]  # ignored by Python
        return _NEWER["posix_spawnp"](argv[0], argv, env, file_actions=actions, setsigdef=usual), ours
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)


def _opened(argv, env):
    """As ``_spawned``, for Python 3.6 and 3.7. The process object is kept, because its deletion would wait for the
    program."""
    import subprocess

    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
    )
    _kept.append(process)
    return process.pid, os.dup(process.stdout.fileno())


_kept = []
