"""known_hosts files: finds the keys that are trusted for a host, with file and line, and adds new ones."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache
from pathlib import Path

from pushsalt import regular
from pushsalt.transport.ssh_library import asyncssh

DEFAULT_PORT = 22
MARKERS = ("", "cert-authority", "revoked")
MAX_BYTES = 256 * 1024 * 1024
#: characters of binary data: replacement characters for invalid UTF-8, and control characters except tab
_NO_TEXT = re.compile("[\ufffd\x00-\x08\x0b-\x1f\x7f]")
_HASHED = re.compile(r"\|1\|[A-Za-z0-9+/]{27}=\|[A-Za-z0-9+/]{27}=")
_NEGLIGIBLE = (FileNotFoundError, NotADirectoryError, PermissionError)


@dataclass(frozen=True)
class Line:
    """One line: ``marker`` is "", "cert-authority" or "revoked"; the key is still text.

    Unknown markers and invalid or missing keys are kept. A line with unreadable names has no names.
    """

    marker: str
    patterns: str
    key: str
    where: str

    def matches(self, name: str) -> bool:
        """Whether the line applies to this name: a host, or ``[host]:port``."""
        if self.patterns.startswith("|1|"):
            return _HashedName(self.patterns).is_of(_bytes(name))
        is_match = False
        for pattern in self.patterns.split(","):
            negated = pattern.startswith("!")
            if re.match(_regex(pattern[negated:].lower()), name.lower()):
                if negated:
                    return False
                is_match = True
        return is_match


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


class _HashedName:
    """The HMAC-SHA1 of a name, keyed by a salt: sshd(8). Its form was checked when the line was read.

    Each line of a file is compared with each host, so the padded keys are computed once; ``hmac.digest`` takes more
    than twice as long.
    """

    __slots__ = ("_digest", "_inner", "_outer")

    def __init__(self, patterns: str) -> None:
        salt, self._digest = (base64.b64decode(part) for part in patterns.split("|")[2:4])
        key = salt.ljust(64, b"\0")
        self._inner, self._outer = bytes(byte ^ 0x36 for byte in key), bytes(byte ^ 0x5C for byte in key)

    def is_of(self, name: bytes) -> bool:
        """Whether this is the hash of ``name``."""
        inner = hashlib.sha1(self._inner + name, usedforsecurity=False).digest()
        return hashlib.sha1(self._outer + inner, usedforsecurity=False).digest() == self._digest


@cache
def _regex(pattern: str) -> str:
    # fnmatch has character classes, known_hosts does not: there, brackets are plain characters.
    return translate(pattern.replace("[", "[[]"))


@dataclass
class HostRecord:
    """The entries of known_hosts files for one host.

    ``elsewhere``: its keys for the default port, if another port was looked up.
    ``unreadable``: file and number of lines that may apply to the host and whose key cannot be read. If there
    is such a line, no key is accepted as new.
    """

    trusted: list[tuple[asyncssh.SSHKey, str]] = field(default_factory=list)
    authorities: list[tuple[asyncssh.SSHKey, str]] = field(default_factory=list)
    revoked: list[tuple[asyncssh.SSHKey, str]] = field(default_factory=list)
    elsewhere: list[asyncssh.SSHKey] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def algorithms(self, certificates: bool = True) -> list[str]:
        """Host key algorithms to request, those of known keys first, so that the server offers a known key."""
        wanted: list[str] = []
        if self.authorities and certificates:
            wanted += [name + "-cert-v01@openssh.com" for name in _ALGORITHMS]
        for key, _ in self.trusted:
            wanted += [name.decode() for name in key.sig_algorithms]
        for key in self.elsewhere:
            wanted += [name.decode() for name in key.sig_algorithms]
        supported = set(_ALGORITHMS) | {name + "-cert-v01@openssh.com" for name in _ALGORITHMS}
        return [name for name in dict.fromkeys([*wanted, *_ALGORITHMS]) if name in supported]


_ALGORITHMS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "rsa-sha2-512",
    "rsa-sha2-256",
)


class KnownHosts:
    """The lines of some known_hosts files, read once; keys are parsed when a host is looked up.

    Lines with plain names are indexed by name, since the file of a fleet has a line for each host. Lines with patterns
    are tried one by one, and those with a hashed name until its name was looked up: each has one name only.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = tuple(files)
        #: path -> its attributes before it was read
        self.stamps = {str(path): regular.attributes(path) for path in files}
        self._lines: list[Line] = []
        self._named: dict[str, list[int]] = {}  # positions in _lines
        self._tried: list[int] = []
        self._hashed: dict[int, _HashedName] = {}  # position -> a name that no look-up has found yet
        self._nameless: list[str] = []  # file and number of lines that may apply to any host
        for path in files:
            for line in _read(path):
                self._take(line)

    def _take(self, line: Line) -> None:
        if not line.patterns:
            self._nameless.append(line.where)
            return
        place = len(self._lines)
        self._lines.append(line)
        if line.patterns.startswith("|1|"):
            self._hashed[place] = _HashedName(line.patterns)
        elif set(line.patterns) & set("*?!"):
            self._tried.append(place)
        else:
            for name in line.patterns.lower().split(","):
                self._named.setdefault(name, []).append(place)

    def lookup(self, host: str, port: int) -> HostRecord:
        record = HostRecord(unreadable=list(self._nameless))
        name = host if port == DEFAULT_PORT else f"[{host}]:{port}"
        self._reveal(dict.fromkeys((name, host)))
        named = {*self._named.get(name.lower(), ()), *self._named.get(host.lower(), ())}
        for place in sorted({*named, *self._tried}):
            line = self._lines[place]
            applies = line.matches(name)
            if applies or (name != host and line.matches(host)):
                key = _parse(line.key)
                if key is None or line.marker not in MARKERS:
                    record.unreadable.append(line.where)
                elif line.marker == "revoked":
                    record.revoked.append((key, line.where))
                elif line.marker == "cert-authority":
                    record.authorities.append((key, line.where))
                elif applies:
                    record.trusted.append((key, line.where))
                else:
                    record.elsewhere.append(key)
        return record

    def _reveal(self, names: Iterable[str]) -> None:
        """Add the lines with the hashes of these names to the index."""
        for name in names:
            data = _bytes(name)
            found = [place for place, hashed in self._hashed.items() if hashed.is_of(data)]
            self._named.setdefault(name.lower(), []).extend(found)
            for place in found:
                del self._hashed[place]

    def add(self, host: str, port: int, key: asyncssh.SSHKey) -> Path:
        """Append a key to the first file; other processes may append at the same time. Raises OSError."""
        path = self.files[0]
        name = host if port == DEFAULT_PORT else f"[{host}]:{port}"
        text = f"{name} {key.export_public_key('openssh').decode().split(' #')[0].strip()}"
        words = text.split()[:3]  # without the comment
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISCHR(status.st_mode):  # /dev/null is allowed, to store no keys
                regular.refuse(path, status)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            size = os.fstat(descriptor).st_size
            broken = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            os.write(descriptor, ("\n" * broken + " ".join(words) + "\n").encode())
        finally:
            os.close(descriptor)
        self._take(Line("", name, " ".join(words[1:]), f"{path} (added now)"))
        return path


