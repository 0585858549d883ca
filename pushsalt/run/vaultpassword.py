"""Where the passwords of Ansible vaults are: in the files that Ansible itself would read them from.

``ANSIBLE_VAULT_IDENTITY_LIST`` (``label@file`` with commas between them), ``ANSIBLE_VAULT_PASSWORD_FILE``, and the
option ``ansible_vault_password_file``. A file that may be executed is run, and prints the password; one whose name ends
in ``-client`` is told the label. Source: Ansible's documentation, "Managing vault passwords".
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pushsalt import regular
from pushsalt.errors import InventoryError
from pushsalt.inventory.vault import Password

_HINT: Final = "correct ANSIBLE_VAULT_PASSWORD_FILE, ANSIBLE_VAULT_IDENTITY_LIST or `ansible_vault_password_file`"


def sources(opts: Mapping[str, Any], env: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Label and file of each password that there may be."""
    found: list[tuple[str, str]] = []
    for entry in env.get("ANSIBLE_VAULT_IDENTITY_LIST", "").split(","):
        label, at, file = entry.strip().partition("@")
        found.append((label, file) if at else ("", label))
    found += [("", env.get("ANSIBLE_VAULT_PASSWORD_FILE", "")), ("", str(opts["ansible_vault_password_file"]))]
    # Ansible would ask for that of `label@prompt`
    return [(label, Path(file).expanduser()) for label, file in found if file and not file.startswith("prompt")]


def identity(opts: Mapping[str, Any], env: Mapping[str, str]) -> list[tuple[str, str, int, int]]:
    """What tells the passwords from others without a word of them."""
    told = []
    for label, path in sources(opts, env):
        try:
            status = path.stat()
        except OSError:  # who reads it says so
            continue
        told.append((label, str(path), status.st_mtime_ns, status.st_size))
    return told


def passwords(opts: Mapping[str, Any], env: Mapping[str, str]) -> list[Password]:
    """All that are given. Raises InventoryError for a file that cannot be read, or a program that fails."""
    return [(label, _password(label, path)) for label, path in sources(opts, env)]


def _password(label: str, path: Path) -> bytes:
    try:
        if not path.is_file():
            raise InventoryError(f"the file of a vault's password, {path}, is not there", hint=_HINT)
        if os.access(path, os.X_OK):
            from pushsalt.run.programs import run_program  # which few need

            words = [str(path.absolute()), *(["--vault-id", label] if label and path.stem.endswith("-client") else [])]
            done = run_program(words)
            if done.code != 0:
                raise InventoryError(f"{path}, which gives a vault's password, ended with {done.code}", hint=_HINT)
            password = done.out.strip(b"\r\n")
        else:
            password = regular.read_bytes(path).strip()
    except (OSError, TimeoutError) as exc:
        reason = getattr(exc, "strerror", None) or str(exc)
        raise InventoryError(f"the file of a vault's password, {path}, cannot be used: {reason}", hint=_HINT) from None
    if not password:
        raise InventoryError(f"the file of a vault's password, {path}, gives none", hint=_HINT)
    return password
