"""Decides which inventories are templates: only salt-ssh rosters in files that the operator named.

The decision uses the file's name and the beginnings of its lines, before anything is parsed, and does not depend on
whether the text can be parsed. These are data:

- the output of a program, of any shape;
- JSON and states of Terraform: the name ends in ``.json`` or ``.tfstate``, or the text begins with ``{`` or ``[``;
- Ansible's INI (all files named ``.ini``), and ssh_config;
- YAML with a key ``hosts``, ``_meta`` or ``terraform_version`` at its left edge, or ``hosts``, ``children`` or ``vars``
  right below one: our native shape, and Ansible's.

Any other file is a roster, and a template if it contains Jinja, as in Salt. A first line ``#!jinja|yaml`` marks any
file as a template, except JSON by name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from pushsalt.errors import InventoryError, Position
from pushsalt.inventory.ansibleshapes import is_ini
from pushsalt.inventory.sshhosts import is_ssh_config
from pushsalt.trust import Trusted

_DATA_NAMES: Final = (".json", ".tfstate", ".tfstate.backup")
_JINJA: Final = re.compile(r"\{[{%#]")
#: what may precede the first value of a YAML document: its start marker, tags and anchors
_BEFORE: Final = re.compile(r"(?:---(?:\s+|\Z))?(?:[!&]\S*(?:\s+|\Z))*")
_SHAPE: Final = re.compile(r"""["']?(?:hosts|_meta|terraform_version)["']?\s*:(?:\s|\Z)""")
_GROUP: Final = re.compile(r"""["']?(?:hosts|children|vars)["']?\s*:(?:\s|\Z)""")
_INLINE: Final = re.compile(r""":\s+(?:[!&]\S*\s+)*\{\s*["']?(?:hosts|children|vars)["']?\s*:""")
#: a key with its value on the lines below
_OPEN: Final = re.compile(r":\s*(?:[!&]\S*\s*)*\{?\s*(?:#.*)?\Z")


def has_jinja(text: str) -> bool:
    """Whether a text contains something that could be Jinja."""
    return _JINJA.search(text) is not None


def template(path: Path, text: str) -> Trusted | None:
    """The text of a file that the operator named, if it is a roster to render. Raises InventoryError."""
    if path.name.lower().endswith(_DATA_NAMES):
        return None
    if text.startswith("#!/"):
        raise InventoryError(
            f"{path} begins with #!/ like a program, but is not executable",
            hint=f"chmod +x {path}, or remove its first line",
            where=Position(str(path), 1),
        )
    if text.startswith("#!"):
        return Trusted(text, str(path))
    if not has_jinja(text) or is_ini(text, path.name) or is_ssh_config(text) or _is_data(text):
        return None
    return Trusted(text, str(path))


def _is_data(text: str) -> bool:
    """Whether the lines begin like JSON, our native shape or Ansible's."""
    edge = -1  # the column of the first value
    below = False  # whether a key at that edge has its value on the lines below
    keys = 0  # the column of the first of those
    for line in text.splitlines():
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        column = len(line) - len(line.lstrip())
        if edge < 0:
            before = _BEFORE.match(words)
            words = words[before.end() :] if before else words
            if not words:
                continue
            edge = column
            if words[0] == "[" or (words[0] == "{" and not _JINJA.match(words)):
                return True
        if column <= edge:
            if _SHAPE.match(words) or _INLINE.search(words):
                return True
            below = _OPEN.search(words) is not None
            keys = 0
        elif below:
            keys = keys or column
            if column == keys and _GROUP.match(words):
                return True
    return False
