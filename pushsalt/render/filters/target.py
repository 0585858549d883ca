"""Filters that read the state of a machine.

In Salt the minion renders, and reads its own state. Here the controller renders, so these filters call functions of the
target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context


def _calls(function: str, *fixed: Any) -> Callable[..., Any]:
    """A filter that calls ``function`` with the value as its first argument."""

    @pass_context
    def call(context: Context, value: Any = None, *args: Any, **kwargs: Any) -> Any:
        return context["salt"][function](value, *args, *fixed, **kwargs)

    return call


@pass_context
def which(context: Context, name: Any = None) -> Any:
    return context["salt"]["cmd.which"](name) if name else None


@pass_context
def file_hashsum(context: Context, path: str, form: str = "sha256", chunk_size: int = 65536) -> Any:
    return context["salt"]["hashutil.digest_file"](path, form)


@pass_context
def list_files(context: Context, directory: str) -> Any:
    """All paths below a directory, and the directory."""
    return context["salt"]["file.find"](directory)


@pass_context
def is_empty(context: Context, path: str) -> bool:
    salt = context["salt"]
    return bool(salt["file.file_exists"](path)) and salt["file.stats"](path)["size"] == 0


@pass_context
def is_bin_file(context: Context, path: str) -> bool:
    """Whether a file on the target has NUL bytes, or more than 30 % non-text bytes."""
    return bool(context["salt"]["file.file_exists"](path)) and _is_binary(
        context["salt"]["file.read"](path, binary=True)
    )


@pass_context
def is_text_file(context: Context, path: str, blocksize: int = 512) -> bool:
    salt = context["salt"]
    return bool(salt["file.file_exists"](path)) and not _is_binary(salt["file.read"](path, binary=True)[:blocksize])


def _is_binary(content: bytes | str) -> bool:
    data = content.encode() if isinstance(content, str) else content
    data = data[:2048]
    if b"\0" in data:
        return True
    text = bytes(range(32, 127)) + b"\n\r\t\f\b" + bytes(range(128, 255))
    return len(data.translate(None, text)) > 0.3 * len(data)


@pass_context
def get_uid(context: Context, user: str | None = None) -> Any:
    if user is None:
        return context["grains"].get("uid")
    uid = context["salt"]["file.user_to_uid"](user)
    return None if uid == "" else uid


@pass_context
def ifelse(context: Context, *args: Any, **kwargs: Any) -> Any:
    """``ifelse(match, value, …, default)``: the value of the first expression that matches this target."""
    return context["salt"]["match.ifelse"](*args, **kwargs)


FILTERS: dict[str, Callable[..., Any]] = {
    "dns_check": _calls("network.dns_check"),
    "file_hashsum": file_hashsum,
    "get_uid": get_uid,
    "http_query": _calls("http.query"),
    "is_bin_file": is_bin_file,
    "is_empty": is_empty,
    "is_text_file": is_text_file,
    "list_files": list_files,
    "which": which,
}
