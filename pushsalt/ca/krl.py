"""Revocation lists, a KRL file of OpenSSH per environment: creates, reads and queries them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pushsalt import regular
from pushsalt.ca import CaError
from pushsalt.ca.folder import Folder
from pushsalt.ca.program import last_words, run


def ensure(folder: Folder, env: str) -> Path:
    """The environment's list; an empty one is created if missing, since without one a server refuses all logins."""
    path = folder.krl(env)
    if not path.exists():
        if any(entry["action"] == "revoke" and entry.get("env") == env for entry in folder.log()):
            raise CaError(
                f"{path} is missing, though certificates were revoked in {env}",
                hint="restore it from a backup: a new one is empty",
            )
        with folder.work() as work:
            (work / "none").write_text("")
            file = work / "krl"
            done = run(["ssh-keygen", "-q", "-k", "-f", str(file), "-z", "1", str(work / "none")])
            if done.code:
                raise CaError(
                    f"the revocation list of {env} was not made: {last_words(done)}",
                    hint="check the installed ssh-keygen",
                )
            folder.write(f"envs/{env}/revoked.krl", regular.read_bytes(file))
    return path


def describe(path: Path) -> dict[str, Any]:
    """The content of a KRL: ``{"version", "revoked": [lines]}``. Raises CaError for one that sshd cannot read."""
    done = run(["ssh-keygen", "-Q", "-l", "-f", str(path)])
    if done.code or not path.is_file():
        raise CaError(
            f"{path} is not a revocation list: {last_words(done)}",
            hint="restore it from a backup: a server with this file refuses all logins",
        )
    version = re.search(r"^# KRL version (\d+)", done.out, re.MULTILINE)
    lines = [line for line in done.out.splitlines() if line and not line.startswith("#")]
    return {"version": int(version[1]) if version else 0, "revoked": lines}


def is_revoked(krl: Path, file: Path) -> bool:
    """Whether the list contains this key or certificate. Raises CaError if that cannot be determined."""
    done = run(["ssh-keygen", "-Q", "-f", str(krl), str(file)])
    if done.code and "REVOKED" not in done.out:
        raise CaError(
            f"ssh-keygen cannot tell from {krl} whether {file.name} is revoked: {last_words(done)}",
            hint="see `pushsalt ca show`",
        )
    return done.code != 0
