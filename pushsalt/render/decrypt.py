"""What the renderers that decrypt have in common: finding ciphertexts in data, and decrypting each once per process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final

from pushsalt.render.problems import SourceError, reason
from pushsalt.render.source import as_content

#: Plain texts kept in memory.
MAX_KEPT: Final = 10_000


class PlainTexts:
    """Plain texts by key and ciphertext. A thousand targets with the same secret decrypt it once.

    One at a time: programs that decrypt wait for one agent anyway, and no ciphertext is worked on twice.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, str | bytes] = OrderedDict()

    def get(self, key: Hashable, decrypt: Callable[[], str | bytes]) -> str | bytes:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = decrypt()
                while len(self._kept) > MAX_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]


def in_depth(value: Any, decrypt: Callable[[str | bytes], Any], path: tuple[str, ...] = ()) -> Any:
    """``value`` with every text in it decrypted; what is read like a file is read. Other values stay.

    Raises SourceError that names the key at which it went wrong.
    """
    if isinstance(value, dict):
        return {key: in_depth(item, decrypt, (*path, str(key))) for key, item in value.items()}
    if isinstance(value, list):
        return [in_depth(item, decrypt, (*path, str(at))) for at, item in enumerate(value)]
    if hasattr(value, "read"):
        value = as_content(value)
    if not isinstance(value, str | bytes):
        return value
    try:
        return decrypt(value)
    except SourceError as exc:
        if not path:
            raise
        raise SourceError(f"{':'.join(path)}: {reason(exc)}", exc.chain, exc.hint) from None
