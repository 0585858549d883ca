"""Accounts: Salt's eauth modules ``file`` and ``sharedsecret``. Passwords are compared in constant time.

Salt: ``salt/auth/file.py``, ``salt/auth/sharedsecret.py``.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import bcrypt

from pushsalt import regular
from pushsalt.errors import ConfigError
from pushsalt.serve import permissions
from pushsalt.serve.settings import FORBIDDEN

if TYPE_CHECKING:
    from pushsalt.config import Config

log = logging.getLogger(__name__)

MODULES: Final = ("file", "sharedsecret")
_HASHES: Final = ("plaintext", "sha256", "sha512", "bcrypt")
#: Bytes of a password that bcrypt uses; longer passwords are refused.
_BCRYPT_SIZE: Final = 72
#: Maximum characters of a name, and of a password.
_NAME_LENGTH: Final = 256
_PASSWORD_LENGTH: Final = 1024
#: The hash to compare with if there is no such account, so that the answer takes equally long.
_DUMMY_HASH: Final = "$2b$12$WW1tVDHIyL1lsqjMHTBw2eK3lgXhsZQ2MFd5LIKDBI1uzd3gxJQdC"


@dataclass(frozen=True)
class UserFile:
    """The file of the eauth module ``file``, with one account per line.

    ``name_at`` and ``password_at`` are the indexes of the fields.
    """

    path: Path
    hashtype: str = "plaintext"
    separator: str = ":"
    name_at: int = 0
    password_at: int = 1

    def check(self, name: str, password: str) -> bool:
        """Whether the file has this account with this password. A file that cannot be read is logged as an error."""
        try:
            refuse_open(self.path, secret=self.hashtype == "plaintext")
            text = regular.read_text(self.path)
        except (OSError, UnicodeDecodeError) as exc:
            log.error("external_auth: %s: %s", self.path, getattr(exc, "strerror", None) or exc)
            return False
        stored = ""
        for line in text.splitlines():
            fields = line.strip().split(self.separator)
            if len(fields) > max(self.name_at, self.password_at) and not stored and fields[self.name_at] == name:
                stored = fields[self.password_at]
        return self._matches(stored, password)

    def _matches(self, stored: str, password: str) -> bool:
        data = password.encode()
        if self.hashtype == "bcrypt":
            try:
                matches = bcrypt.checkpw(data[:_BCRYPT_SIZE], _as_2b(stored or _DUMMY_HASH))
            except ValueError:  # not a bcrypt hash
                log.error("external_auth: %s: a password in it is not a bcrypt hash", self.path)
                return False
            return matches and bool(stored) and len(data) <= _BCRYPT_SIZE
        if self.hashtype != "plaintext":
            data = hashlib.new(self.hashtype, data).hexdigest().encode()
            stored = stored.lower()
        return hmac.compare_digest(_digest(data), _digest(stored.encode())) and bool(stored)


class Accounts:
    """The accounts of a configuration, and their permissions."""

    def __init__(
        self, external_auth: Mapping[str, Any], secret: str, folder: Path, *, permissive: bool = False
    ) -> None:
        """``folder``: relative paths are relative to it. Raises ConfigError."""
        self._providers = {str(name): rows for name, rows in external_auth.items() if name in MODULES}
        self._secret = secret
        self._permissive = permissive
        for name in sorted(set(map(str, external_auth)) - set(MODULES)):
            log.warning("external_auth: the eauth module %s is not supported: there are file and sharedsecret", name)
        for name, rows in self._providers.items():
            if not isinstance(rows, Mapping):
                raise ConfigError(f"external_auth: {name} is not a map of accounts to permissions", "see docs/serve.md")
        if not self._providers:
            hint = "set external_auth, for example {file: {^filename: users, anna: ['test.*', '@jobs']}}; docs/serve.md"
            raise ConfigError("the configuration has no accounts", hint)
        if "sharedsecret" in self._providers and len(secret) < 16:
            raise ConfigError("sharedsecret is missing or shorter than 16 characters", "set it, see docs/serve.md")
        self._file = _user_file(self._providers["file"], folder) if "file" in self._providers else None

    @property
    def modules(self) -> list[str]:
        """The eauth modules that have accounts."""
        return sorted(self._providers)

    def check(self, eauth: str, name: str, password: str) -> bool:
        """Whether an account exists, has permissions, and has this password."""
        if eauth not in self._providers or not 0 < len(name) <= _NAME_LENGTH or len(password) > _PASSWORD_LENGTH:
            return False
        if not FORBIDDEN.isdisjoint(name):
            return False
        if eauth == "file":
            assert self._file is not None
            matches = self._file.check(name, password)
        else:
            matches = hmac.compare_digest(_digest(password.encode()), _digest(self._secret.encode()))
        return matches and bool(self.permissions(eauth, name))

    def permissions(self, eauth: str, name: str) -> list[Any]:
        """The permissions of an account; empty if it has none, or no longer exists."""
        return permissions.of_account(self._providers.get(eauth, {}), name, permissive=self._permissive)

    def shown(self, eauth: str, name: str) -> list[Any]:
        """The permissions of an account in the form in which the answer to a login has them."""
        return permissions.shown(self._providers.get(eauth, {}), name)


def load(config: Config) -> Accounts:
    """The accounts of a configuration. Raises ConfigError."""
    opts, folder = config.opts, config.path.parent if config.path else Path.cwd()
    given = (opts["external_auth"] or {}, str(opts["sharedsecret"] or ""), folder)
    return Accounts(*given, permissive=bool(opts["permissive_acl"]))


def refuse_open(path: Path, *, secret: bool) -> None:
    """Raises PermissionError for a file that others can write to; with ``secret``, also if they can read it."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o022:
        raise PermissionError(f"others can write to it (mode {mode:04o}); chmod 600")
    if secret and mode & 0o044:
        raise PermissionError(f"others can read it (mode {mode:04o}); chmod 600")


