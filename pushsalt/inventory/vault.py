"""Decrypts texts of ansible-vault with the given passwords.

A text is a line ``$ANSIBLE_VAULT;1.1;AES256`` (``1.2`` followed by a label) and lines of hexadecimal digits. These
encode three lines: salt, HMAC-SHA256 and ciphertext, each in hexadecimal digits again. PBKDF2-HMAC-SHA256 derives from
password and salt, in 10,000 rounds, 32 bytes for AES-CTR, 32 for the HMAC and 16 for the counter.
Source: Ansible's documentation, "Encrypting content with Ansible Vault": the format of files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

HEADER: Final = "$ANSIBLE_VAULT;"
_ROUNDS: Final = 10_000
_BLOCK: Final = 16

#: A label (of a vault id; empty for none) and a password.
Password = tuple[str, bytes]


class Vault:
    """Decrypts texts. ``passwords`` is called once, on demand; ``on_secret`` is called with each decrypted secret."""

    def __init__(
        self,
        passwords: Callable[[], Sequence[Password]] = lambda: (),
        on_secret: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._ask = passwords
        self._passwords: list[Password] | None = None
        self._on_secret = on_secret
        self._opened: dict[str, str | None] = {}
        self._secrets: dict[str, None] = {}
        #: file -> names of variables that no password decrypts; an empty list for a file that is encrypted as a whole
        self.left_out: dict[Path, list[str]] = {}

    @property
    def passwords(self) -> list[Password]:
        """The passwords. Raises what their source raises."""
        if self._passwords is None:
            self._passwords = list(self._ask())
        return self._passwords

    @property
    def secrets(self) -> tuple[str, ...]:
        """All texts that were added as secrets."""
        return tuple(self._secrets)

    def closed_names(self) -> set[str]:
        """The names of variables that no password decrypts."""
        return {name for names in self.left_out.values() for name in names}

    def add_secrets(self, value: Any) -> None:
        """Declare every text in ``value``, which was encrypted, a secret."""
        if isinstance(value, str):
            if value not in self._secrets:
                self._secrets[value] = None
                self._on_secret(value)
        elif isinstance(value, dict | list):
            for item in value.values() if isinstance(value, dict) else value:
                self.add_secrets(item)

    def open(self, envelope: str) -> str | None:
        """The decrypted text; None if no password decrypts it."""
        if envelope not in self._opened:
            self._opened[envelope] = self._open(envelope)
        return self._opened[envelope]

    def _open(self, envelope: str) -> str | None:
        lines = envelope.split()
        header = lines[0].split(";") if lines else []
        if header[:1] != ["$ANSIBLE_VAULT"] or header[1:3] not in (["1.1", "AES256"], ["1.2", "AES256"]):
            return None
        try:
            parts = bytes.fromhex("".join(lines[1:])).split(b"\n")
            salt, mac, data = (bytes.fromhex(part.decode("ascii")) for part in parts)
        except ValueError:
            return None
        label = header[3] if len(header) > 3 else ""
        for _, password in sorted(self.passwords, key=lambda each: each[0] != label):
            plain = _decrypted(password, salt, mac, data)
            if plain is not None:
                return plain
        return None

    def why(self) -> str:
        """The reason why a text could not be decrypted, and what to do."""
        if self.passwords:
            return "none of the given passwords decrypts it"
        return "set ANSIBLE_VAULT_PASSWORD_FILE to the file with the password"

    def warnings(self) -> list[str]:
        """A warning for each file of which variables were left out."""
        return [
            f"{path}: encrypted by ansible-vault, and left out{': ' if names else ''}{_few(names)}; {self.why()}"
            for path, names in self.left_out.items()
        ]


def _few(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _decrypted(password: bytes, salt: bytes, mac: bytes, data: bytes) -> str | None:
    import hashlib  # imported on demand: few inventories need it
    import hmac

    keys = hashlib.pbkdf2_hmac("sha256", password, salt, _ROUNDS, 80)
    if not hmac.compare_digest(hmac.digest(keys[32:64], data, "sha256"), mac):
        return None
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    cipher = Cipher(algorithms.AES(keys[:32]), modes.CTR(keys[64:]))
    decryptor = cipher.decryptor()
    padded = decryptor.update(data) + decryptor.finalize()
    count = padded[-1] if padded else 0
    if not 1 <= count <= _BLOCK or padded[-count:] != bytes([count]) * count:
        return None
    try:
        return padded[:-count].decode("utf-8")
    except UnicodeDecodeError:
        return None