def _read(path: Path) -> list[Line]:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return [Line("", "", "", str(path))]  # reading a pipe would block
        lines = path.read_bytes().splitlines()
    except _NEGLIGIBLE:
        return []
    return [line for number, raw in enumerate(lines, 1) if (line := _line(raw, f"{path}:{number}")) is not None]


def _line(raw: bytes, where: str) -> Line | None:
    """Parse a line; None for an empty one. Only names and key must be UTF-8: a comment may have any encoding."""
    words = raw.decode("utf-8", "replace").split()
    if not words or words[0].startswith("#"):
        return None
    marker = words.pop(0)[1:] if words[0].startswith("@") else ""
    names, key = " ".join(words[:1]), " ".join(words[1:3])
    if _NO_TEXT.search(names) or (names.startswith("|") and not _HASHED.fullmatch(names)):
        names = ""
    return Line(marker, names, "" if _NO_TEXT.search(key) else key, where)


def _parse(text: str) -> asyncssh.SSHKey | None:
    try:
        return asyncssh.import_public_key(text)
    except asyncssh.KeyImportError:
        return None  # an unsupported type of key: keys of other types are requested from the server


def fingerprint(key: asyncssh.SSHKey) -> str:
    """The fingerprint of a key, as ssh-keygen -l prints it."""
    digest = base64.b64encode(hashlib.sha256(key.public_data).digest()).decode().rstrip("=")
    return f"{key.get_algorithm()} SHA256:{digest}"
