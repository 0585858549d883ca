"""Generate docs/words.md, the options of salt, salt-ssh and Ansible with their equivalents: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pushsalt.cli.words import ANSWERED, IDLE, OTHER, ROWS, TAKEN, Row  # noqa: E402

PAGE = ROOT / "docs" / "words.md"
TOOLS = ("salt", "salt-ssh", "ansible", "ansible-playbook")
HEAD = """# Options of other tools

This page lists the options of `salt`, `salt-ssh`, `ansible` and `ansible-playbook` (Salt 3008, ansible-core 2.19) with
their equivalents in pushsalt. An option that means the same is accepted. For all others the error names the
replacement. If an option means different things in Salt and Ansible, Salt's meaning counts. Note three options of
Ansible: `-C` is not a dry run (`--check` is), `-b` does not become root (`--become` does), and `-l` is the log level.

`make docs` generates this page from the program's own table.

## Where options may stand

Options may stand before the command, after it, or between its arguments. TARGET may stand before the command with its
matcher, as in Salt:

    pushsalt -G 'os:Debian' run test.ping
    pushsalt --out json apply 'web*' nginx

The command cannot be omitted: `pushsalt 'web*' test.ping` is an error that shows the complete line. In `run`, words
after the function are arguments of the function, except long options of pushsalt and their accepted equivalents.
"""


def page() -> str:
    parts = [HEAD]
    for tool in TOOLS:
        rows = [row for row in ROWS if tool in row.tools.split(", ")]
        lines = [f"| {_code(row.words)} | {_cell(row)} |" for row in rows]
        parts.append("\n".join([f"## {tool}\n", "| option | in pushsalt |", "|---|---|", *lines, ""]))
    return "\n".join(parts)


def _code(words: str) -> str:
    return ", ".join(f"`{word}`" for word in words.split())


def _cell(row: Row) -> str:
    text = row.text.replace("|", "\\|")
    return {
        TAKEN: "the same" if row.text in row.words.split() else f"`{text}`",
        IDLE: f"accepted without effect: {text}",
        ANSWERED: f"error: {text}",
        OTHER: f"**other meaning:** {text}",
    }[row.verb]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
