"""The CA's folder: public keys, encrypted private keys, issued certificates.

::

    ca.json                      places of private keys: {"format", "keys": {fingerprint: {"kind", "place"}}}
    root.pub                     the root's public key
    manifest.json, .sig          the signed manifest (manifest.py); manifest.json.next is not signed yet
    log.jsonl                    one JSON object (line) per action, append-only
    keys/                        private keys with passphrases, where they are files
    envs/ENV/revoked.krl         revocation list of OpenSSH
    envs/ENV/hosts/ID/KIND-cert.pub   host certificates of machines
    known_hosts                  for clients: authorities and revoked keys

Folders are 0700, files 0600, replaced atomically; ``.lock`` is held during changes.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from pushsalt import regular
from pushsalt.ca import CaError
from pushsalt.ca import manifest as manifests
from pushsalt.ca.holder import Holder, blob_signer, lent, read_public
from pushsalt.ca.program import last_words, run
from pushsalt.ca.wire import PublicKey
from pushsalt.cache.store import private_dir, write_atomic
from pushsalt.lazy import forget

FORMAT: Final = "pushsalt-ca-keys 1"
MANIFEST: Final = "manifest.json"
NEXT: Final = "manifest.json.next"


class Folder:
    """A CA on disk. Except for local records, all data comes from a verified manifest.

    ``pin``: the required fingerprint of the root; empty to accept that of root.pub.
    """

    def __init__(self, path: Path, pin: str = "") -> None:
        self.path = path
        self.pin = pin

    @property
    def exists(self) -> bool:
        return (self.path / "root.pub").is_file()

    def file(self, *parts: str) -> Path:
        return self.path.joinpath(*parts)

    @cached_property
    def root(self) -> PublicKey:
        """The root's public key. Raises CaError if it is missing, or differs from ``pin``."""
        if not self.exists:
            raise CaError(f"{self.path} holds no CA", hint="`pushsalt ca init` makes one; --dir names another folder")
        try:
            private_dir(self.path)
        except OSError as exc:
            raise CaError(f"{self.path} is not used: {exc}", hint=f"chmod 700 {self.path}, as its owner") from exc
        key = read_public(self.file("root.pub"))
        if self.pin and key.fingerprint != self.pin:
            raise CaError(
                f"the root in {self.path} is {key.fingerprint}, but the configuration requires {self.pin}",
                hint="if you did not change the root yourself, somebody else did: restore the folder from a backup",
            )
        return key

    # --- the manifest

    @cached_property
    def manifest(self) -> manifests.Manifest:
        """The manifest, its signature verified. Raises CaError."""
        root, where = self.root, str(self.file(MANIFEST))
        data, signature = self._bytes(MANIFEST), self._bytes(f"{MANIFEST}.sig")
        manifests.verify(data, signature, root, where)
        manifest = manifests.decode(data, root, where)
        newest = self._newest()
        if manifest.serial < newest:
            raise CaError(
                f"{where} has the number {manifest.serial}, but number {newest} was signed already",
                hint="it is an old copy: restore the newest manifest.json and manifest.json.sig",
            )
        return manifest

    def current(self) -> manifests.Manifest:
        """The manifest, if it has not expired. Raises CaError."""
        manifest = self.manifest
        if time.time() >= manifest.expires:
            raise CaError(
                f"the root's signature on {self.file(MANIFEST)} expired on {date(manifest.expires)}",
                hint="`pushsalt ca init --renew` renews the root's signature for a year",
            )
        return manifest

    def _newest(self) -> int:
        """The number of the newest manifest that this machine has signed."""
        return max((entry.get("manifest", 0) for entry in self.log() if entry["action"] == "manifest"), default=0)

    def sign_manifest(self, wanted: manifests.Manifest) -> None:
        """Sign this manifest with the root key, and store it as the current one. Raises CaError."""
        data = wanted.encode()
        manifests.decode(data, self.root, MANIFEST)
        if wanted.serial <= self._newest():
            raise CaError(
                f"a manifest {wanted.serial} was signed already", hint="another command signed it meanwhile: try again"
            )
        with self.work() as work:
            place = work / MANIFEST
            place.write_bytes(data)
            holder = self.holder(self.root)
            with lent(holder, self.root, self.path) if holder.kind == "pkcs11" else contextlib.nullcontext():
                words = blob_signer(holder, self.root, self.path, work)
                done = run(["ssh-keygen", "-q", "-Y", "sign", *words, "-n", manifests.NAMESPACE, str(place)], asks=True)
            if done.code:
                raise CaError(f"the root did not sign: {last_words(done)}", hint="is the passphrase or the PIN right?")
            signature = regular.read_bytes(Path(f"{place}.sig"))
        manifests.verify(data, signature, self.root, MANIFEST)
        self.append({"action": "manifest", "manifest": wanted.serial, "environments": sorted(wanted.environments)})
        # Between the two renames the signature is invalid, so nothing is signed or published.
        self.write(f"{MANIFEST}.sig", signature)
        self.write(MANIFEST, data)
        self.file(NEXT).unlink(missing_ok=True)
        forget(self, "manifest")

    def waiting(self) -> manifests.Manifest | None:
        """The manifest that waits for the root's signature, if it is newer than the signed one. Raises CaError."""
        if not self.file(NEXT).exists():
            return None
        manifest = manifests.decode(self._bytes(NEXT), self.root, str(self.file(NEXT)))
        try:
            return manifest if manifest.serial > self.manifest.serial else None
        except CaError:
            return manifest

    # --- holders of keys

    def holder(self, key: PublicKey) -> Holder:
        """The holder of a private key. Raises CaError for an unknown key."""
        try:
            return Holder.of(self._keys()[key.fingerprint])
        except (KeyError, TypeError, ValueError):
            raise CaError(
                f"ca.json has no place of the private half of {key.fingerprint}",
                hint="run the command on the machine that has the private key",
            ) from None

    def keep_holder(self, key: PublicKey, holder: Holder) -> None:
        keys = {**self._keys(), key.fingerprint: holder.as_data()}
        data = {"format": FORMAT, "keys": keys}
        self.write("ca.json", (json.dumps(data, indent=1, sort_keys=True) + "\n").encode())

    def _keys(self) -> dict[str, Any]:
        path = self.file("ca.json")
        if not path.exists():
            return {}
        try:
            data = json.loads(regular.read_bytes(path))
            if data["format"] != FORMAT:
                raise ValueError("of another format")
            return dict(data["keys"])
        except (OSError, ValueError, KeyError, TypeError) as exc:
            raise CaError(f"{path} is damaged: {exc}", hint="restore it from a backup") from exc

    # --- the log

    def append(self, entry: dict[str, Any]) -> None:
        """Append a record to the log; it is on disk when this returns. Raises CaError."""
        record = {"time": date(time.time()), "by": _whoami(), **entry}
        line = json.dumps(record, ensure_ascii=True).encode() + b"\n"
        try:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self.file("log.jsonl"), flags, 0o600)
            try:
                size = os.fstat(descriptor).st_size
                torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
                os.write(descriptor, b"\n" * torn + line)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as exc:
            raise CaError(
                f"{self.file('log.jsonl')} cannot be written: {exc.strerror}", hint="nothing was signed or revoked"
            ) from exc

    def log(self) -> list[dict[str, Any]]:
        """Every undamaged line, the oldest first."""
        return [entry for entry, _ in self.log_lines() if entry is not None]

    def log_lines(self) -> Iterator[tuple[dict[str, Any] | None, int]]:
        """Each line with its number; None for a damaged one."""
        try:
            text = regular.read_text(self.file("log.jsonl"), "replace")
        except FileNotFoundError:
            return
        for number, line in enumerate(text.splitlines(), 1):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                entry = None
            yield (entry if _is_sound(entry) else None), number

    def next_serial(self) -> int:
        """A unique serial number, made from milliseconds and random bits, and greater than all numbers in the log.

        So two copies of the folder do not use the same numbers. It is below 2**53, the limit of many JSON parsers.
        """
        last = max((entry["serial"] for entry in self.log() if isinstance(entry.get("serial"), int)), default=0)
        return max(last + 1, (int(time.time() * 1000) << 10) + secrets.randbelow(1024))

    # --- files

    def write(self, name: str, data: bytes, mode: int = 0o600) -> Path:
        """Write a file of the folder atomically; returns its path. Raises CaError."""
        path = self.file(name)
        try:
            private_dir(path.parent)
            write_atomic(path, data, mode)
        except OSError as exc:
            raise CaError(
                f"{path} cannot be written: {exc}", hint="free disk space, or correct the folder's owner"
            ) from exc
        return path

    def _bytes(self, name: str) -> bytes:
        path = self.file(name)
        try:
            if path.stat().st_size > manifests.MAX_BYTES:
                raise CaError(f"{path} is too long", hint="restore it from a backup")
            return regular.read_bytes(path)
        except OSError as exc:
            raise CaError(
                f"{path} cannot be read: {exc.strerror}",
                hint="`pushsalt ca init --sign` signs a pending manifest; otherwise restore it from a backup",
            ) from exc

    def krl(self, env: str) -> Path:
        return self.file("envs", env, "revoked.krl")

    def host_folder(self, env: str, id: str) -> Path:
        name = quote(id, safe="")
        return self.file("envs", env, "hosts", f"%2E{name[1:]}" if name.startswith(".") else name)

    @contextlib.contextmanager
    def work(self) -> Iterator[Path]:
        """A context with a private temporary folder."""
        try:
            private_dir(self.path)
            with tempfile.TemporaryDirectory(prefix=".work.", dir=self.path) as path:
                yield Path(path)
        except OSError as exc:
            raise CaError(f"{self.path} cannot be used: {exc}", hint="correct its owner and mode, or --dir") from exc

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """A context in which no other process changes the folder. Raises CaError."""
        try:
            private_dir(self.path)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self.file(".lock"), flags, 0o600)
        except OSError as exc:
            raise CaError(f"{self.path} cannot be used: {exc}", hint="correct its owner and mode, or --dir") from exc
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def date(seconds: float) -> str:
    """ISO 8601, UTC."""
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError):
        return "forever"


def _is_sound(entry: Any) -> bool:
    """Whether an entry of the log has the types that other code relies on."""
    if not isinstance(entry, dict) or not isinstance(entry.get("action"), str):
        return False
    numbers = all(isinstance(entry.get(name, 0), int) for name in ("serial", "manifest"))
    texts = ("env", "id", "key_id", "public_key", "host_key", "valid_before", "time")
    if not numbers or not all(isinstance(entry.get(name, ""), str) for name in texts):
        return False
    needed = ("env", "serial", "key_id", "public_key") if entry["action"].startswith("sign-") else ()
    return all(name in entry for name in needed)


def _whoami() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.geteuid())
    return f"{user}@{socket.gethostname()}"
