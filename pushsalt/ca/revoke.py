"""Revocation: adds entries to the revocation list of an environment (``krl``), which are never removed.

A user's certificate is revoked by its serial number or key id. For a host's certificate its key is revoked, since
clients only support revoked keys (``@revoked``), and a compromised certificate means a compromised key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pushsalt import regular
from pushsalt.ca import CaError, names
from pushsalt.ca.folder import Folder
from pushsalt.ca.krl import describe, ensure
from pushsalt.ca.program import last_words, run
from pushsalt.ca.publish import write_known_hosts
from pushsalt.ca.wire import PublicKey, WireError, parse_certificate, parse_public
from pushsalt.errors import UsageError


@dataclass
class Wanted:
    """Entries to revoke, in terms of KRLs: ``serials`` and ``ids`` of one environment, ``keys`` of any."""

    serials: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    keys: list[PublicKey] = field(default_factory=list)


def revoke(folder: Folder, words: list[str], env: str = "", reason: str = "") -> list[dict[str, Any]]:
    """Revoke serial numbers, key ids, or the keys or certificates in files.

    Returns an object per word and environment. Raises CaError, UsageError.
    """
    with folder.locked():
        manifest = folder.manifest
        envs = [env] if env else sorted(manifest.environments)
        if env:
            manifest.environment(env)
        plans: dict[str, Wanted] = {name: Wanted() for name in envs}
        done: list[dict[str, Any]] = []
        for word in words:
            done += _plan(folder, word, envs, plans, explicit=bool(env))
        for entry in done:
            folder.append({"action": "revoke", **entry, **({"reason": reason} if reason else {})})
        for name, wanted in plans.items():
            _update(folder, name, wanted)
        write_known_hosts(folder)
    return done


def _plan(
    folder: Folder, word: str, envs: list[str], plans: dict[str, Wanted], *, explicit: bool
) -> list[dict[str, Any]]:
    path = Path(word)
    if path.is_file():
        return _plan_file(path, envs, plans)
    issued = [
        entry for entry in folder.log() if entry["action"] in ("sign-user", "sign-host") and entry.get("env") in envs
    ]
    done = []
    if word.isascii() and word.isdigit():
        serial = names.number(word)
        entries = [entry for entry in issued if entry.get("serial") == serial]
        if not entries and not explicit:
            raise UsageError(
                f"no certificate with the serial number {serial} was signed here",
                hint="--env ENV revokes it nevertheless; `pushsalt ca show ENV` lists signed certificates",
            )
        for entry in entries or [{"env": envs[0]}]:
            plans[entry["env"]].serials.append(serial)
            done.append({"env": entry["env"], "serial": serial, **_host_key(entry, plans)})
        return done
    entries = [entry for entry in issued if entry.get("key_id") == word]
    if not entries and not explicit:
        raise UsageError(
            f"{word!r} is neither a file nor the key id of a certificate that was signed here",
            hint="--env ENV revokes the key id nevertheless; `pushsalt ca show ENV` lists signed certificates",
        )
    if "#" in word or not word.isprintable() or word != word.strip():
        raise UsageError(f"{word!r} cannot be a key id", hint="revoke it by its serial number")
    for name in sorted({entry["env"] for entry in entries}) or envs:
        plans[name].ids.append(word)
        done.append({"env": name, "key_id": word})
        for entry in entries:
            if entry["env"] == name and (more := _host_key(entry, plans)):
                done.append({"env": name, **more})
    return done


def _plan_file(path: Path, envs: list[str], plans: dict[str, Wanted]) -> list[dict[str, Any]]:
    try:
        text = regular.read_text(path, "replace")
        try:
            certificate = parse_certificate(text)
            key, host = certificate.key, certificate.host
        except WireError:
            key, host = parse_public(text), True  # it may be the key of a user or of a host
    except (OSError, WireError) as exc:
        raise CaError(
            f"{path}: {getattr(exc, 'strerror', None) or exc}", hint="name a KEY.pub or KEY-cert.pub"
        ) from exc
    done = []
    for name in envs:
        plans[name].keys.append(key)
        done.append({"env": name, "key": key.fingerprint, **({"host_key": key.line} if host else {})})
    return done


def _host_key(entry: dict[str, Any], plans: dict[str, Wanted]) -> dict[str, str]:
    """The key to revoke with the certificate of a host; empty for other certificates."""
    if entry.get("action") != "sign-host":
        return {}
    try:
        key = parse_public(entry["public_key"])
    except WireError as exc:
        raise CaError(f"log.jsonl, serial {entry['serial']}: {exc}", hint="revoke the host's key by its file") from None
    plans[entry["env"]].keys.append(key)
    return {"key": key.fingerprint, "host_key": key.line}


def _update(folder: Folder, env: str, wanted: Wanted) -> None:
    if not (wanted.serials or wanted.ids or wanted.keys):
        return
    path = ensure(folder, env)
    environment = folder.manifest.environments[env]
    with folder.work() as work:
        list_path, spec = work / "krl", work / "spec"
        list_path.write_bytes(regular.read_bytes(path))
        version = describe(path)["version"]
        by_authority = [f"serial: {serial}" for serial in wanted.serials] + [f"id: {id}" for id in wanted.ids]
        jobs: list[tuple[PublicKey | None, list[str]]]
        jobs = [
            (key, by_authority)
            for key in (*environment.user_authorities, *environment.host_authorities)
            if by_authority
        ]
        jobs += [(None, [f"key: {key.line}" for key in wanted.keys])] if wanted.keys else []
        for authority, lines in jobs:
            version += 1
            spec.write_text("\n".join(lines) + "\n")
            argv = ["ssh-keygen", "-q", "-k", "-u", "-f", str(list_path), "-z", str(version)]
            if authority is not None:
                (work / "authority.pub").write_text(authority.line + "\n")
                argv += ["-s", str(work / "authority.pub")]
            done = run([*argv, str(spec)])
            if done.code:
                raise CaError(
                    f"the revocation list of {env} cannot be changed: {last_words(done)}", hint="see `pushsalt ca show`"
                )
        describe(list_path)
        folder.write(f"envs/{env}/revoked.krl", regular.read_bytes(list_path))
