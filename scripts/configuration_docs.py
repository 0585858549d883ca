"""Generates docs/configuration.md, a reference of every configuration option, from the option table
(pushsalt/options.py).

python scripts/configuration_docs.py     writes the page (make docs)
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pushsalt.options import CHOICES, OPTIONS, UNSET, Option  # noqa: E402

PAGE = ROOT / "docs" / "configuration.md"

HEAD = """# Configuration options

Made from `pushsalt/options.py` by `make docs`.

`pushsalt.yaml` has the names and the defaults of a Salt master's configuration wherever the option exists there, and
a master's own file works as it is. Where the file is looked for: [inventory.md](inventory.md#where-it-is-found).
Relative paths start at the file's folder. An empty value means the default. A value of the wrong type is an error with
file and line; an option that nobody knows is a warning with the nearest name, and options of Salt's daemons
(`publish_port`, `worker_threads` …) are taken without a word.

Types: `roots` is `{saltenv: [folder]}`, `paths` a path or a list of them, `bytes` a number or `512MiB`, `number` may
have a fraction, `any` is not checked.
"""

#: (heading, text below it, whether an option belongs to it)
SECTIONS = (
    ("On the controller alone", "Neither templates nor targets see these.", lambda row: row.scope == "controller"),
    (
        "In `opts` of templates",
        "The controller heeds them, and templates of SLS and pillar see them in `opts`. Targets have the default.",
        lambda row: row.scope == "both" and not row.travels,
    ),
    (
        "In `opts` of templates and of targets",
        "As above, and modules on targets see them too.",
        lambda row: row.scope == "both" and row.travels,
    ),
    (
        "Of a minion",
        "Salt's minion options: in the configuration for all targets, in a host's `minion_opts` for that one.",
        lambda row: row.scope == "minion",
    ),
)


def page() -> str:
    lines = [HEAD]
    for title, about, belongs in SECTIONS:
        lines += [f"## {title}", "", about, "", "| option | type | default | |", "|---|---|---|---|"]
        lines += [_row(option) for _, option in sorted(OPTIONS.items()) if belongs(option)]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _row(option: Option) -> str:
    doc = option.doc
    choices = CHOICES.get(option.name, ())
    if not all(word in doc for word in choices):
        doc += f" One of {', '.join(f'`{word}`' for word in choices)}."
    cells = (f"`{option.name}`", option.type, _default(option.default), _literal(doc))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _literal(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*") if "`" not in text else text


def _default(value: Any) -> str:
    """The default as YAML; long lists are in the table of options."""
    if value is UNSET or value is None or value == "":
        return ""
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False).strip().removesuffix("\n...")
    return f"`{text}`" if len(text) <= 90 else f"`{text[: text.rfind(',', 0, 80)]}, …`"


def main() -> int:
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
