"""Make docs/words.md, the options of salt, salt-ssh and Ansible and what each is here: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pushsalt.cli.words import ANSWERED, IDLE, OTHER, ROWS, TAKEN, Row  # noqa: E402

PAGE = ROOT / "docs" / "words.md"
TOOLS = ("salt", "salt-ssh", "ansible", "ansible-playbook")
HEAD = """# Words of others

Options of `salt`, `salt-ssh`, `ansible` and `ansible-playbook` (Salt 3008, ansible-core 2.19), and what each is here.
What means the same is taken; for what does not, the error names what to write instead. Where a word means two things,
it is Salt's. Three of Ansible's are worth a second look: `-C` is no dry run (`--check` is), `-b` becomes nobody
(`--become` does), `-l` is the log level.

This page is made from the program's own table by `make docs`.

## Where options stand

Before the command, behind it, or between its words. TARGET may stand before the command with its matcher, as users of
Salt write it:

    pushsalt -G 'os:Debian' run test.ping
    pushsalt --out json apply 'web*' nginx

The command itself is always said: `pushsalt 'web*' test.ping` is an error with the line to write. In `run`, what stands
behind the function is the function's, but for long options that are ours or are taken as ours.
"""


def page() -> str:
    parts = [HEAD]
    for tool in TOOLS:
        rows = [row for row in ROWS if tool in row.tools.split(", ")]
        lines = [f"| {_code(row.words)} | {_said(row)} |" for row in rows]
        parts.append("\n".join([f"## {tool}\n", "| option | here |", "|---|---|", *lines, ""]))
    return "\n".join(parts)


def _code(words: str) -> str:
    return ", ".join(f"`{word}`" for word in words.split())


def _said(row: Row) -> str:
    text = row.text.replace("|", "\\|")
    return {
        TAKEN: "the same" if row.text in row.words.split() else f"`{text}`",
        IDLE: f"taken; {text}",
        ANSWERED: f"error: {text}",
        OTHER: f"**means something else here:** {text}",
    }[row.verb]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
