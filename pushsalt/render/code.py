"""Compiled templates: cached in memory, and between runs in a store that the caller provides.

Code depends on the text, its names in messages, the environment's options and the compiler. A store keeps bytes by a
digest of all that. Its content is executed, so it must be private to the user: see ``pushsalt.cache.templates``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import marshal
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, Final, Protocol

import pushsalt

log = logging.getLogger(__name__)

#: Compiled templates kept in memory.
SIZE: Final = 4096
#: Version of the entries' format.
LAYOUT: Final = 1


class CodeStore(Protocol):
    """Bytes by name (hexadecimal digits), kept between runs. The methods do not raise."""

    def get(self, name: str) -> bytes | None: ...

    def put(self, name: str, data: bytes) -> None: ...


class Codes:
    """Compiled templates by (environment, name, path, text); an LRU cache in memory."""

    def __init__(self, size: int = SIZE) -> None:
        self.store: CodeStore | None = None
        self._size = size
        self._lock = threading.Lock()
        self._codes: OrderedDict[tuple[Hashable, ...], CodeType] = OrderedDict()

    def get(self, key: tuple[Hashable, ...], compile_: Callable[[], CodeType], *, keep: bool = False) -> CodeType:
        """The code, compiled if necessary. ``keep``: the store may be used."""
        with self._lock:
            code = self._codes.get(key)
            if code is not None:
                self._codes.move_to_end(key)
                return code
        code = self._stored(key, compile_, self.store) if keep and self.store is not None else compile_()
        with self._lock:
            self._codes[key] = code
            while len(self._codes) > self._size:
                self._codes.popitem(last=False)
        return code

    def clear(self) -> None:
        """Clear the cache in memory."""
        with self._lock:
            self._codes.clear()

    @staticmethod
    def _stored(key: tuple[Hashable, ...], compile_: Callable[[], CodeType], store: CodeStore) -> CodeType:
        name = digest(key)
        data = store.get(name)
        if data is not None:
            try:
                code: Any = marshal.loads(data)  # noqa: S302 - the store is the user's own and private
            except (EOFError, ValueError, TypeError):
                code = None
            if isinstance(code, CodeType):
                return code
        compiled = compile_()
        store.put(name, marshal.dumps(compiled))
        return compiled


codes = Codes()


def digest(key: tuple[Hashable, ...]) -> str:
    """The name of an entry: a digest of the key, and everything else that compiled code depends on."""
    return hashlib.sha256(repr((compiler(), key)).encode("utf-8", "surrogatepass")).hexdigest()


@cache
def compiler() -> tuple[Any, ...]:
    """Identifies the compiler: this code, Jinja and Python; also filters, which the compiler evaluates for constants.

    Files are identified by size and time, since a version number does not change during development.
    """
    render_folder = Path(__file__).parent
    packages = [Path(str(sys.modules[name].__file__)).parent for name in ("jinja2", "markupsafe")]
    files = [
        (entry.path, status.st_size, status.st_mtime_ns)
        for folder in (render_folder, render_folder / "filters", *packages)
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name)
        if entry.name.endswith(".py") and (status := entry.stat())
    ]
    return (LAYOUT, pushsalt.__version__, files, importlib.util.MAGIC_NUMBER, sys.version)
