"""Common code of the decrypting renderers: finds ciphertexts in data, and decrypts each once per process."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final

from pushsalt.render.problems import SourceError, reason
from pushsalt.render.source import as_content

#: Plain texts kept in memory.
MAX_KEPT: Final = 10_000


class PlainTexts:
    """Decrypted texts by key and ciphertext: the same secret of many targets is decrypted once.

    Decryption is serialized: the programs use one agent anyway, and no ciphertext is decrypted twice.
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
    """``value`` with all texts in it decrypted; file objects are read. Other values are unchanged.

    Raises SourceError with the key of the value that cannot be decrypted.
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


def blocks_in_depth(
    value: Any,
    block: re.Pattern[bytes],
    plain: Callable[[bytes], bytes],
    *,
    translate: bool,
    bytes_as_text: bool = False,
) -> Any:
    """``value`` with the armored blocks in its texts decrypted by ``plain``; newlines after a block are removed.

    Texts without a block are unchanged; with ``bytes_as_text``, bytes without a block become text if they are UTF-8.
    ``translate``: a backslash and an n in a text are a newline.
    """

    def decrypt(text: str | bytes) -> str | bytes:
        content = text.encode() if isinstance(text, str) else text
        if translate:
            content = content.replace(rb"\n", b"\n")
        result, count = block.subn(lambda match: plain(match.group()), content)
        if count:
            result = result.rstrip(b"\n")
        elif isinstance(text, str) or not bytes_as_text:
            return text
        try:
            return result.decode()
        except UnicodeDecodeError:  # a binary secret
            return result

    return in_depth(value, decrypt)
