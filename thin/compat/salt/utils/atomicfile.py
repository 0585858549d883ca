"""Salt: ``salt/utils/atomicfile.py``."""

import contextlib
import os

from thin.utils.files import safepath


@contextlib.contextmanager
def atomic_open(filename, mode="w"):
    """An open temporary file that is renamed to ``filename`` when it is closed without an error, with the old file's
    mode."""
    fd, path = safepath.temporary(os.path.dirname(os.path.abspath(filename)))
    try:
        with os.fdopen(fd, mode, **({} if "b" in mode else {"encoding": "utf-8"})) as handle:
            yield handle
        if os.path.exists(filename):
            safepath.chmod(path, os.stat(filename).st_mode & 0o7777)
        safepath.rename(path, filename)
    except BaseException:
        safepath.unlink(path)
        raise


def safe_atomic_write(dst, data, backup_mode=""):
    """Write text or bytes to a file atomically."""
    with atomic_open(dst, "wb" if isinstance(data, bytes) else "w") as handle:
        handle.write(data)


atomic_rename = safepath.rename
