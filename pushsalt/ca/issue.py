"""Signs certificates. A certificate is made in a temporary folder, compared with the request, logged, and then
published.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pushsalt import regular
from pushsalt.ca import CaError, names
from pushsalt.ca.folder import Folder, date
from pushsalt.ca.holder import read_public, signer
from pushsalt.ca.krl import ensure, is_revoked
from pushsalt.ca.manifest import Environment
from pushsalt.ca.program import last_words, run
from pushsalt.ca.wire import Certificate, PublicKey, WireError, parse_certificate
from pushsalt.cache.store import write_atomic
from pushsalt.errors import UsageError

#: Certificates are valid from this number of seconds before now, for machines whose clocks are slow.
SKEW: Final = 300
USER_DEFAULT: Final = 8 * 3600


@dataclass(frozen=True)
class UserRequest:
    """A request for a certificate: user, environment, roles; ``valid`` in seconds, None for the default."""

    env: str
    roles: tuple[str, ...]
    who: str
    valid: int | None = None
    permits: tuple[str, ...] = ("pty",)
    source: str = ""
    command: str = ""


def sign_user(folder: Folder, request: UserRequest, path: Path, output: Path | None = None) -> dict[str, Any]:
    """Sign a certificate for the key in this file, and write it next to the file, or to ``output``. Returns its entry
    in the log.

    Raises CaError, UsageError.
    """
    rules = folder.current().environment(request.env)
    if not request.roles:
        raise UsageError("which role?", hint=f"--role NAME; principals are {request.env}-NAME")
    principals = tuple(dict.fromkeys(names.principal(request.env, role) for role in request.roles))
    foreign = [role for role in request.roles if rules.roles and role not in rules.roles]
    if foreign:
        raise CaError(
            f"{request.env} has no role {', '.join(foreign)}", hint=f"the manifest allows {', '.join(rules.roles)}"
        )
    valid = request.valid if request.valid is not None else min(USER_DEFAULT, rules.user_max)
    _bounded(valid, rules.user_max, f"a user of {request.env}")
    options = ["clear", *(f"permit-{word}" for word in request.permits)]
    options += [f"source-address={request.source}"] if request.source else []
    options += [f"force-command={request.command}"] if request.command else []
    key_id = f"{request.env}/user/{request.who}/{','.join(request.roles)}"
    with folder.locked():
        key = _acceptable(folder, read_public(path), path)
        certificate = _sign(folder, request.env, rules, key, key_id, principals, valid, options, host=False)
        entry = _entry("sign-user", request.env, certificate)
        if options[1:] != ["permit-pty"]:
            entry["options"] = options[1:]
        folder.append(entry)
    place = output or path.with_name(f"{path.name.removesuffix('.pub')}-cert.pub")
    _place(place, certificate, request.who)
    return {**entry, "file": str(place)}


def sign_host(
    folder: Folder, env: str, id: str, hosts: Sequence[str], key: PublicKey, valid: int | None = None
) -> dict[str, Any]:
    """Certify the host key of the machine ``id`` for these names, and store the certificate for it. Returns its entry
    in the log.

    Raises CaError, UsageError.
    """
    rules = folder.current().environment(env)
    principals = tuple(dict.fromkeys(names.host(name) for name in hosts))
    if not principals:
        raise UsageError("a host certificate needs names", hint="--name NAME, as clients call the host")
    foreign = [name for name in principals if rules.hosts and not names.fits(name, rules.hosts)]
    if foreign:
        raise CaError(
            f"{', '.join(foreign)}: not a host of {env}", hint=f"the manifest allows {', '.join(rules.hosts)}"
        )
    valid = valid if valid is not None else rules.host_max
    _bounded(valid, rules.host_max, f"a host of {env}")
    with folder.locked():
        _acceptable(folder, key, Path(id))
        certificate = _sign(folder, env, rules, key, f"{env}/host/{_printed(id)}", principals, valid, [], host=True)
        entry = {**_entry("sign-host", env, certificate), "id": id}
        folder.append(entry)
        place = folder.host_folder(env, id) / f"{short(key.kind)}-cert.pub"
        folder.write(str(place.relative_to(folder.path)), f"{certificate.line} {_printed(id)}\n".encode())
    return {**entry, "file": str(place)}


def expiring_hosts(folder: Folder, env: str, within: int) -> list[tuple[str, Certificate]]:
    """(id of the machine, certificate) of published host certificates that expire within this number of seconds."""
    ids = {str(folder.host_folder(env, e["id"])): e["id"] for e in folder.log() if e.get("id") and e.get("env") == env}
    expiring = []
    for place in sorted(folder.file("envs", env, "hosts").glob("*/*-cert.pub")):
        certificate = read_certificate(place)
        if str(place.parent) in ids and certificate.valid_before < time.time() + within:
            expiring.append((ids[str(place.parent)], certificate))
    return expiring


def read_certificate(path: Path) -> Certificate:
    """The certificate in a file. Raises CaError."""
    try:
        return parse_certificate(regular.read_text(path, "replace"))
    except (OSError, WireError) as exc:
        raise CaError(f"{path}: {getattr(exc, 'strerror', None) or exc}", hint="name a KEY-cert.pub") from exc


def short(kind: str) -> str:
    """The word for a kind of key in the names of sshd's files: ed25519, ecdsa, rsa."""
    return "ecdsa" if "ecdsa" in kind else kind.removeprefix("ssh-")


