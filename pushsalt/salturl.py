"""``salt://`` URLs."""

from __future__ import annotations


def split_url(url: str, saltenv: str) -> tuple[str, str] | None:
    """(path below the file roots, saltenv) of ``salt://path?saltenv=name``; None for any other URL.

    A leading ``|``, Salt's escape for Windows, and leading slashes are ignored. Salt: salt.utils.url.parse.
    """
    if not url.startswith("salt://"):
        return None
    path, _, named = url.removeprefix("salt://").partition("?saltenv=")
    return path.lstrip("|/"), named or saltenv


def parse_url(url: str, saltenv: str = "base") -> tuple[str, str]:
    """As ``split_url``; a text without ``salt://`` is a path below the file roots."""
    return split_url(url, saltenv) or (url, saltenv)
