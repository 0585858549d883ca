"""Salt: ``salt/utils/atomicfile.py``."""

import contextlib
import os


@contextlib.contextmanager
def atomic_open(filename, mode="w"):
    """An open file that takes the name when it is closed without an error, and with it the mode of what was there."""
    from thin.utils import osutil

    fd, path = osutil.mkstemp(os.path.dirname(os.path.abspath(filename)))
    try:
        with os.fdopen(fd, mode, **({} if "b" in mode else {"encoding": "utf-8"})) as handle:
            yield handle
        if os.path.exists(filename):
            os.chmod(path, os.stat(filename).st_mode & 0o7777)
        os.replace(path, filename)
    except BaseException:
        os.unlink(path)
        raise
