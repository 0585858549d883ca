"""Python 3.6 in the C locale takes every file name and text for ASCII; later ones take them for UTF-8 there.

An ssh that passes no locale on starts a target's Python like that (PEP 538 and 540 are what later Pythons do about it).
"""

import os
import sys

_kept = []  # the interpreter has its address


def needed():
    """Whether this Python cannot name each file."""
    return sys.version_info < (3, 7) and sys.getfilesystemencoding() != "utf-8"


def mend():
    """File names, the environment, arguments of programs, and ``open`` without an encoding are UTF-8 from now on."""
    try:
        import ctypes

        name = ctypes.c_char_p.in_dll(ctypes.pythonapi, "Py_FileSystemDefaultEncoding")
    except (ImportError, ValueError):
        return  # such names are refused one by one
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
