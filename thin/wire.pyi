from collections.abc import Iterator, Mapping
from struct import Struct
from types import ModuleType
from typing import Any

NOISE_LIMIT: int
FRAME_LIMIT: int
UP_LIMIT: int
SMALL_LIMIT: int
DEPTH_LIMIT: int
BLOB_PIECE: int
HEAD: Struct
UP: dict[str, dict[str, type | tuple[type, ...]]]
QUESTIONS: dict[str, dict[str, type | tuple[type, ...]]]

def msgpack() -> ModuleType: ...

class Excess(ValueError): ...

def pack(message: Any) -> bytes: ...
def unpack(data: bytes | bytearray) -> dict[Any, Any]: ...
def frame(kind: bytes, payload: bytes | bytearray | memoryview) -> bytes: ...

class Frames:
    nonce: bytes
    limit: int
    small: int
    noise: bytearray
    skipped: int
    def __init__(self, nonce: bytes = b"", limit: int = ..., small: int | None = None) -> None: ...
    def feed(self, data: bytes | bytearray) -> None: ...
    def __iter__(self) -> Iterator[tuple[bytes, bytes | bytearray]]: ...
    def rest(self) -> bytes: ...

def file_key(url: str, saltenv: str) -> str: ...
def template_key(
    source: str | None,
    saltenv: str,
    engine: str,
    context: Mapping[str, Any] | None,
    defaults: Mapping[str, Any] | None,
    tag: str,
    names: Mapping[str, Any] | None = None,
) -> str: ...
