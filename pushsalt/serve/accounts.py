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
#: Bytes of a password that bcrypt looks at; longer ones are wrong.
_BCRYPT: Final = 72
#: Characters of a name and of a password.
_LONGEST: Final = 256
#: Compared when there is no such account, so that the answer takes as long.
_NOBODY: Final = "$2b$12$WW1tVDHIyL1lsqjMHTBw2eK3lgXhsZQ2MFd5LIKDBI1uzd3gxJQdC"


@dataclass(frozen=True)
class UserFile:
    """The file of the eauth module ``file``: an account a line, its fields at these places."""

    path: Path
    hashtype: str = "plaintext"
    separator: str = ":"
    name_at: int = 0
    password_at: int = 1

    def check(self, name: str, password: str) -> bool:
        """Whether the file has this account with this password. A file that cannot be used has none; that is logged."""
        try:
            refuse_open(self.path, secret=self.hashtype == "plaintext")
            text = regular.read_text(self.path)
        except (OSError, UnicodeDecodeError) as exc:
            log.error("external_auth: %s: %s", self.path, getattr(exc, "strerror", None) or exc)
            return False
        found = ""
        for line in text.splitlines():
            fields = line.strip().split(self.separator)
            if len(fields) > max(self.name_at, self.password_at) and not found and fields[self.name_at] == name:
                found = fields[self.password_at]
        return self._is_right(found, password)

    def _is_right(self, kept: str, password: str) -> bool:
        data = password.encode()
        if self.hashtype == "bcrypt":
            try:
                right = bcrypt.checkpw(data[:_BCRYPT], (kept or _NOBODY).replace("$2y$", "$2b$", 1).encode())
            except ValueError:  # no hash of bcrypt
                log.error("external_auth: %s: a password in it is no hash of bcrypt", self.path)
                return False
            return right and bool(kept) and len(data) <= _BCRYPT
        if self.hashtype != "plaintext":
            data = hashlib.new(self.hashtype, data).hexdigest().encode()
            kept = kept.lower()
        return hmac.compare_digest(_fixed(data), _fixed(kept.encode())) and bool(kept)


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
            log.warning("external_auth: accounts of %s are not known here, only those of file and sharedsecret", name)
        for name, rows in self._providers.items():
            if not isinstance(rows, Mapping):
                raise ConfigError(f"external_auth: {name} has accounts with their permissions", "see docs/serve.md")
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
        if eauth not in self._providers or not 0 < len(name) <= _LONGEST or len(password) > 4 * _LONGEST:
            return False
        if not FORBIDDEN.isdisjoint(name):
            return False
        if eauth == "file":
            assert self._file is not None
            right = self._file.check(name, password)
        else:
            right = hmac.compare_digest(_fixed(password.encode()), _fixed(self._secret.encode()))
        return right and bool(self.permissions(eauth, name))

    def permissions(self, eauth: str, name: str) -> list[Any]:
        """The permissions of an account; empty: it may do nothing, or does not exist any more."""
        return permissions.of_account(self._providers.get(eauth, {}), name, permissive=self._permissive)

    def shown(self, eauth: str, name: str) -> list[Any]:
        """The permissions of an account as a login shows them."""
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
        raise ConfigError(f"external_auth: ^filetype {filetype} is not known", "text, or htpasswd with bcrypt")
    if hashtype not in _HASHES:
        raise ConfigError(f"external_auth: ^hashtype {hashtype} is not safe, or not known", ", ".join(_HASHES))
    try:
        places = [int(given.get(name, at)) - 1 for name, at in (("username_field", 1), ("password_field", 2))]
    except (TypeError, ValueError):
        places = [-1, -1]
    if min(places) < 0:
        raise ConfigError("external_auth: ^username_field and ^password_field are numbers from 1 on", hint)
    path = folder / Path(str(given["filename"])).expanduser()
    if not path.is_file():
        raise ConfigError(f"external_auth: {path} is no file", "it has the accounts: NAME:PASSWORD a line")
    return UserFile(path, hashtype, str(given.get("field_separator", ":")) or ":", *places)


def _fixed(data: bytes) -> bytes:
    """A digest: comparing it tells nothing about the length."""
    return hashlib.sha256(data).digest()
