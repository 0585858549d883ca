"""Reads the passwords of Ansible vaults from the files that Ansible uses.

They are named by ``ANSIBLE_VAULT_IDENTITY_LIST`` (``label@file``, comma-separated), ``ANSIBLE_VAULT_PASSWORD_FILE``,
and the option ``ansible_vault_password_file``. An executable file that other users cannot change is run, and prints the
password; if its name ends in ``-client``, it gets the label. Source: Ansible's documentation, "Managing vault
passwords".
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pushsalt import regular
from pushsalt.discover import absolute
from pushsalt.errors import InventoryError
from pushsalt.inventory.vault import Password

_HINT: Final = "correct ANSIBLE_VAULT_PASSWORD_FILE, ANSIBLE_VAULT_IDENTITY_LIST or `ansible_vault_password_file`"
#: In place of a file name: Ansible prompts for these passwords.
_ASKED: Final = ("prompt", "prompt_ask_vault_pass")

log = logging.getLogger(__name__)


def sources(opts: Mapping[str, Any], env: Mapping[str, str]) -> list[tuple[str, Path]]:
    """(label, file) of each configured password."""
    pairs: list[tuple[str, str]] = []
    for entry in env.get("ANSIBLE_VAULT_IDENTITY_LIST", "").split(","):
        label, at, file = entry.strip().partition("@")
        pairs.append((label, file) if at else ("", label))
    pairs += [("", env.get("ANSIBLE_VAULT_PASSWORD_FILE", "")), ("", str(opts["ansible_vault_password_file"]))]
    return [(label, absolute(Path(), file)) for label, file in pairs if file and file not in _ASKED]


def identity(opts: Mapping[str, Any], env: Mapping[str, str]) -> list[tuple[str, str, int, int]]:
    """A key that identifies the passwords without containing them."""
    parts = []
    for label, path in sources(opts, env):
        try:
            status = path.stat()
        except OSError:  # reported when it is read
            continue
        parts.append((label, str(path), status.st_mtime_ns, status.st_size))
    return parts


def passwords(opts: Mapping[str, Any], env: Mapping[str, str]) -> list[Password]:
    """The passwords that can be read; others are reported.

    Raises InventoryError if none can be read, because a file is unreadable or a program fails.
    """
    passwords: list[Password] = []
    wrong: list[InventoryError] = []
    for label, path in sources(opts, env):
        try:
            passwords.append((label, _password(label, path)))
        except InventoryError as exc:
            wrong.append(exc)
    if wrong and not passwords:
        raise wrong[0]
    for each in wrong:
        log.warning("%s", each)
    return passwords


def _password(label: str, path: Path) -> bytes:
    try:
        if not path.is_file():
            raise InventoryError(f"the file of a vault's password, {path}, is not there", hint=_HINT)
        if os.access(path, os.X_OK):
            from pushsalt.programs import run_program, trusted_program  # few commands need it

            options = ["--vault-id", label] if label and path.stem.endswith("-client") else []
            done = run_program([str(trusted_program(path)), *options], terminal=True)
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
