"""Makes Python 3.6 use UTF-8 in the C locale for file names and texts, as later Pythons do; it would use ASCII.

The locale is C if SSH passes none to the target. Later Pythons implement PEP 538 and 540 for this.
"""

import os
import sys

_kept = []  # must not be freed: the interpreter has its address


def needed():
    """Whether this Python cannot encode all file names."""
    return sys.version_info < (3, 7) and sys.getfilesystemencoding() != "utf-8"


def mend():
    """Use UTF-8 for file names, the environment, arguments of programs, and ``open`` without an encoding."""
    try:
        import ctypes

        name = ctypes.c_char_p.in_dll(ctypes.pythonapi, "Py_FileSystemDefaultEncoding")
    except (ImportError, ValueError):
        return  # operations on names that are not ASCII will fail
    name.value = b"utf-8"
    _kept.append(name)
    import _bootlocale

    _bootlocale.getpreferredencoding = lambda do_setlocale=True: "UTF-8"
    os.fsencode, os.fsdecode = _encoded, _decoded
    environ = os.environ
    environ.encodekey = environ.encodevalue = _bytes
    environ.decodekey = environ.decodevalue = _text


def _bytes(value):
    if not isinstance(value, str):
        raise TypeError("str expected, not %s" % type(value).__name__)
    return value.encode("utf-8", "surrogateescape")


def _text(value):
    return value.decode("utf-8", "surrogateescape")


def _encoded(filename):
    filename = os.fspath(filename)
    return _bytes(filename) if isinstance(filename, str) else filename


def _decoded(filename):
    filename = os.fspath(filename)
    return _text(filename) if isinstance(filename, bytes) else filename
