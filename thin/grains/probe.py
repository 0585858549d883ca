"""What grains are read with: small files, programs on the PATH, and commands that run while other grains are read."""

import os

#: searched after the PATH, which is short in a login that is none
EXTRA_PATH = ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin")
#: a command that hangs must not hang the run
COMMAND_SECONDS = 5


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
    """A program that was started and whose output is asked for later: ``Command([...]).output() -> (code, text)``."""

    def __init__(self, argv):
        import subprocess

        env = dict(os.environ, LC_ALL="C")
        try:
            self._process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
            )
        except (OSError, ValueError):
            self._process = None

    def output(self):
        """(exit code, text without the last line end); (127, "") for what could not be started or took too long."""
        import subprocess

        if self._process is None:
            return 127, ""
        try:
            out = self._process.communicate(timeout=COMMAND_SECONDS)[0]
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return 127, ""
        return self._process.returncode, out.decode("utf-8", "replace").rstrip("\n")
