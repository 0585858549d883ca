"""Files sent from the target to the controller (not supported), and files received in pieces. Salt: modules/cp.py"""

import os

from thin.utils import nomaster
from thin.utils.files import safepath

__virtualname__ = "cp"
__reads__ = ("cache_file_ssh", "hash_file_ssh")
__changes__ = ("push", "push_dir", "recv_chunked")

_INSTEAD = "fetch it over SSH (`scp`, `rsync`), or return its text with file.read"


def push(path, keep_symlinks=False, upload_path=None, remove_source=False):
    """
    Not supported: the controller takes no files from targets

    path, keep_symlinks, upload_path, remove_source
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cp.push /etc/app/app.conf
    """
    nomaster.refuse("cp.push", _INSTEAD)


def push_dir(path, glob=None, upload_path=None):
    """
    Not supported: the controller takes no files from targets

    path, glob, upload_path
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cp.push_dir /etc/app
    """
    nomaster.refuse("cp.push_dir", _INSTEAD)


def recv_chunked(dest, chunk, append=False, compressed=True, mode=None):
    """
    Write a piece of a file; returns True, or the error as text

    dest
        The file's path; its directory is created
    chunk
        The piece, in base64; None to create a directory
    append
        Append it to the existing file
    compressed
        The piece is compressed by gzip
    mode
        The file's mode, a number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cp.recv_chunked /tmp/x chunk='dGV4dA==' compressed=False
    """
    import zlib

    __context__.setdefault("retcode", 0)
    try:
        if chunk is None:
            if os.path.isfile(dest):
                return "Path exists and is a file"
            safepath.makedirs(dest)
            return True
        import base64

        data = base64.b64decode(chunk)
        data = zlib.decompress(data, zlib.MAX_WBITS | 16) if compressed else data
        safepath.makedirs(os.path.dirname(dest) or ".")
        with open(dest, "ab" if append else "wb", opener=safepath.opener) as target:
            target.write(data)
        if not append and mode is not None:
            safepath.chmod(dest, mode)
    except (OSError, ValueError, zlib.error) as exc:
        __context__["retcode"] = 1
        return str(exc)
    return True


def cache_file_ssh(path, saltenv=None, source_hash=None, verify_ssl=True, use_etag=False):
    """
    Return the path of a private copy of a file, as ``cp.cache_file``

    path
        The file's URL
    saltenv
        The environment
    source_hash, verify_ssl, use_etag
        As there

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cp.cache_file_ssh salt://app/app.conf
    """
    return __salt__["cp.cache_file"](path, saltenv, source_hash, verify_ssl, use_etag)


def hash_file_ssh(path, saltenv=None):
    """
    Return the hash of a file, as ``cp.hash_file``

    path
        The file's URL
    saltenv
        The environment

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cp.hash_file_ssh salt://app/app.conf
    """
    return __salt__["cp.hash_file"](path, saltenv)
