"""Imports asyncssh without running a compiler to search for a library that this machine does not have.

asyncssh looks for liboqs (key exchanges by Streamlined NTRU Prime) with ``ctypes.util.find_library``. If the linker
does not find it, that function also runs gcc and ld, if they are installed; both take 20 ms of each command.
"""

from __future__ import annotations

import ctypes.util
import os
from pathlib import Path
from typing import Final

#: The cache of glibc's linker; on systems without it, ``find_library`` is not changed.
LINKER_CACHE: Final = Path("/etc/ld.so.cache")
_NAMES: Final = ("oqs", "liboqs")

_find_library = ctypes.util.find_library


def _find(name: str) -> str | None:
    return None if name in _NAMES and _unknown_to_linker() else _find_library(name)


def _unknown_to_linker() -> bool:
    """Whether the linker's cache does not list liboqs; no other source is needed."""
    if "LD_LIBRARY_PATH" in os.environ:
        return False
    try:
        return b"liboqs." not in LINKER_CACHE.read_bytes()
    except OSError:
        return False


ctypes.util.find_library = _find
try:
    import asyncssh as asyncssh
finally:
    ctypes.util.find_library = _find_library
