"""The data of a CA for machines and clients, always from a manifest whose signature was just verified."""

from __future__ import annotations

import base64
import time
from typing import Any

from pushsalt import regular
from pushsalt.ca import CaError
from pushsalt.ca.folder import Folder
from pushsalt.ca.issue import read_certificate
from pushsalt.ca.krl import describe
from pushsalt.ca.wire import WireError, parse_public


def for_environment(folder: Folder, env: str) -> dict[str, Any]:
    """The data of the CA for formulas/ssh_ca that all machines of an environment have in common. Raises CaError.

    ``{"env", "manifest", "user_authorities": [lines], "revoked": base64 of the KRL, "known_hosts": [lines]}``.
    """
    manifest = folder.current()
    environment = manifest.environment(env)
    krl = folder.krl(env)
    describe(krl)
    return {
        "env": env,
        "manifest": manifest.serial,
        "user_authorities": [key.line for key in environment.user_authorities],
        "revoked": base64.b64encode(regular.read_bytes(krl)).decode(),
        "known_hosts": known_hosts(folder, env),
    }


def host_certificates(folder: Folder, env: str, id: str) -> dict[str, str]:
    """The machine's certificates that are valid now and signed by an authority of this environment."""
    authorities = {key.blob for key in folder.manifest.environment(env).host_authorities}
    certificates = {}
    for place in sorted(folder.host_folder(env, id).glob("*-cert.pub")):
        certificate = read_certificate(place)
        if certificate.authority.blob not in authorities or not certificate.host:
            raise CaError(f"{place} is not signed by {env}", hint=f"`pushsalt ca sign-host --env {env}` makes another")
        if certificate.valid_before > time.time():
            certificates[place.name.removesuffix("-cert.pub")] = certificate.line
    return certificates


def known_hosts(folder: Folder, env: str = "") -> list[str]:
    """Lines for known_hosts: the authorities of hosts (of one environment, or all), and revoked keys."""
    lines = []
    for name, environment in sorted(folder.manifest.environments.items()):
        if env in ("", name):
            # an entry must fit `[host]:port` too
            patterns = ",".join(each for text in environment.hosts for each in (text, f"[{text}]:*")) or "*"
            lines += [f"@cert-authority {patterns} {key.line} {name}" for key in environment.host_authorities]
    revoked = []
    for entry in folder.log():
        if entry["action"] == "revoke" and env in ("", entry.get("env")) and "host_key" in entry:
            try:
                revoked.append(f"@revoked * {parse_public(str(entry['host_key'])).line}")
            except WireError:
                continue
    return [*lines, *dict.fromkeys(revoked)]


def write_known_hosts(folder: Folder) -> None:
    """Update the folder's ``known_hosts``. Raises CaError."""
    lines = ["# Made by `pushsalt ca`; changes made here are overwritten.", *known_hosts(folder)]
    folder.write("known_hosts", ("\n".join(lines) + "\n").encode())
