"""An OpenSSH client configuration as inventory: each name of a ``Host`` line without wildcards is a target.

The connection settings of an id come from ``~/.ssh/config``, as for any target; of another file, the common settings
are copied. Salt: salt.roster.sshconfig.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

from pushsalt.inventory.merge import Host
from pushsalt.inventory.schema import Layer, Source, check_id, parse_layer

_KEYS: Final = {"hostname": "host", "port": "port", "user": "user", "identityfile": "priv", "proxyjump": "jump"}
_LINE: Final = re.compile(r"\s*(?P<key>\w+)(?:\s*=\s*|\s+)(?P<value>.*?)\s*$")


def is_ssh_config(text: str) -> bool:
    """Whether the first words of a text are those of ssh_config."""
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("#"):
            return (
                re.match(r"(?i)(host|match|include|\w+authentication|forwardagent|hashknownhosts)\s+[^:]+$", line)
                is not None
            )
    return False


def parse_ssh_config(source: Source, base: Layer, warnings: list[str]) -> list[Host]:
    """The hosts in the file's order. As in OpenSSH, the first value of an option wins.

    ``source`` has only the text.
    """
    text = source.text
    blocks: list[tuple[list[str], dict[str, Any]]] = [(["*"], {})]
    lines: dict[tuple[Any, ...], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.match(line)
        if match is None or line.lstrip().startswith("#"):
            continue
        key, value = match["key"].lower(), match["value"].strip('"')
        if key == "host":
            names = value.split()
            blocks.append((names, {}))
            for name in names:
                lines.setdefault((name,), number)
        elif key == "match":
            blocks.append(([], {}))
        elif key in _KEYS and value.lower() != "none":
            blocks[-1][1].setdefault(_KEYS[key], value)
    ids = dict.fromkeys(name for names, _ in blocks for name in names if not re.search(r"[*?!]", name))
    source = replace(source, lines=lines)
    plain: dict[str, list[int]] = {}  # name -> its blocks; blocks with patterns are tested for each name
    wide = [at for at, (names, _) in enumerate(blocks) if any(re.search(r"[*?![]", name) for name in names)]
    for at, (names, _) in enumerate(blocks):
        for name in names:
            plain.setdefault(name, []).append(at)
    of = {id: [blocks[at] for at in sorted({*plain[id], *wide})] for id in ids}
    return [
        Host(
            check_id(id, source.where((id,))),
            source.where((id,)),
            (base, parse_layer(_settings(id, of[id], ids), source, (id,), f"host {id}", warnings)),
        )
        for id in ids
    ]


def _settings(id: str, blocks: list[tuple[list[str], dict[str, Any]]], ids: Collection[str]) -> dict[str, Any]:
    import fnmatch

    settings: dict[str, Any] = {}
    for names, values in blocks:
        refused = any(fnmatch.fnmatchcase(id, name[1:]) for name in names if name.startswith("!"))
        if not refused and any(fnmatch.fnmatchcase(id, name) for name in names):
            for key, value in values.items():
                settings.setdefault(key, value)
    settings["host"] = str(settings.get("host", id)).replace("%h", id).replace("%%", "%")
    if "jump" in settings:
        hops = [hop.rpartition("@")[2].partition(":")[0] for hop in str(settings["jump"]).split(",")]
        if all(hop in ids for hop in hops):
            settings["jump"] = hops
        else:  # a jump host that is not a target: ssh reads its entry
            settings["ssh_options"] = [f"ProxyJump={settings.pop('jump')}"]
    return settings
