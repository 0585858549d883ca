"""Creates a CA: the root, the authorities of environments, and the manifest."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pushsalt.ca import CaError, krl, names, publish
from pushsalt.ca.folder import NEXT, Folder
from pushsalt.ca.holder import Holder, generate, module, read_public, refuse_open
from pushsalt.ca.manifest import Environment, Manifest
from pushsalt.ca.wire import PublicKey
from pushsalt.errors import UsageError
from pushsalt.lazy import forget

LIFETIME: Final = 366 * 86400


@dataclass(frozen=True)
class KeyChoice:
    """The key that an authority shall use.

    ``path``: an existing one, its public half, or a private file with a passphrase. ``module``: it is in this PKCS#11
    module. Without a path a new key is made.
    """

    path: Path | None = None
    module: str = ""


@dataclass(frozen=True)
class Rules:
    """The rules of an environment; None keeps the present value, or the default."""

    roles: tuple[str, ...] | None = None
    hosts: tuple[str, ...] | None = None
    user_max: int | None = None
    host_max: int | None = None


def init_root(folder: Folder, name: str, choice: KeyChoice) -> None:
    """Create the folder and its root key; the folder must not have a root. Raises CaError."""
    with folder.locked():
        if folder.exists:
            raise CaError(f"{folder.path} holds a CA already", hint="name an environment, or another --dir")
        key, holder = _obtain(folder, choice, "root", f"{name} root")
        folder.keep_holder(key, holder)
        folder.append({"action": "root", "key": key.fingerprint, "held": str(holder)})
        folder.write("root.pub", f"{key.line} {name} root\n".encode())
        forget(folder, "root")


def add_environment(
    folder: Folder, env: str, user: KeyChoice, host: KeyChoice, rules: Rules, *, rotate: bool = False
) -> Manifest:
    """The manifest with a new environment, or (``rotate``) with new authorities or other rules of an existing one.
    Raises CaError.
    """
    names.environment(env)
    before = folder.waiting() or folder.manifest
    environment = before.environments.get(env)
    given = [choice for choice in (user, host) if choice.path is not None]
    if environment is not None and not rotate and (given or rules == Rules()):
        raise CaError(
            f"the environment {env!r} exists already",
            hint="--rotate makes new keys; --role, --max-user … change its rules",
        )
    if environment is None or rotate:
        users = (_authority(folder, user, env, "user"), *(environment.user_authorities if environment else ()))
        hosts = (_authority(folder, host, env, "host"), *(environment.host_authorities if environment else ()))
        environment = (
            replace(environment, user_authorities=users, host_authorities=hosts)
            if environment
            else Environment(users, hosts)
        )
    changes = {name: value for name, value in vars(rules).items() if value is not None}
    return _following(before, {**before.environments, env: replace(environment, **changes)})


def retire(folder: Folder, fingerprint: str) -> Manifest:
    """The manifest without this authority. Raises CaError."""
    before = folder.waiting() or folder.manifest
    environments = {
        name: replace(
            env,
            user_authorities=tuple(key for key in env.user_authorities if key.fingerprint != fingerprint),
            host_authorities=tuple(key for key in env.host_authorities if key.fingerprint != fingerprint),
        )
        for name, env in before.environments.items()
    }
    if environments == before.environments:
        raise UsageError(f"no environment has an authority {fingerprint}", hint="`pushsalt ca show` lists them")
    if not all(env.user_authorities and env.host_authorities for env in environments.values()):
        raise CaError(
            f"{fingerprint} is the only one of its kind", hint="`pushsalt ca init ENV --rotate` makes another"
        )
    return _following(before, environments)


def renewed(folder: Folder) -> Manifest:
    """The manifest, valid for another year."""
    before = folder.waiting() or folder.manifest
    return _following(before, before.environments)


def first(name: str) -> Manifest:
    now = int(time.time())
    return Manifest(name, 1, now, now + LIFETIME)


def conclude(folder: Folder, wanted: Manifest, *, unsigned: bool = False) -> None:
    """Sign a manifest, or with ``unsigned`` store it for the machine that has the root key. Raises CaError."""
    with folder.locked():
        for env in wanted.environments:
            krl.ensure(folder, env)
        if unsigned:
            folder.write(NEXT, wanted.encode())
            return
        folder.sign_manifest(wanted)
        publish.write_known_hosts(folder)


def sign_waiting(folder: Folder) -> Manifest:
    """Sign the pending manifest with the root key. Raises CaError."""
    wanted = folder.waiting()
    if wanted is None:
        raise CaError(f"there is no {NEXT} in {folder.path}", hint="`pushsalt ca init ENV --unsigned` makes one")
    conclude(folder, wanted)
    return wanted


def _following(before: Manifest, environments: dict[str, Environment]) -> Manifest:
    now = int(time.time())
    return Manifest(before.name, before.serial + 1, now, now + LIFETIME, environments)


def _authority(folder: Folder, choice: KeyChoice, env: str, kind: str) -> PublicKey:
    with folder.locked():
        key, holder = _obtain(folder, choice, f"{env}_{kind}", f"{env} {kind} certificates")
        folder.keep_holder(key, holder)
        folder.append({"action": "authority", "env": env, "kind": kind, "key": key.fingerprint, "held": str(holder)})
    return key


def _obtain(folder: Folder, choice: KeyChoice, name: str, comment: str) -> tuple[PublicKey, Holder]:
    """(public key, holder) of a key for an authority. Raises CaError."""
    if choice.path is None:
        if choice.module:
            raise UsageError(
                "a key of a PKCS#11 module is named by its public half",
                hint=f"ssh-keygen -D {choice.module} lists them",
            )
        with folder.work() as work:
            key = generate(work / name, comment)
            place = _free(folder, name)
            for suffix in ("", ".pub"):
                folder.write(f"{place}{suffix}", (work / f"{name}{suffix}").read_bytes())
        return key, Holder("file", place)
    if choice.module:
        return _strong(read_public(choice.path), choice.path), Holder("pkcs11", module(choice.module))
    if choice.path.suffix == ".pub":
        return _strong(read_public(choice.path), choice.path), Holder("agent")
    refuse_open(choice.path)
    key = read_public(Path(f"{choice.path}.pub"))
    return _strong(key, choice.path), Holder("file", str(choice.path.resolve()))


def _free(folder: Folder, name: str) -> str:
    place, number = f"keys/{name}", 1
    while folder.file(place).exists():
        number += 1
        place = f"keys/{name}_{number}"
    return place


def _strong(key: PublicKey, path: Path) -> PublicKey:
    if key.kind == "ssh-rsa" and key.bits < 3072:
        raise CaError(
            f"{path} has {key.bits} bits, which is too short for an authority",
            hint="use Ed25519, or RSA with 3072 bits",
        )
    return key
