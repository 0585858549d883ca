"""Finds the private half of an authority's key: in a file with a passphrase, an agent, or a PKCS#11 module.

A key file without a passphrase is refused.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pushsalt import regular
from pushsalt.ca import CaError, program
from pushsalt.ca.wire import PublicKey, WireError, parse_public


@dataclass(frozen=True)
class Holder:
    """The place of a private key. ``kind``: file, agent or pkcs11; ``place``: the key's file (relative to the CA's
    folder) or the module's path.
    """

    kind: str
    place: str = ""

    def as_data(self) -> dict[str, str]:
        return {"kind": self.kind, **({"place": self.place} if self.place else {})}

    @classmethod
    def of(cls, data: Any) -> Holder:
        """Raises ValueError."""
        kind, place = data["kind"], data.get("place", "")
        if kind not in ("file", "agent", "pkcs11") or not isinstance(place, str) or (kind != "agent") != bool(place):
            raise ValueError(f"unknown kind of key holder {kind!r}")
        return cls(kind, place)

    def __str__(self) -> str:
        return {"file": f"{self.place}, with a passphrase", "agent": "an agent"}.get(self.kind, f"module {self.place}")


def generate(path: Path, comment: str) -> PublicKey:
    """Create a key in this file, with a passphrase that ssh-keygen asks for. Raises CaError."""
    if not program.can_ask():
        raise CaError(
            f"the passphrase of {path.name} cannot be asked for",
            hint="run it on a terminal, or set SSH_ASKPASS and SSH_ASKPASS_REQUIRE=force; or name a key of an agent",
        )
    if path.exists():
        raise CaError(f"{path} exists already", hint="name another file, or move it away")
    try:
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-a", "32", "-C", comment, "-f", str(path)]
        done = program.run(argv, asks=True)
        if done.code:
            raise CaError(f"the key {path.name} was not made: {program.last_words(done)}", hint="try again")
        refuse_open(path)
        return read_public(Path(f"{path}.pub"))
    except BaseException:
        path.unlink(missing_ok=True)
        Path(f"{path}.pub").unlink(missing_ok=True)
        raise


def refuse_open(path: Path) -> None:
    """Raises CaError for a key file that others can read, or that needs no passphrase."""
    try:
        status = path.stat()
    except OSError as exc:
        raise CaError(
            f"the key {path} cannot be read: {exc.strerror}",
            hint="if it is on another machine: `pushsalt ca init --unsigned`, then sign there",
        ) from exc
    if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077 or status.st_uid not in (0, os.geteuid()):
        raise CaError(
            f"others than its owner can read the key {path}",
            hint=f"chmod 600 {path}, and make a new key if others may have read it",
        )
    # ssh-keygen tries the empty passphrase, since it supports all formats of private keys.
    if program.run(["ssh-keygen", "-y", "-P", "", "-f", str(path)]).code == 0:
        raise CaError(
            f"the key {path} has no passphrase: an authority's key must not be stored unencrypted",
            hint=f"ssh-keygen -p -f {path}, or move it into an agent or a token; replace it if others may have read it",
        )


def read_public(path: Path) -> PublicKey:
    """Raises CaError."""
    try:
        if path.stat().st_size > 64 * 1024:
            raise WireError("it is too long")
        return parse_public(regular.read_text(path, "replace"))
    except OSError as exc:
        raise CaError(f"{path} cannot be read: {exc.strerror}", hint="name a public key, KEY.pub") from exc
    except WireError as exc:
        raise CaError(f"{path}: {exc}", hint="name one public key, as ssh-keygen writes them: KEY.pub") from exc


def in_agent(key: PublicKey) -> bool:
    """Whether the agent of this session has the private half."""
    if not program.has_agent():
        return False
    done = program.run(["ssh-add", "-L"], patience=15)
    return done.code == 0 and any(line.split()[:2] == key.line.split() for line in done.out.splitlines())


def signer(holder: Holder, key: PublicKey, root: Path, work: Path) -> list[str]:
    """The arguments of ``ssh-keygen`` to sign certificates with this key; ``work`` is a private folder.

    Raises CaError if the key is not available.
    """
    public = work / "authority.pub"
    public.write_text(key.line + "\n")
    if in_agent(key):
        return ["-U", "-s", str(public)]
    if holder.kind == "agent":
        raise CaError(f"the agent does not have {key.fingerprint}", hint="ssh-add it, and see `ssh-add -l`")
    if holder.kind == "pkcs11":
        return ["-D", module(holder.place), "-s", str(public)]
    return ["-s", str(_private(holder, key, root))]


def blob_signer(holder: Holder, key: PublicKey, root: Path, work: Path) -> list[str]:
    """The arguments of ``ssh-keygen -Y sign`` to use this key. Raises CaError.

    ``-Y`` does not support PKCS#11: such a key must be added to an agent before.
    """
    if in_agent(key):
        public = work / "root.pub"
        public.write_text(key.line + "\n")
        return ["-f", str(public)]
    if holder.kind != "file":
        raise CaError(f"the agent does not have {key.fingerprint}", hint="ssh-add it, and see `ssh-add -l`")
    return ["-f", str(_private(holder, key, root))]


@contextlib.contextmanager
def lent(holder: Holder, key: PublicKey, root: Path) -> Iterator[None]:
    """A context in which a temporary agent has the key, so that its passphrase or PIN is asked for once. Raises
    CaError.
    """
    if holder.kind == "agent" or in_agent(key):
        yield
        return
    argv = ["ssh-add", "-q", "-t", "3600"]
    if holder.kind == "pkcs11":
        provider = module(holder.place)
        argv += ["-s", provider]
    else:
        provider = ""
        argv += [str(_private(holder, key, root))]
    with _agent(provider) as socket:
        token = program.AGENT.set(socket)
        try:
            done = program.run(argv, asks=True)
            if done.code or not in_agent(key):
                raise CaError(
                    f"the key {key.fingerprint} cannot be used, in {holder}: {program.last_words(done)}",
                    hint="is the passphrase or the PIN right?",
                )
            yield
        finally:
            program.AGENT.reset(token)


def _private(holder: Holder, key: PublicKey, root: Path) -> Path:
    """The key's file, after a check that other users cannot read it."""
    path = root / holder.place
    refuse_open(path)
    if not program.can_ask():
        raise CaError(
            f"the passphrase of {holder.place} ({key.fingerprint}) cannot be asked for",
            hint="run it on a terminal, set SSH_ASKPASS and SSH_ASKPASS_REQUIRE=force, or ssh-add the key",
        )
    return path


def module(text: str) -> str:
    """The path of a PKCS#11 module. Raises CaError."""
    path = Path(text)
    if not path.is_absolute() or not path.is_file():
        raise CaError(f"there is no PKCS#11 module {text}", hint="name the library by its absolute path")
    return str(path.resolve())


@contextlib.contextmanager
def _agent(provider: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="pushsalt-agent.") as folder:  # 0700
        socket = str(Path(folder) / "s")
        argv = ["ssh-agent", "-D", "-a", socket, *(["-P", provider] if provider else [])]
        try:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except FileNotFoundError:
            raise CaError("there is no ssh-agent on this machine", hint="install OpenSSH's client programs") from None
        try:
            end = time.monotonic() + 10
            while not _listens(socket) and time.monotonic() < end and process.poll() is None:
                time.sleep(0.01)
            yield socket
        finally:
            process.terminate()
            process.wait(10)


def _listens(path: str) -> bool:
    """Whether a server accepts connections at a socket; its file exists a moment before."""
    import socket

    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(path)
        except OSError:
            return False
    return True
