"""Compiled templates: kept in memory, and between runs in a store that the shell lends.

Code depends on the text, the names that it has in messages, the environment's options and on what compiles it. A store
keeps bytes by a digest of all that; what it gives is executed, so it must be nobody's but the user's: see
``pushsalt.cache.templates``.
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
#: Changes with what an entry is.
LAYOUT: Final = 1


class CodeStore(Protocol):
    """Bytes by name (hexadecimal digits), kept between runs. Neither method raises."""

    def get(self, name: str) -> bytes | None: ...

    def put(self, name: str, data: bytes) -> None: ...


class Codes:
    """Compiled templates by (environment, name, path, text); in memory the least recently used go first."""

    def __init__(self, size: int = SIZE) -> None:
        self.store: CodeStore | None = None
        self._size = size
        self._lock = threading.Lock()
        self._codes: OrderedDict[tuple[Hashable, ...], CodeType] = OrderedDict()

    def get(self, key: tuple[Hashable, ...], compile_: Callable[[], CodeType], *, keep: bool = False) -> CodeType:
        """The code, compiled if need be. ``keep``: it may be kept between runs, and come from there."""
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
        """Forget what is in memory."""
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
        made = compile_()
        store.put(name, marshal.dumps(made))
        return made


codes = Codes()


def digest(key: tuple[Hashable, ...]) -> str:
    """The name of an entry: the key, and everything else that compiled code depends on."""
    return hashlib.sha256(repr((compiler(), key)).encode("utf-8", "surrogatepass")).hexdigest()


@cache
def compiler() -> tuple[Any, ...]:
    """What compiles: this code, Jinja, and Python. Filters count: of constants they are worked out when compiling.

    Files are told by size and time: versions stay the same while somebody works on one.
    """
    here = Path(__file__).parent
    packages = [Path(str(sys.modules[name].__file__)).parent for name in ("jinja2", "markupsafe")]
    files = [
        (entry.path, status.st_size, status.st_mtime_ns)
        for folder in (here, here / "filters", *packages)
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name)
        if entry.name.endswith(".py") and (status := entry.stat())
    ]
    return (LAYOUT, pushsalt.__version__, files, importlib.util.MAGIC_NUMBER, sys.version)
