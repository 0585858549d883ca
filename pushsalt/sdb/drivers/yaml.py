"""Values of merged YAML files; ``:`` separates nested keys. Salt: salt.sdb.yaml.

::

    site: {driver: yaml, files: [/srv/secrets/site.yaml], gpg: true}        sdb://site/db:password

``merge`` has the options of merging (``strategy``, ``merge_lists``); with ``gpg`` PGP messages are decrypted. A missing
file is ignored with a warning, as in Salt; if all are missing, that is an error.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pushsalt import regular
from pushsalt.sdb import Outside, Trouble
from pushsalt.yamlio import YamlError, load_yaml
from thin.utils.data import traverse_dict_and_list
from thin.utils.dictupdate import merge

log = logging.getLogger(__name__)

MAX_BYTES: Final = 16 * 1024 * 1024


def get(key: str, service: str | None = None, profile: Mapping[str, Any] | None = None, *, outside: Outside) -> Any:
    options = profile or {}
    data = _merged(options)
    if options.get("gpg"):
        data = outside.decrypt(data)
    return traverse_dict_and_list(data, key, None)


def _merged(profile: Mapping[str, Any]) -> Any:
    files = profile.get("files") or []
    files = [files] if isinstance(files, str) else list(files)
    how = {str(name): value for name, value in (profile.get("merge") or {}).items()}
    if "merge_list" in how:  # Salt's documentation uses this name, its code does not
        how["merge_lists"] = how.pop("merge_list")
    merged: Any = {}
    lacking = []
    for name in files:
        path = Path(str(name)).expanduser()
        try:
            with regular.opened(path) as stream:
                content = stream.read(MAX_BYTES + 1)
            if len(content) > MAX_BYTES:
                raise Trouble(f"{path} is larger than {MAX_BYTES // 2**20} MiB", "split it")
            data = load_yaml(content.decode("utf-8-sig"), str(path))
        except OSError as exc:
            log.error("sdb: %s cannot be read: %s", path, exc.strerror)
            lacking.append(f"{path}: {exc.strerror}")
            continue
        except UnicodeDecodeError:
            raise Trouble(f"{path} is not UTF-8", "save it as UTF-8") from None
        except YamlError as exc:
            raise Trouble(f"{path}:{exc.line or 1}: not valid YAML: {exc.problem}", "correct that line") from None
        if not isinstance(data, Mapping | None):
            raise Trouble(f"{path} is no mapping", "write `name: value` lines")
        try:
            merged = merge(merged, data or {}, **how)
        except (TypeError, ValueError) as exc:
            raise Trouble(f"`merge`: {exc}", "strategy: smart, recurse, aggregate, list or overwrite") from None
    if len(lacking) == len(files):
        raise Trouble("; ".join(lacking) or "the profile names no `files`", "name files that can be read")
    return merged