def _bounded(valid: int, limit: int, whose: str) -> None:
    if valid > limit:
        raise CaError(
            f"{names.spoken(valid)} is longer than {whose} may have: {names.spoken(limit)}",
            hint="request a shorter one; the limit is in the manifest, which the root signs",
        )


def _acceptable(folder: Folder, key: PublicKey, path: Path) -> PublicKey:
    if key.kind == "ssh-rsa" and key.bits < 2048:
        raise CaError(f"{path}: an RSA key of {key.bits} bits is not certified", hint="make an Ed25519 key")
    if key.blob in {folder.root.blob, *(other.blob for other in folder.manifest.authorities())}:
        raise CaError(f"{path} is the key of an authority", hint="users and hosts need separate keys")
    return key


def _sign(
    folder: Folder,
    env: str,
    rules: Environment,
    key: PublicKey,
    key_id: str,
    principals: tuple[str, ...],
    valid: int,
    options: Sequence[str],
    *,
    host: bool,
) -> Certificate:
    """Sign by ssh-keygen, and check that the result matches the request and is not revoked. Raises CaError."""
    authority = rules.authorities(host)[0]
    serial = folder.next_serial()
    holder = folder.holder(authority)
    with folder.work() as work:
        public = work / "key.pub"
        public.write_text(f"{key.line}\n")
        argv = ["ssh-keygen", "-q", *signer(holder, authority, folder.path, work), "-I", key_id]
        argv += ["-n", ",".join(principals), "-V", f"-{SKEW}s:+{valid}s", "-z", str(serial)]
        argv += [word for option in options for word in ("-O", option)] + (["-h"] if host else [])
        done = run([*argv, str(public)], asks=True)
        certificate_path = work / "key-cert.pub"
        if done.code or not certificate_path.exists():
            raise CaError(f"nothing was signed: {last_words(done)}", hint="is the passphrase or the PIN right?")
        certificate = read_certificate(certificate_path)
        expected = (authority.blob, key.blob, serial, key_id, principals, host)
        actual = (
            certificate.authority.blob,
            certificate.key.blob,
            certificate.serial,
            certificate.key_id,
            certificate.principals,
            certificate.host,
        )
        if expected != actual or abs(certificate.valid_before - certificate.valid_after - valid - SKEW) > 60:
            raise CaError("ssh-keygen signed something other than the request", hint="check the installed OpenSSH")
        if is_revoked(ensure(folder, env), certificate_path):
            raise CaError(
                f"the key {key.fingerprint}, its authority or the key id {key_id!r} is revoked in {env}",
                hint="a new key (and another --id, if that was revoked) can be certified",
            )
    return certificate


def _entry(action: str, env: str, certificate: Certificate) -> dict[str, Any]:
    return {
        "action": action,
        "env": env,
        "serial": certificate.serial,
        "key_id": certificate.key_id,
        "principals": list(certificate.principals),
        "valid_after": date(certificate.valid_after),
        "valid_before": date(certificate.valid_before),
        "public_key": certificate.key.line,
        "authority": certificate.authority.fingerprint,
    }


def _place(path: Path, certificate: Certificate, comment: str) -> None:
    try:
        write_atomic(path, f"{certificate.line} {comment}\n".encode(), 0o644)
    except OSError as exc:
        raise CaError(
            f"{path} cannot be written: {exc.strerror}", hint="--output FILE writes it to another place"
        ) from exc


def _printed(id: str) -> str:
    """An id of the inventory as it is written in a key id."""
    return "".join(char if char.isascii() and (char.isalnum() or char in "._-:@+") else "_" for char in id)[:128]
