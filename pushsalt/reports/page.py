"""A report as one HTML file that needs no network and no other file.

The file contains the data as JSON without the character ``<``. Its script inserts all data as text, never as markup.
The content security policy allows only this script, and nothing from other places. Targets with equal returns share one
body. The elements of a target are created when it is opened, so that a page with a thousand targets loads quickly.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pushsalt.display.safe import escape

#: Total size of all bodies in bytes up to which texts are complete; beyond it, the maximum characters of a text.
WHOLE: Final = 10 * 1024 * 1024
_SHORT: Final = 400
#: Maximum number of characters of a text.
LONGEST: Final = 20_000
_HERE: Final = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """One state, finding or difference. ``outcome``: failed, changed, added, passed, skipped, unknown; ``word``: for
    people; ``sub``: more about it, small; ``texts``: comment, diff, values; ``key`` and ``because``: what depends on
    what; ``time``: seconds."""

    outcome: str
    word: str
    title: str
    sub: str = ""
    texts: Sequence[str] = ()
    key: str = ""
    because: Sequence[str] = ()
    time: float = 0.0


@dataclass(frozen=True)
class Item:
    """One target, or another listed thing. ``outcome``: one of those of the page; ``note``: its summary."""

    id: str
    outcome: str
    note: str
    rows: Sequence[Row]
    phases: dict[str, float] = field(default_factory=dict)
    warnings: Sequence[str] = ()


@dataclass
class Page:
    """``about``: lines of the head; ``outcomes``: those of the items with their names, in the order of the page."""

    title: str
    about: list[tuple[str, str]]
    outcomes: Sequence[tuple[str, str]]
    items: list[Item] = field(default_factory=list)

    @staticmethod
    def policy() -> str:
        """The content security policy of the page."""
        return f"default-src 'none'; style-src 'unsafe-inline'; script-src '{source_hash(_read('page.js'))}'"

    def pieces(self) -> Iterator[str]:
        """The text of the file."""
        script = _read("page.js")
        data = _json(self._data())
        title = html.escape(_clean(self.title))
        rows = "".join(
            f"<dt>{html.escape(_clean(name))}</dt><dd>{html.escape(_clean(text))}</dd>" for name, text in self.about
        )
        yield (
            "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
            f'<meta http-equiv="Content-Security-Policy" content="{self.policy()}">'
            "<meta name='viewport' content='width=device-width,initial-scale=1'>"
            f"<title>{title}</title><style>{style()}</style></head>\n<body>"
            f"<header><h1>{title}</h1><dl>{rows}</dl><p>{html.escape(self._counts())}</p></header>\n{_FORM}"
            "<main id='targets'></main><noscript><p>The report needs JavaScript, its own, to be read.</p></noscript>\n"
            "<script type='application/json' id='data'>"
        )
        yield data
        yield f"</script>\n<script>{script}</script></body></html>\n"

    def _counts(self) -> str:
        words = [(word, sum(item.outcome == name for item in self.items)) for name, word in self.outcomes]
        return ", ".join(f"{number} {word}" for word, number in words if number) or "nothing to show"

    def _data(self) -> dict[str, Any]:
        bodies: list[Any] = []
        numbers: dict[str, int] = {}
        left = WHOLE
        targets = []
        kinds = dict(_KINDS)
        for item in self.items:
            body = [_row(row, LONGEST if left > 0 else _SHORT) for row in item.rows]
            text = json.dumps(body)
            if text not in numbers:
                numbers[text] = len(bodies)
                bodies.append(body)
                left -= len(text)
            targets.append(
                {
                    "id": _clean(item.id),
                    "outcome": item.outcome,
                    "kind": kinds.get(item.outcome, "unchanged"),
                    "note": _clean(item.note),
                    "body": numbers[text],
                    "phases": [[_clean(name), round(s, 4)] for name, s in item.phases.items() if s > 0],
                    "time": round(sum(item.phases.values()), 4),
                    "ms": [round(row.time * 1000) for row in item.rows],
                    "warnings": [_clean(text)[:LONGEST] for text in item.warnings],
                }
            )
        return {"outcomes": list(self.outcomes), "targets": targets, "bodies": bodies}


#: outcome of an item -> its colour
_KINDS: Final = (
    ("failed", "failed"),
    ("no answer", "failed"),
    ("changed", "changed"),
    ("unknown", "unknown"),
    ("not begun", "skipped"),
)
_FORM: Final = (
    "<form role='search'><label>Filter by text<input id='words' type='search' autocomplete='off'></label>"
    "<label>Result<select id='result'><option value=''>all</option></select></label>"
    "<button id='theme' type='button'>Light or dark</button>"
    "<span id='count' role='status'></span>"
    "<span class='hint sub'>Keys: / filter, j and k next and previous, Enter opens, Esc shows all</span></form>\n"
)


def _row(row: Row, longest: int) -> dict[str, Any]:
    texts = [
        text if len(text) <= longest else f"{text[:longest]}\n... {len(text) - longest} more characters were left out"
        for text in row.texts
        if text
    ]
    return {
        "o": row.outcome,
        "w": row.word,
        "t": _clean(row.title)[:LONGEST],
        "s": _clean(row.sub)[:LONGEST],
        "x": list(map(_clean, texts)),
        "k": _clean(row.key),
        "b": list(map(_clean, row.because)),
    }


def _clean(text: str) -> str:
    """Foreign text without control characters and lone surrogates."""
    return escape(text)


def _json(data: Any) -> str:
    """JSON for a script element, without characters that could begin or end a tag."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return (
        text.replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


def style() -> str:
    """The style sheet of all pages."""
    return _read("page.css")


def source_hash(text: str) -> str:
    """The word of a content security policy that allows this script or style sheet: ``sha256-…``."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _read(name: str) -> str:
    return (_HERE / name).read_text("utf-8")
