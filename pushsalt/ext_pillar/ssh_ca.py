"""Pillar ``ssh_ca`` with the data of the project's SSH CA (``pushsalt ca``) for a machine, for formulas/ssh_ca.

The environment is the pillar's ``ssh_ca:env``; a machine without one gets no data. ``root`` is the fingerprint of the
root key, which must have signed the manifest::

    ext_pillar:
      - ssh_ca: {dir: ca, root: "SHA256:..."}

If a check fails, the pillar only has ``ssh_ca:trouble`` with the reason, and the formula fails.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from pushsalt.ca import CaError
from pushsalt.ca.folder import MANIFEST, Folder
from pushsalt.ca.publish import for_environment, host_certificates
from pushsalt.errors import UsageError
from pushsalt.ext_pillar import Outside

_lock = threading.Lock()
#: (folder, root, environment) -> (stamps of its files, the verified folder, the result)
_known: dict[tuple[str, str, str], tuple[Any, Folder, dict[str, Any]]] = {}


def ext_pillar(
    minion_id: str, pillar: dict[str, Any], dir: str = "ca", root: str = "", *, outside: Outside
) -> dict[str, Any]:
    """``dir`` is relative to the folder of the configuration."""
    settings = pillar.get("ssh_ca")
    env = settings.get("env") if isinstance(settings, dict) else None
    if not env:
        return {}
    if not isinstance(root, str) or not root.startswith("SHA256:"):
        raise ValueError("`root` is not set: give it the fingerprint that `pushsalt ca show` prints")
    path = Path(outside.folder or Path.cwd(), Path(dir).expanduser())
    try:
        folder, common = _common(path, root, str(env))
        return {"ssh_ca": {**common, "host_certificates": host_certificates(folder, str(env), minion_id)}}
    except (CaError, UsageError) as exc:  # so the formula's states fail, and not all states of the machine
        return {"ssh_ca": {"trouble": f"{exc.message} ({exc.hint})"}}


def _common(path: Path, root: str, env: str) -> tuple[Folder, dict[str, Any]]:
    """The data that all machines of the environment share, verified once until its files change."""
    files = [path / "root.pub", path / MANIFEST, path / f"{MANIFEST}.sig", path / "log.jsonl"]
    key = (str(path), root, env)
    with _lock:
        stamps = [_stamp(file) for file in (*files, path / "envs" / env / "revoked.krl")]
        entry = _known.get(key)
        if entry is None or entry[0] != stamps:
            folder = Folder(path, root)
            entry = _known[key] = (stamps, folder, for_environment(folder, env))
        entry[1].current()  # the signature may have expired meanwhile
        return entry[1], entry[2]


def _stamp(path: Path) -> Any:
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_ino, seen.st_size, seen.st_mtime_ns