def _user_file(rows: Mapping[str, Any], folder: Path) -> UserFile:
    given = {str(name)[1:]: value for name, value in rows.items() if str(name).startswith("^")}
    hint = "see docs/serve.md"
    if not given.get("filename"):
        raise ConfigError("external_auth: file has no ^filename", hint)
    filetype, hashtype = str(given.get("filetype", "text")), str(given.get("hashtype", "plaintext"))
    if filetype == "htpasswd":
        hashtype = "bcrypt"
    elif filetype != "text":
        raise ConfigError(f"external_auth: ^filetype {filetype} is not supported", "use text, or htpasswd with bcrypt")
    if hashtype not in _HASHES:
        text = f"external_auth: ^hashtype {hashtype} is insecure or unknown"
        raise ConfigError(text, f"use one of {', '.join(_HASHES)}")
    try:
        places = [int(given.get(name, at)) - 1 for name, at in (("username_field", 1), ("password_field", 2))]
    except (TypeError, ValueError):
        places = [-1, -1]
    if min(places) < 0:
        raise ConfigError("external_auth: ^username_field and ^password_field must be numbers of at least 1", hint)
    path = folder / Path(str(given["filename"])).expanduser()
    if not path.is_file():
        raise ConfigError(f"external_auth: {path} is not a file", "write one account per line: NAME:PASSWORD")
    return UserFile(path, hashtype, str(given.get("field_separator", ":")) or ":", *places)


def _as_2b(hash: str) -> bytes:
    """A hash with the prefix that the library knows; ``$2y$`` is the one of htpasswd."""
    return hash.replace("$2y$", "$2b$", 1).encode()


def _digest(data: bytes) -> bytes:
    """A digest, so that the time of a comparison does not depend on the length of the data."""
    return hashlib.sha256(data).digest()
