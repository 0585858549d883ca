"""Salt: ``salt/utils/atomicfile.py``."""

import contextlib
import os

from thin.utils.files import safepath


@contextlib.contextmanager
def atomic_open(filename, mode="w"):
    """An open file that takes the name when it is closed without an error, and with it the mode of what was there."""
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
    """Write text or bytes to a file, whole or not at all."""
    with atomic_open(dst, "wb" if isinstance(data, bytes) else "w") as handle:
        handle.write(data)


atomic_rename = safepath.rename
