"""Removes secrets from the excerpts in errors of pillar SLS, for the option ``pillar_safe_render_error``.

Salt does not show such errors to a minion. Here the operator reads them, and must correct the SLS: excerpts are kept,
except values of keys with secret names (``secret_keys``), and blocks that look like keys or certificates. Values that
were hidden there are hidden in the rest of the text too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from pushsalt.model import Explained
from pushsalt.pillar.mask import PLACEHOLDER

#: a line of pushsalt.excerpt, ``> 12 | text``, with any indentation
_SHOWN: Final = re.compile(r"(\s*>?\s*\d+ \|)( ?)(.*)")
_KEY: Final = re.compile(r"""(["']?)([\w.-]+)\1\s*[:=]\s*""")
_BLOCK: Final = re.compile(r"[|>][-+\d]*(\s+#.*)?")
_ARMOUR: Final = re.compile(r"[A-Za-z0-9+/=]{24,}|-----.*")
#: Shorter values are not searched for in the text: they would match too much of it.
_SHORTEST: Final = 4


def safe_error(text: str, is_secret_key: Callable[[str], bool]) -> str:
    """The text, which may be an ``Explained``, without secrets."""
    if isinstance(text, Explained):
        return Explained(_safe(str(text), is_secret_key), _safe(text.explanation, is_secret_key))
    return _safe(text, is_secret_key)


def _safe(text: str, is_secret_key: Callable[[str], bool]) -> str:
    lines = text.split("\n")
    shown = [_SHOWN.fullmatch(line) for line in lines]
    armoured = {_indent(match[3]) for match in shown if match and _ARMOUR.fullmatch(match[3].strip())}
    hidden: set[str] = set()
    below: int | None = None  # the indentation of a secret key whose value is in the following lines
    for number, match in enumerate(shown):
        if match is None:
            below = None
            continue
        head, gap, content = match.groups()
        indent = _indent(content)
        if below is not None and content.strip() and indent <= below:
            below = None
        if content.strip() and (below is not None or (indent in armoured and ":" not in content)):
            hidden.add(content.strip())
            lines[number] = f"{head}{gap}{content[:indent]}{PLACEHOLDER}"
            continue
        for key in _KEY.finditer(content):
            rest = content[key.end() :]
            if not is_secret_key(key[2]):
                continue
            if not rest or _BLOCK.fullmatch(rest):
                below = indent
            elif not _is_expression(rest):
                hidden |= {rest.strip(), rest.strip().strip("\"'")}
                lines[number] = f"{head}{gap}{content[: key.end()]}{PLACEHOLDER}"
            break
    safe = "\n".join(lines)
    for value in sorted(hidden, key=len, reverse=True):
        if len(value) >= _SHORTEST:
            safe = safe.replace(value, PLACEHOLDER)
    return safe


def _indent(content: str) -> int:
    return len(content) - len(content.lstrip())


def _is_expression(rest: str) -> bool:
    """Whether a value is only a template expression, which is no secret and may be the error."""
    return rest.startswith(("{{", "{%")) and not {'"', "'"} & set(rest)
