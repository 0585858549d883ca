"""Filters that look at a machine.

With Salt that is the minion that renders. Here templates are rendered on the controller, so these call the target's
functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context


def _calls(function: str, *fixed: Any) -> Callable[..., Any]:
    """A filter that is a call of ``function`` with the value first."""

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
def get_uid(context: Context, user: str | None = None) -> Any:
    if user is None:
        return context["grains"].get("uid")
    uid = context["salt"]["file.user_to_uid"](user)
    return None if uid == "" else uid


@pass_context
def path_join(context: Context, *parts: Any, **kwargs: Any) -> str:
    """One normalized path; later parts are never absolute. No machine is asked."""
    import posixpath

    normal = [posixpath.normpath(part.decode() if isinstance(part, bytes) else str(part)) for part in parts]
    if not normal:
        return ""
    return posixpath.normpath(posixpath.join(normal[0], *(part.lstrip("/") for part in normal[1:])))


@pass_context
def ifelse(context: Context, *args: Any, **kwargs: Any) -> Any:
    """``ifelse(match, value, …, default)``: the value of the first expression that matches this target."""
    return context["salt"]["match.ifelse"](*args, **kwargs)


FILTERS: dict[str, Callable[..., Any]] = {
    "file_hashsum": file_hashsum,
    "get_uid": get_uid,
    "http_query": _calls("http.query"),
    "is_bin_file": _calls("file.is_binary"),
    "is_empty": is_empty,
    "list_files": list_files,
    "path_join": path_join,
    "which": which,
}
