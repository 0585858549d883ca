"""Checks URLs and ref names, and separates the credentials in a URL.

Texts that git would interpret as an option or as a program to start (``ext::``), or would expand, are refused here,
before an argument list is made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from pushsalt.errors import ConfigError
from pushsalt.model import Secret

#: Allowed schemes; also the value of GIT_ALLOW_PROTOCOL.
SCHEMES: Final = ("file", "git", "http", "https", "ssh")
_ALLOWED: Final = f"use one of {', '.join(f'{scheme}://' for scheme in SCHEMES)}, user@host:path or /a/path"

_SCP = re.compile(
    r"(?:(?P<user>[A-Za-z0-9_.][\w.+-]*)@)?(?P<host>[A-Za-z0-9_][\w.-]*|\[[0-9a-fA-F:]+\]):(?P<path>[^:].*)"
)
_HOST = re.compile(r"[A-Za-z0-9_][\w.-]*|[0-9a-fA-F:]+")
_BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(/|$)|(^|/)[.-]|[/.]$|^@$|^$|^/")
_SHA = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)


@dataclass(frozen=True)
class Address:
    """The address of a remote. ``url`` is passed to git, without credentials. ``shown`` is for messages."""

    url: str
    scheme: str
    host: str = ""
    port: int | None = None
    user: str = ""
    password: Secret = field(default=Secret(""), repr=False)

    @property
    def shown(self) -> str:
        return self.url

    @property
    def origin(self) -> str:
        """``https://host:port``, to which the credentials are restricted."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{f':{self.port}' if self.port else ''}"

    @property
    def name(self) -> str:
        """The repository's name: the last part of its path, without ``.git``."""
        return re.split(r"[/:]", self.url.rstrip("/"))[-1].removesuffix(".git") or self.url


def parse_address(url: object, option: str) -> Address:
    """Parse a URL. Raises ConfigError, which names ``option``, for a URL that must not be passed to git."""
    if not isinstance(url, str) or not url:
        raise ConfigError(f"{option}: a remote is the URL of a repository, not {url!r}", hint=_ALLOWED)
    shown = without_credentials(url)
    if url.startswith("-") or "::" in url.split("[", 1)[0] or "$" in url or re.search(r"[\x00-\x20\x7f\\]", url):
        raise ConfigError(f"{option}: {shown!r} is not a URL that may be passed to git", hint=_ALLOWED)
    if url.startswith("/"):
        return Address(Path(url).as_uri(), "file")
    if "://" not in url:
        match = _SCP.fullmatch(url)
        if match is None or match["host"] in SCHEMES or _dashed(match["path"]):
            raise ConfigError(f"{option}: {shown!r} is not the URL of a repository", hint=_ALLOWED)
        return Address(url, "ssh", match["host"].strip("[]"), None, match["user"] or "")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise ConfigError(f"{option}: {shown!r} is not a URL", hint=_ALLOWED) from None
    scheme = parts.scheme.lower()
    if scheme not in SCHEMES:
        raise ConfigError(f"{option}: {shown}: the protocol {scheme!r} is not allowed", hint=_ALLOWED)
    if scheme == "file":
        if host not in ("", "localhost") or not parts.path.startswith("/"):
            raise ConfigError(f"{option}: {shown}: a file:// URL has three slashes and an absolute path", hint=_ALLOWED)
        return Address(f"file://{parts.path}", "file")
    if not _HOST.fullmatch(host) or parts.path in ("", "/") or _dashed(parts.path):
        raise ConfigError(f"{option}: {shown} has no host or no path", hint=_ALLOWED)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if user.startswith("-") or re.search(r"[\x00-\x1f\x7f]", user + password):
        raise ConfigError(f"{option}: {shown}: the user name is invalid", hint=_ALLOWED)
    named = f"[{host}]" if ":" in host else host
    place = f"{named}:{port}" if port else named
    if scheme == "ssh":
        if password:
            raise ConfigError(
                f"{option}: {shown}: ssh does not use a password in the URL", hint="use a key: `privkey`, or ssh-agent"
            )
        place = f"{parts.username}@{place}" if parts.username else place
    return Address(urlunsplit((scheme, place, parts.path, parts.query, "")), scheme, host, port, user, Secret(password))


def with_credentials(address: Address, user: str, password: str) -> Address:
    """The address with the options ``user`` and ``password``, which win over those in the URL."""
    return replace(address, user=user or address.user, password=Secret(password or address.password))


def without_credentials(text: str) -> str:
    """A text with user and password removed from all URLs in it."""
    text = re.sub(r"(?i)\b(ssh://[^/@:\s]*):[^/\s]*@", r"\1@", text)
    return re.sub(r"(?i)\b((?:https?|ftps?|git|socks[45]h?)://)[^/\s]*@", r"\1", text)


def is_ref(name: object) -> bool:
    """Whether a text can be a branch or tag, by the rules of ``git check-ref-format``."""
    return isinstance(name, str) and len(name) < 1024 and _BAD_REF.search(name) is None


def is_sha(name: str) -> bool:
    """Whether a text can be the hash of a commit, or the beginning of one."""
    return _SHA.fullmatch(name) is not None


def _dashed(path: str) -> bool:
    return path.lstrip("/").startswith("-")
