"""The data for `pushsalt ca show`: the whole CA, one environment, or a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

from pushsalt import regular
from pushsalt.ca import CaError
from pushsalt.ca.folder import Folder, date
from pushsalt.ca.krl import describe as describe_krl
from pushsalt.ca.krl import is_revoked
from pushsalt.ca.manifest import Manifest, decode, verify
from pushsalt.ca.wire import FOREVER, Certificate, PublicKey, WireError, parse_certificate, parse_public

SOON: Final = 30 * 86400


def describe(folder: Folder) -> dict[str, Any]:
    """The data of the CA. ``problems``: failed checks; ``warnings``: texts about what needs attention."""
    root = folder.root
    data: dict[str, Any] = {"dir": str(folder.path), "root": _key(folder, root), "problems": [], "warnings": []}
    try:
        manifest = folder.manifest
    except CaError as exc:
        data["problems"].append(exc.message)
        return data
    data["manifest"] = {
        "name": manifest.name,
        "serial": manifest.serial,
        "issued": date(manifest.issued),
        "verified": True,
        "expires": date(manifest.expires),
    }
    if time.time() >= manifest.expires:
        data["problems"].append(f"the root's signature expired on {date(manifest.expires)}")
    elif time.time() >= manifest.expires - SOON:
        data["warnings"].append(f"the root's signature expires on {date(manifest.expires)}: `pushsalt ca init --renew`")
    data["environments"] = {
        name: _environment(folder, manifest, name, data["problems"]) for name in manifest.environments
    }
    anywhere = [name for name, env in manifest.environments.items() if not env.hosts]
    if anywhere and len(manifest.environments) > 1:
        note = f"{', '.join(anywhere)}: without --hosts its authority is trusted for the hosts of all environments"
        data["warnings"].append(note)
    if (waiting := folder.waiting()) is not None:
        data["waiting"] = manifest_data(waiting)
    damaged = [number for entry, number in folder.log_lines() if entry is None]
    data["problems"] += [f"log.jsonl, line {number} is damaged" for number in damaged]
    return data


def issued(folder: Folder, env: str) -> list[dict[str, Any]]:
    """Issued and revoked certificates of an environment, oldest first."""
    folder.manifest.environment(env)
    return [entry for entry in folder.log() if entry.get("env") == env]


def manifest_data(manifest: Manifest) -> dict[str, Any]:
    """The content of a manifest, with authorities by their fingerprints."""
    environments = {}
    for name, env in manifest.environments.items():
        data = env.as_data()
        for kind, keys in (("user", env.user_authorities), ("host", env.host_authorities)):
            data[f"{kind}_authorities"] = [key.fingerprint for key in keys]
        environments[name] = data
    return {
        "name": manifest.name,
        "serial": manifest.serial,
        "issued": date(manifest.issued),
        "expires": date(manifest.expires),
        "environments": environments,
    }


def describe_manifest(folder: Folder, path: Path) -> dict[str, Any]:
    """A manifest, and whether the root of this folder signed it. Raises CaError."""
    data = regular.read_bytes(path)
    fields = {
        "kind": "manifest",
        "file": str(path),
        **manifest_data(decode(data, folder.root, str(path))),
        "verified": True,
    }
    try:
        verify(data, regular.read_bytes(Path(f"{path}.sig")), folder.root, str(path))
    except (OSError, CaError):
        fields["verified"] = False
    return fields


def is_manifest(path: Path) -> bool:
    return path.name.startswith("manifest.json") and not path.name.endswith(".sig")


def describe_file(path: Path) -> dict[str, Any]:
    """Describe a file: a certificate, a public key or a revocation list. Raises CaError."""
    try:
        data = regular.read_bytes(path)
    except OSError as exc:
        raise CaError(f"{path} cannot be read: {exc.strerror}", hint="name a file, or an environment") from exc
    if data.startswith(b"SSHKRL\n"):
        return {"kind": "revocation list", "file": str(path), **describe_krl(path)}
    text = data.decode("utf-8", "replace")
    try:
        return {"kind": "certificate", "file": str(path), **certificate_data(parse_certificate(text))}
    except WireError:
        pass
    try:
        key = parse_public(text)
    except WireError as exc:
        raise CaError(f"{path}: {exc}", hint="name a certificate, a public key or a revocation list") from exc
    return {"kind": "public key", "file": str(path), "type": key.kind, "fingerprint": key.fingerprint}


def is_revoked_in_ca(folder: Folder, path: Path) -> bool:
    """Whether an authority of this CA signed the certificate in this file, and it is revoked. Raises CaError."""
    authority = parse_certificate(regular.read_text(path, "replace")).authority.blob
    for name, env in folder.manifest.environments.items():
        if authority in {key.blob for key in (*env.user_authorities, *env.host_authorities)}:
            return is_revoked(folder.krl(name), path)
    return False


def certificate_data(certificate: Certificate) -> dict[str, Any]:
    now = time.time()
    state = "valid" if certificate.valid_after <= now < certificate.valid_before else "expired"
    return {
        "for": "host" if certificate.host else "user",
        "state": "not yet valid" if now < certificate.valid_after else state,
        "key_id": certificate.key_id,
        "serial": certificate.serial,
        "principals": list(certificate.principals),
        "valid_after": date(certificate.valid_after),
        "valid_before": "forever" if certificate.valid_before == FOREVER else date(certificate.valid_before),
        "public_key": certificate.key.fingerprint,
        "authority": certificate.authority.fingerprint,
        "critical": certificate.critical,
        "extensions": list(certificate.extensions),
    }


def _environment(folder: Folder, manifest: Manifest, name: str, problems: list[str]) -> dict[str, Any]:
    env = manifest.environments[name]
    entries = [entry for entry in folder.log() if entry.get("env") == name]
    now = date(time.time())
    try:
        krl: dict[str, Any] | None = describe_krl(folder.krl(name))
    except CaError as exc:
        krl = None
        problems.append(exc.message)
    signed = {kind: [e for e in entries if e["action"] == f"sign-{kind}"] for kind in ("user", "host")}
    return {
        "user_authorities": [_key(folder, key) for key in env.user_authorities],
        "host_authorities": [_key(folder, key) for key in env.host_authorities],
        "roles": list(env.roles),
        "hosts": list(env.hosts),
        "user_max": env.user_max,
        "host_max": env.host_max,
        "revoked": krl["revoked"] if krl else None,
        "krl_version": krl["version"] if krl else None,
        "signed": {
            kind: {"all": len(certificates), "not_ended": sum(e.get("valid_before", "") > now for e in certificates)}
            for kind, certificates in signed.items()
        },
    }


def _key(folder: Folder, key: PublicKey) -> dict[str, str]:
    try:
        holder = str(folder.holder(key))
    except CaError:
        holder = "elsewhere"
    return {"fingerprint": key.fingerprint, "public": key.line, "held": holder}
